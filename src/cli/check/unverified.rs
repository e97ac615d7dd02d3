//! Findings that a check cannot verify, because the input alone, or a dump of some kinds only, does not decide them.

use std::collections::BTreeSet;

use arcstr::ArcStr;
use serde_json::{Value, json};

use crate::api::review::{self, ReviewError};
use crate::binding::Collection;
use crate::cli::input::listing::lacks;
use crate::cli::input::object_id::{ObjectKind, claim_key, volume_key};
use crate::cli::judge::findings::FindingSubject;
use crate::cli::judge::{JudgeContext, KnownObjects, ObjectSource, ProposedChange, judge_proposal};
use crate::cli::report::{Finding, FindingResult};
use crate::model::{OUT_OF_SERVICE, ReclaimPolicy, VolumeName};
use crate::rules::Effect;

/// A finding if objects that a rule needs were not all read: the object itself, or others of a kind.
pub(super) fn of_gaps(known: &KnownObjects, about: FindingSubject<'_>) -> Option<Finding> {
    let (key, live) = (about.key, known.live.as_ref()?);
    let [here, named] = [&key.namespace, &key.name].map(|text| ArcStr::from(text.as_str()));
    let needed = match (key.kind, about.operation) {
        // Others on its storage, and claims that name it; what is bound by it.
        (ObjectKind::Volume, "CREATE")
        | (ObjectKind::Class | ObjectKind::Driver | ObjectKind::Node, "DELETE") => {
            vec![(Collection::Volumes, None), (Collection::Claims, None)]
        }
        // Volumes that are reserved for it, and the default class.
        (ObjectKind::Claim, "CREATE") => vec![
            (Collection::Claims, Some(&here)),
            (Collection::Volumes, None),
            (Collection::Classes, None),
        ],
        (ObjectKind::Namespace, "DELETE") => vec![(Collection::Claims, Some(&named))],
        (
            ObjectKind::Volume
            | ObjectKind::Claim
            | ObjectKind::Class
            | ObjectKind::Pod
            | ObjectKind::Node
            | ObjectKind::Namespace
            | ObjectKind::Attachment
            | ObjectKind::Driver
            | ObjectKind::SnapshotContent
            | ObjectKind::StatefulSet,
            _,
        ) => Vec::new(),
    };
    let lacking = known.lacking(&needed);
    (!lacking.is_empty()).then(|| unknown(known, &live.source, &lacking, about))
}

/// A finding if a change can do harm and the object that it changes was not read as it is stored: a rule compares the two.
pub(super) fn of_unseen(
    proposal: &ProposedChange,
    known: &KnownObjects,
    about: FindingSubject<'_>,
) -> Option<Finding> {
    let key = about.key;
    let Some(live) = &known.live else {
        let fact = format!("whether {key} conflicts with stored objects is not known");
        let message = format!(
            "{fact} from the input alone; give the stored objects with --live FILE or --live cluster"
        );
        let finding = about.finding(FindingResult::Unverified, None, message);
        return (proposal.new.is_some() && can_harm(proposal)).then_some(finding);
    };
    if !can_harm(proposal) || known.has(key) || !known.may_have(key) {
        return None;
    }
    let lacking = known.lacking(&[(key.kind.collection(), None)]);
    Some(unknown(known, &live.source, &lacking, about))
}

/// Returns whether a rule would look at the change if the object were stored in some state.
fn can_harm(proposal: &ProposedChange) -> bool {
    let is_declared = |object: &Value| {
        let taints = object.pointer("/spec/taints").and_then(Value::as_array);
        taints.into_iter().flatten().any(|taint| taint["key"] == OUT_OF_SERVICE)
    };
    let is_deleted = |content: &Value| content["spec"]["deletionPolicy"] == "Delete";
    let comes_to = |what: &dyn Fn(&Value) -> bool| {
        proposal.new.as_ref().is_some_and(what) && !proposal.old.as_ref().is_some_and(what)
    };
    match proposal.key.kind {
        ObjectKind::Node => proposal.new.is_none() || comes_to(&is_declared),
        ObjectKind::Attachment => proposal.new.is_none(),
        ObjectKind::SnapshotContent => comes_to(&is_deleted),
        ObjectKind::Volume
        | ObjectKind::Claim
        | ObjectKind::Class
        | ObjectKind::Pod
        | ObjectKind::Namespace
        | ObjectKind::Driver
        | ObjectKind::StatefulSet => false,
    }
}

fn unknown(
    known: &KnownObjects,
    source: &str,
    lacking: &BTreeSet<Collection>,
    about: FindingSubject<'_>,
) -> Finding {
    let fact = format!("whether {} conflicts with stored objects is not known", about.key);
    let message = format!("{fact}: {}", lacks(source, &known.listed, lacking));
    about.finding(FindingResult::Unverified, None, message)
}

/// Makes denials of a change unverified if only an earlier manifest shows its object: a manifest has
/// no status, and rules deny other changes of a bound pair than of an unbound one.
pub(super) fn doubt(proposal: &ProposedChange, found: &mut [Finding]) {
    let is_stateless = |old: &Value| old.pointer("/status/phase").is_none();
    if proposal.old.as_ref().is_some_and(is_stateless) {
        for finding in found.iter_mut().filter(|finding| finding.result == FindingResult::Denied) {
            finding.result = FindingResult::Unverified;
        }
    }
}

