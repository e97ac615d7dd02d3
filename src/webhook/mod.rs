//! The admission webhook: reviews come in over HTTPS, verdicts and edits go out.
//!
//! How connections are served is in `transport`; what a change comes to is in `rules`. Here the two
//! meet: bytes to a question, an answer to bytes, and the process around them.

pub mod certificate;
pub mod handlers;
pub mod health;
pub mod lines;
pub mod observe;
pub mod reader;
pub mod run;
pub mod service;
pub mod transport;
