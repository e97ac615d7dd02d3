//! Access to the cluster: a client, a view that watches update, and live reads.
//!
//! No decision is taken here. What is read goes into the pure core; what the core wants to know is
//! fetched and handed back.

pub mod backoff;
pub mod connect;
pub mod events;
mod kubeconfig;
pub mod lead;
pub mod lease;
pub mod needs_reads;
pub mod object_watch;
pub mod other_binder;
pub mod reads;
pub mod relists;
pub mod request;
pub mod resource;
pub mod send;
pub mod server_time;
pub mod shared_store;
pub mod watch;
