//! What an operator sees of a running process: metrics and logs.
//!
//! Labels come from closed lists only, so that nobody outside can make a series; no object is ever
//! logged, only its kind, namespace and name.

pub mod configuration;
pub mod connections;
pub mod line_budget;
pub mod logging;
pub mod metrics;
