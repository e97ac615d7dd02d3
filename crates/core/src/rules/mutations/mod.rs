//! Mutations: what the mutating endpoint corrects before a rule would have to deny it.
//!
//! One file each and one word in the list below.

use super::judging::mutation::{Mutation, Switch};
use super::judging::policy::Policy;
use crate::model::TenantLabel;

/// Declares the modules of the mutations and lists their values in the same order.
macro_rules! mutations {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// All mutations, in the order in which they are made.
        pub static MUTATIONS: &[&Mutation] = &[$(&$name::MUTATION),*];
    };
}

mutations! {
    strip_binder_annotations
    legacy_class
    return_from_trash
    tenant_selector
    delayed_binding
    restore_binding
    repair_stale_claim_ref
    tenant_label
}

pub use delayed_binding::{changed_class, changed_since};

/// The mutation of this id.
pub fn find(id: &str) -> Option<&'static Mutation> {
    MUTATIONS.iter().find(|mutation| mutation.id == id).copied()
}

/// The default policy with every mutation on.
pub fn all_on() -> Policy {
    let mutations = MUTATIONS.iter().map(|mutation| (mutation.id.to_owned(), Switch::On)).collect();
    let mut policy = Policy { mutations, ..Policy::default() };
    policy.label_volumes(TenantLabel::Auto);
    policy
}

/// What the file of a mutation needs besides the model.
mod prelude {
    pub(super) use crate::binding::{Evidence, Lookup, Read};
    pub(super) use crate::rules::judging::change::{Change, Transition};
    pub(super) use crate::rules::judging::examples::*;
    pub(super) use crate::rules::judging::mutation::{
        Creators, FieldMutation, Mutation, MutationPlan, Switch, WarningMode,
    };
    pub(super) use crate::rules::judging::mutation_form::{MutationForm, MutationText};
    pub(super) use crate::rules::judging::resource::{Operation, Resource};
    pub(super) use crate::rules::judging::rule::{
        Example, Fact, Page, Persona, RequestType, RequestTypes,
    };
    pub(super) use crate::rules::judging::violation::Dependency;
}
