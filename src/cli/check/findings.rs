//! A judged change to the findings of the report, and what the input alone cannot tell.

use arcstr::ArcStr;
use serde_json::{Value, json};

use super::api;
use super::judging::{Judged, Proposal, Terms, judge_proposal};
use super::known::{Known, Reach, claim_key, volume_key};
use super::objects::{Kind, ObjectKey};
use crate::api::review::{self, ReviewError};
use crate::binding::Collection;
use crate::cli::listing::lacks;
use crate::cli::report::{Exempt, Finding, Outcome, Rendered};
use crate::cli::similar::with_similar_name;
use crate::document::{Node, Position};
use crate::model::ClassName;
use crate::rules::{Effect, Ruling};

/// Where an object came from.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Origin<'a> {
    /// The name of its file.
    pub file: &'a str,
    /// The file that it was rendered from, where a tool says so.
    pub source: Option<&'a str>,
    /// The object with its places.
    pub node: &'a Node,
}

/// Whose findings they are.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct About<'a> {
    /// The object.
    pub key: &'a ObjectKey,
    /// What is done with it.
    pub operation: &'static str,
    /// Where it came from; absent where only its name was given.
    pub origin: Option<Origin<'a>>,
}

impl About<'_> {
    /// A finding on `field`.
    pub(in crate::cli) fn finding(
        &self,
        result: Outcome,
        field: Option<&str>,
        message: String,
    ) -> Finding {
        let place = self.origin.map(|origin| match field {
            Some(field) => origin.node.place_of(field),
            None => origin.node.at,
        });
        let source = self.origin.and_then(|origin| origin.source);
        let rendered = self.origin.zip(place).filter(|_| source.is_some());
        let rendered = rendered.map(|(origin, Position { line, column })| Rendered {
            file: origin.file.to_owned(),
            line,
            column,
        });
        // Of what it was rendered from, no line is known.
        let place = place.filter(|_| source.is_none());
        Finding {
            result,
            rule: None,
            kind: self.key.kind.name(),
            namespace: self.key.kind.is_namespaced().then(|| self.key.namespace.clone()),
            name: self.key.name.clone(),
            operation: self.operation,
            fix: message.rsplit_once("; ").map(|(_, fix)| fix.to_owned()),
            message,
            field: field.map(str::to_owned),
            file: self.origin.map(|origin| source.unwrap_or(origin.file).to_owned()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            rendered,
            exempt: None,
            standing: None,
        }
    }
}

/// The findings of a verdict.
pub(super) fn of_verdict(judged: &Judged, known: &Known, about: About<'_>) -> Vec<Finding> {
    let rulings =
        judged.verdict.rulings.iter().filter_map(|ruling| of_ruling(ruling, judged, known, about));
    let warnings = judged.verdict.exemption_warnings.iter().map(|warning| {
        about.finding(Outcome::Warned, Some("metadata.annotations"), warning.clone())
    });
    rulings.chain(warnings).collect()
}

/// What one ruling is in a report; nothing if the input is all there is and it warns of what nobody looked at.
fn of_ruling(ruling: &Ruling, judged: &Judged, known: &Known, about: About<'_>) -> Option<Finding> {
    let is_unread = ruling.violation.rests_on.iter().any(|rest| judged.unread.contains(&rest.read));
    let result = match &ruling.effect {
        Effect::Denied if ruling.rule.is_of_permission() => Outcome::Unverified,
        // Where the input is all there is, it is told of the claim as a whole.
        Effect::Denied if is_unread && ruling.rule.told_as.is_some() && known.is_input_alone() => {
            return None;
        }
        Effect::Denied if is_unread => Outcome::Unverified,
        Effect::Denied => Outcome::Denied,
        Effect::Warned | Effect::Audited if is_unread && known.is_input_alone() => return None,
        Effect::Warned | Effect::Audited if is_unread => Outcome::Unverified,
        Effect::Warned => Outcome::Warned,
        Effect::Audited => Outcome::Audited,
        Effect::Exempted(_) => Outcome::Exempted,
        // Where the input is all there is, that is told once of all rules.
        Effect::Unconfirmed if known.is_input_alone() => return None,
        Effect::Unconfirmed => Outcome::Unverified,
    };
    let ruling = &with_similar_name(ruling, known.view());
    let mut message = ruling.to_string();
    if result == Outcome::Unverified && ruling.rule.is_of_permission() {
        message.push_str(UNKNOWN_PERMISSION);
    }
    let mut finding = about.finding(result, Some(ruling.violation.field), message);
    finding.rule = Some(ruling.rule.id.to_owned());
    let fix = ruling.violation.text.rsplit_once("; ").map(|(_, fix)| fix.to_owned());
    finding.fix = fix;
    if let Effect::Exempted(exemption) = &ruling.effect {
        finding.exempt =
            Some(Exempt { until: exemption.until.to_string(), reason: exemption.reason.clone() });
    }
    Some(finding)
}

/// Said of what is denied to askers without a permission: no input tells who has it.
const UNKNOWN_PERMISSION: &str = "; whether whoever makes the change may is not known here";

/// What the API server itself would refuse.
pub(super) fn of_api(proposal: &Proposal, known: &Known, about: About<'_>) -> Vec<Finding> {
    let Some(new) = &proposal.new else { return Vec::new() };
    let growth = |class: &ClassName| known.growth(class);
    let denials = api::denials(&proposal.key, proposal.old.as_ref(), new, growth).into_iter();
    denials.map(|denial| about.finding(Outcome::Api, Some(&denial.field), denial.text)).collect()
}

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
    let request = review::request(&body, &terms.configuration.policy)?;
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
