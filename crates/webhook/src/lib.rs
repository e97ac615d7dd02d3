//! The admission webhook, and what the controller and the command line share with it: API objects, the client of the API
//! server, configuration, certificates, metrics and logs. The package `bindery` exports these modules under the same names;
//! its documentation has the code map. Not here: the decisions (`bindery-core`), the controller and the commands.
//!
//! It is a package of its own because it is optimized for time, and what depends on it for size: every review is
//! answered by this code and by the core.
use bindery_core::{attach, binding, claim_templates, disks, model, moves, rules, trash};

pub mod api;
pub mod certificates;
pub mod client;
pub mod config;
pub mod document;
pub mod file_watch;
pub mod listen;
pub mod telemetry;
pub mod webhook;
