//! The findings of a scan on `StatefulSet`s: claims that differ from their template, and claims of no replica.
//!
//! Not here: how the two are compared (`claim_templates`), and the words (`cli::claim_templates`).

use std::collections::BTreeSet;

use crate::binding::Collection;
use crate::claim_templates::{TemplatedSet, judge_claim_templates, may_be_of_replica};
use crate::cli::claim_templates::{DRIFT, LEFTOVER, drift, leftover};
use crate::cli::input::listing::{labels, lacks};
use crate::cli::input::object_id::stateful_set_key;
use crate::cli::judge::findings::FindingSubject;
use crate::cli::judge::{KnownObjects, ObjectSource};
use crate::cli::report::{AtStake, Finding, FindingResult};
use crate::model::NamespaceName;

/// The field of these findings.
const TEMPLATES: &str = "spec.volumeClaimTemplates";

/// The findings on a StatefulSet; `about` is made with its key.
pub(super) fn of_set(
    known: &KnownObjects,
    set: &TemplatedSet,
    about: FindingSubject<'_>,
) -> Vec<Finding> {
    let state = judge_claim_templates(set, &known.sets, known.view(), &known.listed);
    let mut needed = vec![(Collection::Claims, Some(&set.namespace))];
    needed.extend(state.is_class_unknown.then_some((Collection::Classes, None)));
    let lacking = known.lacking(&needed);
    let mut found = Vec::new();
    if let Some((problem, advice)) = drift(set, &state, known.view()) {
        let message = format!("[{DRIFT}] {problem}; {advice}");
        let mut finding = finding(about, FindingResult::Warned, "medium", message);
        finding.rule = Some(DRIFT.to_owned());
        finding.fix = Some(advice);
        found.push(finding);
    }
    if let Some(text) = leftover(set, &state, known.view()) {
        let message = format!("[{LEFTOVER}] {text}");
        let mut finding = finding(about, FindingResult::Audited, "low", message);
        finding.rule = Some(LEFTOVER.to_owned());
        found.push(finding);
    }
    if !lacking.is_empty() {
        let text = format!(
            "whether the PVCs of {} agree with its volumeClaimTemplates is not known: not all {} were read; give a list of \
             all",
            about.key,
            labels(&lacking)
        );
        found.push(finding(about, FindingResult::Unverified, "medium", text));
    }
    found
}

fn finding(
    about: FindingSubject<'_>,
    result: FindingResult,
    severity: &'static str,
    message: String,
) -> Finding {
    let mut finding = about.finding(result, Some(TEMPLATES), message);
    // A StatefulSet has no volume of its own.
    let (age, bytes, class, partner, phase) = (None, None, None, None, None);
    finding.standing = Some(AtStake { severity, age, bytes, class, partner, phase });
    finding
}

/// That `StatefulSet`s were not all read, where a claim has the name of a replica's; a cluster that denies the list has a note of
/// its own.
pub(super) fn unread_sets(known: &KnownObjects) -> Option<String> {
    let (ObjectSource::Dump, Some(live)) = (&known.reach, &known.live) else { return None };
    let claims = known.view().claims().filter(|claim| may_be_of_replica(&claim.key.name));
    let namespaces: BTreeSet<&NamespaceName> = claims.map(|claim| &claim.key.namespace).collect();
    let is_read =
        |namespace: &&NamespaceName| known.listed.has_in(Collection::StatefulSets, namespace);
    if namespaces.iter().all(is_read) {
        return None;
    }
    let lacks = lacks(&live.source, &known.listed, &BTreeSet::from([Collection::StatefulSets]));
    Some(format!(
        "whether PVCs differ from the volumeClaimTemplates of StatefulSets is not known: {lacks}"
    ))
}

/// The `StatefulSet`s with templates, by namespace and name.
pub(super) fn sorted(sets: &[TemplatedSet]) -> Vec<&TemplatedSet> {
    let mut sets: Vec<&TemplatedSet> =
        sets.iter().filter(|set| !set.templates.is_empty()).collect();
    sets.sort_unstable_by_key(|set| stateful_set_key(&set.namespace, &set.name));
    sets
}
