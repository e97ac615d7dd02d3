//! The simulated API server: against the real one, under kube's own client, with faults, and as the world
//! in which a binder is judged.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of a test fails the test")]

mod api_server;
mod controller;
mod core_only;
mod fault_matrix;
mod invariants;
mod local_disks;
mod process;
mod random_faults;
mod record;
mod runs;
mod users;
