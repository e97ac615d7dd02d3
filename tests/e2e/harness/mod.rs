//! What every case uses: the control plane, its nodes and processes, and the runner.

pub(crate) mod caller;
pub(crate) mod controller;
pub(crate) mod eventually;
pub(crate) mod installed;
pub(crate) mod local_path;
pub(crate) mod metrics;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod page;
pub(crate) mod plane;
pub(crate) mod proxy;
pub(crate) mod recorder;
pub(crate) mod runner;
pub(crate) mod secrets;
pub(crate) mod sidecars;
