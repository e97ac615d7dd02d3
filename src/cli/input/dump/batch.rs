//! The objects of some items of a dump, read on one core.

use std::collections::BTreeSet;
use std::sync::Arc;

use arcstr::ArcStr;

use super::item::{DumpItem, DumpObject};
use super::new_object::{NewObject, key_of_new, stored};
use crate::api::volume::Wanted;
use crate::binding::{Collection, Observed};
use crate::cli::exit::Failure;
use crate::cli::input::listing::{CLAIM_USE, collection};
use crate::cli::input::metadata::NamedMetadata;
use crate::cli::input::object_id::{ObjectId, ObjectKind};
use crate::cli::input::text::error_reason;
use crate::client::resource::{Identity, ResourceKind};

/// An object that is kept as it is written: a pod, a node, an event.
#[derive(Clone, Debug)]
pub(in crate::cli) struct RawObject {
    /// Its kind.
    pub(in crate::cli) kind: Box<str>,
    /// Its JSON text.
    pub(in crate::cli) text: Box<str>,
    /// What identifies it.
    pub(in crate::cli) metadata: NamedMetadata,
}

/// What a dump is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ReadPurpose<'a> {
    /// What would bind: volumes, claims, classes and Pending pods.
    Plan,
    /// The same, and objects that an explanation reads.
    Explanation,
    /// What cannot come back without some nodes: the same as for a plan, all pods, all nodes, and what CSI
    /// drivers say of them and of their storage.
    NodeLoss,
    /// Hazards in existing objects: volumes with their storage, namespaces, nodes, and the claims that pods use.
    Verdicts,
    /// Manifests of these objects: the same, and what is stored under their names whole.
    Manifests(&'a BTreeSet<ObjectId>),
    /// Changes of existing objects: the same, and each object whole, as it is stored.
    Changes,
}

/// An object that cannot be read.
pub(super) struct UnreadableObject {
    pub(super) watched: ResourceKind,
    /// Which, and why.
    pub(super) text: String,
}

/// An object that was read.
pub(super) struct ReadObject {
    pub(super) observed: Observed,
    /// The object, if it is still to be applied.
    pub(super) manifest: Option<NewObject>,
}

/// What was read of some items, in their order.
pub(super) struct BatchResult {
    pub(super) read: Vec<Result<ReadObject, UnreadableObject>>,
    /// How many objects there are.
    pub(super) count: usize,
    pub(super) found: BTreeSet<Collection>,
    /// Namespaces of the objects: two are enough.
    pub(super) namespaces: BTreeSet<ArcStr>,
    pub(super) others: Vec<RawObject>,
}

