//! The fast integration tests, one binary: real sockets on loopback, no cluster.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod affinity;
mod attacks;
mod cli;
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
mod stage;
mod tenancy;
mod transport;
mod watch;
mod wire;
mod writes;