/// Findings that depend on the cluster, besides those that were `reported` already.
///
/// A volume of which no phase is known may be bound: it is judged as if it were, and what would
/// then be denied is unverified. So is a reservation whose other object was not read.
pub(super) fn of_ignorance(
    proposal: &ProposedChange,
    reported: &[Finding],
    terms: JudgeContext<'_>,
    about: FindingSubject<'_>,
) -> Result<Vec<Finding>, ReviewError> {
    if !terms.known.is_input_alone() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    if let Some(bound) = as_if_bound(proposal) {
        // A claim of the input has no uid yet, which would prove that it is another one.
        let nothing = KnownObjects::new(ObjectSource::Input);
        let terms = JudgeContext { known: &nothing, ..terms };
        for ruling in judge_proposal(&bound, terms)?.verdict.rulings {
            let id = ruling.rule.id;
            let is_reported =
                reported.iter().chain(&found).any(|said| said.rule.as_deref() == Some(id));
            if is_reported || ruling.effect != Effect::Denied {
                continue;
            }
            let message = format!(
                "[{id}] {} of PV \"{}\" would be denied if a PVC is bound to it; the input \
                 alone does not show that; give the stored objects with --live FILE or --live cluster",
                match proposal.operation() {
                    "DELETE" => "the deletion".to_owned(),
                    _ => format!("this change of {}", ruling.violation.field),
                },
                proposal.key.name
            );
            let mut finding =
                about.finding(FindingResult::Unverified, Some(ruling.violation.field), message);
            finding.rule = Some(id.to_owned());
            found.push(finding);
        }
    }
    found.extend(unseen_half(proposal, terms, about)?);
    if reported.is_empty() {
        found.extend(unseen_loss(proposal, terms.known, about));
    }
    Ok(found)
}

/// A deletion that loses data if the reclaim policy of a volume that was not read is Delete, or that takes from volumes
/// what they need.
pub(super) fn unseen_loss(
    proposal: &ProposedChange,
    known: &KnownObjects,
    about: FindingSubject<'_>,
) -> Option<Finding> {
    let (old, None) = (proposal.old.as_ref()?, &proposal.new) else { return None };
    let harm = match proposal.key.kind {
        ObjectKind::Claim => {
            let name = old.pointer("/spec/volumeName").and_then(Value::as_str);
            let volume = name.and_then(|name| known.view().volume(&VolumeName::new(name)));
            if volume.is_some_and(|volume| volume.policy == ReclaimPolicy::Retain) {
                return None;
            }
            "deletes data"
        }
        ObjectKind::Namespace => "deletes data",
        ObjectKind::Class | ObjectKind::Node | ObjectKind::Attachment | ObjectKind::Driver => {
            "harms bound PVs"
        }
        ObjectKind::Volume
        | ObjectKind::Pod
        | ObjectKind::SnapshotContent
        | ObjectKind::StatefulSet => return None,
    };
    let message = format!(
        "whether the deletion of {} {harm} is not known from the input alone; give the stored objects \
         with --live FILE or --live cluster",
        proposal.key
    );
    Some(about.finding(FindingResult::Unverified, None, message))
}

/// The change as it would be if a claim were bound to the volume; nothing if that is known.
fn as_if_bound(proposal: &ProposedChange) -> Option<ProposedChange> {
    let old = proposal.old.as_ref().filter(|_| proposal.key.kind == ObjectKind::Volume)?;
    if old.pointer("/status/phase").is_some() {
        return None;
    }
    let kept = json!({"namespace": "unknown", "name": "unknown"});
    let before = old.pointer("/spec/claimRef").filter(|reference| reference.is_object());
    let mut reference = before.unwrap_or(&kept).clone();
    if reference.get("uid").is_none() {
        reference["uid"] = json!("unknown");
    }
    let with_reference = |object: &Value| {
        let mut object = object.clone();
        // What the binder has written is not in the manifest, and the manifest does not touch it.
        if object.pointer("/spec/claimRef") == old.pointer("/spec/claimRef") {
            object["spec"]["claimRef"] = reference.clone();
        }
        object["status"] = json!({"phase": "Bound"});
        object
    };
    Some(ProposedChange {
        old: Some(with_reference(old)),
        new: proposal.new.as_ref().map(with_reference),
        ..proposal.clone()
    })
}

/// A reservation that this change makes with an object that was not read.
fn unseen_half(
    proposal: &ProposedChange,
    terms: JudgeContext<'_>,
    about: FindingSubject<'_>,
) -> Result<Option<Finding>, ReviewError> {
    let body = proposal.body();
    let request = review::parse_request(&body, &terms.configuration.policy)?;
    let change = &request.change;
    let half = if let Some(transition) = change.claim() {
        let named = transition.proposed().and_then(|claim| claim.volume.clone());
        let before = transition.stored().and_then(|claim| claim.volume.clone());
        named.filter(|named| before.as_ref() != Some(named)).map(|name| {
            (
                "spec.volumeName",
                volume_key(name.as_str()),
                format!("PVC \"{}\" names PV \"{name}\"", about.key.name),
            )
        })
    } else {
        let transition = change.volume();
        let named = transition
            .and_then(|volume| volume.proposed())
            .and_then(|volume| volume.reservation.key());
        let before = transition
            .and_then(|volume| volume.stored())
            .and_then(|volume| volume.reservation.key());
        named.filter(|named| before != Some(named)).map(|key| {
            (
                "spec.claimRef",
                claim_key(&key.namespace, &key.name),
                format!("PV \"{}\" is reserved for PVC \"{key}\"", about.key.name),
            )
        })
    };
    let Some((field, key, fact)) = half else { return Ok(None) };
    if terms.known.is_expected(&key) {
        return Ok(None);
    }
    let message = format!(
        "{fact}, which the input does not show; whether the two match is not known; give the stored \
         objects with --live FILE or --live cluster"
    );
    Ok(Some(about.finding(FindingResult::Unverified, Some(field), message)))
}
