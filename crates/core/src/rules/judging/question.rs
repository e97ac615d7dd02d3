//! What is judged: a change that came through an endpoint, and the policy and the time that apply to it.

use jiff::Timestamp;

use super::change::Change;
use super::policy::Policy;
use super::rule::{Endpoint, Mode, Rule};
use crate::binding::{Confirmation, Evidence, Lookup, Read};

/// A change that came through an endpoint, and under which policy and at what time it is judged.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The endpoint through which it came.
    pub endpoint: Endpoint,
    /// The change.
    pub change: &'a Change,
    /// The operator's decisions.
    pub policy: &'a Policy,
    /// The time, for exemptions.
    pub now: Timestamp,
}

impl Question<'_> {
    /// The mode of a rule for this change.
    pub(super) fn mode(&self, rule: &Rule, evidence: &Evidence<'_>) -> Mode {
        // Asked for every rule that looks at a change, and seldom configured.
        if self.policy.overrides.is_empty() {
            return self.policy.mode(rule);
        }
        let namespace = self.change.namespace();
        match namespace.and_then(|name| evidence.namespace(name).present()) {
            None => self.policy.mode(rule),
            Some(namespace) => self.policy.mode_in(namespace, rule),
        }
    }

    /// The read that shows which modes hold, if the view does not show the namespace yet.
    pub(super) fn read_for_modes(&self, evidence: &Evidence<'_>) -> Option<Read> {
        let name = self.change.namespace().filter(|_| !self.policy.overrides.is_empty())?;
        let read = Read::Namespace(name.clone());
        let is_open = evidence.namespace(name) == Lookup::Unknown
            && evidence.confirmation(&read) == Confirmation::NotTried;
        is_open.then_some(read)
    }
}
