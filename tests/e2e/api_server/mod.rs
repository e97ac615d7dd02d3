//! The real API server answers as the code assumes: its conversation, amounts, validation, versions and YAML.

pub(crate) mod conversation;
pub(crate) mod quantities;
pub(crate) mod validation;
pub(crate) mod versions;
pub(crate) mod yaml;
