//! Names of annotations and finalizers that decisions and messages speak of, and the annotations
//! that an object carries.
//!
//! The one place that spells them. Only annotations that some decision reads are kept: an object
//! may carry a quarter of a megabyte of others.

use std::fmt;

use super::pairs::Pairs;
pub use super::pairs::PairsBuilder;

/// On a claim: the binder finished its half. Presence alone counts.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// On either side: the binder, not a user, chose the other side.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// On a volume: which provisioner made it.
pub const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// On either side: which driver serves a former in-tree plug-in.
pub const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// What all binder and provisioner annotations of a volume begin with.
pub const VOLUME_PREFIX: &str = "pv.kubernetes.io/";
/// On a claim: which provisioner is asked to act.
pub const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// The older spelling of [`STORAGE_PROVISIONER`]; always written together with it.
pub const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// On a claim of a delayed class: the node that the scheduler chose.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// The class, as it was written before there was a field for it. Wins over the field.
pub const LEGACY_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// On a volume whose file system is still to be grown: its capacity before.
pub const PRE_RESIZE_CAPACITY: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";
/// On a class: `true` makes it the one for claims that ask for none.
pub const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// The older spelling of [`DEFAULT_CLASS`].
pub const BETA_DEFAULT_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";
/// What client-side `kubectl apply` keeps: its presence marks an object that a person applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Ours, on a claim: how its class bound volumes when the claim was made. A note; no decision reads it.
pub const BINDING_MODE_NOTE: &str = "bindery.dev/volume-binding-mode";
/// Ours, on a claim: the provisioner that was expected to act when the claim was made. A note.
pub const PROVISIONER_NOTE: &str = "bindery.dev/volume-provisioner";
/// Ours, on the Lease of the controller: when another binder was seen at work, and what it did. Removing it
/// lets the controller bind again.
pub const OTHER_BINDER: &str = "bindery.dev/other-binder";
/// Ours, on a volume: an exemption; the rule's id follows.
pub const ALLOW_PREFIX: &str = "allow.bindery.dev/";
/// Ours, on a claim: a request for an exemption; the rule's id follows. No verdict reads it.
pub const REQUEST_PREFIX: &str = "request.bindery.dev/";

