//! Ends moves whose command was cut off, where their namespaces permit it.
//!
//! It needs no watch of its own: the one of the volumes shows their journals. Not here: which step is next (`moves`), and how
//! it is made (`move_runner`).

mod events;
pub(super) mod metrics;
mod run;
mod watched;

pub(super) use run::MoveLoop;
pub(super) use watched::MoveWatch;
