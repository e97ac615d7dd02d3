//! A stage for reviews: a cluster in memory ([`Scene`]) and the real webhook before it ([`Stage`]).
//!
//! The API server's half is played by `sim`: it says which review a write leads to, and serves the
//! webhook's watches and live reads. Nothing here knows what a verdict should be.

mod gate;
mod webhook;

pub(crate) use crate::shared::scene::{Scene, Sent, apply, endpoints, user};
pub(crate) use gate::Gate;
pub(crate) use webhook::{Reply, Stage, post};
