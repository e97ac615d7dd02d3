//! A StatefulSet, as far as the claims of its replicas depend on it, and the names of these claims.

use std::ops::Range;

use arcstr::ArcStr;

use crate::model::{Claim, NamespaceName};

/// What a StatefulSet says of the claims of its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplatedSet {
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Its name.
    pub name: ArcStr,
    /// The numbers of its replicas: `spec.ordinals.start` and `spec.replicas`.
    pub ordinals: Range<u32>,
    /// Its `volumeClaimTemplates`: claims that have the names of the templates.
    pub templates: Vec<Claim>,
    /// What becomes of its claims when it is deleted: `persistentVolumeClaimRetentionPolicy.whenDeleted`.
    pub when_deleted: ClaimRetention,
    /// What becomes of those of a replica that is removed: `whenScaled`.
    pub when_scaled: ClaimRetention,
    /// Kind and name of the object that controls it, such as that of an operator: it writes the templates.
    pub controller: Option<(Box<str>, Box<str>)>,
}

/// What becomes of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRetention {
    /// They stay; what an absent field means.
    Retain,
    /// They are deleted.
    Delete,
}

impl TemplatedSet {
    /// The number in the name of a claim of `template`, be it of a replica that exists or not.
    ///
    /// Kubernetes: `pkg/controller/statefulset/stateful_set_utils.go`, `getPersistentVolumeClaimName`.
    pub fn number_of(&self, template: &Claim, claim: &str) -> Option<u32> {
        let rest = claim.strip_prefix(template.key.name.as_str())?.strip_prefix('-')?;
        let digits = rest.strip_prefix(self.name.as_str())?.strip_prefix('-')?;
        let is_canonical = digits == "0" || !digits.starts_with(['0', '+']);
        digits.parse().ok().filter(|_| is_canonical)
    }

    /// Returns whether the claim of this name is that of a replica that exists.
    pub fn is_of_replica(&self, claim: &str) -> bool {
        let numbers = self.templates.iter().filter_map(|template| self.number_of(template, claim));
        numbers.into_iter().any(|number| self.ordinals.contains(&number))
    }

    /// Returns whether the claim of this name is that of a replica, be it one that exists or not.
    pub fn has_name(&self, claim: &str) -> bool {
        self.templates.iter().any(|template| self.number_of(template, claim).is_some())
    }
}

/// Returns whether a claim of this name may be that of a replica: `TEMPLATE-SET-NUMBER`.
pub fn may_be_of_replica(claim: &str) -> bool {
    let (rest, digits) = claim.rsplit_once('-').unwrap_or_default();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        && rest
            .split_once('-')
            .is_some_and(|(template, set)| !template.is_empty() && !set.is_empty())
}
