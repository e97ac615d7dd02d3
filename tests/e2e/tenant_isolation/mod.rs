//! No tenant gets the storage of another, or learns of it.

pub(crate) mod restricted;
pub(crate) mod tenancy;
pub(crate) mod volume_labels;
