//! Requests for exemptions: an annotation on a claim, by which the owner of a Namespace asks an administrator.
//!
//! A tenant writes it, so no verdict reads it. What exempts is in `exemption`: an annotation on the volume, which tenants
//! may not write, or the configuration.

use jiff::Timestamp;

use super::exemption::carried;
use super::policy::Policy;
use super::rule::{ExemptedBy, Rule};
use crate::model::annotations::REQUEST_PREFIX;
use crate::model::{Claim, Volume};

/// What a claim asks to be exempt from.
#[derive(Clone, Copy, Debug)]
pub struct ExemptionRequest<'a> {
    /// The id of the rule, as it is written.
    pub id: &'a str,
    /// The reason, as it is written.
    pub reason: &'a str,
    /// The rule; or why the request cannot be granted.
    pub rule: Result<&'static Rule, UngrantableRequest>,
}

/// Why a request cannot be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UngrantableRequest {
    /// It names no rule.
    #[error("no such rule exists")]
    UnknownRule,
    /// Its rule has no exemption.
    #[error("this rule has no exemption")]
    NotExemptable,
    /// An exemption from its rule would be one for the whole cluster.
    #[error(
        "an exemption from this rule counts for the whole cluster, so it is not granted to one PVC"
    )]
    OfCluster,
    /// It has no reason.
    #[error("it gives no reason")]
    NoReason,
}

/// The requests that a claim carries, by rule.
pub fn requests<'a>(
    rules: &'a [&'static Rule],
    claim: &'a Claim,
) -> impl Iterator<Item = ExemptionRequest<'a>> {
    claim.annotations.with_prefix(REQUEST_PREFIX).map(|(key, value)| {
        let id = key.strip_prefix(REQUEST_PREFIX).unwrap_or_default();
        let reason = value.trim();
        ExemptionRequest { id, reason, rule: grantable(rules, id, reason) }
    })
}

fn grantable(
    rules: &[&'static Rule],
    id: &str,
    reason: &str,
) -> Result<&'static Rule, UngrantableRequest> {
    let rule = rules.iter().find(|rule| rule.id == id).ok_or(UngrantableRequest::UnknownRule)?;
    match rule.exempted_by() {
        ExemptedBy::Nothing => Err(UngrantableRequest::NotExemptable),
        ExemptedBy::Cluster => Err(UngrantableRequest::OfCluster),
        ExemptedBy::Volume | ExemptedBy::Namespace if reason.is_empty() => {
            Err(UngrantableRequest::NoReason)
        }
        ExemptedBy::Volume | ExemptedBy::Namespace => Ok(rule),
    }
}

/// Returns whether a claim is exempt from `rule` now, for any user: by its volume, or by the configuration.
pub fn is_granted(
    rule: &'static Rule,
    (claim, volume): (&Claim, Option<&Volume>),
    policy: &Policy,
    now: Timestamp,
) -> bool {
    let by_volume = volume.is_some_and(|volume| {
        !carried(&[rule], volume, (now, policy.longest_exemption)).is_empty()
    });
    let namespace = &*claim.key.namespace;
    by_volume
        || policy.exemptions.iter().any(|given| {
            let is_for_namespace = given.namespaces.is_empty()
                || given.namespaces.iter().any(|name| name == namespace);
            given.until > now
                && given.rules.iter().any(|id| id == rule.id)
                && given.users.is_empty()
                && is_for_namespace
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::sample;
    use crate::model::{Annotations, VolumeName};
    use crate::rules::{ConfiguredExemption, RULES, find};

    const UNTIL: &str = "2030-01-31T18:00:00Z";

    fn now() -> Timestamp {
        "2030-01-31T12:00:00Z".parse().unwrap()
    }

    fn asking(annotations: &[(&str, &str)]) -> Claim {
        let mut claim = sample::claim();
        claim.volume = Some(VolumeName::new("pv-a"));
        for (key, value) in annotations {
            claim.annotations.insert(key, value);
        }
        claim
    }

    #[test]
    fn a_request_names_a_rule_that_can_be_exempted_and_a_reason() {
        let fixed = RULES.iter().find(|rule| rule.exempted_by() == ExemptedBy::Nothing).unwrap().id;
        let claim = asking(&[
            (&format!("{REQUEST_PREFIX}bound-volume-delete"), " moving "),
            (&format!("{REQUEST_PREFIX}bound-volume-class"), " "),
            (&format!("{REQUEST_PREFIX}no-such-rule"), "moving"),
            (&format!("{REQUEST_PREFIX}{fixed}"), "moving"),
            (&format!("{REQUEST_PREFIX}node-delete-local-data"), "moving"),
            (&format!("{REQUEST_PREFIX}namespace-delete-bound-claims"), "moving"),
        ]);
        let mut found: Vec<_> = requests(RULES, &claim)
            .map(|one| (one.id, one.reason, one.rule.map(|rule| rule.id)))
            .collect();
        found.sort_unstable_by_key(|one| one.0);
        let mut expected = vec![
            ("bound-volume-delete", "moving", Ok("bound-volume-delete")),
            ("bound-volume-class", "", Err(UngrantableRequest::NoReason)),
            ("no-such-rule", "moving", Err(UngrantableRequest::UnknownRule)),
            (fixed, "moving", Err(UngrantableRequest::NotExemptable)),
            ("node-delete-local-data", "moving", Err(UngrantableRequest::OfCluster)),
            ("namespace-delete-bound-claims", "moving", Ok("namespace-delete-bound-claims")),
        ];
        expected.sort_unstable_by_key(|one| one.0);
        assert_eq!(found, expected);
    }

    #[test]
    fn only_the_volume_or_the_configuration_grants() {
        let rule = find("bound-volume-delete").unwrap();
        let policy = Policy::default();
        let text = format!("{UNTIL} moving");
        let allow = format!("{}bound-volume-delete", crate::model::annotations::ALLOW_PREFIX);
        let request = format!("{REQUEST_PREFIX}bound-volume-delete");
        // Whatever a tenant writes on the claim.
        let claim = asking(&[(&request, &text), (&allow, &text)]);
        let mut volume = sample::volume();
        assert!(!is_granted(rule, (&claim, Some(&volume)), &policy, now()));
        volume.annotations.insert(&request, &text);
        assert!(!is_granted(rule, (&claim, Some(&volume)), &policy, now()));
        volume.annotations.insert(&allow, &text);
        assert!(is_granted(rule, (&claim, Some(&volume)), &policy, now()));
        volume.annotations = Annotations::default();
        let given = |namespaces: &[&str], users: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            let one = ConfiguredExemption {
                rules: vec![rule.id.to_owned()],
                namespaces: owned(namespaces),
                users: owned(users),
                until: UNTIL.parse().unwrap(),
                reason: "moving".to_owned(),
            };
            let policy = Policy { exemptions: vec![one], ..Policy::default() };
            is_granted(rule, (&claim, Some(&volume)), &policy, now())
        };
        assert!(given(&[], &[]) && given(&["db"], &[]));
        assert!(!given(&["web"], &[]) && !given(&["db"], &["jane"]));
    }
}
