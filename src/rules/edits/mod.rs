//! Repairs: what the mutating endpoint puts right before a rule would have to refuse it.
//!
//! One file each and one word in the list below.

use super::judging::amend::Repair;

/// Declares the modules of the repairs and lists their values in the same order.
macro_rules! repairs {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// All repairs, in the order in which they are made.
        pub static REPAIRS: &[&Repair] = &[$(&$name::REPAIR),*];
    };
}

repairs! {
    strip_binder_annotations
    legacy_class
    tenant_selector
    delayed_binding
    restore_binding
    repair_stale_claim_ref
}

pub use delayed_binding::changed_since;

/// The repair of this id.
pub fn find(id: &str) -> Option<&'static Repair> {
    REPAIRS.iter().find(|repair| repair.id == id).copied()
}

/// What a repair's file needs besides the model.
mod prelude {
    pub(super) use crate::binding::{Evidence, Lookup, Read};
    pub(super) use crate::rules::judging::amend::{Edit, Plan, Repair, Switch, WarningMode};
    pub(super) use crate::rules::judging::change::{Change, Transition};
    pub(super) use crate::rules::judging::rule::{
        Example, Fact, Operation, Page, Persona, Resource, Route, Send,
    };
    pub(super) use crate::rules::judging::violation::Rest;
}
