//! The controller: runs the bind loop on a cluster.
//!
//! What is to be done is decided by the core that also drives `plan` and the webhook (`binding`); here it
//! is carried out, in the order and with the care that a shared API server asks for.

mod census;
pub mod certificates;
mod configuration;
pub mod engine;
mod fallback;
mod feed;
pub mod health;
mod lead;
pub mod metrics;
pub mod mode;
mod operations;
mod queue;
pub mod reads;
mod recycle;
pub mod run;
