//! What a check cannot verify: what the input alone, or a dump of some kinds only, does not show.

use arcstr::ArcStr;
use serde_json::{Value, json};

use crate::api::review::{self, ReviewError};
use crate::binding::Collection;
use crate::cli::input::listing::lacks;
use crate::cli::input::object_id::{Kind, claim_key, volume_key};
use crate::cli::judge::findings::About;
use crate::cli::judge::{Known, Proposal, Reach, Terms, judge_proposal};
use crate::cli::report::{Finding, Outcome};
use crate::rules::Effect;

/// That what is stored is not known well enough: whether the object itself is, or others that a rule would look
/// for among all.
pub(super) fn of_gaps(known: &Known, source: &str, about: About<'_>) -> Option<Finding> {
    let key = about.key;
    let here = Some(ArcStr::from(key.namespace.as_str()));
    let needed = match (key.kind, about.operation) {
        // Others on its storage, and claims that name it.
        (Kind::Volume, "CREATE") => vec![(Collection::Volumes, None), (Collection::Claims, None)],
        // Volumes that are kept for it, and the default class.
        (Kind::Claim, "CREATE") => vec![
            (Collection::Claims, here),
            (Collection::Volumes, None),
            (Collection::Classes, None),
        ],
        (Kind::Namespace, "DELETE") => {
            vec![(Collection::Claims, Some(key.name.as_str().into()))]
        }
        (
            Kind::Volume | Kind::Claim | Kind::Class | Kind::Pod | Kind::Node | Kind::Namespace,
            _,
        ) => Vec::new(),
    };
    if known.is_input_alone() {
        return None;
    }
    let lacking = known.lacking(&needed);
    if lacking.is_empty() {
        return None;
    }
    let fact = format!("how {key} fits what is stored cannot be told");
    let message = format!("{fact}: {}", lacks(source, &known.listed, &lacking));
    Some(about.finding(Outcome::Unverified, None, message))
}

/// Takes back denials of a change whose object was shown by an earlier manifest only: a manifest has
/// no status, and what is refused of a bound pair differs from what is refused of an unbound one.
pub(super) fn doubt(proposal: &Proposal, found: &mut [Finding]) {
    let is_stateless = |old: &Value| old.pointer("/status/phase").is_none();
    if proposal.old.as_ref().is_some_and(is_stateless) {
        for finding in found.iter_mut().filter(|finding| finding.result == Outcome::Denied) {
            finding.result = Outcome::Unverified;
        }
    }
}

/// What cannot be told without the cluster, given what has been `told` already.
///
/// A volume of which no phase is known may be bound: it is judged as if it were, and what would
/// then be refused is unverified. So is a prebind whose other half nobody has seen.
pub(super) fn of_ignorance(
    proposal: &Proposal,
    told: &[Finding],
    terms: Terms<'_>,
    about: About<'_>,
) -> Result<Vec<Finding>, ReviewError> {
    if !terms.known.is_input_alone() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    if let Some(bound) = as_if_bound(proposal) {
        // A claim of the input has no uid yet, which would prove that it is another one.
        let nothing = Known::new(Reach::Input);
        let terms = Terms { known: &nothing, ..terms };
        for ruling in judge_proposal(&bound, terms)?.verdict.rulings {
            let id = ruling.rule.id;
            let is_told = told.iter().chain(&found).any(|said| said.rule.as_deref() == Some(id));
            if is_told || ruling.effect != Effect::Denied {
                continue;
            }
            let message = format!(
                "[{id}] {} of volume \"{}\" would be refused if a claim is bound to it; the input \
                 alone cannot tell; give what is stored with --live FILE or --live cluster",
                match proposal.operation() {
                    "DELETE" => "the deletion".to_owned(),
                    _ => format!("this change of {}", ruling.violation.field),
                },
                proposal.key.name
            );
            let mut finding =
                about.finding(Outcome::Unverified, Some(ruling.violation.field), message);
            finding.rule = Some(id.to_owned());
            found.push(finding);
        }
    }
    found.extend(unseen_half(proposal, terms, about)?);
    if told.is_empty() {
        found.extend(unseen_loss(proposal, terms.known, about));
    }
    Ok(found)
}

/// A deletion that takes data along if the policy of a volume says so, which nobody has seen.
fn unseen_loss(proposal: &Proposal, known: &Known, about: About<'_>) -> Option<Finding> {
    let (old, None) = (proposal.old.as_ref()?, &proposal.new) else { return None };
    match proposal.key.kind {
        Kind::Claim => {
            let name = old.pointer("/spec/volumeName").and_then(Value::as_str);
            let volume = name.and_then(|name| known.object(&volume_key(name)));
            let policy = volume.map(|volume| &volume["spec"]["persistentVolumeReclaimPolicy"]);
            if policy.is_some_and(|policy| policy.is_null() || policy == "Retain") {
                return None;
            }
        }
        Kind::Namespace => {}
        Kind::Volume | Kind::Class | Kind::Pod | Kind::Node => return None,
    }
    let message = format!(
        "whether the deletion of {} takes data along cannot be told from the input alone; give what is stored \
         with --live FILE or --live cluster",
        proposal.key
    );
    Some(about.finding(Outcome::Unverified, None, message))
}

/// The change as it would be if a claim were bound to the volume; nothing if that is known.
fn as_if_bound(proposal: &Proposal) -> Option<Proposal> {
    let old = proposal.old.as_ref().filter(|_| proposal.key.kind == Kind::Volume)?;
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
    Some(Proposal {
        old: Some(with_reference(old)),
        new: proposal.new.as_ref().map(with_reference),
        ..proposal.clone()
    })
}

/// A prebind that this change makes with an object that nobody has seen.
fn unseen_half(
    proposal: &Proposal,
    terms: Terms<'_>,
    about: About<'_>,
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
                format!("claim \"{}\" names volume \"{name}\"", about.key.name),
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
                format!("volume \"{}\" is kept for claim \"{key}\"", about.key.name),
            )
        })
    };
    let Some((field, key, fact)) = half else { return Ok(None) };
    if terms.known.is_expected(&key) {
        return Ok(None);
    }
    let message = format!(
        "{fact}, which the input does not show; whether the two fit cannot be told; give what is \
         stored with --live FILE or --live cluster"
    );
    Ok(Some(about.finding(Outcome::Unverified, Some(field), message)))
}
