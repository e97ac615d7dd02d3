//! An installation by the chart keeps serving: upgrades, restarts, certificates, outages and overload.

pub(crate) mod certificates;
pub(crate) mod install;
pub(crate) mod overload;
