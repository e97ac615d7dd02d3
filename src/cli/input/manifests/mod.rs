//! Manifests from files, folders and standard input, each with its place.
//!
//! A file that cannot be read is an error with file, line and column before anything is judged: a
//! pipeline must not take a partial answer for a complete one.

pub(in crate::cli) mod field;
mod folder;
mod rendered;
pub(in crate::cli) mod stateful_set;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::field::wrong_field;
use self::stateful_set::{STATEFUL_SET, SetMember, StatefulSet, TemplatedClaim};
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cli::input::object_id::{ObjectId, ObjectKind};
use crate::cli::input::text::{name_of, read_text};
use crate::cli::output::{eprint_line, one_line};
use crate::document::{self, Position, Shape, TreeNode, UnreadableError};
use crate::telemetry::logging;

/// A storage object of the input.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Manifest {
    /// Which object it is.
    pub key: ObjectId,
    /// The name of its file.
    pub file: Arc<str>,
    /// The file that it was rendered from, where a tool says so.
    pub source: Option<Arc<str>>,
    /// The object with its places.
    pub node: TreeNode,
    /// Who creates it in the cluster.
    pub author: Author,
}

/// The author of an object.
#[derive(Clone, Debug)]
pub(in crate::cli) enum Author {
    /// The user who applies the manifest.
    Applier,
    /// The controller of `StatefulSet`s; the manifest is a template.
    StatefulSet(SetMember),
}

/// An AdmissionReview of the input.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ReviewManifest {
    /// The name of its file.
    pub file: Arc<str>,
    /// The review with its places.
    pub node: TreeNode,
}

/// What was read.
#[derive(Debug, Default)]
pub(in crate::cli) struct Input {
    /// Storage objects, in order.
    pub manifests: Vec<Manifest>,
    /// `StatefulSet`s by namespace and name.
    pub sets: BTreeMap<(String, String), Arc<StatefulSet>>,
    /// Reviews, in order.
    pub reviews: Vec<ReviewManifest>,
    /// How many objects of other kinds there were.
    pub others: usize,
}

/// Where to read from.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Sources<'a> {
    /// Files, folders, and `-` for standard input.
    pub paths: &'a [PathBuf],
    /// Whether folders below folders are read too.
    pub depth: Depth,
    /// The namespace of claims that name none.
    pub namespace: &'a str,
}

/// How far folders are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Depth {
    /// The files of a folder.
    Folder,
    /// And those of every folder below.
    Tree,
}

/// Reads everything; each object may be given once.
pub(in crate::cli) fn read(sources: Sources<'_>) -> Result<Input, Failure> {
    let mut reader = Reader { input: Input::default(), namespace: sources.namespace };
    let mut foreign = Vec::new();
    for path in sources.paths {
        if path.is_dir() && path.as_os_str() != "-" {
            for file in expand(path, sources.depth)? {
                let name = file.display().to_string();
                if !reader.found(&files::read(&file)?, &name)? {
                    foreign.push(name);
                }
            }
        } else {
            reader.named(&read_text(path)?, &name_of(path))?;
        }
    }
    if let Some(note) = folder::note(&foreign) {
        eprint_line(&one_line(&note));
    }
    reject_duplicates(&reader.input.manifests)?;
    prefer_authors(&mut reader.input.manifests);
    Ok(reader.input)
}

/// The files of the folder at `path`, in order of their names.
fn expand(path: &Path, depth: Depth) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| {
        let (path, reason) = (path.display(), logging::cause(&error));
        Failure::usage(format!("{path}: cannot be listed: {reason}; check the path"))
    };
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if entry.is_dir() && depth == Depth::Tree {
            found.extend(expand(&entry, depth)?);
        } else if entry.is_file() && is_manifest(&entry) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// kubectl reads these from a folder and nothing else.
fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// Removes claims of templates that a manifest gives: a StatefulSet uses existing claims.
fn prefer_authors(manifests: &mut Vec<Manifest>) {
    let is_template = |manifest: &Manifest| matches!(manifest.author, Author::StatefulSet(_));
    let written = manifests.iter().filter(|manifest| !is_template(manifest));
    let written: BTreeSet<ObjectId> = written.map(|manifest| manifest.key.clone()).collect();
    manifests.retain(|manifest| !is_template(manifest) || !written.contains(&manifest.key));
}

fn reject_duplicates(manifests: &[Manifest]) -> Result<(), Failure> {
    let mut seen: BTreeMap<&ObjectId, &Manifest> = BTreeMap::new();
    let written = manifests.iter().filter(|manifest| matches!(manifest.author, Author::Applier));
    for manifest in written {
        if let Some(first) = seen.insert(&manifest.key, manifest) {
            return Err(Failure::usage(format!(
                "{}:{}: {} is given twice, first at {}:{}; remove one",
                manifest.file, manifest.node.at, manifest.key, first.file, first.node.at
            )));
        }
    }
    Ok(())
}

fn unreadable(file: &str, error: &UnreadableError) -> Failure {
    Failure::usage(format!("{file}:{}: {}; correct the file", error.at, error.reason))
}

/// Where an object comes from.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Arc<str>,
    /// What it was rendered from.
    source: Option<&'a Arc<str>>,
}

struct Reader<'a> {
    input: Input,
    namespace: &'a str,
}

