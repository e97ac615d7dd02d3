//! Which collections an input holds completely: only there is an object absent that it does not hold.
//!
//! A view alone proves nothing: a dump may lack a kind, or hold the objects of one namespace only. A decision
//! that an object does not exist asks here first. Not here: what proves that a dump is complete
//! (`cli::input::listing`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use arcstr::ArcStr;

use super::read::Read;

/// Objects of one kind that decisions rest on, as the API lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Collection {
    /// PersistentVolumes.
    Volumes,
    /// PersistentVolumeClaims.
    Claims,
    /// `StorageClass`es.
    Classes,
    /// Pods.
    Pods,
    /// Which claims pods use: known where pods are, and from a snapshot, which has no pods.
    ClaimUses,
    /// Nodes.
    Nodes,
    /// Namespaces.
    Namespaces,
    /// Events.
    Events,
    /// VolumeAttachments.
    Attachments,
    /// CSIDrivers.
    Drivers,
    /// CSINodes.
    CsiNodes,
    /// `CSIStorageCapacity` objects.
    StorageCapacities,
    /// VolumeSnapshotContents.
    SnapshotContents,
    /// `StatefulSet`s.
    StatefulSets,
}

impl Collection {
    /// Every collection.
    pub const ALL: [Self; 14] = [
        Self::Volumes,
        Self::Claims,
        Self::Classes,
        Self::Pods,
        Self::ClaimUses,
        Self::Nodes,
        Self::Namespaces,
        Self::Events,
        Self::Attachments,
        Self::Drivers,
        Self::CsiNodes,
        Self::StorageCapacities,
        Self::SnapshotContents,
        Self::StatefulSets,
    ];

    /// Returns what is listed, as a sentence names it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Volumes => "PersistentVolumes",
            Self::Claims => "PersistentVolumeClaims",
            Self::Classes => "StorageClasses",
            Self::Pods | Self::ClaimUses => "Pods",
            Self::Nodes => "Nodes",
            Self::Namespaces => "Namespaces",
            Self::Events => "Events",
            Self::Attachments => "VolumeAttachments",
            Self::Drivers => "CSIDrivers",
            Self::CsiNodes => "CSINodes",
            Self::StorageCapacities => "CSIStorageCapacities",
            Self::SnapshotContents => "VolumeSnapshotContents",
            Self::StatefulSets => "StatefulSets",
        }
    }

    /// Returns whether its objects live in namespaces.
    pub fn is_namespaced(self) -> bool {
        match self {
            Self::Claims
            | Self::Pods
            | Self::ClaimUses
            | Self::Events
            | Self::StorageCapacities
            | Self::StatefulSets => true,
            Self::Volumes
            | Self::Classes
            | Self::Nodes
            | Self::Namespaces
            | Self::Attachments
            | Self::Drivers
            | Self::CsiNodes
            | Self::SnapshotContents => false,
        }
    }

    /// The collection that answers `read`, and the namespace, where one is enough. None for an owner, which
    /// may be of any kind, and for a Lease, which no input shows.
    pub fn of(read: &Read) -> Option<(Self, Option<&ArcStr>)> {
        match read {
            Read::Claim(key) => Some((Self::Claims, Some(&key.namespace))),
            Read::Volume(_) => Some((Self::Volumes, None)),
            Read::Class(_) | Read::DefaultClass => Some((Self::Classes, None)),
            Read::PodsUsing(key) => Some((Self::ClaimUses, Some(&key.namespace))),
            Read::LivePods(key) => Some((Self::Pods, Some(&key.namespace))),
            Read::Node(_) | Read::NodeState(_) | Read::AnyNode(_) => Some((Self::Nodes, None)),
            Read::Namespace(_) => Some((Self::Namespaces, None)),
            Read::Owner(..) | Read::Lease(..) => None,
        }
    }
}

/// How much of a collection an input holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Extent {
    /// The objects of these namespaces.
    Namespaces(BTreeSet<ArcStr>),
    /// All of it.
    Whole,
}

/// What an input holds completely. Nothing, to begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedCollections(BTreeMap<Collection, Extent>);

