//! Hazards of a StatefulSet as a whole: that it deletes its claims, that all of them name one volume, or that existing ones
//! differ from its templates.
//!
//! A webhook sees one claim at a time and cannot find them. Not here: the claims one by one
//! (`input::manifests::stateful_set`).

use serde_json::Value;

use crate::claim_templates::{TemplatedSet, judge_claim_templates};
use crate::cli::claim_templates::{DRIFT, advice_on_manifest, differences};
use crate::cli::input::manifests::Input;
use crate::cli::input::manifests::stateful_set::{SetMember, StatefulSet};
use crate::cli::judge::JudgeContext;
use crate::cli::judge::findings::FindingSubject;
use crate::cli::report::{Finding, FindingResult};
use crate::model::{ReclaimPolicy, VolumeName};
use crate::rules::{Mode, find};

/// Returns whether a claim of the set that is not in `head` any more stays: the set is deleted, or has fewer replicas.
///
/// Kubernetes: `stateful_set_utils.go`, `claimOwnerMatchesSetAndPod`: the claim gets the set or its pod as its owner,
/// and the garbage collector does the rest.
pub(super) fn outlives(set: &StatefulSet, head: &Input) -> bool {
    match head.sets.get(&set.key) {
        Some(after) => !after.deletes_when_scaled,
        None => !set.deletes_with_itself,
    }
}

/// Findings on all claims of a template, reported with its first one.
pub(super) fn of_template(
    member: &SetMember,
    claim: &Value,
    terms: JudgeContext<'_>,
    about: FindingSubject<'_>,
) -> Vec<Finding> {
    if !member.is_first {
        return Vec::new();
    }
    let mut found = Vec::from_iter(drift(member, terms, about));
    found.extend(retention(member, claim, terms, about));
    let set = &member.set;
    if let Some(volume) = text(&claim["spec"]["volumeName"]).filter(|_| set.replicas > 1) {
        let message = format!(
            "StatefulSet \"{}\" names PV \"{volume}\" in the volumeClaimTemplate of {} pods; one PVC gets \
             it, and the others stay Pending; remove spec.volumeName, and reserve a PV for each PVC by \
             spec.claimRef",
            set.key.1, set.replicas
        );
        found.extend(finding("prebind-taken", "spec.volumeName", &message, terms, about));
    }
    found
}

/// A finding with the first claim of the set if claims that exist differ from their template: the set would take them as
/// they are.
pub(super) fn drift(
    member: &SetMember,
    terms: JudgeContext<'_>,
    about: FindingSubject<'_>,
) -> Option<Finding> {
    let set = member.set.templated.as_ref().filter(|_| member.is_first)?;
    let template =
        set.templates.iter().find(|one| set.number_of(one, &about.key.name).is_some())?;
    // The others are reported with a claim of their own.
    let set = &TemplatedSet { templates: vec![template.clone()], ..set.clone() };
    let known = terms.known;
    let state = judge_claim_templates(set, &[], known.view(), &known.listed);
    let differences = differences(set, &state)?;
    let advice = advice_on_manifest(set, &state);
    let message = format!(
        "[{DRIFT}] {differences}; the StatefulSet uses existing PVCs as they are, and only a replica that has none gets one as \
         the template says; {advice}"
    );
    let mut finding = about.finding(FindingResult::Warned, None, message);
    finding.rule = Some(DRIFT.to_owned());
    finding.fix = Some(advice);
    Some(finding)
}

/// A finding if the set deletes a claim together with its data; none if the volume is known to be retained.
pub(super) fn retention(
    member: &SetMember,
    claim: &Value,
    terms: JudgeContext<'_>,
    about: FindingSubject<'_>,
) -> Option<Finding> {
    let set = &member.set;
    let (when, what) = match (set.deletes_with_itself, set.deletes_when_scaled) {
        (false, false) => return None,
        (true, false) => ("whenDeleted", "when it is deleted"),
        (false, true) => ("whenScaled", "when it has fewer replicas"),
        (true, true) => ("whenDeleted and whenScaled", "when it is deleted or has fewer replicas"),
    };
    let consequence = match policy(claim, terms) {
        Some(ReclaimPolicy::Retain) => return None,
        Some(policy) => format!("and their data with them (policy {policy})"),
        None => "and their data with them where the reclaim policy of the PV is Delete".to_owned(),
    };
    let message = format!(
        "StatefulSet \"{}\" deletes PVCs like \"{}\" {what} ({when}: Delete in \
         persistentVolumeClaimRetentionPolicy), {consequence}; use Retain there, or a StorageClass with \
         reclaimPolicy Retain",
        set.key.1, about.key.name
    );
    finding("claim-delete-destroys-data", "spec.storageClassName", &message, terms, about)
}

/// The policy of the claim's volume, or the one that its class will give it; nothing if that is not known.
fn policy(claim: &Value, terms: JudgeContext<'_>) -> Option<ReclaimPolicy> {
    if let Some(name) = text(&claim["spec"]["volumeName"]) {
        let volume = terms.known.view().volume(&VolumeName::new(name))?;
        return Some(volume.policy.clone());
    }
    let class = terms.known.class(text(&claim["spec"]["storageClassName"])?)?;
    // Volumes of such a class are made by hand, each with a policy of its own.
    let is_static = class["provisioner"] == "kubernetes.io/no-provisioner";
    let policy = text(&class["reclaimPolicy"]).map(|text| ReclaimPolicy::from_text(Some(text)));
    (!is_static).then(|| policy.unwrap_or(ReclaimPolicy::Delete))
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A finding of a rule, with the result that its mode gives.
fn finding(
    rule: &'static str,
    field: &str,
    message: &str,
    terms: JudgeContext<'_>,
    about: FindingSubject<'_>,
) -> Option<Finding> {
    let result = match terms.configuration.policy.mode(find(rule)?) {
        Mode::Deny => FindingResult::Denied,
        Mode::Warn => FindingResult::Warned,
        Mode::Audit => FindingResult::Audited,
        Mode::Off => return None,
    };
    let mut finding = about.finding(result, Some(field), format!("[{rule}] {message}"));
    finding.rule = Some(rule.to_owned());
    Some(finding)
}
