//! The admission webhook: an HTTPS server of AdmissionReviews.
//!
//! Not here: how connections are served (`transport`), and the verdicts (`rules`).

pub mod certificate;
pub mod connection_metrics;
pub mod handlers;
pub mod health;
pub mod lines;
pub mod read_dispatcher;
mod review_log;
pub mod run;
pub mod service;
pub mod transport;
