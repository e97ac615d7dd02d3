//! The examples of rules and mutations as real changes of real objects, and their results.
//!
//! Reference pages show the text that judging an example really gives; tests play the same objects
//! through the binary.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::Apply;
use super::exit::Failure;
use super::input::object_id::{ObjectId, ObjectKind};
use super::judge::proposed::{created, replaced};
use super::judge::{
    JudgeContext, JudgedChange, KnownObjects, ObjectSource, ProposedChange, judge_proposal,
    judge_review,
};
use crate::api::fixture::{self, FixtureError, FixtureObject};
use crate::api::review::ReviewError;
use crate::binding::Collection;
use crate::config::Configuration;
use crate::rules::mutations::all_on;
use crate::rules::{Example, Mode, Part, Persona, Policy, RULES, ReadAccess, Send, User};

/// A mistake in the notation of an example.
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
    /// An object that cannot be printed.
    #[error(transparent)]
    Unprintable(#[from] Failure),
    /// A target that the fixture does not have.
    #[error("no object {0}")]
    NoObject(String),
}

/// An example as objects: the cluster before, and the change.
#[derive(Clone, Debug)]
pub struct ExampleScenario {
    /// Every object of the cluster, as it is stored.
    pub stored: Vec<Value>,
    /// The change.
    pub proposal: ProposedChange,
}

/// Returns the scenario of `example`.
pub fn scenario(example: &Example) -> Result<ExampleScenario, ExampleError> {
    let items = fixture::parse(example.given)?;
    let uid_of = |target: &str| {
        let at = items.iter().position(|item| item.target == target)?;
        Some(format!("{:08}-0000-4000-8000-000000000000", at + 1))
    };
    let fill = |text: &str| fixture::with_uids(text, |key| uid_of(&format!("pvc/{key}")));
    let store = |item: &FixtureObject| -> Result<Value, ExampleError> {
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
        ObjectId::parse(target, "").ok_or_else(|| ExampleError::NoObject(target.to_owned()))
    };
    let merged = |target: &str, patch: &str| -> Result<_, ExampleError> {
        let old = find(target)?;
        let mut new = old.clone();
        json_patch::merge(&mut new, &serde_json::from_str(&fill(patch))?);
        Ok((key_of(target)?, old, new))
    };
    let (key, old, new, part) = match example.send {
        Send::Create(line) => {
            let made = fixture::parse(line)?;
            let item = made.first().ok_or_else(|| ExampleError::NoObject(line.to_owned()))?;
            let object: Value = serde_json::from_str(&fill(&item.object.to_string()))?;
            let key = key_of(&item.target)?;
            let new = created(key.kind, &object, Apply::Server);
            (key, None, Some(new), Part::Main)
        }
        Send::Merge { target, patch } => {
            let (key, old, new) = merged(target, patch)?;
            let new = replaced(key.kind, &old, &new);
            (key, Some(old), Some(new), Part::Main)
        }
        Send::MergeStatus { target, patch } => {
            let (key, old, mut new) = merged(target, patch)?;
            new["spec"] = old["spec"].clone();
            (key, Some(old), Some(new), Part::Status)
        }
        Send::Delete(target) => (key_of(target)?, Some(find(target)?), None, Part::Main),
    };
    let proposal = ProposedChange { key, old, new, part, user: user(example.by) };
    Ok(ExampleScenario { stored, proposal })
}

/// Judges `example` under the default configuration with every mutation and every rule on, mutations first.
pub fn judge(example: &Example) -> Result<JudgedChange, ExampleError> {
    let ExampleScenario { stored, proposal } = scenario(example)?;
    with_terms(stored, access(example.by), |terms| judge_proposal(&proposal, terms))
}

/// Judges `example` without mutations.
pub fn judge_without_mutations(example: &Example) -> Result<JudgedChange, ExampleError> {
    let ExampleScenario { stored, proposal } = scenario(example)?;
    with_terms(stored, access(example.by), |terms| judge_review(proposal.body(), terms))
}

