//! What the operator has decided: modes of rules, edits that are off, and whom to trust.
//!
//! A value; how it is read from a file is in `config`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::actor::{Actor, User};
use super::rule::{Mode, Rule};

/// The operator's decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Modes that differ from a rule's own, by rule id.
    pub modes: BTreeMap<String, Mode>,
    /// Ids of the edits that are switched off.
    pub edits_off: BTreeSet<String>,
    /// User names of binders to trust besides the in-tree one.
    pub trusted_binders: Vec<String>,
    /// User names of populators to trust.
    pub trusted_populators: Vec<String>,
    /// How far ahead an exemption may reach.
    pub longest_exemption: SignedDuration,
}

/// A week: long enough for a migration, short enough that a forgotten exemption is harmless.
const LONGEST_EXEMPTION: SignedDuration = SignedDuration::from_hours(168);

impl Default for Policy {
    /// The profile `baseline`: every rule in its own mode, every edit on, nobody trusted besides
    /// the control plane.
    fn default() -> Self {
        Self {
            modes: BTreeMap::new(),
            edits_off: BTreeSet::new(),
            trusted_binders: Vec::new(),
            trusted_populators: Vec::new(),
            longest_exemption: LONGEST_EXEMPTION,
        }
    }
}

impl Policy {
    /// The mode in which `rule` runs.
    pub fn mode(&self, rule: &Rule) -> Mode {
        self.modes.get(rule.id).copied().unwrap_or(rule.mode)
    }

    /// What `user` is to the rules.
    pub fn actor(&self, user: &User) -> Actor {
        Actor::of(user, &self.trusted_binders, &self.trusted_populators)
    }
}
