//! The examples of rules and edits as real changes of real objects, and what they come to.
//!
//! Reference pages show the text that judging an example really gives; tests play the same objects
//! through the binary.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::Apply;
use super::check::{
    Judged, Kind, Known, ObjectKey, Proposal, Reach, Terms, created, judge_proposal, judge_review,
    replaced,
};
use crate::config::Configuration;
use crate::k8s::fixture::{self, FixtureError, Item};
use crate::k8s::review::ReviewError;
use crate::rules::edits::REPAIRS;
use crate::rules::{Example, Mode, Part, Persona, Policy, RULES, Send, Switch, User};

/// Why an example cannot be played: a mistake in its notation.
#[derive(Debug, thiserror::Error)]
pub enum ExampleError {
    /// A line of the fixture.
    #[error(transparent)]
    Fixture(#[from] FixtureError),
    /// A patch that is no JSON.
    #[error("a patch is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// An object that cannot be read as a review.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// A target that the fixture does not have.
    #[error("no object {0}")]
    NoObject(String),
}

/// A played example: the cluster before, and the change.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Every object of the cluster, as it is stored.
    pub stored: Vec<Value>,
    /// The change.
    pub proposal: Proposal,
}

/// Sets `example` up.
pub fn scene(example: &Example) -> Result<Scene, ExampleError> {
    let items = fixture::parse(example.given)?;
    let uids: Vec<(String, String)> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            (item.target.clone(), format!("{:08}-0000-4000-8000-000000000000", index + 1))
        })
        .collect();
    let uid_of =
        |target: &str| uids.iter().find(|(known, _)| known == target).map(|(_, uid)| uid.clone());
    let fill = |text: &str| fixture::with_uids(text, |key| uid_of(&format!("pvc/{key}")));
    let store = |item: &Item| -> Result<Value, ExampleError> {
        let mut object: Value = serde_json::from_str(&fill(&item.object.to_string()))?;
        object["metadata"]["uid"] = json!(uid_of(&item.target));
        if item.is_terminating {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Ok(object)
    };
    let stored = items.iter().map(store).collect::<Result<Vec<_>, _>>()?;
    let find = |target: &str| {
        let at = items.iter().position(|item| item.target == target);
        let object = at.and_then(|at| stored.get(at)).cloned();
        object.ok_or_else(|| ExampleError::NoObject(target.to_owned()))
    };
    let key_of = |target: &str| {
        ObjectKey::parse(target, "").ok_or_else(|| ExampleError::NoObject(target.to_owned()))
    };
    let mut proposal = Proposal {
        key: ObjectKey { kind: Kind::Volume, namespace: String::new(), name: String::new() },
        old: None,
        new: None,
        part: Part::Main,
        user: user(example.by),
    };
    match example.send {
        Send::Create(line) => {
            let made = fixture::parse(line)?;
            let item = made.first().ok_or_else(|| ExampleError::NoObject(line.to_owned()))?;
            let object: Value = serde_json::from_str(&fill(&item.object.to_string()))?;
            proposal.key = key_of(&item.target)?;
            proposal.new = Some(created(proposal.key.kind, &object, Apply::Server));
        }
        Send::Merge { target, patch } => {
            proposal.key = key_of(target)?;
            let old = find(target)?;
            let mut new = old.clone();
            json_patch::merge(&mut new, &serde_json::from_str(&fill(patch))?);
            proposal.new = Some(replaced(proposal.key.kind, &old, &new));
            proposal.old = Some(old);
        }
        Send::MergeStatus { target, patch } => {
            proposal.key = key_of(target)?;
            let old = find(target)?;
            let mut new = old.clone();
            json_patch::merge(&mut new, &serde_json::from_str(&fill(patch))?);
            new["spec"] = old["spec"].clone();
            (proposal.old, proposal.new, proposal.part) = (Some(old), Some(new), Part::Status);
        }
        Send::Delete(target) => {
            proposal.key = key_of(target)?;
            proposal.old = Some(find(target)?);
        }
    }
    Ok(Scene { stored, proposal })
}

/// What `example` comes to under the default configuration with every edit and every rule on, edits first.
pub fn judge(example: &Example) -> Result<Judged, ExampleError> {
    let Scene { stored, proposal } = scene(example)?;
    with_terms(stored, |terms| judge_proposal(&proposal, terms))
}

/// What `example` comes to where nothing is edited first.
pub fn judge_unedited(example: &Example) -> Result<Judged, ExampleError> {
    let Scene { stored, proposal } = scene(example)?;
    with_terms(stored, |terms| judge_review(proposal.body(), terms))
}

fn with_terms(
    stored: Vec<Value>,
    judge: impl FnOnce(Terms<'_>) -> Result<Judged, ReviewError>,
) -> Result<Judged, ExampleError> {
    let mut known = Known::new(Reach::Dump);
    known.mark_listed(Kind::Pod);
    known.mark_listed(Kind::Node);
    for object in stored {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let kind = object["kind"].as_str().and_then(Kind::from_name);
        let Some(kind) = kind else { continue };
        let key = ObjectKey { kind, namespace: text("namespace"), name: text("name") };
        known.store(key, object)?;
    }
    let edits = REPAIRS.iter().map(|repair| (repair.id.to_owned(), Switch::On)).collect();
    // What is off by default is shown as it refuses.
    let off = RULES.iter().filter(|rule| rule.mode == Mode::Off);
    let modes = off.map(|rule| (rule.id.to_owned(), Mode::Deny)).collect();
    let policy = Policy { modes, edits, ..Policy::default() };
    let configuration = Configuration { policy, ..Configuration::default() };
    // No example has an exemption, so the time does not matter.
    let terms = Terms { known: &known, configuration: &configuration, now: Timestamp::UNIX_EPOCH };
    Ok(judge(terms)?)
}

/// The user whom a persona stands for.
pub fn user(persona: Persona) -> User {
    let system = |name: &str| {
        (
            format!("system:serviceaccount:kube-system:{name}"),
            vec!["system:serviceaccounts", "system:serviceaccounts:kube-system"],
        )
    };
    let (name, groups) = match persona {
        Persona::Admin => ("admin".to_owned(), vec!["system:masters"]),
        Persona::Tenant => ("tenant".to_owned(), vec!["tenants"]),
        Persona::Binder => system("persistent-volume-binder"),
        Persona::Scheduler => ("system:kube-scheduler".to_owned(), vec![]),
        Persona::VolumeProtection => system("pv-protection-controller"),
        Persona::ClaimProtection => system("pvc-protection-controller"),
        Persona::GarbageCollector => system("generic-garbage-collector"),
        Persona::Driver => (
            "system:serviceaccount:csi:external-provisioner".to_owned(),
            vec!["system:serviceaccounts", "system:serviceaccounts:csi"],
        ),
    };
    User { name, groups: groups.into_iter().map(str::to_owned).collect() }
}
