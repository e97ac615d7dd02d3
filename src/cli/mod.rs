//! The command line: what a person or a pipeline types.

pub mod demo;
