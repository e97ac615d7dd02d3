//! The `bindery` binary: parses the arguments, runs the subcommand, returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bindery::cli::run(std::env::args_os().collect()).code())
}
