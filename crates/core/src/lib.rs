//! The decisions of Bindery, without I/O. Not here: I/O, parsing of API objects, and the processes.
#![doc = ""]
#![doc = include_str!("../README.md")]

pub mod attach;
pub mod binding;
pub mod claim_templates;
pub mod disks;
pub mod model;
pub mod moves;
pub mod rules;
pub mod trash;
