//! Moves step by step, at random, and the cluster in which they happen.

mod cases;
mod lives;
mod replacement;
pub(crate) mod world;
