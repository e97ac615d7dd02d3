//! Names that differ between two clusters: classes, drivers, nodes and namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

use crate::model::annotations::{LEGACY_CLASS, PROVISIONED_BY};

/// What a mapping names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MappedKind {
    /// A StorageClass.
    Class,
    /// A CSI driver.
    Driver,
    /// A node, in node affinities.
    Node,
    /// A namespace.
    Namespace,
}

impl MappedKind {
    /// All kinds.
    const ALL: [Self; 4] = [Self::Class, Self::Driver, Self::Node, Self::Namespace];

    /// The word for it in `--map`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Driver => "driver",
            Self::Node => "node",
            Self::Namespace => "namespace",
        }
    }
}

/// One name, and the one that stands in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// What it names.
    pub kind: MappedKind,
    /// The name in the cluster of the export.
    pub old: String,
    /// The name in the cluster of the import.
    pub new: String,
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}={}", self.kind.word(), self.old, self.new)
    }
}

impl Mapping {
    /// Reads `KIND=OLD=NEW`.
    ///
    /// # Errors
    ///
    /// A sentence that says how it is written.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || {
            let kinds = MappedKind::ALL.map(|kind| format!("{}=OLD=NEW", kind.word()));
            format!("expected one of {}", kinds.join(", "))
        };
        let words: Vec<&str> = text.split('=').collect();
        let [kind, old, new] = *words else { return Err(expected()) };
        let kind = MappedKind::ALL.into_iter().find(|known| known.word() == kind);
        let is_complete = !old.is_empty() && !new.is_empty();
        let kind = kind.filter(|_| is_complete).ok_or_else(expected)?;
        Ok(Self { kind, old: old.to_owned(), new: new.to_owned() })
    }
}

/// Why mappings cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// One name is mapped to two.
    #[error("--map {0} and --map {1} give one name two new ones; leave out one of them")]
    Twice(Mapping, Mapping),
    /// Nothing has the name.
    #[error("--map {0}: nothing in the export has the {kind} {old:?}; check the spelling", kind = .0.kind.word(), old = .0.old)]
    Unused(Mapping),
}

/// Mappings of names.
#[derive(Clone, Debug, Default)]
pub struct Mappings(BTreeMap<(MappedKind, String), String>);

impl Mappings {
    /// The mappings of a command line.
    ///
    /// # Errors
    ///
    /// One name is mapped to two.
    pub fn new(given: &[Mapping]) -> Result<Self, MappingError> {
        let mut names = BTreeMap::new();
        for mapping in given {
            let Mapping { kind, old, new } = mapping.clone();
            if let Some(other) = names.insert((kind, old.clone()), new.clone())
                && other != new
            {
                let other = Mapping { kind, old, new: other };
                return Err(MappingError::Twice(other, mapping.clone()));
            }
        }
        Ok(Self(names))
    }

    /// Returns the name that stands in the place of `old`, if it is mapped.
    pub fn new_name(&self, kind: MappedKind, old: &str) -> Option<&str> {
        self.0.get(&(kind, old.to_owned())).map(String::as_str)
    }

    /// Puts the new names into a volume or claim (its JSON), and adds what it used to `used`.
    pub fn apply(&self, object: &mut Value, used: &mut BTreeSet<(MappedKind, String)>) {
        use MappedKind::{Class, Driver, Namespace};
        let paths = [
            (Class, vec!["spec", "storageClassName"]),
            (Class, vec!["metadata", "annotations", LEGACY_CLASS]),
            (Driver, vec!["spec", "csi", "driver"]),
            (Driver, vec!["metadata", "annotations", PROVISIONED_BY]),
            (Namespace, vec!["metadata", "namespace"]),
            (Namespace, vec!["spec", "claimRef", "namespace"]),
        ];
        for (kind, path) in paths {
            let mut place = Some(&mut *object);
            for key in path {
                place = place.and_then(|place| place.get_mut(key));
            }
            self.put(kind, place, used);
        }
        self.apply_nodes(object, used);
    }

    /// Puts the new name into one place.
    fn put(
        &self,
        kind: MappedKind,
        place: Option<&mut Value>,
        used: &mut BTreeSet<(MappedKind, String)>,
    ) {
        let Some(place) = place else { return };
        let Some(old) = place.as_str().map(str::to_owned) else { return };
        if let Some(new) = self.new_name(kind, &old) {
            *place = json!(new);
            let _ = used.insert((kind, old));
        }
    }

    /// Puts the new names of nodes into the values of a volume's node affinity. Zones and regions stay: a node may have the
    /// name of one.
    fn apply_nodes(&self, object: &mut Value, used: &mut BTreeSet<(MappedKind, String)>) {
        let terms = object.pointer_mut("/spec/nodeAffinity/required/nodeSelectorTerms");
        for term in terms.and_then(Value::as_array_mut).into_iter().flatten() {
            for field in ["matchExpressions", "matchFields"] {
                let conditions = term.get_mut(field).and_then(Value::as_array_mut);
                for condition in conditions.into_iter().flatten() {
                    let key = condition["key"].as_str().unwrap_or_default();
                    if key.ends_with("zone") || key.ends_with("region") {
                        continue;
                    }
                    let values = condition.get_mut("values").and_then(Value::as_array_mut);
                    for value in values.into_iter().flatten() {
                        self.put(MappedKind::Node, Some(value), used);
                    }
                }
            }
        }
    }

    /// Returns a mapping that was used nowhere, as an error.
    ///
    /// # Errors
    ///
    /// There is one: it is a spelling mistake, or one of another export.
    pub fn all_used(&self, used: &BTreeSet<(MappedKind, String)>) -> Result<(), MappingError> {
        match self.0.iter().find(|(name, _)| !used.contains(name)) {
            Some(((kind, old), new)) => Err(MappingError::Unused(Mapping {
                kind: *kind,
                old: old.clone(),
                new: new.clone(),
            })),
            None => Ok(()),
        }
    }
}
