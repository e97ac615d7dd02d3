//! What the operator has decided: modes of rules, mutations that are off, and whom to trust.
//!
//! A value; how it is read from a file is in `config`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::actor::{Actor, Trusted, User};
use super::mutation::{Mutation, Switch};
use super::parameters::{Parameters, guarded_labels};
use super::rule::{Mode, Rule};
use crate::model::{Namespace, Selector, TenantLabel, Term};

/// The operator's decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Modes that differ from a rule's own, by rule id.
    pub modes: BTreeMap<String, Mode>,
    /// Mutations that are switched otherwise than by default, by id.
    pub mutations: BTreeMap<String, Switch>,
    /// Whom to trust besides the control plane.
    pub trusted: Trusted,
    /// How far ahead an exemption may reach.
    pub longest_exemption: SignedDuration,
    /// Values that rules compare with.
    pub parameters: Parameters,
    /// Modes in namespaces with certain labels; of several that match, the last counts.
    pub overrides: Vec<Override>,
    /// Exemptions that need no annotation.
    pub exemptions: Vec<ConfiguredExemption>,
}

/// Other modes in some namespaces. A volume is in the namespace of its claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The namespaces, by their labels.
    pub namespaces: Selector,
    /// The modes there, by rule id.
    pub modes: BTreeMap<String, Mode>,
}

/// An exemption that the operator has written into the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredExemption {
    /// From which rules.
    pub rules: Vec<String>,
    /// In which namespaces; in all if none is named.
    pub namespaces: Vec<String>,
    /// For which users; for all if none is named.
    pub users: Vec<String>,
    /// When it ends.
    pub until: Timestamp,
    /// Why it was given.
    pub reason: String,
}

/// The mutation that labels volumes, which `tenancy.label` switches.
pub const TENANT_LABEL: &str = "tenant-label";

/// A week: long enough for a migration, short enough that a forgotten exemption is harmless.
const LONGEST_EXEMPTION: SignedDuration = SignedDuration::from_hours(168);

impl Default for Policy {
    /// The profile `baseline`: every rule in its own mode, every mutation as it is by default, no user trusted besides
    /// the control plane.
    fn default() -> Self {
        Self {
            modes: BTreeMap::new(),
            mutations: BTreeMap::new(),
            trusted: Trusted::default(),
            longest_exemption: LONGEST_EXEMPTION,
            parameters: Parameters::default(),
            overrides: Vec::new(),
            exemptions: Vec::new(),
        }
    }
}

impl Policy {
    /// Takes these overrides instead of those that it has, and guards the labels by which they select.
    pub fn override_modes(&mut self, overrides: Vec<Override>) {
        let terms = overrides.iter().flat_map(|one| one.namespaces.terms());
        self.parameters.namespace_labels = guarded_labels(terms.map(Term::key)).into();
        self.overrides = overrides;
    }

    /// Takes who labels volumes; it switches the mutation that does.
    pub fn label_volumes(&mut self, tenant_label: TenantLabel) {
        self.parameters.tenant_label = tenant_label;
        match tenant_label {
            TenantLabel::Manual => self.mutations.remove(TENANT_LABEL),
            TenantLabel::Auto => self.mutations.insert(TENANT_LABEL.to_owned(), Switch::On),
        };
    }

    /// The mode in which `rule` runs where nothing is known of a namespace.
    pub fn mode(&self, rule: &Rule) -> Mode {
        // Asked for each rule of each review; most operators change no mode.
        if self.modes.is_empty() {
            return rule.mode;
        }
        self.modes.get(rule.id).copied().unwrap_or(rule.mode)
    }

    /// The mode in which `rule` runs in a namespace.
    pub fn mode_in(&self, namespace: &Namespace, rule: &Rule) -> Mode {
        let here = self.overrides.iter().filter(|one| one.namespaces.matches(&namespace.labels));
        let mut modes = here.filter_map(|one| one.modes.get(rule.id));
        modes.next_back().copied().unwrap_or_else(|| self.mode(rule))
    }

    /// Returns whether `mutation` is made.
    pub fn switch(&self, mutation: &Mutation) -> Switch {
        self.mutations.get(mutation.id).copied().unwrap_or(mutation.switch)
    }

    /// Returns what `user` is to the rules.
    pub fn actor(&self, user: &User) -> Actor {
        Actor::of(user, &self.trusted)
    }
}
