//! The local static provisioner: finds the disks of a node, offers them as PersistentVolumes, and cleans them after release.
//!
//! Takes the place of sig-storage-local-static-provisioner: configuration, names, labels and metrics are the same. What is to
//! be done for a disk is decided in `disks`; here it is observed and done. Not here: scheduling, and binding.

pub mod api;
pub mod await_configuration;
mod class;
pub mod clean;
pub mod configuration;
pub mod content;
pub mod device;
pub mod disk_lock;
mod events;
pub mod found;
pub mod jobs;
pub mod ledger;
pub mod metrics;
mod mounts;
mod moved;
mod name_pattern;
pub mod node;
pub mod node_cleanup;
mod overlap;
mod provisioner;
pub mod run;
pub mod scan;
mod search;
mod shared;
mod slot;
pub mod source;
mod task;
mod triggers;
mod unanswered;
mod volumes;
