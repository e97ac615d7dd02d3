//! The simulated API server alone: against a recording of the real one, under kube's client, with faults.

pub(crate) mod conversation;

mod client;
mod faults;
mod history;
mod kinds;
mod replay;
mod writes;
