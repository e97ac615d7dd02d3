//! The exemptions and the requests for them, as programs read them. Fields are only ever added.

use jiff::Timestamp;
use serde::Serialize;

use super::grant::{Grant, grant};
use crate::binding::{Pairing, View, pairing};
use crate::cli::render::API_VERSION;
use crate::model::annotations::ALLOW_PREFIX;
use crate::model::{Claim, Volume};
use crate::rules::judging::exemption::{carried, why_without_effect};
use crate::rules::judging::exemption_request::{ExemptionRequest, is_granted, requests};
use crate::rules::{Policy, RULES};

/// Why the owner of a PVC that names another's PV is granted nothing.
const NOT_ITS_OWN: &str =
    "the PV that it names is not bound to it, and an exemption there would count for others";

/// All of them.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct ExemptionsReport {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// Exemptions that count now, those that end first in front.
    pub in_force: Vec<ExemptionEntry>,
    /// Requests that are pending, by Namespace and name.
    pub requests: Vec<RequestEntry>,
    /// Annotations that exempt from nothing, by volume.
    pub without_effect: Vec<IneffectiveEntry>,
}

/// An exemption in force.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct ExemptionEntry {
    /// The rule.
    pub rule: String,
    /// The volume that carries it; nothing if the configuration gives it.
    pub persistent_volume: Option<String>,
    /// The Namespaces in which the configuration gives it; all if there are none.
    pub namespaces: Vec<String>,
    /// The users to whom the configuration gives it; all if there are none.
    pub users: Vec<String>,
    /// When it ends.
    pub until: Timestamp,
    /// Why it was given.
    pub reason: String,
}

/// A request that waits.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct RequestEntry {
    /// The rule, as it is written.
    pub rule: String,
    /// The Namespace of the claim.
    pub namespace: String,
    /// The name of the claim.
    pub name: String,
    /// The volume of the claim, if it exists.
    pub persistent_volume: Option<String>,
    /// The reason, as it is written.
    pub reason: String,
    /// What grants it: a command, or an entry of the configuration.
    pub grant: Option<Grant>,
    /// Why it cannot be granted.
    pub problem: Option<String>,
}

/// An annotation that exempts from nothing.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct IneffectiveEntry {
    /// The volume.
    pub persistent_volume: String,
    /// The annotation.
    pub annotation: String,
    /// Why it exempts from nothing.
    pub problem: String,
}

impl ExemptionsReport {
    /// What the objects of a view and the policy say at `now`. Printed commands grant until `until`.
    pub(in crate::cli) fn of(
        view: &View,
        policy: &Policy,
        (now, until): (Timestamp, Timestamp),
    ) -> Self {
        let mut report = Self { api_version: API_VERSION, ..Self::default() };
        report.add_configured(policy, now);
        for volume in view.volumes() {
            report.add_volume(volume, policy, now);
        }
        for claim in view.claims() {
            let volume = claim.volume.as_ref().and_then(|name| view.volume(name));
            report.add_claim((claim, volume.map(|volume| &**volume)), policy, (now, until));
        }
        report.in_force.sort_by_key(|entry| entry.until);
        report
    }

    fn add_configured(&mut self, policy: &Policy, now: Timestamp) {
        for given in policy.exemptions.iter().filter(|given| given.until > now) {
            self.in_force.extend(given.rules.iter().map(|rule| ExemptionEntry {
                rule: rule.clone(),
                persistent_volume: None,
                namespaces: given.namespaces.clone(),
                users: given.users.clone(),
                until: given.until,
                reason: given.reason.clone(),
            }));
        }
    }

    fn add_volume(&mut self, volume: &Volume, policy: &Policy, now: Timestamp) {
        let limits = (now, policy.longest_exemption);
        let name = volume.name.to_string();
        for (rule, exemption) in carried(RULES, volume, limits) {
            self.in_force.push(ExemptionEntry {
                rule: rule.id.to_owned(),
                persistent_volume: Some(name.clone()),
                namespaces: Vec::new(),
                users: Vec::new(),
                until: exemption.until,
                reason: exemption.reason,
            });
        }
        for annotation in volume.annotations.with_prefix(ALLOW_PREFIX) {
            if let Some(problem) = why_without_effect(RULES, annotation, limits) {
                self.without_effect.push(IneffectiveEntry {
                    persistent_volume: name.clone(),
                    annotation: annotation.0.to_owned(),
                    problem,
                });
            }
        }
    }

    fn add_claim(
        &mut self,
        pair: (&Claim, Option<&Volume>),
        policy: &Policy,
        (now, until): (Timestamp, Timestamp),
    ) {
        let (claim, volume) = pair;
        // A PVC names any PV that its owner likes: a grant for one that is not its own would open another's.
        let is_anothers = volume.is_some_and(|volume| pairing(volume, claim) != Pairing::Bound);
        for ExemptionRequest { id, reason, rule } in requests(RULES, claim) {
            if !is_anothers && rule.is_ok_and(|rule| is_granted(rule, pair, policy, now)) {
                continue;
            }
            let rule = rule.map_err(|problem| problem.to_string());
            let rule = if is_anothers { rule.and(Err(NOT_ITS_OWN.to_owned())) } else { rule };
            self.requests.push(RequestEntry {
                rule: id.to_owned(),
                namespace: claim.key.namespace.to_string(),
                name: claim.key.name.to_string(),
                persistent_volume: volume.map(|volume| volume.name.to_string()),
                reason: reason.to_owned(),
                grant: rule.as_ref().ok().map(|rule| grant(pair, (rule, reason), until)),
                problem: rule.err(),
            });
        }
    }
}
