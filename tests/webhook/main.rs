//! The webhook over real sockets on loopback, in front of the simulated API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod affinity;
mod attacks;
mod decisions;
mod examples;
mod guarded;
mod health;
mod judging;
mod panic;
mod properties;
mod provisioners;
mod reads;
mod recycler;
mod restless;
mod restricted;
#[path = "../shared/mod.rs"]
mod shared;
mod stage;
mod tenancy;
mod transport;
mod watch;
mod wire;
mod writes;
