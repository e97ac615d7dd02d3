//! What proves that a dump holds all objects of a kind: only then is one that is not in it absent.
//!
//! | input | holds completely |
//! |---|---|
//! | `kind: List`, as `kubectl get -o yaml` writes it | each kind of which it holds an object |
//! | a typed list, such as `PersistentVolumeList` | its kind, even if it is empty |
//! | a snapshot of `bindery snapshot` | volumes, claims, classes, namespaces, nodes, and which claims pods use |
//! | a page of a list (`metadata.continue`) | nothing |
//! | an object that stands alone | nothing: it may be one of many |
//!
//! If all objects of a list that live in namespaces are of one namespace, it was asked for without `-A`: the
//! kinds that live in namespaces are complete for that namespace only. That a list was asked for by labels or
//! by names does not show.

use std::collections::BTreeSet;

use arcstr::ArcStr;

use super::object_id::ObjectKind;
use crate::binding::{Collection, ListedCollections};

/// The kind of a snapshot: a list that knows when it was taken.
pub(in crate::cli) const SNAPSHOT_KIND: &str = "Snapshot";

/// The kind of a note in a snapshot that a pod uses a claim.
pub(in crate::cli) const CLAIM_USE: &str = "ClaimUse";

/// The command that makes a dump of everything that decisions rest on.
pub(in crate::cli) const WHOLE_DUMP: &str =
    "kubectl get pv,pvc,sc,sts,pods,nodes,ns,events -A -o yaml";

/// What such a dump holds besides where it is to show how far volumes are attached.
const ATTACH_DUMP: &str =
    "kubectl get pv,pvc,sc,pods,nodes,ns,events,volumeattachments,csidrivers,csinodes -A -o yaml";

/// What such a dump holds besides to show what is left without a node.
pub(in crate::cli) const NODE_LOSS_DUMP: &str = "kubectl get pv,pvc,sc,pods,nodes,ns,events,csidrivers,csinodes,csistoragecapacities -A -o yaml";

/// What such a dump holds besides where snapshots matter; a cluster without their kinds answers with an error.
const SNAPSHOT_DUMP: &str =
    "kubectl get pv,pvc,sc,pods,nodes,ns,events,volumesnapshotcontents -A -o yaml";

/// The collections in a snapshot.
const IN_SNAPSHOT: [Collection; 6] = [
    Collection::Volumes,
    Collection::Claims,
    Collection::Classes,
    Collection::Namespaces,
    Collection::Nodes,
    Collection::ClaimUses,
];

/// In what form objects stand in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One object, or a page of a list.
    Part,
    /// A list of any kinds.
    List,
    /// A list of one kind.
    Typed(Collection),
    /// A snapshot.
    Snapshot,
}

/// A list of an input, and what was found in it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Listing {
    form: Form,
    /// The kinds of its objects.
    found: BTreeSet<Collection>,
    /// Namespaces of its objects: two are as good as all.
    namespaces: BTreeSet<ArcStr>,
}

/// The collection of the objects of this kind.
pub(in crate::cli) fn collection(kind: &str) -> Option<Collection> {
    match kind {
        "Event" => Some(Collection::Events),
        "CSINode" => Some(Collection::CsiNodes),
        "CSIStorageCapacity" => Some(Collection::StorageCapacities),
        kind => ObjectKind::from_name(kind).map(ObjectKind::collection),
    }
}

impl Listing {
    /// Objects that stand alone.
    pub(in crate::cli) fn part() -> Self {
        Self { form: Form::Part, found: BTreeSet::new(), namespaces: BTreeSet::new() }
    }

    /// A list of this kind; `is_page` if it says that there is more.
    pub(in crate::cli) fn of(kind: &str, is_page: bool) -> Self {
        let form = match (is_page, kind) {
            (true, _) => Form::Part,
            (false, SNAPSHOT_KIND) => Form::Snapshot,
            (false, "List") => Form::List,
            (false, kind) => {
                let of_items = kind.strip_suffix("List").and_then(collection);
                of_items.map_or(Form::Part, Form::Typed)
            }
        };
        Self { form, ..Self::part() }
    }

    /// Returns whether it says of itself what it holds, so that it may be empty.
    pub(in crate::cli) fn may_be_empty(&self) -> bool {
        match self.form {
            Form::Typed(_) | Form::Snapshot => true,
            Form::Part | Form::List => false,
        }
    }

    /// Returns whether it is a snapshot.
    pub(in crate::cli) fn is_snapshot(&self) -> bool {
        self.form == Form::Snapshot
    }

    /// Notes that it has an object of this collection.
    pub(in crate::cli) fn see(&mut self, collection: Collection) {
        self.found.insert(collection);
    }

    /// Notes that it has an object in this namespace.
    pub(in crate::cli) fn see_namespace(&mut self, namespace: &ArcStr) {
        if self.namespaces.len() < 2 {
            self.namespaces.insert(namespace.clone());
        }
    }

