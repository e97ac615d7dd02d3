//! The simulated API server: against the real one, under kube's own client, with faults, and as the world
//! in which a binder is judged.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of a test fails the test")]

mod client;
mod controller;
mod conversation;
mod crash;
mod fallback;
mod faults;
mod history;
mod invariants;
mod kinds;
mod lease;
mod life;
mod process;
mod record;
mod recycler;
mod replay;
mod runs;
mod simulation;
mod tenancy;
mod users;
mod writes;
