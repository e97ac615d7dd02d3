//! The `bindery` binary: parses the arguments, runs the subcommand, returns its exit code.

fn main() {}
