//! Names of annotations and finalizers that decisions and messages speak of, and the annotations
//! that an object carries.
//!
//! The one place that spells them. Only annotations that some decision reads are kept: an object
//! may carry a quarter of a megabyte of others.

use std::fmt;

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
/// Ours, on a claim: how its class bound volumes when the claim was made. A note; nothing reads it.
pub const BINDING_MODE_NOTE: &str = "bindery.dev/volume-binding-mode";
/// Ours, on a claim: the provisioner that was expected to act when the claim was made. A note.
pub const PROVISIONER_NOTE: &str = "bindery.dev/volume-provisioner";
/// Ours, on a volume: an exemption; the rule's id follows.
pub const ALLOW_PREFIX: &str = "allow.bindery.dev/";

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

/// Whether a decision may read this annotation of a volume, claim or class.
///
/// `populator` covers the keys by which populators name the claim that a helper claim stands for;
/// each project has a prefix of its own.
pub fn is_read(key: &str) -> bool {
    key.starts_with(VOLUME_PREFIX)
        || key.starts_with(ALLOW_PREFIX)
        || key.contains("populator")
        || matches!(
            key,
            STORAGE_PROVISIONER
                | BETA_STORAGE_PROVISIONER
                | SELECTED_NODE
                | LEGACY_CLASS
                | PRE_RESIZE_CAPACITY
                | DEFAULT_CLASS
                | BETA_DEFAULT_CLASS
                | LAST_APPLIED
                | BINDING_MODE_NOTE
                | PROVISIONER_NOTE
        )
}

/// Whether a decision may read this finalizer of a volume or claim.
pub fn is_read_finalizer(name: &str) -> bool {
    name.starts_with(ATTACHER_PREFIX)
        || matches!(
            name,
            VOLUME_PROTECTION | CLAIM_PROTECTION | IN_TREE_DELETION | EXTERNAL_DELETION
        )
}

/// The annotations of an object that decisions read, by key.
///
/// One text with its cuts, in the order of the keys: an object may carry 14,000 of them, and as many
/// boxed texts would take four times the memory.
#[derive(Clone, Default)]
pub struct Annotations {
    text: Box<str>,
    cuts: Box<[Cut]>,
}

/// Where in the text an annotation stands: the key, then the value.
#[derive(Clone, Copy, Debug)]
struct Cut {
    key: u32,
    value: u32,
    end: u32,
}

impl Annotations {
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let place = self.place(key).ok()?;
        self.cuts.get(place).map(|cut| self.entry(cut).1)
    }

    /// Whether `key` is there, with any value.
    pub fn has(&self, key: &str) -> bool {
        self.place(key).is_ok()
    }

    /// Puts `value` under `key`. For a few of them; many are gathered as [`Unordered`].
    pub fn insert(&mut self, key: &str, value: &str) {
        let mut gathered = self.all_but(key);
        gathered.push(key, value);
        *self = gathered.ordered();
    }

    /// Takes out what stands under `key`.
    pub fn remove(&mut self, key: &str) {
        *self = self.all_but(key).ordered();
    }

    /// Keys that begin with `prefix` and their values, in order.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let entries = self.cuts.iter().map(|cut| self.entry(cut));
        entries.filter(move |(key, _)| key.starts_with(prefix))
    }

    /// Keys below `prefix` whose value differs between `self` and `other`, or that only one has.
    pub fn changed_keys<'a>(&'a self, other: &'a Self, prefix: &'a str) -> Vec<&'a str> {
        let here = self.with_prefix(prefix).filter(|(key, value)| other.get(key) != Some(value));
        let there = other.with_prefix(prefix).filter(|(key, _)| !self.has(key));
        let mut keys: Vec<&str> = here.chain(there).map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys
    }

    fn all_but(&self, key: &str) -> Unordered {
        let mut gathered = Unordered::default();
        for (other, value) in self.with_prefix("").filter(|(other, _)| *other != key) {
            gathered.push(other, value);
        }
        gathered
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.cuts.binary_search_by(|cut| self.entry(cut).0.cmp(key))
    }

    fn entry(&self, cut: &Cut) -> (&str, &str) {
        cut.entry(&self.text)
    }
}

impl Cut {
    /// Key and value.
    fn entry<'a>(&self, text: &'a str) -> (&'a str, &'a str) {
        let part = |from: u32, to: u32| text.get(from as usize..to as usize).unwrap_or_default();
        (part(self.key, self.value), part(self.value, self.end))
    }
}

/// Equal where keys and values are, in whatever order they were put in.
impl PartialEq for Annotations {
    fn eq(&self, other: &Self) -> bool {
        self.with_prefix("").eq(other.with_prefix(""))
    }
}

impl Eq for Annotations {}

impl fmt::Debug for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.with_prefix("")).finish()
    }
}

/// Annotations while they are gathered, in any order.
#[derive(Debug, Default)]
pub struct Unordered {
    text: String,
    cuts: Vec<Cut>,
}

impl Unordered {
    /// What an annotation takes beside its text.
    pub const ENTRY_BYTES: usize = size_of::<Cut>();

    /// Adds one.
    pub fn push(&mut self, key: &str, value: &str) {
        let Self { text, cuts } = self;
        // What is read of one object is far below 4 GiB.
        let place = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let start = place(text);
        text.push_str(key);
        let middle = place(text);
        text.push_str(value);
        cuts.push(Cut { key: start, value: middle, end: place(text) });
    }

    /// All of them by key. Error: a key that is there twice.
    pub fn sorted(self) -> Result<Annotations, Box<str>> {
        let sorted = self.ordered();
        let keys = || sorted.with_prefix("").map(|(key, _)| key);
        let twice = keys().zip(keys().skip(1)).find(|(key, next)| key == next);
        match twice.map(|(key, _)| key.into()) {
            Some(key) => Err(key),
            None => Ok(sorted),
        }
    }

    fn ordered(self) -> Annotations {
        let Self { text, mut cuts } = self;
        cuts.sort_unstable_by(|a, b| a.entry(&text).0.cmp(b.entry(&text).0));
        // Kept as long as the object: no room that nothing will ever fill.
        Annotations { text: text.into(), cuts: cuts.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(pairs: &[(&str, &str)]) -> Result<Annotations, Box<str>> {
        let mut unordered = Unordered::default();
        for (key, value) in pairs {
            unordered.push(key, value);
        }
        unordered.sorted()
    }

    #[test]
    fn annotations_are_found_and_compared_by_key_in_whatever_order_they_came() {
        let one = gathered(&[("b", "2"), ("a", ""), ("c", "3")]).unwrap();
        let mut other = gathered(&[("c", "3"), ("b", "old"), ("a", "")]).unwrap();
        assert_ne!(one, other);
        assert_eq!(one.changed_keys(&other, ""), ["b"]);
        other.insert("b", "2");
        assert_eq!(one, other);
        assert_eq!([one.get("a"), one.get("b"), one.get("d")], [Some(""), Some("2"), None]);
        assert!(one.has("a") && !one.has("ab"));
        assert_eq!(other.with_prefix("b").collect::<Vec<_>>(), [("b", "2")]);
        other.remove("b");
        assert_eq!(one.changed_keys(&other, ""), ["b"]);
    }

    #[test]
    fn a_key_that_is_there_twice_is_told() {
        assert_eq!(gathered(&[("b", "1"), ("a", "1"), ("b", "1")]), Err("b".into()));
    }
}