pub(super) fn read_share(
    items: &[DumpItem<'_>],
    name: &str,
    purpose: ReadPurpose<'_>,
) -> Result<BatchResult, Failure> {
    let mut found = Vec::with_capacity(items.len());
    items.iter().try_for_each(|item| item.find(name, &mut found))?;
    let (mut read, mut others) = (Vec::with_capacity(found.len()), Vec::new());
    for found in &found {
        let one = read_one(found, name, purpose);
        if is_kept(found, purpose) {
            let observed = one.as_ref().and_then(|read| read.as_ref().ok());
            // For another purpose, one that is still to be applied was given a uid.
            let observed = observed.filter(|_| purpose == ReadPurpose::Changes);
            others.push(raw_object(found, observed.map(|read| &read.observed)));
        }
        read.extend(one);
    }
    Ok(BatchResult {
        count: found.iter().filter(|found| !found.kind.is_empty()).count(),
        found: found.iter().filter_map(|found| collection(&found.kind)).collect(),
        namespaces: namespaces(&read, &found),
        others,
        read,
    })
}

/// Returns whether the text of an object is kept.
fn is_kept(found: &DumpObject<'_>, purpose: ReadPurpose<'_>) -> bool {
    let is_evidence = matches!(&*found.kind, "Pod" | "Node" | CLAIM_USE);
    match purpose {
        ReadPurpose::Plan => false,
        ReadPurpose::Explanation => {
            watched(found).is_none_or(|watched| watched == ResourceKind::Pods)
        }
        ReadPurpose::NodeLoss => {
            matches!(&*found.kind, "Pod" | "Node" | "CSINode" | "CSIDriver" | "CSIStorageCapacity")
        }
        ReadPurpose::Verdicts => is_evidence || &*found.kind == "StatefulSet",
        ReadPurpose::Manifests(ids) => {
            let metadata = || NamedMetadata::of(found.text);
            let of_kind = |kind| Some((kind, metadata())).filter(|(_, one)| !one.uid.is_empty());
            let stored = ObjectKind::from_name(&found.kind).and_then(of_kind);
            is_evidence || stored.is_some_and(|(kind, one)| ids.contains(&ObjectId::of(kind, &one)))
        }
        ReadPurpose::Changes => is_evidence || collection(&found.kind).is_some(),
    }
}

/// An object that is kept, with its namespace; `observed` is what was read of it.
fn raw_object(found: &DumpObject<'_>, observed: Option<&Observed>) -> RawObject {
    let kind = (*found.kind).into();
    let known = observed.and_then(NamedMetadata::of_observed);
    let metadata = known.unwrap_or_else(|| NamedMetadata::of(found.text));
    let is_namespaced = collection(&found.kind).is_some_and(Collection::is_namespaced);
    let is_nowhere = is_namespaced && metadata.namespace.is_empty();
    match is_nowhere.then(|| found.in_default_namespace()).flatten() {
        Some(text) => RawObject { kind, metadata: NamedMetadata::of(&text), text: text.into() },
        None => RawObject { kind, metadata, text: found.text.into() },
    }
}

/// Namespaces of the objects: they show whether a list is of one namespace only.
fn namespaces(
    read: &[Result<ReadObject, UnreadableObject>],
    found: &[DumpObject<'_>],
) -> BTreeSet<ArcStr> {
    let of_read = read.iter().flatten().map(|one| Identity::of(&one.observed).1.namespace);
    let others = found.iter().filter(|found| watched(found).is_none());
    let of_others = others.map(|found| NamedMetadata::of(found.text).namespace);
    let mut namespaces = BTreeSet::new();
    for namespace in of_read.chain(of_others).filter(|namespace| !namespace.is_empty()) {
        namespaces.insert(namespace);
        if namespaces.len() > 1 {
            break;
        }
    }
    namespaces
}

/// Reads an object that a plan looks at.
fn read_one(
    found: &DumpObject<'_>,
    name: &str,
    purpose: ReadPurpose<'_>,
) -> Option<Result<ReadObject, UnreadableObject>> {
    let wanted = match purpose {
        ReadPurpose::Plan => Wanted::Labels,
        // The status of a Node, and the limits of a driver, name and count volumes by their storage.
        ReadPurpose::Explanation
        | ReadPurpose::NodeLoss
        | ReadPurpose::Verdicts
        | ReadPurpose::Manifests(_)
        | ReadPurpose::Changes => Wanted::Both,
    };
    let watched = watched(found)?;
    let read = watched.observed_for(wanted, found.text);
    let is_namespaced = matches!(watched, ResourceKind::Claims | ResourceKind::Pods);
    let is_nowhere = |read: &Observed| is_namespaced && Identity::of(read).1.namespace.is_empty();
    let read = match read.as_ref().is_ok_and(is_nowhere).then(|| found.in_default_namespace()) {
        Some(Some(text)) => watched.observed_for(wanted, &text),
        Some(None) | None => read,
    };
    let taken = |mut observed: Observed| {
        let mut manifest = None;
        // What changes is what is stored.
        if purpose != ReadPurpose::Changes {
            let key = key_of_new(&observed);
            manifest = key.map(|key| NewObject { key, text: found.text.into() });
            if let Observed::Claim(claim) = &mut observed {
                *claim = stored(Arc::clone(claim));
            }
        }
        // Most pods wait for nothing.
        if let Observed::Pod(pod) = &observed
            && pod.claims.is_empty()
        {
            observed = Observed::PodGone(pod.key.clone());
        }
        ReadObject { observed, manifest }
    };
    Some(read.map(taken).map_err(|error| {
        let reason = error_reason(&error);
        let text = format!("{name}: {} cannot be read: {reason}", label(found, purpose));
        UnreadableObject { watched, text }
    }))
}

/// Kind and name of an object in messages.
fn label(found: &DumpObject<'_>, purpose: ReadPurpose<'_>) -> String {
    let metadata = NamedMetadata::of(found.text);
    match ObjectKind::from_name(&found.kind) {
        Some(kind) if purpose == ReadPurpose::Changes => ObjectId::of(kind, &metadata).to_string(),
        _ => format!("{} {metadata}", found.kind),
    }
}

fn watched(found: &DumpObject<'_>) -> Option<ResourceKind> {
    ObjectKind::from_name(&found.kind)?.watched()
}
