//! The controller: reconciles the volumes and claims of a cluster.
//!
//! The core that also drives `plan` and the webhook decides (`binding`); the controller carries that out at a rate that a
//! shared API server can bear.

mod binding_times;
pub mod certificates;
mod configuration;
mod delay_queue;
pub mod error;
mod event_sender;
mod fallback;
mod guard;
mod hashed;
pub mod health;
pub mod last_good;
mod loop_settings;
pub mod metrics;
pub mod mode;
mod moves;
mod object_counts;
mod operation_metrics;
mod own_writes;
pub mod reads;
pub mod reconciler;
mod recycle;
pub mod run;
mod runner;
mod trash;
mod watch_handlers;
mod work_queue;
