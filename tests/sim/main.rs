//! The simulated API server against the real one, and under kube's own client.

mod client;
mod replay;