/// Ours, on a volume, as a label: the node whose local disk it is.
pub const LOCAL_NODE: &str = "bindery.dev/local-node";
/// Ours, on a volume, as a label: the hash of what its local disk is recognized by.
pub const LOCAL_DISK: &str = "bindery.dev/local-disk";
/// Ours, on a volume: the mark of its local disk, written before the disk is cleaned.
pub const DISK_MARK: &str = "bindery.dev/disk-mark";
/// Ours, on a volume: the World Wide Name of its local disk.
pub const DISK_WWN: &str = "bindery.dev/disk-wwn";
/// Ours, on a volume: the serial number of its local disk.
pub const DISK_SERIAL: &str = "bindery.dev/disk-serial";
/// Ours, on a volume: what the device mapper calls its local disk.
pub const DISK_MAPPING: &str = "bindery.dev/disk-mapping";
/// Ours, on a volume: the partition of its local disk.
pub const DISK_PARTITION: &str = "bindery.dev/disk-partition";
/// Ours, on a volume: the UUID of the file system of its local disk.
pub const DISK_FILE_SYSTEM: &str = "bindery.dev/disk-file-system";
/// Ours, on a volume: the folder of that file system that is mounted.
pub const DISK_FOLDER: &str = "bindery.dev/disk-folder";
/// Ours, on a volume: the size of its local disk in bytes.
pub const DISK_SIZE: &str = "bindery.dev/disk-size";
/// Ours, on a volume: the device that its local disk was when the volume was made. A note.
pub const DISK_DEVICE: &str = "bindery.dev/disk-device";
/// Ours, on a volume: the machine-id of the node that its local disk was in. A note.
pub const DISK_MACHINE: &str = "bindery.dev/disk-machine";
/// Ours, on a volume: its disk is not where it was.
pub const DISK_MISSING: &str = "bindery.dev/disk-missing";
/// Ours, on a volume: where its disk was found instead, as JSON.
pub const DISK_FOUND_AT: &str = "bindery.dev/disk-found-at";
/// Ours, on a volume: the volume in whose place it was made, once their disk was moved.
pub const MOVED_FROM: &str = "bindery.dev/moved-from";
/// Ours, on a Job: the cleaning of a local disk for which it has a permit.
pub const CLEANING: &str = "bindery.dev/cleaning";
/// Ours, on a volume: the reclaim policy that it had before its claim was deleted because its node is lost.
pub const POLICY_BEFORE: &str = "bindery.dev/reclaim-policy-before";
/// Ours, on a volume: the journal of its move.
pub const MOVE: &str = "bindery.dev/move";
/// Ours, on a volume: the claim that had it, as it is created again.
pub const CLAIM_COPY: &str = "bindery.dev/claim-copy";
/// Ours, on a claim: the undone move in which it was to be deleted.
pub const MOVE_UNDONE: &str = "bindery.dev/move-undone";
/// Ours, on a volume: the claim from which it was moved last.
pub const FORMER_CLAIM: &str = "bindery.dev/former-claim";
/// Ours, on a volume: name and uid of the volume in whose place it was made, because that one was being deleted.
pub const REPLACES: &str = "bindery.dev/replaces";
/// Ours, on a volume: the uid of the deleted volume from whose record it was created again, and the reclaim policy that the
/// record names, until its move is recorded.
pub const RECREATED: &str = "bindery.dev/recreated";
/// Ours, on a volume: the trash record.
pub const TRASH: &str = "bindery.dev/trash";
/// Ours, on a volume: the uid of the claim after whose release it does not stay any longer.
pub const TRASH_EMPTY: &str = "bindery.dev/trash-empty";
/// Ours, on a volume of the trash: the uid of the claim after whose deletion the next one of its name gets the volume back.
pub const TRASH_SOFT: &str = "bindery.dev/trash-soft";
/// Ours, on a volume: how long it stays after its claim was deleted, such as `72h`.
pub const KEEP: &str = "bindery.dev/keep";
/// Ours, on a volume in an export: what it was in its cluster, as JSON.
pub const EXPORT: &str = "bindery.dev/export";
/// Ours, on a volume: its data belongs to another cluster since then, as JSON.
pub const HANDED_OVER: &str = "bindery.dev/handed-over";
/// Ours, on a volume: the uid of the volume of another cluster that it was imported from.
pub const IMPORTED_FROM: &str = "bindery.dev/imported-from";
/// Ours, on a volume whose import has not ended: the reclaim policy that it gets in the end.
pub const IMPORT: &str = "bindery.dev/import";
/// What our annotations and labels begin with.
pub const OUR_PREFIX: &str = "bindery.dev/";

/// The value that a binder gives an annotation of which only the presence counts.
pub const YES: &str = "yes";

/// Keeps a volume while its phase is Bound.
pub const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
/// Keeps a claim while a pod uses it.
pub const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
/// Keeps an in-tree provisioned volume until its storage is deleted.
pub const IN_TREE_DELETION: &str = "kubernetes.io/pv-controller";
/// Keeps a provisioned volume until its driver has deleted the storage.
pub const EXTERNAL_DELETION: &str = "external-provisioner.volume.kubernetes.io/finalizer";
/// What the finalizers of attachers begin with; the driver's name follows.
pub const ATTACHER_PREFIX: &str = "external-attacher/";

/// Labels by which the scheduler keeps a pod where its volume is.
///
/// Kubernetes: `volumezone/volume_zone.go`, `topologyLabels`.
pub const TOPOLOGY_LABELS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];
/// Ours, on namespaces and volumes: whose it is. Only namespaces with this label and value may claim
/// the volume.
pub const TENANT: &str = "bindery.dev/tenant";
/// Ours, on namespaces: whether the controller may end moves from and to it.
pub const RESUME_MOVES: &str = "bindery.dev/resume-moves";
/// The labels that verdicts read.
pub const JUDGED_LABELS: [&str; 5] = {
    let [zone, region, beta_zone, beta_region] = TOPOLOGY_LABELS;
    [zone, region, beta_zone, beta_region, TENANT]
};
/// Ours, on a volume: the namespaces that may claim it, separated by commas.
pub const ALLOWED_NAMESPACES: &str = "bindery.dev/allowed-namespaces";

/// How a decision may read an annotation of a volume, claim or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    /// By this very key: an object has each once.
    Named,
    /// As one of a family, of which there may be any number.
    Family,
    /// Not at all.
    Unread,
}

