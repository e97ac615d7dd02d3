//! What a mutation is: one value that says everything about one correction, and the fields that it sets.
//!
//! Mutations are typed values on exact fields; their wire form is in `api`. There is none for a
//! deletion: the API server would take it for an error.

use std::fmt;

use super::change::Change;
use super::mutation_form::MutationForm;
use super::rule::{Example, Page, RequestTypes};
use super::violation::Dependency;
use crate::binding::Evidence;
use crate::model::VolumeName;

/// One mutation: what it does, to which requests, and how it is reported.
pub struct Mutation {
    /// Its stable name, in kebab case.
    pub id: &'static str,
    /// Whether it is made unless the configuration says otherwise.
    pub switch: Switch,
    /// Whether the user is warned. An audit annotation is written in any case.
    pub warning: WarningMode,
    /// Whose new volumes it mutates.
    pub creators: Creators,
    /// The requests that it looks at: the only source of registrations.
    pub request_types: RequestTypes,
    /// Its reference page.
    pub page: Page,
    /// Changes that it mutates, with what is true afterwards.
    pub mutated: &'static [Example],
    /// Changes that it leaves as they are, with what is true afterwards.
    pub unchanged: &'static [Example],
    /// How close a MutatingAdmissionPolicy comes to it.
    pub policy: MutationForm,
    /// Plans the fields for a change.
    pub plan: fn(&Change, &Evidence<'_>) -> Option<MutationPlan>,
}

/// Whether a mutation is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// Whose new volumes a mutation mutates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creators {
    /// Everybody's: it takes nothing away by which a provisioner knows its volume.
    All,
    /// Not those that a provisioner may have made: a volume without its claim's uid is one that its driver never
    /// deletes.
    NotProvisioners,
}

/// Whether the asker of a change that is mutated is warned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningMode {
    /// With the text of the plan.
    Warned,
    /// Not: what is mutated is the rule rather than the exception, and changes nothing that was asked for.
    Silent,
}

impl fmt::Debug for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutation").field("id", &self.id).finish_non_exhaustive()
    }
}

/// One change of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldMutation {
    /// Puts this annotation.
    SetAnnotation {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
    /// Removes the annotation of this key.
    RemoveAnnotation(&'static str),
    /// Puts this label.
    SetLabel {
        /// Its key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// Puts `spec.storageClassName`.
    SetClass(String),
    /// Puts `spec.volumeName`.
    SetVolume(VolumeName),
    /// Puts this entry of `spec.selector.matchLabels`.
    Select {
        /// The label.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// Takes uid and resourceVersion out of `spec.claimRef`.
    ForgetHolder,
    /// Puts `spec.claimRef` back as it is stored.
    RestoreReservation,
    /// Puts this annotation back as it is stored.
    RestoreAnnotation(String),
    /// Puts this finalizer back.
    RestoreFinalizer(&'static str),
}

/// What one mutation would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationPlan {
    /// The fields, in order.
    pub fields: Vec<FieldMutation>,
    /// The warning.
    pub warning: String,
    /// The other objects without which it would not be right.
    pub depends_on: Vec<Dependency>,
}
