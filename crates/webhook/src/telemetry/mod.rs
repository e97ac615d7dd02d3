//! Metrics and logs.
//!
//! Labels come from closed lists only, so that no client can create a time series. No object is ever logged, only its
//! kind, namespace and name.

pub mod configuration;
pub mod connections;
pub mod line_budget;
pub mod logging;
pub mod metrics;
pub mod process;
pub mod registry;