/// Returns how decisions read the annotation under `key`.
///
/// Of populators, each project has a prefix of its own ([`names_populator`]).
pub fn read_as(key: &str) -> ReadAs {
    match key {
        BIND_COMPLETED
        | BOUND_BY_CONTROLLER
        | PROVISIONED_BY
        | MIGRATED_TO
        | STORAGE_PROVISIONER
        | BETA_STORAGE_PROVISIONER
        | SELECTED_NODE
        | LEGACY_CLASS
        | PRE_RESIZE_CAPACITY
        | DEFAULT_CLASS
        | BETA_DEFAULT_CLASS
        | LAST_APPLIED
        | BINDING_MODE_NOTE
        | PROVISIONER_NOTE
        | ALLOWED_NAMESPACES
        | MOVE
        | IMPORT
        | RECREATED
        | TRASH
        | TRASH_SOFT => ReadAs::Named,
        _ if key.starts_with(VOLUME_PREFIX)
            || key.starts_with(ALLOW_PREFIX)
            || key.starts_with(REQUEST_PREFIX)
            || names_populator(key) =>
        {
            ReadAs::Family
        }
        _ => ReadAs::Unread,
    }
}

/// Returns whether `key` is one by which a populator names the claim that a helper claim stands for.
pub fn names_populator(key: &str) -> bool {
    const WORD: &[u8] = b"populator";
    // Byte by byte: `str::contains` prepares a search that takes longer than one through a key, and most keys come here.
    key.as_bytes().windows(WORD.len()).any(|part| part == WORD)
}

/// Returns whether a decision may read this finalizer of a volume or claim.
pub fn is_read_finalizer(name: &str) -> bool {
    name.starts_with(ATTACHER_PREFIX)
        || matches!(
            name,
            VOLUME_PROTECTION | CLAIM_PROTECTION | IN_TREE_DELETION | EXTERNAL_DELETION
        )
}

/// The annotations of an object that decisions read, by key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Annotations(Pairs);

impl Annotations {
    /// Those that were gathered. Error: a key that is there twice.
    pub fn new(gathered: PairsBuilder) -> Result<Self, Box<str>> {
        gathered.sorted().map(Self)
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    /// Returns whether `key` is there, with any value.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Puts `value` under `key`. For a few of them; many are gathered as [`PairsBuilder`].
    pub fn insert(&mut self, key: &str, value: &str) {
        self.0 = self.0.with(key, Some(value));
    }

    /// Removes the value under `key`.
    pub fn remove(&mut self, key: &str) {
        self.0 = self.0.with(key, None);
    }

    /// Keys that begin with `prefix` and their values, in order.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter(move |(key, _)| key.starts_with(prefix))
    }

    /// Keys below `prefix` whose value differs between `self` and `other`, or that only one has.
    pub fn changed_keys<'a>(&'a self, other: &'a Self, prefix: &'a str) -> Vec<&'a str> {
        // Of most updates, at once.
        if self == other {
            return Vec::new();
        }
        let here = self.with_prefix(prefix).filter(|(key, value)| other.get(key) != Some(value));
        let there = other.with_prefix(prefix).filter(|(key, _)| !self.has(key));
        let mut keys: Vec<&str> = here.chain(there).map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys
    }

    /// Keeps the text of `other` if it is the same.
    pub fn share(&mut self, other: &Self) {
        self.0.share(&other.0);
    }
}

impl fmt::Debug for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_populators_are_read_wherever_the_word_stands() {
        let keys =
            ["populator", "populator.example.com/claim", "cdi.kubevirt.io/storage.populator.kind"];
        assert_eq!(keys.map(read_as), [ReadAs::Family; 3]);
        let others = ["", "populato", "example.com/owner", "example.com/populatio-r"];
        assert_eq!(others.map(read_as), [ReadAs::Unread; 4]);
        assert_eq!(read_as(PROVISIONED_BY), ReadAs::Named);
    }

    #[test]
    fn keys_that_differ_are_found_on_either_side() {
        let (mut one, mut other) = (Annotations::default(), Annotations::default());
        for (key, value) in [("b", "2"), ("a", ""), ("c", "3")] {
            one.insert(key, value);
            other.insert(key, value);
        }
        assert_eq!(one, other);
        other.insert("b", "old");
        assert_eq!(one.changed_keys(&other, ""), ["b"]);
        other.remove("b");
        assert_eq!(one.changed_keys(&other, ""), ["b"]);
        assert_eq!(other.changed_keys(&one, ""), ["b"]);
        assert!(one.changed_keys(&other, "a").is_empty());
        assert!(one.has("a") && !one.has("ab"));
        assert_eq!(one.with_prefix("b").collect::<Vec<_>>(), [("b", "2")]);
    }
}
