//! `bindery check`: judges a change as the webhook would, before it is made.
//!
//! Files and the cluster are read here, and the result is written; what a change comes to is
//! decided by the same core as in the webhook (`judging`).

mod api;
mod creation;
mod findings;
mod foreign;
pub(super) mod input;
mod judging;
mod known;
pub(super) mod live;
mod objects;
mod proposed;
mod review;
mod sets;
mod sources;
mod templates;

pub(in crate::cli) use creation::{Write, write};
pub(in crate::cli) use findings::About;
pub use judging::{Judged, Proposal, Terms, judge_proposal, judge_review};
pub use known::{Known, Reach, claim_key, namespace_key, volume_key};
pub use objects::{Kind, ObjectKey};
pub use proposed::{created, replaced};
pub(in crate::cli) use proposed::{stored, updated};

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::findings::Origin;
use self::input::{Author, Depth, Input, Manifest, Sources};
use self::live::Source;
use self::review::unreviewable;
use super::args::CheckArgs;
use super::baseline::Baseline;
use super::exit::{Exit, Failure};
use super::listing::lacks;
use super::output::Colour;
use super::report::{self, EditEntry, Finding, JudgedObject, LiveSource, Outcome, Report, Summary};
use crate::api::review::ReviewError;
use crate::api::server::claim::default_class;
use crate::config::Configuration;
use crate::rules::{Part, User};

/// Runs the command.
pub fn run(arguments: &CheckArgs) -> Result<Exit, Failure> {
    refuse_contradictions(arguments)?;
    let configuration = super::configuration(arguments.report.config.as_deref())?;
    let baseline = arguments.report.baseline.as_deref().map(Baseline::read).transpose()?;
    let sources = |paths| Sources {
        paths,
        depth: if arguments.recursive { Depth::Tree } else { Depth::Folder },
        namespace: &arguments.namespace,
    };
    let head = input::read(sources(&arguments.filename))?;
    let base = input::read(sources(&arguments.old))?;
    let deletions = deletions(arguments)?;
    let (known, source) = live::read(&arguments.live, &arguments.cluster, arguments.max_age)?;
    let mut run = Run::new(arguments, configuration, known, &head, base)?;
    run.source = source;
    run.judge_all(&head, &deletions)?;
    let now = run.now;
    let mut report = run.report(head.others);
    if let Some(baseline) = baseline {
        baseline.accept(&mut report, now);
    }
    report::write(
        &report,
        &arguments.report.output,
        Colour::of_standard_output(arguments.report.no_color),
    )?;
    Ok(exit(&report.summary, arguments))
}

fn refuse_contradictions(arguments: &CheckArgs) -> Result<(), Failure> {
    let given = [&arguments.filename, &arguments.old, &arguments.live];
    if arguments.filename.is_empty() && arguments.old.is_empty() && arguments.delete.is_empty() {
        return Err(Failure::usage(
            "nothing to check; give manifests with -f, or an object with --delete",
        ));
    }
    let inputs = given.iter().flat_map(|paths| paths.iter());
    if inputs.filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage(
            "standard input is named twice; it can be read once, use a file",
        ));
    }
    report::refuse_collisions(&arguments.report.output)
}

fn deletions(arguments: &CheckArgs) -> Result<Vec<ObjectKey>, Failure> {
    let parse = |text: &String| {
        ObjectKey::parse(text, &arguments.namespace).ok_or_else(|| {
            Failure::usage(format!(
                "--delete {text}: names no object; write pv/NAME, pvc/NAMESPACE/NAME or ns/NAME"
            ))
        })
    };
    arguments.delete.iter().map(parse).collect()
}

/// One run over all input.
struct Run<'a> {
    arguments: &'a CheckArgs,
    configuration: Configuration,
    known: Known,
    base: BTreeMap<ObjectKey, Manifest>,
    findings: Vec<Finding>,
    edits: Vec<EditEntry>,
    summary: Summary,
    objects: Vec<JudgedObject>,
    /// Where stored objects came from.
    source: Option<Source>,
    now: Timestamp,
}

