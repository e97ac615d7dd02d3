//! The local static provisioner on real disks: files behind loop devices, offered to a real cluster.

mod configuration;
mod disks;
mod doubtful;
pub(crate) mod job_pods;
mod jobs;
mod killed;
mod large_cluster;
mod life;
mod many;
mod moved;
pub(crate) mod node_cleanup;
pub(crate) mod process;
mod regressions;
pub(crate) mod scene;

use crate::runner::Case;

pub(crate) fn cases() -> Vec<Case> {
    [
        life::CASES,
        configuration::CASES,
        doubtful::CASES,
        regressions::CASES,
        killed::CASES,
        jobs::CASES,
        node_cleanup::CASES,
        moved::CASES,
        large_cluster::CASES,
    ]
    .concat()
}

/// Those that take minutes.
pub(crate) fn lengthy() -> Vec<Case> {
    [life::LENGTHY, killed::LENGTHY, many::LENGTHY].concat()
}
