//! The local static provisioner on real disks: files behind loop devices, offered to a real cluster.

mod disks;
mod doubtful;
mod killed;
mod life;
mod process;
mod scene;

use crate::runner::Case;

pub(crate) use killed::LENGTHY;

pub(crate) fn cases() -> Vec<Case> {
    [life::CASES, doubtful::CASES, killed::CASES].concat()
}
