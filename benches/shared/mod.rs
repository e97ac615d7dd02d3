//! What the benches have in common: sections, rows and floors, processes, and the planes of the
//! end-to-end tests.
//!
//! Not here: what is measured.

#[path = "../../tests/e2e/harness/eventually.rs"]
#[allow(dead_code, clippy::panic, reason = "shared with the end-to-end tests, which use all of it")]
pub(crate) mod eventually;
#[allow(dead_code, reason = "not every bench has races")]
pub(crate) mod extent;
#[allow(dead_code, reason = "not every bench takes a median")]
pub(crate) mod floors;
#[allow(dead_code, reason = "not every bench has something of every form")]
pub(crate) mod measured;
#[path = "../../tests/e2e/harness/plane/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    clippy::panic,
    reason = "shared with the end-to-end tests, which use all of it"
)]
pub(crate) mod plane;
#[allow(dead_code, reason = "not every bench measures processes")]
pub(crate) mod process;
pub(crate) mod programs;
#[allow(dead_code, reason = "a bench writes records and reads none")]
pub(crate) mod record;
#[path = "../../tests/e2e/harness/runner.rs"]
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    clippy::expect_used,
    reason = "shared with the end-to-end tests, which use all of it; only its outcome is of use here"
)]
pub(crate) mod runner;
#[allow(dead_code, reason = "not every bench has sections that need nothing else")]
pub(crate) mod sections;
#[allow(dead_code, reason = "not every bench starts a webhook")]
pub(crate) mod webhook;
