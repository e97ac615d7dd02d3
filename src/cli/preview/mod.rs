//! What would bind to what if the binder ran on a cluster: the cluster is settled by the core that the binder runs on.
//!
//! Not here: the report on all of it (`plan`) and on one object (`explain`).

mod admission;
pub(in crate::cli) mod outcome;
pub(in crate::cli) mod planned;
pub(in crate::cli) mod settled;
