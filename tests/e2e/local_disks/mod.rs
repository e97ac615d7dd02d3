//! The local static provisioner on real disks: files behind loop devices, offered to a real cluster.

mod disks;
mod life;
mod process;

use crate::runner::Case;

pub(crate) const CASES: &[Case] = life::CASES;