impl ListedCollections {
    /// An input that holds everything, as watches that have listed everything do.
    pub fn everything() -> &'static Self {
        static EVERYTHING: LazyLock<ListedCollections> = LazyLock::new(|| {
            ListedCollections(Collection::ALL.map(|collection| (collection, Extent::Whole)).into())
        });
        &EVERYTHING
    }

    /// Notes that the input holds all of `collection`. All pods include all uses of claims.
    pub fn add(&mut self, collection: Collection) {
        self.0.insert(collection, Extent::Whole);
        if collection == Collection::Pods {
            self.0.insert(Collection::ClaimUses, Extent::Whole);
        }
    }

    /// Notes that the input holds all objects of `collection` in one namespace.
    pub fn add_namespace(&mut self, collection: Collection, namespace: &ArcStr) {
        let extent =
            self.0.entry(collection).or_insert_with(|| Extent::Namespaces(BTreeSet::new()));
        if let Extent::Namespaces(namespaces) = extent {
            namespaces.insert(namespace.clone());
        }
        if collection == Collection::Pods {
            self.add_namespace(Collection::ClaimUses, namespace);
        }
    }

    /// Returns whether the input holds all of `collection`.
    pub fn has(&self, collection: Collection) -> bool {
        self.0.get(&collection) == Some(&Extent::Whole)
    }

    /// Returns whether the input holds all objects of `collection` in `namespace`.
    pub fn has_in(&self, collection: Collection, namespace: &ArcStr) -> bool {
        match self.0.get(&collection) {
            Some(Extent::Namespaces(namespaces)) => namespaces.contains(namespace),
            Some(Extent::Whole) => true,
            None => false,
        }
    }

    /// The namespaces of which alone the input holds the objects; none if it holds all of them, or nothing.
    pub fn namespaces(&self, collection: Collection) -> impl Iterator<Item = &ArcStr> {
        let namespaces = match self.0.get(&collection) {
            Some(Extent::Namespaces(namespaces)) => Some(namespaces),
            Some(Extent::Whole) | None => None,
        };
        namespaces.into_iter().flatten()
    }

    /// Returns the needed collections that the input does not hold completely, in all or in the needed namespace.
    pub fn lacking<'a>(
        &self,
        needed: impl IntoIterator<Item = (Collection, Option<&'a ArcStr>)>,
    ) -> BTreeSet<Collection> {
        let is_lacking = |(collection, namespace): &(Collection, Option<&ArcStr>)| match namespace {
            Some(namespace) => !self.has_in(*collection, namespace),
            None => !self.has(*collection),
        };
        needed.into_iter().filter(is_lacking).map(|(collection, _)| collection).collect()
    }

    /// Returns whether an object that `read` asks for and that the input does not hold is absent.
    pub fn answers(&self, read: &Read) -> bool {
        match Collection::of(read) {
            Some((collection, Some(namespace))) => self.has_in(collection, namespace),
            Some((collection, None)) => self.has(collection),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimKey, VolumeName};

    #[test]
    fn one_namespace_proves_nothing_about_another() {
        let (db, web) = (ArcStr::from("db"), ArcStr::from("web"));
        let mut listed = ListedCollections::default();
        let claim = |namespace: &str| Read::Claim(ClaimKey::new(namespace, "data"));
        assert!(!listed.answers(&claim("db")));
        listed.add_namespace(Collection::Claims, &db);
        assert!(listed.answers(&claim("db")) && !listed.answers(&claim("web")));
        assert!(!listed.has(Collection::Claims) && !listed.has_in(Collection::Claims, &web));
        listed.add(Collection::Claims);
        listed.add_namespace(Collection::Claims, &db);
        assert!(listed.answers(&claim("web")) && listed.has(Collection::Claims));
        assert!(!listed.answers(&Read::Volume(VolumeName::new("pv"))));
    }

    #[test]
    fn pods_tell_which_claims_are_used_and_not_the_other_way_round() {
        let key = ClaimKey::new("db", "data");
        let mut snapshot = ListedCollections::default();
        snapshot.add(Collection::ClaimUses);
        assert!(snapshot.answers(&Read::PodsUsing(key.clone())));
        assert!(!snapshot.answers(&Read::LivePods(key.clone())));
        let mut dump = ListedCollections::default();
        dump.add_namespace(Collection::Pods, &key.namespace);
        assert!(dump.answers(&Read::PodsUsing(key.clone())) && dump.answers(&Read::LivePods(key)));
    }
}