impl<'a> Run<'a> {
    fn new(
        arguments: &'a CheckArgs,
        configuration: Configuration,
        mut known: Known,
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
            findings: Vec::new(),
            edits: Vec::new(),
            summary: Summary::default(),
            objects: Vec::new(),
            source: None,
            now: Timestamp::now(),
        })
    }

    fn judge_all(&mut self, head: &Input, deletions: &[ObjectKey]) -> Result<(), Failure> {
        for manifest in &head.manifests {
            match manifest.key.kind {
                Kind::Volume | Kind::Claim => self.manifest(manifest)?,
                Kind::Namespace if self.is_about_namespace(manifest)? => self.manifest(manifest)?,
                Kind::Class | Kind::Namespace => {
                    let object = manifest.node.to_json();
                    self.known.change(&manifest.key, object).map_err(|error| unreadable(&error))?;
                }
                Kind::Pod | Kind::Node => {}
            }
        }
        let gone: Vec<Manifest> = self.base.values().cloned().collect();
        for manifest in gone {
            let stays = head.manifests.iter().any(|other| other.key == manifest.key);
            let outlives = match &manifest.author {
                Author::Applier => false,
                Author::StatefulSet(member) => sets::outlives(&member.set, head),
            };
            if !stays && !outlives && !is_kept(&manifest.node.to_json()) {
                let origin = origin(&manifest);
                match manifest.key.kind {
                    Kind::Volume | Kind::Claim | Kind::Namespace => {
                        self.deletion(&manifest.key, Some(origin))?;
                    }
                    Kind::Class | Kind::Pod | Kind::Node => {
                        self.known.delete(&manifest.key).map_err(|error| unreadable(&error))?;
                    }
                }
            }
        }
        for key in deletions {
            self.deletion(key, None)?;
        }
        head.reviews.iter().try_for_each(|review| self.review(review))
    }

    /// Whether a rule has anything to say of a Namespace; of most, none has, and they are not storage.
    fn is_about_namespace(&mut self, manifest: &Manifest) -> Result<bool, Failure> {
        self.known.see_namespace(&manifest.key)?;
        let proposal = self.of_manifest(manifest);
        let judged = judge_proposal(&proposal, self.terms())
            .map_err(|error| unreviewable(&error, &proposal.key.to_string()))?;
        Ok(!judged.verdict.rulings.is_empty())
    }

    /// A manifest of the head: a creation, or an update of what is stored.
    fn manifest(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let key = &manifest.key;
        let mut proposal = self.of_manifest(manifest);
        if let (Author::StatefulSet(member), Some(old)) = (&manifest.author, &proposal.old) {
            // A set leaves a claim that it finds as it is.
            let about = About { key, operation: "UPDATE", origin: Some(origin(manifest)) };
            let found = sets::retention(member, old, self.terms(), about);
            if let Some(found) = found {
                self.add(about, vec![found]);
            }
            return Ok(());
        }
        let mut of_set = Vec::new();
        if let (Author::StatefulSet(member), Some(new)) = (&manifest.author, &proposal.new) {
            let about = About { key, operation: "CREATE", origin: Some(origin(manifest)) };
            of_set = sets::of_template(member, new, self.terms(), about);
            proposal.user = templates::maker();
        }
        self.proposal(&proposal, Some(origin(manifest)), of_set)
    }

    /// What a manifest of the head would make of what is stored.
    fn of_manifest(&self, manifest: &Manifest) -> Proposal {
        let (key, how) = (&manifest.key, self.arguments.apply);
        let object = object_of(manifest);
        let old = self.known.object(key).map(|old| stored(key.kind, old));
        let mut new = match &old {
            None => created(key.kind, &object, how),
            Some(old) if self.known.is_input_alone() => replaced(key.kind, old, &object),
            Some(old) => {
                let before = self.base.get(key).map(object_of);
                updated(key.kind, old, &object, before.as_ref(), how)
            }
        };
        if key.kind == Kind::Claim && old.is_none() {
            default_class(&mut new, self.known.classes());
        }
        self.proposed(key, old, Some(new))
    }

    fn deletion(&mut self, key: &ObjectKey, origin: Option<Origin<'_>>) -> Result<(), Failure> {
        let old = match self.known.object(key) {
            Some(old) => old.clone(),
            // Of what nobody has shown, the name is known.
            None if self.known.may_have(key) => json!({"metadata": {"name": key.name}}),
            None if origin.is_some() => return Ok(()),
            None => {
                let about = About { key, operation: "DELETE", origin };
                let message = format!(
                    "{key} does not exist; the API server answers 404; correct the name or leave \
                     it out"
                );
                self.add(about, vec![about.finding(Outcome::Api, None, message)]);
                return Ok(());
            }
        };
        self.proposal(&self.proposed(key, Some(old), None), origin, Vec::new())
    }

    fn proposed(&self, key: &ObjectKey, old: Option<Value>, new: Option<Value>) -> Proposal {
        let user = User {
            name: self.arguments.for_user.clone().unwrap_or_default(),
            groups: self.arguments.for_group.clone(),
        };
        Proposal { key: key.clone(), old, new, part: Part::Main, user }
    }

    fn terms(&self) -> Terms<'_> {
        Terms::of(&self.known, &self.configuration, self.now)
    }

    /// Judges a change; `found` is what is known against it already.
    fn proposal(
        &mut self,
        proposal: &Proposal,
        origin: Option<Origin<'_>>,
        mut found: Vec<Finding>,
    ) -> Result<(), Failure> {
        let about = About { key: &proposal.key, operation: proposal.operation(), origin };
        let refused = |error: ReviewError| unreviewable(&error, &proposal.key.to_string());
        found.extend(findings::of_api(proposal, &self.known, about));
        let judged = match judge_proposal(proposal, self.terms()) {
            Ok(judged) => judged,
            // What cannot be read is never stored.
            Err(_) if found.iter().any(|one| one.result == Outcome::Api) => {
                self.add(about, found);
                return Ok(());
            }
            Err(error) => return Err(refused(error)),
        };
        found.extend(findings::of_verdict(&judged, &self.known, about));
        if self.known.is_input_alone() {
            findings::doubt(proposal, &mut found);
        }
        let is_denied = |found: &[Finding]| {
            let is_denial = |one: &Finding| matches!(one.result, Outcome::Denied | Outcome::Api);
            found.iter().any(is_denial)
        };
        if !is_denied(&found) {
            found.extend(findings::of_gaps(&self.known, self.live_name(), about));
        }
        let ignorance = findings::of_ignorance(proposal, &found, self.terms(), about);
        found.extend(ignorance.map_err(refused)?);
        self.take_edits(&judged, about);
        let is_refused = is_denied(&found);
        self.add(about, found);
        if is_refused {
            return Ok(());
        }
        let taken = match judged.result {
            Some(object) => self.known.change(&proposal.key, object),
            None => self.known.delete(&proposal.key),
        };
        taken.map_err(|error| unreadable(&error))
    }

    fn take_edits(&mut self, judged: &Judged, about: About<'_>) {
        let entries = judged.edits.iter().map(|edit| EditEntry {
            edit: edit.id,
            kind: about.key.kind.name(),
            namespace: about.key.kind.is_namespaced().then(|| about.key.namespace.clone()),
            name: about.key.name.clone(),
            patch: edit.patch.clone(),
            warning: edit.warning.clone(),
            place: about.origin.map(|origin| match origin.source {
                Some(source) => source.to_owned(),
                None => format!("{}:{}", origin.file, origin.node.at),
            }),
        });
        self.edits.extend(entries);
    }

    /// Counts one object and keeps what is said about it.
    fn add(&mut self, about: About<'_>, found: Vec<Finding>) {
        let gravest = found.iter().map(|finding| finding.result).max();
        self.summary.count(gravest.unwrap_or(Outcome::Clean));
        let first = self.findings.len();
        self.objects.push(JudgedObject {
            kind: about.key.kind.name(),
            namespace: about.key.kind.is_namespaced().then(|| about.key.namespace.clone()),
            name: about.key.name.clone(),
            operation: about.operation,
            file: about.origin.map(|origin| origin.source.unwrap_or(origin.file).to_owned()),
            findings: first..first + found.len(),
        });
        self.findings.extend(found);
    }

    /// What messages call the stored objects.
    fn live_name(&self) -> &str {
        self.source.as_ref().map_or("the input", |source| &source.name)
    }

    /// What of the stored objects was wanted and is not there.
    fn notes(&self) -> Vec<String> {
        let wanted = self.known.wanted();
        let source = self.source.as_ref().filter(|_| !wanted.is_empty());
        let note = source.map(|source| {
            let lacks = lacks(&source.name, &self.known.listed, &wanted);
            format!("what rests on what was not seen is unverified: {lacks}")
        });
        note.into_iter().collect()
    }

    fn report(self, others: usize) -> Report {
        Report {
            api_version: super::API_VERSION,
            kind: "Report",
            notes: self.notes(),
            live: self
                .source
                .map(|source| LiveSource { source: source.name, age: source.age.as_secs() }),
            findings: self.findings,
            edits: self.edits,
            summary: self.summary,
            objects: self.objects,
            others,
        }
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

/// Where the object of a manifest came from.
fn origin(manifest: &Manifest) -> Origin<'_> {
    Origin { file: &manifest.file, source: manifest.source.as_deref(), node: &manifest.node }
}

/// Whether a tool would leave the object alone when its manifest goes.
fn is_kept(object: &Value) -> bool {
    let annotation = |key: &str| object["metadata"]["annotations"][key].as_str();
    let argo = annotation("argocd.argoproj.io/sync-options").unwrap_or_default();
    argo.split(',').any(|option| option.trim() == "Prune=false")
        || annotation("kustomize.toolkit.fluxcd.io/prune") == Some("disabled")
        || annotation("helm.sh/resource-policy") == Some("keep")
}

fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::usage(format!("an object cannot be read: {error}; correct the manifest"))
}

fn exit(summary: &Summary, arguments: &CheckArgs) -> Exit {
    if summary.objects == 0 && arguments.require_match {
        return Exit::Refused;
    }
    summary.exit(&arguments.report.fail_on)
}
