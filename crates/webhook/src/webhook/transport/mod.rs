//! The HTTPS port of the admission webhook: certificates, accept loop, connections, limits.
//!
//! The pieces, from the socket to the handler:
//!
//! ```text
//!  Server (N threads) ─ listener ─ TLS (tls, reload) ─ connection ─ deadlines ─ handler
//!                          │                               │
//!                  connection_limiter                  drain         body, load_shedder, rejection
//! ```
//!
//! Every peer is treated as hostile. A connection with a complete review is not evicted if its address has brought a
//! review before. What a review means is decided elsewhere: any [`Handler`] can be served, such as an [`axum::Router`].

pub mod body;
mod connection;
mod connection_limiter;
mod deadlines;
mod drain;
mod handler;
mod limits;
mod listener;
pub mod load_shedder;
mod observer;
pub mod rejection;
pub mod reload;
mod server;
mod staged_body;
pub mod tls;

pub use body::ReviewTime;
pub use connection::ReviewAnswered;
pub use deadlines::ConnectionStage;
pub use handler::Handler;
pub use limits::Limits;
pub use observer::{
    ConnectionEnd, ConnectionLimit, HandshakeFailure, TransportEvent, TransportObserver,
};
pub use server::{PortOptions, PortServer, Security, ServeError};
pub use staged_body::StagedBody;
