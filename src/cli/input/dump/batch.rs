//! The objects of some items of a dump, read on one core.

use std::collections::BTreeSet;

use arcstr::ArcStr;

use super::item::{Found, Item};
use super::new_object::{Manifest, key_of_new};
use crate::api::volume::Wanted;
use crate::binding::{Collection, Observed};
use crate::cli::exit::Failure;
use crate::cli::input::listing::{CLAIM_USE, collection};
use crate::cli::input::text::told;
use crate::client::resource::ResourceKind;

/// An object that is kept as it is written: a pod, a node, an event.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Other {
    /// Its kind.
    pub(in crate::cli) kind: Box<str>,
    /// Its JSON text.
    pub(in crate::cli) text: Box<str>,
}

/// What a state is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Purpose {
    /// What binds to what: volumes, claims, classes and the pods that wait.
    Plan,
    /// The same; objects are kept of which an explanation may tell more.
    Explanation,
    /// What is wrong with what stands: volumes with their storage, namespaces, and whatever tells which
    /// nodes there are and which claims pods use.
    Verdicts,
}

/// The namespace of what tells whether a dump is of one namespace only.
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
pub(super) struct Unread {
    pub(super) watched: ResourceKind,
    /// Which, and why.
    pub(super) text: String,
}

/// An object that was read.
pub(super) struct Taken {
    pub(super) observed: Observed,
    /// The object, if it is still to be applied.
    pub(super) manifest: Option<Manifest>,
}

/// What was read of some items, in their order.
pub(super) struct Share {
    pub(super) read: Vec<Result<Taken, Unread>>,
    /// How many objects there are.
    pub(super) count: usize,
    pub(super) found: BTreeSet<Collection>,
    /// Namespaces of objects that are not looked at: two are enough.
    pub(super) namespaces: BTreeSet<ArcStr>,
    pub(super) others: Vec<Other>,
}

pub(super) fn read_share(
    items: &[Item<'_>],
    name: &str,
    purpose: Purpose,
) -> Result<Share, Failure> {
    let mut found = Vec::with_capacity(items.len());
    items.iter().try_for_each(|item| item.find(name, &mut found))?;
    let is_kept = |found: &&Found<'_>| match purpose {
        Purpose::Plan => false,
        Purpose::Explanation => watched(found).is_none_or(is_pods),
        Purpose::Verdicts => matches!(&*found.kind, "Pod" | "Node" | CLAIM_USE),
    };
    let kept = found.iter().filter(is_kept);
    Ok(Share {
        read: found.iter().filter_map(|found| read_one(found, name, purpose)).collect(),
        count: found.iter().filter(|found| !found.kind.is_empty()).count(),
        found: found.iter().filter_map(|found| collection(&found.kind)).collect(),
        namespaces: namespaces_of_others(&found),
        others: kept
            .map(|found| Other { kind: (*found.kind).into(), text: text_of(found) })
            .collect(),
    })
}

/// The text of a pod or event that is kept, with its namespace.
fn text_of(found: &Found<'_>) -> Box<str> {
    let is_namespaced = matches!(&*found.kind, "Pod" | "Event");
    let is_nowhere = is_namespaced && found.namespace().is_none();
    let text = is_nowhere.then(|| found.in_default_namespace()).flatten();
    text.map_or_else(|| found.text.into(), Into::into)
}

fn namespaces_of_others(found: &[Found<'_>]) -> BTreeSet<ArcStr> {
    let mut namespaces = BTreeSet::new();
    for found in found.iter().filter(|found| watched(found).is_none()) {
        namespaces.extend(found.namespace());
        if namespaces.len() > 1 {
            break;
        }
    }
    namespaces
}

/// Reads an object that a plan looks at.
fn read_one(found: &Found<'_>, name: &str, purpose: Purpose) -> Option<Result<Taken, Unread>> {
    let wanted = match purpose {
        Purpose::Plan | Purpose::Explanation => Wanted::Labels,
        Purpose::Verdicts => Wanted::Both,
    };
    let watched = watched(found)?;
    let read = watched.observed_for(wanted, found.text);
    let is_nowhere = |observed| namespace_of(observed).is_some_and(ArcStr::is_empty);
    let read = match read.as_ref().is_ok_and(is_nowhere).then(|| found.in_default_namespace()) {
        Some(Some(text)) => watched.observed_for(wanted, &text),
        Some(None) | None => read,
    };
    let taken = |observed| {
        let manifest = key_of_new(&observed).map(|key| Manifest { key, text: found.text.into() });
        Taken { observed, manifest }
    };
    Some(read.map(taken).map_err(|error| {
        let (kind, called, reason) = (&found.kind, found.called(), told(&error));
        let text = format!("{name}: {kind} {called} cannot be read: {reason}");
        Unread { watched, text }
    }))
}

pub(in crate::cli) fn watched(found: &Found<'_>) -> Option<ResourceKind> {
    match &*found.kind {
        "PersistentVolume" => Some(ResourceKind::Volumes),
        "PersistentVolumeClaim" => Some(ResourceKind::Claims),
        "StorageClass" => Some(ResourceKind::Classes),
        "Pod" => Some(ResourceKind::Pods),
        "Namespace" => Some(ResourceKind::Namespaces),
        _ => None,
    }
}

fn is_pods(watched: ResourceKind) -> bool {
    watched == ResourceKind::Pods
}
