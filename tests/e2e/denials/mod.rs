//! Every hazard is denied, by whichever request it arrives.

pub(crate) mod attacks;
pub(crate) mod namespace_labels;
pub(crate) mod policies;
pub(crate) mod rules;
