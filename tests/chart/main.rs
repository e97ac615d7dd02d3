//! The Helm chart, as the real helm renders it.
//!
//! Every set of values under `sets` has its rendering under `golden`; what must hold of any rendering is
//! checked on all of them. helm is built by `make kube`; without it every test fails with a sentence that
//! says so. Not here: what the rendered objects do in a cluster.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "what cannot be rendered fails the test; clippy knows test code only inside `#[test]`"
)]

mod alerts;
mod arguments;
mod certificates;
mod configuration;
mod dashboard;
mod engine;
mod firing;
mod firing_local;
mod golden;
mod helm;
mod leaves;
mod local;
mod network;
mod notes;
mod objects;
mod policies;
mod readme;
mod registrations;
mod rejected;
mod rights;
mod stages;
mod templates;
mod typed;