impl Reader<'_> {
    /// Takes a file that was named: it holds an object.
    fn named(&mut self, text: &str, file: &str) -> Result<(), Failure> {
        let documents = document::read(text).map_err(|error| unreadable(file, &error))?;
        if documents.is_empty() {
            return Err(Failure::usage(format!(
                "{file} holds no Kubernetes object; give a manifest with apiVersion and kind"
            )));
        }
        self.documents(text, file, documents)
    }

    /// Takes a file that was found in a folder; false if it holds no object.
    fn found(&mut self, text: &str, file: &str) -> Result<bool, Failure> {
        let documents = match document::read(text) {
            Ok(documents) if folder::holds_object(&documents) => documents,
            Err(error) if folder::may_hold_object(text) => return Err(unreadable(file, &error)),
            Ok(_) | Err(_) => return Ok(false),
        };
        self.documents(text, file, documents).map(|()| true)
    }

    fn documents(
        &mut self,
        text: &str,
        file: &str,
        documents: Vec<TreeNode>,
    ) -> Result<(), Failure> {
        let file = Arc::from(file);
        documents.into_iter().try_for_each(|node| {
            let source = rendered::of_helm(text, &node).map(Arc::from);
            self.object(node, Place { file: &file, source: source.as_ref() }, None)
        })
    }

    /// Takes one object; `of_list` is the kind of the items of a typed list.
    fn object(
        &mut self,
        node: TreeNode,
        place: Place<'_>,
        of_list: Option<&str>,
    ) -> Result<(), Failure> {
        let file = place.file;
        let invalid = |at: Position, text: &str| Failure::usage(format!("{file}:{at}: {text}"));
        if !matches!(node.shape, Shape::Map(_)) {
            let text = format!("expected an object, got {}; correct the file", node.kind());
            return Err(invalid(node.at, &text));
        }
        let kind = node.get("kind").and_then(TreeNode::text).or(of_list);
        let Some(kind) = kind.map(str::to_owned) else {
            return Err(invalid(node.at, "the object has no kind; add apiVersion and kind"));
        };
        if kind == "AdmissionReview" {
            self.input.reviews.push(ReviewManifest { file: Arc::clone(file), node });
            return Ok(());
        }
        if let (Some(of_items), Some(items)) = (kind.strip_suffix("List"), node.get("items")) {
            let of_items = (!of_items.is_empty()).then_some(of_items);
            let mut items = items.items().to_vec().into_iter();
            return items.try_for_each(|item| self.object(item, place, of_items));
        }
        if kind == STATEFUL_SET {
            return self.stateful_set(&node, place);
        }
        let version = node.get("apiVersion");
        let is_of_group = |kind: &ObjectKind| {
            version.and_then(TreeNode::text).is_none_or(|version| kind.is_of_group(version))
        };
        let known = ObjectKind::from_name(&kind).filter(is_of_group);
        // Pods are read from dumps only.
        let Some(kind) = known.filter(|kind| *kind != ObjectKind::Pod) else {
            self.input.others += 1;
            return Ok(());
        };
        if version.is_some_and(|version| version.text() != Some(kind.version())) {
            let text = format!(
                "{} is judged in apiVersion {} only; correct apiVersion",
                kind.name(),
                kind.version()
            );
            return Err(invalid(node.place_of("apiVersion"), &text));
        }
        let manifest = self.manifest(kind, node, place)?;
        self.input.manifests.push(manifest);
        Ok(())
    }

    /// Takes the claims that a set stands for.
    fn stateful_set(&mut self, node: &TreeNode, place: Place<'_>) -> Result<(), Failure> {
        let metadata = node.get("metadata");
        let namespace = metadata.and_then(|metadata| metadata.get("namespace"));
        let namespace = namespace.and_then(TreeNode::text).filter(|name| !name.is_empty());
        let claims = stateful_set::claims(node, namespace.unwrap_or(self.namespace));
        let invalid =
            |(at, text): (Position, String)| Failure::usage(format!("{}:{at}: {text}", place.file));
        let (set, claims) = claims.map_err(invalid)?;
        self.input.sets.insert(set.key.clone(), set);
        for TemplatedClaim { key, node, member } in claims {
            if let Some((at, reason)) = wrong_field(ObjectKind::Claim, &node) {
                return Err(invalid((at, format!("{reason}; correct the field"))));
            }
            let (file, source) = (Arc::clone(place.file), place.source.cloned());
            let author = Author::StatefulSet(member);
            self.input.manifests.push(Manifest { key, file, source, node, author });
        }
        self.input.others += 1;
        Ok(())
    }

    fn manifest(
        &self,
        kind: ObjectKind,
        node: TreeNode,
        place: Place<'_>,
    ) -> Result<Manifest, Failure> {
        let file = place.file;
        if let Some((at, reason)) = wrong_field(kind, &node) {
            return Err(Failure::usage(format!("{file}:{at}: {reason}; correct the field")));
        }
        let metadata = |key| node.get("metadata").and_then(|metadata| metadata.get(key));
        let filled = |key| metadata(key).and_then(TreeNode::text).filter(|text| !text.is_empty());
        let Some(name) = filled("name").or_else(|| filled("generateName")) else {
            let at = node.place_of("metadata");
            let kind = kind.name();
            return Err(Failure::usage(format!(
                "{file}:{at}: the {kind} has no name; add metadata.name"
            )));
        };
        let namespace = if kind.is_namespaced() {
            filled("namespace").unwrap_or(self.namespace).to_owned()
        } else {
            String::new()
        };
        let key = ObjectId { kind, namespace, name: name.to_owned() };
        let source = rendered::of_kustomize(&node).map(Arc::from).or(place.source.cloned());
        Ok(Manifest { key, file: Arc::clone(file), source, node, author: Author::Applier })
    }
}
