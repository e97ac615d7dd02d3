//! The controller binds as Kubernetes' own binder does, and goes on after failures.

pub(crate) mod controller;
pub(crate) mod differential;
pub(crate) mod failures;
pub(crate) mod lifecycle;
pub(crate) mod recycler;
pub(crate) mod writes;
