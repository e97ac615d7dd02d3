//! The node cleanup: lets pods whose local disk was on a lost node go on with another disk.
//!
//! Takes the place of the node-cleanup controller of sig-storage-local-static-provisioner. One process for the cluster. What
//! is to be done for a volume is decided in `disks`; here it is observed and done. Not here: the disks of a node.

pub mod metrics;
mod nodes;
mod replicas;
pub mod run;
mod shared;
mod volume;
