//! `bindery check`: judges a change as the webhook would, before it is made.
//!
//! Files and the cluster are read here, and the result is written; what a change comes to is
//! decided by the same core as in the webhook (`judging`).

mod api;
mod findings;
pub(super) mod input;
mod judging;
mod known;
pub(super) mod live;
mod objects;
mod server;
mod sources;
mod templates;

pub(in crate::cli) use findings::About;
pub use judging::{Judged, Proposal, Terms, judge_proposal, judge_review};
pub use known::{Known, Reach, claim_key, namespace_key, volume_key};
pub use objects::{Kind, ObjectKey};
pub use server::{created, replaced};

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::findings::Origin;
use self::input::{Author, Depth, Input, Manifest, Review, Sources};
use self::live::Source;
use super::args::CheckArgs;
use super::baseline::Baseline;
use super::exit::{Exit, Failure};
use super::report::{self, EditEntry, Finding, JudgedObject, LiveSource, Outcome, Report, Summary};
use crate::config::Configuration;
use crate::k8s::review::ReviewError;
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
    run.judge_all(&head, &deletions)?;
    let now = run.now;
    let mut report = run.report(source, head.others);
    if let Some(baseline) = baseline {
        baseline.accept(&mut report, now);
    }
    report::write(&report, &arguments.report.output, report::colour(arguments.report.no_color))?;
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
            now: Timestamp::now(),
        })
    }

    fn judge_all(&mut self, head: &Input, deletions: &[ObjectKey]) -> Result<(), Failure> {
        for manifest in &head.manifests {
            match manifest.key.kind {
                Kind::Volume | Kind::Claim => self.manifest(manifest)?,
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
            let outlives = matches!(manifest.author, Author::StatefulSet(_));
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

    /// A manifest of the head: a creation, or an update of what is stored.
    fn manifest(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let (key, how) = (&manifest.key, self.arguments.apply);
        let object = object_of(manifest);
        let old = self.known.object(key).map(|old| server::stored(key.kind, old));
        if matches!(manifest.author, Author::StatefulSet(_)) && old.is_some() {
            // A set leaves a claim that it finds as it is.
            return Ok(());
        }
        let mut new = match &old {
            None => created(key.kind, &object, how),
            Some(old) if self.known.is_input_alone() => replaced(key.kind, old, &object),
            Some(old) => {
                let before = self.base.get(key).map(object_of);
                server::updated(key.kind, old, &object, before.as_ref(), how)
            }
        };
        if key.kind == Kind::Claim && old.is_none() {
            server::default_class(&mut new, &self.known.classes());
        }
        let mut proposal = self.proposed(key, old, Some(new));
        if matches!(manifest.author, Author::StatefulSet(_)) {
            proposal.user = templates::maker();
        }
        self.proposal(&proposal, Some(origin(manifest)))
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
        self.proposal(&self.proposed(key, Some(old), None), origin)
    }

    fn proposed(&self, key: &ObjectKey, old: Option<Value>, new: Option<Value>) -> Proposal {
        let user = User {
            name: self.arguments.for_user.clone().unwrap_or_default(),
            groups: self.arguments.for_group.clone(),
        };
        Proposal { key: key.clone(), old, new, part: Part::Main, user }
    }

    fn terms(&self) -> Terms<'_> {
        Terms { known: &self.known, configuration: &self.configuration, now: self.now }
    }

    fn proposal(&mut self, proposal: &Proposal, origin: Option<Origin<'_>>) -> Result<(), Failure> {
        let about = About { key: &proposal.key, operation: proposal.operation(), origin };
        let refused = |error: ReviewError| unreviewable(&error, &proposal.key.to_string());
        let judged = judge_proposal(proposal, self.terms()).map_err(refused)?;
        let mut found = findings::of_api(proposal, &self.known, about);
        found.extend(findings::of_verdict(&judged, &self.known, about));
        if self.known.is_input_alone() {
            findings::doubt(proposal, &mut found);
        }
        let ignorance = findings::of_ignorance(proposal, &found, self.terms(), about);
        found.extend(ignorance.map_err(refused)?);
        self.take_edits(&judged, about);
        let is_refused =
            found.iter().any(|finding| matches!(finding.result, Outcome::Denied | Outcome::Api));
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

    /// A review of the input, judged as it stands.
    fn review(&mut self, review: &Review) -> Result<(), Failure> {
        let mut body = review.node.to_json();
        if let (Some(user), Some(request)) =
            (&self.arguments.for_user, body["request"].as_object_mut())
        {
            let groups = &self.arguments.for_group;
            request.insert("userInfo".to_owned(), json!({"username": user, "groups": groups}));
        }
        let request = &body["request"];
        let text = |field: &str| text_of(&request[field]);
        let resource = text_of(&request["resource"]["resource"]);
        let mut name = text("name");
        for field in ["object", "oldObject"] {
            if name.is_empty() {
                let given = request.pointer(&format!("/{field}/metadata/name"));
                given.and_then(Value::as_str).unwrap_or_default().clone_into(&mut name);
            }
        }
        let key = match resource.as_str() {
            "persistentvolumes" => volume_key(&name),
            "namespaces" => namespace_key(&name),
            _ => claim_key(&text("namespace"), &name),
        };
        let operation = match text("operation").as_str() {
            "CREATE" => "CREATE",
            "DELETE" => "DELETE",
            _ => "UPDATE",
        };
        let place = format!("{}:{}", review.file, review.node.at);
        let refused = |error: ReviewError| {
            let fields = ["object", "oldObject"].into_iter();
            let objects = fields.filter_map(|field| review.node.get("request")?.get(field));
            let mut wrong = objects.filter_map(|object| input::wrong_field(key.kind, object));
            match (&error, wrong.next()) {
                (ReviewError::Object { .. }, Some((at, reason))) => {
                    Failure::usage(format!("{}:{at}: {reason}; correct the field", review.file))
                }
                _ => unreviewable(&error, &place),
            }
        };
        let judged = judge_review(body.to_string().into_bytes(), self.terms()).map_err(refused)?;
        let request = review.node.get("request");
        let object = |field| request.and_then(|request| request.get(field));
        let node = object("object").filter(|object| !object.entries().is_empty());
        let node = node.or_else(|| object("oldObject")).unwrap_or(&review.node);
        let origin = Origin { file: &review.file, source: None, node };
        let about = About { key: &key, operation, origin: Some(origin) };
        self.take_edits(&judged, about);
        self.add(about, findings::of_verdict(&judged, &self.known, about));
        Ok(())
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

    fn report(self, source: Option<Source>, others: usize) -> Report {
        Report {
            api_version: super::API_VERSION,
            kind: "Report",
            live: source
                .map(|source| LiveSource { source: source.name, age: source.age.as_secs() }),
            findings: self.findings,
            edits: self.edits,
            summary: self.summary,
            notes: Vec::new(),
            objects: self.objects,
            others,
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The object of a manifest, with the namespace that it would be sent to.
fn object_of(manifest: &Manifest) -> Value {
    let mut object = manifest.node.to_json();
    if manifest.key.kind.is_namespaced() {
        object["metadata"]["namespace"] = json!(manifest.key.namespace);
    }
    if let Author::StatefulSet(labels) = &manifest.author {
        object["metadata"]["name"] = json!(manifest.key.name);
        for (key, value) in labels.iter() {
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

/// A review that cannot be read, told without the place in text that nobody sees.
fn unreviewable(error: &ReviewError, place: &str) -> Failure {
    let text = match error {
        ReviewError::Object { field, error } => {
            format!("{field} cannot be read: {}", input::told(error))
        }
        ReviewError::Unreadable(_)
        | ReviewError::OtherKind { .. }
        | ReviewError::NoRequest
        | ReviewError::NoUid
        | ReviewError::LongUid(_)
        | ReviewError::TooDeep
        | ReviewError::Text { .. }
        | ReviewError::OtherResource(_)
        | ReviewError::OtherSubresource(_)
        | ReviewError::OtherOperation(_)
        | ReviewError::Missing { .. } => {
            let text = error.to_string();
            text.split(" at line 1 column").next().unwrap_or(&text).to_owned()
        }
    };
    Failure::usage(format!("{place}: {text}; correct the input"))
}

fn exit(summary: &Summary, arguments: &CheckArgs) -> Exit {
    if summary.objects == 0 && arguments.require_match {
        return Exit::Refused;
    }
    summary.exit(&arguments.report.fail_on)
}