    /// Adds what it proves to `listed`.
    pub(in crate::cli) fn conclude(&self, listed: &mut ListedCollections) {
        let kinds: Vec<Collection> = match self.form {
            Form::Part => Vec::new(),
            Form::List => self.found.iter().copied().collect(),
            Form::Typed(collection) => vec![collection],
            Form::Snapshot => IN_SNAPSHOT.to_vec(),
        };
        // A snapshot is made of all namespaces, be there one or many.
        let is_of_one = self.namespaces.len() == 1 && self.form != Form::Snapshot;
        let only = self.namespaces.first().filter(|_| is_of_one);
        for collection in kinds {
            match only.filter(|_| collection.is_namespaced()) {
                Some(namespace) => listed.add_namespace(collection, namespace),
                None => listed.add(collection),
            }
        }
    }
}

/// The collections as one phrase.
pub(in crate::cli) fn labels(collections: &BTreeSet<Collection>) -> String {
    let labels: BTreeSet<&str> = collections.iter().map(|one| one.label()).collect();
    let labels: Vec<&str> = labels.into_iter().collect();
    labels.join(" and ")
}

/// That `source` does not hold all of these, and the command that makes a dump that does.
pub(in crate::cli) fn lacks(
    source: &str,
    listed: &ListedCollections,
    open: &BTreeSet<Collection>,
) -> String {
    let of_attaching = [Collection::Attachments, Collection::Drivers, Collection::CsiNodes];
    let dump = if open.contains(&Collection::SnapshotContents) {
        SNAPSHOT_DUMP
    } else if of_attaching.iter().any(|one| open.contains(one)) {
        ATTACH_DUMP
    } else {
        WHOLE_DUMP
    };
    lacks_of(source, listed, open, dump)
}

/// The same, with the command that makes the dump.
pub(in crate::cli) fn lacks_of(
    source: &str,
    listed: &ListedCollections,
    open: &BTreeSet<Collection>,
    dump: &str,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    for collection in open {
        let only: Vec<String> =
            listed.namespaces(*collection).map(|name| format!("\"{name}\"")).collect();
        let label = collection.label();
        let part = match only.as_slice() {
            [] => format!("no list of {label}"),
            only => format!("the {label} of namespace {} only", only.join(", ")),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    format!("{source} has {}; make a complete dump with {dump}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(kind: &str, is_page: bool, found: &[(&str, &str)]) -> ListedCollections {
        let mut listing = Listing::of(kind, is_page);
        for (kind, namespace) in found {
            listing.see(collection(kind).unwrap());
            if !namespace.is_empty() {
                listing.see_namespace(&(*namespace).into());
            }
        }
        let mut listed = ListedCollections::default();
        listing.conclude(&mut listed);
        listed
    }

    #[test]
    fn a_list_proves_the_kinds_that_it_holds() {
        let dump = listed("List", false, &[("PersistentVolume", ""), ("Node", "")]);
        assert!(dump.has(Collection::Volumes) && dump.has(Collection::Nodes));
        assert!(!dump.has(Collection::Claims) && !dump.has(Collection::Classes));
        assert!(listed("PersistentVolumeList", false, &[]).has(Collection::Volumes));
        let snapshot = listed(SNAPSHOT_KIND, false, &[]);
        assert!(IN_SNAPSHOT.iter().all(|collection| snapshot.has(*collection)));
        assert!(!snapshot.has(Collection::Pods) && !snapshot.has(Collection::Events));
    }

    #[test]
    fn a_page_and_an_object_that_stands_alone_prove_nothing() {
        assert_eq!(
            listed("PersistentVolume", false, &[("PersistentVolume", "")]),
            ListedCollections::default()
        );
        assert_eq!(listed("PersistentVolumeList", true, &[]), ListedCollections::default());
        assert_eq!(listed("DeploymentList", false, &[]), ListedCollections::default());
    }

    #[test]
    fn a_list_of_one_namespace_says_nothing_of_the_others() {
        let (claim, pod) = ("PersistentVolumeClaim", "Pod");
        let one = listed("List", false, &[(claim, "db"), (pod, "db"), ("PersistentVolume", "")]);
        assert!(one.has(Collection::Volumes) && !one.has(Collection::Claims));
        assert!(one.has_in(Collection::Claims, &"db".into()));
        assert!(!one.has_in(Collection::Claims, &"web".into()));
        let all = listed("List", false, &[(claim, "db"), (pod, "kube-system")]);
        assert!(all.has(Collection::Claims) && all.has(Collection::Pods));
        let open = BTreeSet::from([Collection::Claims, Collection::Classes]);
        assert_eq!(
            lacks("dump.yaml", &one, &open),
            "dump.yaml has the PersistentVolumeClaims of namespace \"db\" only, no list of StorageClasses; \
             make a complete dump with kubectl get pv,pvc,sc,sts,pods,nodes,ns,events -A -o yaml"
        );
    }
}
