//! The decisions of Bindery, without I/O. Not here: everything that reads, writes, waits or parses.
#![doc = ""]
#![doc = include_str!("../README.md")]

pub mod binding;
pub mod model;
pub mod rules;