fn with_terms(
    stored: Vec<Value>,
    access: ReadAccess,
    judge: impl FnOnce(JudgeContext<'_>) -> Result<JudgedChange, ReviewError>,
) -> Result<JudgedChange, ExampleError> {
    let mut known = KnownObjects::new(ObjectSource::Dump);
    // Namespaces are stored only where a rule reads them.
    let is_whole = |one: &Collection| !matches!(one, Collection::Namespaces | Collection::Events);
    Collection::ALL.into_iter().filter(is_whole).for_each(|one| known.listed.add(one));
    for object in stored {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let kind = object["kind"].as_str().and_then(ObjectKind::from_name);
        let Some(kind) = kind else { continue };
        let key = ObjectId { kind, namespace: text("namespace"), name: text("name") };
        known.store(key, object)?;
    }
    // Rules that are off by default are shown as denials.
    let off = RULES.iter().filter(|rule| rule.mode == Mode::Off);
    let modes = off.map(|rule| (rule.id.to_owned(), Mode::Deny)).collect();
    let policy = Policy { modes, ..all_on() };
    let configuration = Configuration { policy, ..Configuration::default() };
    // No example has an exemption, so the time does not matter.
    let now = Timestamp::UNIX_EPOCH;
    let terms = JudgeContext { known: &known, configuration: &configuration, now, access };
    Ok(judge(terms)?)
}

/// Returns what a persona may read.
pub fn access(persona: Persona) -> ReadAccess {
    match persona {
        Persona::Tenant | Persona::NamespaceAdmin | Persona::ClaimProtection => {
            ReadAccess::Namespaces
        }
        Persona::Admin
        | Persona::VolumeViewer
        | Persona::Binder
        | Persona::Scheduler
        | Persona::VolumeProtection
        | Persona::GarbageCollector
        | Persona::AttachDetach
        | Persona::Driver => ReadAccess::Volumes,
    }
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
        Persona::VolumeViewer => ("volume-viewer".to_owned(), vec!["tenants"]),
        Persona::NamespaceAdmin => ("namespace-admin".to_owned(), vec!["namespace-admins"]),
        Persona::Binder => system("persistent-volume-binder"),
        Persona::Scheduler => ("system:kube-scheduler".to_owned(), vec![]),
        Persona::VolumeProtection => system("pv-protection-controller"),
        Persona::ClaimProtection => system("pvc-protection-controller"),
        Persona::GarbageCollector => system("generic-garbage-collector"),
        Persona::AttachDetach => system("attachdetach-controller"),
        Persona::Driver => (
            "system:serviceaccount:csi:external-provisioner".to_owned(),
            vec!["system:serviceaccounts", "system:serviceaccounts:csi"],
        ),
    };
    User { name, groups: groups.into_iter().map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::{Evidence, LiveReads};
    use crate::rules::ScanCheck;
    use crate::rules::mutations::MUTATIONS;

    /// The example where every volume that says nothing else is destroyed or emptied with its claim.
    fn dangerous(example: &Example, policy: &str) -> Example {
        let line = |line: &str| {
            let is_volume = line.trim_start().starts_with("pair ") || line.starts_with("volume ");
            let is_open = is_volume && !line.contains("policy=");
            if is_open { format!("{line} policy={policy}") } else { line.to_owned() }
        };
        let given: Vec<String> = example.given.lines().map(line).collect();
        Example { given: given.join("\n").leak(), ..*example }
    }

    /// Returns what `text` has before the first deletion that it advises, if it advises one.
    fn before_deletion(text: &str) -> Option<&str> {
        let verbs = text.match_indices("delete ").chain(text.match_indices("Delete "));
        let mut before = verbs.filter_map(|(at, verb)| Some((verb, text.get(..at)?)));
        let found = before.find(|(verb, before)| match *verb {
            // Not the name of a policy: it begins a sentence.
            "Delete " => before.is_empty() || before.ends_with(". "),
            _ => !["a ", "nobody can ", "would ever "].iter().any(|word| before.ends_with(word)),
        });
        found.map(|(_, before)| before)
    }

    fn is_safe(text: &str) -> bool {
        // The command sets the policy, also where the trash would set another one later.
        let ways = ["Retain", "`bindery retain"];
        before_deletion(text).is_none_or(|before| ways.iter().any(|way| before.contains(way)))
    }

    #[test]
    fn a_deletion_is_found_where_one_is_advised() {
        assert_eq!(before_deletion("a delete cannot be undone; policy Delete deletes it"), None);
        assert!(!is_safe("it goes; delete the claim first") && !is_safe("Delete it"));
        assert!(is_safe("set Retain, then delete the claim"));
        assert!(is_safe("run `bindery retain pvc/db/data`, then delete the claim"));
    }

    /// Following a message literally loses no data: the reclaim policy comes first.
    #[test]
    fn whatever_advises_a_deletion_says_retain_before() {
        let mut texts = 0;
        for rule in RULES {
            assert!(is_safe(rule.page.instead), "{}: {}", rule.id, rule.page.instead);
            for example in rule.denied {
                for example in ["Delete", "Recycle"].map(|policy| dangerous(example, policy)) {
                    let judged = judge_without_mutations(&example).unwrap();
                    for ruling in &judged.verdict.rulings {
                        let text = &ruling.violation.text;
                        assert!(is_safe(text), "{}: {text}", ruling.rule.id);
                        texts += 1;
                    }
                    for text in standing(&example) {
                        assert!(is_safe(&text), "{text}");
                    }
                }
            }
        }
        assert!(texts > 150, "{texts}");
        for mutation in MUTATIONS {
            assert!(is_safe(mutation.page.instead), "{}: {}", mutation.id, mutation.page.instead);
        }
    }

    /// Returns what `scan` says of the objects of an example.
    fn standing(example: &Example) -> Vec<String> {
        let ExampleScenario { stored, .. } = scenario(example).unwrap();
        let mut known = KnownObjects::new(ObjectSource::Dump);
        for object in stored {
            let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
            let Some(kind) = object["kind"].as_str().and_then(ObjectKind::from_name) else {
                continue;
            };
            let key = ObjectId { kind, namespace: text("namespace"), name: text("name") };
            known.store(key, object).unwrap();
        }
        let live = LiveReads::default();
        let evidence = Evidence::new(known.view(), &live);
        let found = RULES.iter().flat_map(|rule| match rule.options.scan {
            ScanCheck::OfVolume(check) => {
                let volumes = known.view().volumes();
                volumes.filter_map(|volume| check(volume, &evidence)).collect::<Vec<_>>()
            }
            ScanCheck::OfClaim(check) => {
                known.view().claims().filter_map(|claim| check(claim, &evidence)).collect()
            }
            ScanCheck::Unseen | ScanCheck::AsCreated | ScanCheck::WhileUnbound => Vec::new(),
        });
        found.map(|violation| violation.text).collect()
    }
}
