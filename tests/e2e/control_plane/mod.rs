//! The control plane of these tests does what every other case relies on.

pub(crate) mod lifetime;
pub(crate) mod smoke;
