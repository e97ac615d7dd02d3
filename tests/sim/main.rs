//! The simulated API server against the real one, and under kube's own client.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of a test fails the test")]

mod client;
mod controller;
mod conversation;
mod faults;
mod history;
mod kinds;
mod recycler;
mod replay;
mod writes;
