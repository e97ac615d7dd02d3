//! An API server in memory: what kube-apiserver answers for volumes, claims and what lies around
//! them, without a network, a clock or threads.
//!
//! It exists so that the demo and the simulation can drive the real webhook and controller, through kube's own
//! client, over a cluster whose every answer repeats under the same seed. [`ClusterState`] is a plain
//! state machine: [`ClusterState::begin`] takes a request and either answers or hands out the
//! `AdmissionReview` that must be judged first; [`ClusterState::resume`] goes on with the verdict. Nothing
//! here calls a webhook, so an asynchronous caller can do that in between, and other requests may
//! arrive meanwhile. [`ApiServer`] is the thin asynchronous adapter over it.
//!
//! How faithful it is, is measured: `tests/simulation` replays a recorded conversation with a real server.
//! [`faults`] lets things go wrong between it and a client.
//!
//! Not here: typed decoding (a field of the wrong type or name is stored as sent), managed fields (so
//! a write that only makes its author own a field is none), events under `events.k8s.io`, server-side
//! apply that changes an object (answered with 409) and strategic merge patches of lists (415), quotas,
//! authorization, and controllers: a protection finalizer stays unless the caller removes it.

mod cluster;
mod delete;
pub mod demo;
pub mod faults;
mod history;
mod kinds;
mod list;
mod outcome;
mod patch;
mod request;
mod resource;
mod review;
mod rng;
mod selector;
mod service;
mod status;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod uid;
mod watch;
mod write;

pub use cluster::ClusterState;
pub use history::{Accepted, Witness};
pub use outcome::{Body, Progress, Response, ReviewOutcome};
pub use request::{ApiRequest, Method, RequestUser};
pub use review::{Phase, Review};
pub use rng::SeededRng;
pub use service::{ApiServer, Lost, Reviewer, Stream};
pub use watch::Watch;
