//! One check over all input: each change in order, on what the changes before it left.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{stateful_set, unverified};
use crate::api::review::ReviewError;
use crate::api::server::claim::default_class;
use crate::cli::args::CheckArgs;
use crate::cli::exit::Failure;
use crate::cli::input::manifests::stateful_set::maker;
use crate::cli::input::manifests::{Author, Input, Manifest};
use crate::cli::input::object_id::{ObjectId, ObjectKind};
use crate::cli::judge::failure::{unreadable, unreviewable};
use crate::cli::judge::findings::{CollectedFindings, FindingSubject, Origin, of_api, of_verdict};
use crate::cli::judge::proposed::{created, replaced, stored, updated};
use crate::cli::judge::{JudgeContext, JudgedChange, KnownObjects, ProposedChange, judge_proposal};
use crate::cli::report::{Finding, FindingResult, MutationEntry, Report};
use crate::config::Configuration;
use crate::rules::{Part, Ruling, User};

/// One run over all input.
pub(super) struct Run<'a> {
    pub(super) arguments: &'a CheckArgs,
    configuration: Configuration,
    pub(super) known: KnownObjects,
    base: BTreeMap<ObjectId, Manifest>,
    pub(super) collected: CollectedFindings,
    pub(super) now: Timestamp,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        arguments: &'a CheckArgs,
        configuration: Configuration,
        mut known: KnownObjects,
        head: &Input,
        base: Input,
    ) -> Result<Self, Failure> {
        for manifest in &base.manifests {
            if known.is_input_alone() {
                let object = object_of(manifest);
                known.store(manifest.key.clone(), object).map_err(|error| unreadable(&error))?;
            }
        }
        for manifest in &head.manifests {
            known.expect(manifest.key.clone());
        }
        let base = base.manifests.into_iter();
        let base = base.map(|manifest| (manifest.key.clone(), manifest)).collect();
        Ok(Self {
            arguments,
            configuration,
            known,
            base,
            collected: CollectedFindings::default(),
            now: Timestamp::now(),
        })
    }

    pub(super) fn judge_all(
        &mut self,
        head: &Input,
        deletions: &[ObjectId],
    ) -> Result<(), Failure> {
        for manifest in &head.manifests {
            match manifest.key.kind {
                ObjectKind::Volume | ObjectKind::Claim => self.manifest(manifest)?,
                ObjectKind::Node | ObjectKind::Attachment | ObjectKind::SnapshotContent => {
                    self.known.see(&manifest.key)?;
                    self.manifest(manifest)?;
                }
                ObjectKind::Namespace if self.is_about_namespace(manifest)? => {
                    self.manifest(manifest)?;
                }
                ObjectKind::Class | ObjectKind::Namespace | ObjectKind::Driver => {
                    let object = manifest.node.to_json();
                    self.known.change(&manifest.key, object).map_err(|error| unreadable(&error))?;
                }
                ObjectKind::Pod | ObjectKind::StatefulSet => {}
            }
        }
        let gone: Vec<Manifest> = self.base.values().cloned().collect();
        for manifest in gone {
            let stays = head.manifests.iter().any(|other| other.key == manifest.key);
            let outlives = match &manifest.author {
                Author::Applier => false,
                Author::StatefulSet(member) => stateful_set::outlives(&member.set, head),
            };
            if !stays && !outlives && !is_kept(&manifest.node.to_json()) {
                let origin = origin(&manifest);
                self.deletion(&manifest.key, Some(origin))?;
            }
        }
        for key in deletions {
            self.deletion(key, None)?;
        }
        head.reviews.iter().try_for_each(|review| self.review(review))
    }

    /// Returns whether a rule concerns a Namespace: most Namespaces have nothing to do with storage.
    fn is_about_namespace(&mut self, manifest: &Manifest) -> Result<bool, Failure> {
        self.known.see(&manifest.key)?;
        let proposal = self.of_manifest(manifest)?;
        let judged = judge_proposal(&proposal, self.terms())
            .map_err(|error| unreviewable(&error, &proposal.key.to_string()))?;
        Ok(!judged.verdict.rulings.is_empty())
    }

    /// A manifest of the head: a creation, or an update of what is stored.
    fn manifest(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let key = &manifest.key;
        let mut proposal = self.of_manifest(manifest)?;
        if let (Author::StatefulSet(member), Some(old)) = (&manifest.author, &proposal.old) {
            // A StatefulSet does not change an existing claim.
            let about = FindingSubject { key, operation: "UPDATE", origin: Some(origin(manifest)) };
            let mut found = Vec::from_iter(stateful_set::drift(member, self.terms(), about));
            found.extend(stateful_set::retention(member, old, self.terms(), about));
            if !found.is_empty() {
                self.collected.add(about, found);
            }
            return Ok(());
        }
        let mut of_set = Vec::new();
        if let (Author::StatefulSet(member), Some(new)) = (&manifest.author, &proposal.new) {
            let about = FindingSubject { key, operation: "CREATE", origin: Some(origin(manifest)) };
            of_set = stateful_set::of_template(member, new, self.terms(), about);
            proposal.user = maker();
        }
        self.proposal(&proposal, Some(origin(manifest)), of_set)
    }

    /// The change that a manifest of the head makes to the stored object.
    fn of_manifest(&self, manifest: &Manifest) -> Result<ProposedChange, Failure> {
        let (key, how) = (&manifest.key, self.arguments.apply);
        let object = object_of(manifest);
        let old = self.known.object(key)?.map(|old| stored(key.kind, old));
        let mut new = match &old {
            None => created(key.kind, &object, how),
            Some(old) if self.known.is_input_alone() => replaced(key.kind, old, &object),
            Some(old) => {
                let before = self.base.get(key).map(object_of);
                updated(key.kind, old, &object, before.as_ref(), how)
            }
        };
        if key.kind == ObjectKind::Claim && old.is_none() {
            default_class(&mut new, self.known.classes());
        }
        Ok(self.proposed(key, old, Some(new)))
    }

    fn deletion(&mut self, key: &ObjectId, origin: Option<Origin<'_>>) -> Result<(), Failure> {
        self.known.see(key)?;
        let old = match self.known.object(key)? {
            Some(old) => old.clone(),
            // Of an object that the input does not show, only the name is known.
            None if self.known.may_have(key) => json!({"metadata": {"name": key.name}}),
            None if origin.is_some() => return Ok(()),
            None => {
                let about = FindingSubject { key, operation: "DELETE", origin };
                let message = format!(
                    "{key} does not exist; the API server answers 404; correct the name or remove \
                     it"
                );
                self.collected.add(about, vec![about.finding(FindingResult::Api, None, message)]);
                return Ok(());
            }
        };
        self.proposal(&self.proposed(key, Some(old), None), origin, Vec::new())
    }

    fn proposed(&self, key: &ObjectId, old: Option<Value>, new: Option<Value>) -> ProposedChange {
        let user = User {
            name: self.arguments.for_user.clone().unwrap_or_default(),
            groups: self.arguments.for_group.clone(),
        };
        ProposedChange { key: key.clone(), old, new, part: Part::Main, user }
    }

    pub(super) fn terms(&self) -> JudgeContext<'_> {
        JudgeContext::of(&self.known, &self.configuration, self.now)
    }

    /// Judges a change; `found` are its findings so far.
    fn proposal(
        &mut self,
        proposal: &ProposedChange,
        origin: Option<Origin<'_>>,
        mut found: Vec<Finding>,
    ) -> Result<(), Failure> {
        let about = FindingSubject { key: &proposal.key, operation: proposal.operation(), origin };
        let invalid = |error: ReviewError| unreviewable(&error, &proposal.key.to_string());
        found.extend(of_api(proposal, &self.known, about));
        let judged = match judge_proposal(proposal, self.terms()) {
            Ok(judged) => judged,
            // An object that cannot be read is never stored.
            Err(_) if found.iter().any(|one| one.result == FindingResult::Api) => {
                self.collected.add(about, found);
                return Ok(());
            }
            Err(error) => return Err(invalid(error)),
        };
        found.extend(of_verdict(&judged, &self.known, about, Ruling::message));
        if self.known.is_input_alone() {
            unverified::doubt(proposal, &mut found);
        }
        let is_denied = |found: &[Finding]| found.iter().any(|one| one.result.is_denial());
        if !is_denied(&found) {
            found.extend(unverified::of_gaps(&self.known, about));
            found.extend(unverified::of_unseen(proposal, &self.known, about));
        }
        let ignorance = unverified::of_ignorance(proposal, &found, self.terms(), about);
        found.extend(ignorance.map_err(invalid)?);
        self.take_mutations(&judged, about);
        let is_stopped = is_denied(&found);
        self.collected.add(about, found);
        if is_stopped {
            return Ok(());
        }
        let taken = match judged.result {
            Some(object) => self.known.change(&proposal.key, object),
            None => self.known.delete(&proposal.key),
        };
        taken.map_err(|error| unreadable(&error))
    }

    pub(super) fn take_mutations(&mut self, judged: &JudgedChange, about: FindingSubject<'_>) {
        let entries = judged.mutations.iter().map(|mutation| MutationEntry {
            mutation: mutation.id,
            object: about.key.into(),
            patch: mutation.patch.clone(),
            warning: mutation.warning.clone(),
            place: about.origin.map(|origin| match origin.source {
                Some(source) => source.to_owned(),
                None => format!("{}:{}", origin.file, origin.node.at),
            }),
        });
        self.collected.mutations.extend(entries);
    }

    /// The report on all that was judged; of `others` objects there was nothing to judge.
    pub(super) fn report(self, others: usize) -> Report {
        let report = self.collected.report(&self.known, others);
        // The process ends: to free some 50,000 objects one by one would be a tenth of its time.
        std::mem::forget(self.known);
        report
    }
}

/// The object of a manifest, with the namespace that it would be sent to.
fn object_of(manifest: &Manifest) -> Value {
    let mut object = manifest.node.to_json();
    if manifest.key.kind.is_namespaced() {
        object["metadata"]["namespace"] = json!(manifest.key.namespace);
    }
    if let Author::StatefulSet(member) = &manifest.author {
        object["metadata"]["name"] = json!(manifest.key.name);
        for (key, value) in &member.set.labels {
            object["metadata"]["labels"][key] = value.clone();
        }
    }
    object
}

/// Returns where the object of a manifest came from.
fn origin(manifest: &Manifest) -> Origin<'_> {
    Origin { file: &manifest.file, source: manifest.source.as_deref(), node: &manifest.node }
}

/// Returns whether a tool keeps the object when its manifest is removed.
fn is_kept(object: &Value) -> bool {
    let annotation = |key: &str| object["metadata"]["annotations"][key].as_str();
    let argo = annotation("argocd.argoproj.io/sync-options").unwrap_or_default();
    argo.split(',').any(|option| option.trim() == "Prune=false")
        || annotation("kustomize.toolkit.fluxcd.io/prune") == Some("disabled")
        || annotation("helm.sh/resource-policy") == Some("keep")
}
