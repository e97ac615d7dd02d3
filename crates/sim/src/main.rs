//! `make demo`: runs the demonstration, returns its exit code.

use std::process::ExitCode;

use bindery_sim::demo::{Arguments, run};
use clap::Parser;

fn main() -> ExitCode {
    let exit = run(&Arguments::parse()).unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        failure.exit
    });
    ExitCode::from(exit.code())
}
