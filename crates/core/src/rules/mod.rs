//! Verdicts on changes: one file per hazard, one file per mutation, and the machinery that runs them.
//!
//! A rule is one file in this folder and one word in the list below; a mutation the same under
//! `mutations`. Registrations, reference pages and the tests of every level follow from the values.

pub mod judging;
pub mod mutations;

pub use judging::actor::{Actor, Trusted, User};
pub use judging::change::{
    AddedOwners, Change, ChangedObject, Detail, Field, OWNERS_ADDED_MAX, Part, SpecChange,
    Transition,
};
pub use judging::inspect::inspect;
pub use judging::judge::judge;
pub use judging::mutate::{PlannedMutations, mutate};
pub use judging::mutation::{FieldMutation, Mutation, MutationPlan, Switch, WarningMode};
pub use judging::mutation_form::{MutationForm, MutationText};
pub use judging::parameters::{Parameters, Unlisted};
pub use judging::policy::{ConfiguredExemption, Override, Policy, TENANT_LABEL};
pub use judging::policy_form::{PolicyForm, PolicyText, PolicyViolation};
pub use judging::question::Question;
pub use judging::read_access::ReadAccess;
pub use judging::resource::{Operation, Resource, spelling};
pub use judging::rule::{
    Endpoint, Example, Exemptable, ExemptedBy, Fact, Mode, Page, Persona, RequestType,
    RequestTypes, Rule, RuleOptions, ScanCheck, Send, Terminating,
};
pub use judging::verdict::{Effect, Judgement, Ruling, Verdict};
pub use judging::violation::{Dependency, Violation, Weight};

/// Declares the modules of the rules and lists their values in the same order.
macro_rules! rules {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// All rules, in the order in which their violations are reported.
        pub static RULES: &[&Rule] = &[$(&$name::RULE),*];
    };
}

rules! {
    bound_volume_delete
    bound_volume_claim_ref
    bound_volume_capacity
    bound_volume_access_modes
    bound_volume_class
    bound_volume_node_affinity
    bound_volume_annotations
    protection_finalizer
    released_volume_policy
    status_forgery
    trash_record
    move_record
    foreign_namespace_volume
    foreign_namespace_binding
    namespace_tenant_label
    prebind_incomplete
    prebind_taken
    prebind_class
    prebind_volume_mode
    prebind_capacity
    prebind_access_modes
    prebind_attributes_class
    forged_binder_annotations
    stale_claim_ref
    orphan_owner
    volume_substitution
    duplicate_backend
    recycle_policy
    released_volume_reuse
    claim_delete_in_use
    claim_delete_destroys_data
    static_volume_delete_policy
    bound_volume_reclaim_policy
    host_path_volume
    local_volume_immediate_class
    unreachable_node_affinity
    ignored_by_prebind
    ignored_data_source
    missing_volume
    unknown_class
    static_claim_default_class
    oversized_volume
    bound_volume_mount_options
    bound_volume_labels
    bound_volume_attributes_class
    namespace_delete_bound_claims
    volume_attachment_delete
    out_of_service_taint
    node_delete_local_data
    storage_class_delete_in_use
    csi_driver_delete_in_use
    snapshot_content_policy
}

/// The rule of this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id).copied()
}

/// The id of the rule or mutation that is spelled most like `id`, if one is similar.
pub fn most_similar(id: &str) -> Option<&'static str> {
    let ids = RULES.iter().map(|rule| rule.id);
    let ids = ids.chain(mutations::MUTATIONS.iter().map(|mutation| mutation.id));
    let similar = ids.filter_map(|known| Some((distance_if_similar(id, known)?, known)));
    similar.min().map(|(_, known)| known)
}

/// Returns how many letters of `one` must be put in, taken out, changed or swapped to get `other`, unless they are so
/// many that it is another word: more than one and a third of its letters.
pub fn distance_if_similar(one: &str, other: &str) -> Option<usize> {
    let limit = 1 + other.chars().count() / 3;
    Some(strsim::damerau_levenshtein(one, other)).filter(|distance| *distance <= limit)
}

/// What a rule file needs besides the model.
mod prelude {
    pub(super) use super::judging::change::{Change, ChangedObject, Transition};
    pub(super) use super::judging::examples::*;
    pub(super) use super::judging::pair::{Pair, bound, pair};
    pub(super) use super::judging::policy_form::{
        BY_PHASE, PolicyForm, PolicyText, PolicyViolation,
    };
    pub(super) use super::judging::resource::{Operation, Resource};
    pub(super) use super::judging::rule::{
        Example, Exemptable, Fact, Mode, Page, Persona, RequestType, RequestTypes, Rule,
        RuleOptions, ScanCheck, Terminating,
    };
    pub(super) use super::judging::violation::{Dependency, Violation};
    pub(super) use crate::binding::{Evidence, Lookup, Read};
}
