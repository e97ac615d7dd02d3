//! What commands read: manifests, dumps and a cluster.
//!
//! Not here: what comes of it (`judge` for a change, `preview` for what would bind).

pub mod cluster;
pub(in crate::cli) mod dump;
pub(in crate::cli) mod listing;
pub(in crate::cli) mod manifests;
pub(in crate::cli) mod metadata;
pub mod object_id;
pub(in crate::cli) mod text;
