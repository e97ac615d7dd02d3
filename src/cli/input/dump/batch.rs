//! The objects of some items of a dump, read on one core.

use std::collections::BTreeSet;

use arcstr::ArcStr;

use super::item::{DumpItem, DumpObject, NamedMetadata};
use super::new_object::{NewObject, key_of_new, stored};
use crate::api::volume::Wanted;
use crate::binding::{Collection, Observed};
use crate::cli::exit::Failure;
use crate::cli::input::listing::{CLAIM_USE, collection};
use crate::cli::input::object_id::{ObjectId, ObjectKind};
use crate::cli::input::text::error_reason;
use crate::client::resource::ResourceKind;

/// An object that is kept as it is written: a pod, a node, an event.
#[derive(Clone, Debug)]
pub(in crate::cli) struct RawObject {
    /// Its kind.
    pub(in crate::cli) kind: Box<str>,
    /// Its JSON text.
    pub(in crate::cli) text: Box<str>,
}

/// What a dump is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ReadPurpose {
    /// What would bind: volumes, claims, classes and Pending pods.
    Plan,
    /// The same, and objects that an explanation reads.
    Explanation,
    /// Hazards in existing objects: volumes with their storage, namespaces, nodes, and the claims that pods use.
    Verdicts,
    /// Changes of existing objects: the same, and each object whole, as it is stored.
    Changes,
}

/// The namespace of a namespaced object: it shows whether a dump is of one namespace only.
pub(super) fn namespace_of(observed: &Observed) -> Option<&ArcStr> {
    match observed {
        Observed::Claim(claim) => Some(&claim.key.namespace),
        Observed::Pod(pod) => Some(&pod.key.namespace),
        Observed::PodGone(key) => Some(&key.namespace),
        Observed::Volume(_)
        | Observed::Class(_)
        | Observed::Namespace(_)
        | Observed::VolumeGone(_)
        | Observed::ClaimGone(_)
        | Observed::ClassGone(_)
        | Observed::NamespaceGone(_) => None,
    }
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
    /// Namespaces of objects that are not looked at: two are enough.
    pub(super) namespaces: BTreeSet<ArcStr>,
    pub(super) others: Vec<RawObject>,
}

pub(super) fn read_share(
    items: &[DumpItem<'_>],
    name: &str,
    purpose: ReadPurpose,
) -> Result<BatchResult, Failure> {
    let mut found = Vec::with_capacity(items.len());
    items.iter().try_for_each(|item| item.find(name, &mut found))?;
    let is_kept = |found: &&DumpObject<'_>| match purpose {
        ReadPurpose::Plan => false,
        ReadPurpose::Explanation => {
            watched(found).is_none_or(|watched| watched == ResourceKind::Pods)
        }
        ReadPurpose::Verdicts => matches!(&*found.kind, "Pod" | "Node" | CLAIM_USE),
        ReadPurpose::Changes => collection(&found.kind).is_some() || found.kind == CLAIM_USE,
    };
    let kept = found.iter().filter(is_kept);
    Ok(BatchResult {
        read: found.iter().filter_map(|found| read_one(found, name, purpose)).collect(),
        count: found.iter().filter(|found| !found.kind.is_empty()).count(),
        found: found.iter().filter_map(|found| collection(&found.kind)).collect(),
        namespaces: namespaces_of_others(&found),
        others: kept
            .map(|found| RawObject { kind: (*found.kind).into(), text: text_of(found) })
            .collect(),
    })
}

/// The text of an object that is kept, with its namespace.
fn text_of(found: &DumpObject<'_>) -> Box<str> {
    let is_namespaced = collection(&found.kind).is_some_and(Collection::is_namespaced);
    let is_nowhere = is_namespaced && NamedMetadata::of(found.text).namespace.is_empty();
    let text = is_nowhere.then(|| found.in_default_namespace()).flatten();
    text.map_or_else(|| found.text.into(), Into::into)
}

fn namespaces_of_others(found: &[DumpObject<'_>]) -> BTreeSet<ArcStr> {
    let mut namespaces = BTreeSet::new();
    for found in found.iter().filter(|found| watched(found).is_none()) {
        let namespace = NamedMetadata::of(found.text).namespace;
        namespaces.extend(Some(namespace).filter(|namespace| !namespace.is_empty()));
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
    purpose: ReadPurpose,
) -> Option<Result<ReadObject, UnreadableObject>> {
    let wanted = match purpose {
        ReadPurpose::Plan | ReadPurpose::Explanation => Wanted::Labels,
        ReadPurpose::Verdicts | ReadPurpose::Changes => Wanted::Both,
    };
    let watched = watched(found)?;
    let read = watched.observed_for(wanted, found.text);
    let is_nowhere = |observed| namespace_of(observed).is_some_and(ArcStr::is_empty);
    let read = match read.as_ref().is_ok_and(is_nowhere).then(|| found.in_default_namespace()) {
        Some(Some(text)) => watched.observed_for(wanted, &text),
        Some(None) | None => read,
    };
    // A manifest is a change of its own: what is changed is what is stored.
    let has_manifests = purpose != ReadPurpose::Changes;
    let taken = |observed| {
        let key = key_of_new(&observed).filter(|_| has_manifests);
        let manifest = key.map(|key| NewObject { key, text: found.text.into() });
        let observed = match observed {
            Observed::Claim(claim) if has_manifests => Observed::Claim(stored(claim)),
            // Most pods wait for nothing.
            Observed::Pod(pod) if pod.claims.is_empty() => Observed::PodGone(pod.key.clone()),
            observed @ (Observed::Volume(_)
            | Observed::Claim(_)
            | Observed::Class(_)
            | Observed::Pod(_)
            | Observed::Namespace(_)
            | Observed::VolumeGone(_)
            | Observed::ClaimGone(_)
            | Observed::ClassGone(_)
            | Observed::PodGone(_)
            | Observed::NamespaceGone(_)) => observed,
        };
        ReadObject { observed, manifest }
    };
    Some(read.map(taken).map_err(|error| {
        let reason = error_reason(&error);
        let text = format!("{name}: {} cannot be read: {reason}", label(found, purpose));
        UnreadableObject { watched, text }
    }))
}

/// Kind and name of an object in messages.
fn label(found: &DumpObject<'_>, purpose: ReadPurpose) -> String {
    let metadata = NamedMetadata::of(found.text);
    match ObjectKind::from_name(&found.kind) {
        Some(kind) if purpose == ReadPurpose::Changes => ObjectId::of(kind, &metadata).to_string(),
        _ => format!("{} {metadata}", found.kind),
    }
}

pub(in crate::cli) fn watched(found: &DumpObject<'_>) -> Option<ResourceKind> {
    ObjectKind::from_name(&found.kind)?.watched()
}
