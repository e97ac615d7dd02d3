//! What several suites use: a cluster in memory, generated clusters, and how a property is tried on them.
#![allow(dead_code, reason = "no suite uses all of it")]

pub(crate) mod generated;
pub(crate) mod properties;
pub(crate) mod scene;
