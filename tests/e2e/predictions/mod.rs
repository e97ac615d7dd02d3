//! What the commands say about a live cluster is what the cluster then does.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod ci;
pub(crate) mod claim_templates;
pub(crate) mod explain;
pub(crate) mod node_loss;
pub(crate) mod overrides;
pub(crate) mod pictures;
pub(crate) mod reports;
pub(crate) mod tutorial;
