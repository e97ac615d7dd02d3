//! The controller: runs the bind loop on a cluster.
//!
//! What is to be done is decided by the core that also drives `plan` and the webhook (`binding`); here it
//! is carried out, in the order and with the care that a shared API server asks for.

mod census;
pub mod certificates;
mod configuration;
mod event_sender;
mod fallback;
pub mod health;
mod lead;
pub mod metrics;
pub mod mode;
mod operations;
pub mod reads;
pub mod reconciler;
mod recycle;
pub mod run;
mod work_queue;
