//! The HTTPS port of the admission webhook: certificates, accept loop, connections, limits.
//!
//! The pieces, from the socket to the handler:
//!
//! ```text
//!  Server (N threads) ─ listener ─ TLS (tls, reload) ─ connection ─ deadlines ─ axum Router
//!                          │                               │
//!                       places                           drain          body, admission, refusal
//! ```
//!
//! Everything here treats the peer as hostile and the API server as the one guest that must never
//! be turned away by a dropped connection. What a review means is decided elsewhere: any
//! [`axum::Router`] can be served.

pub mod admission;
pub mod body;
mod connection;
mod deadlines;
mod drain;
mod limits;
mod listener;
mod observer;
mod places;
pub mod refusal;
pub mod reload;
mod review_time;
mod server;
pub mod tls;

pub use connection::{ConnectionEnd, ReviewAnswered};
pub use deadlines::Stage;
pub use limits::Limits;
pub use observer::{
    ConnectionRefusal, HandshakeFailure, Silent, TransportEvent, TransportObserver,
};
pub use review_time::ReviewTime;
pub use server::{PortOptions, Security, ServeError, Server};
