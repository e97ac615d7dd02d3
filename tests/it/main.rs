//! Tests over whole programs and real connections.

mod cli;
