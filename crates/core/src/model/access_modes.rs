//! Access modes: how many nodes or pods may use a volume, and how.
//!
//! A set, because order and repetition mean nothing to the binder. Modes that a newer API server
//! may know are kept by name, so that a change of them is still seen as a change.

use std::fmt;

/// One access mode that Bindery knows, in canonical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessMode {
    /// `ReadWriteOnce`: read and write by one node.
    ReadWriteOnce,
    /// `ReadOnlyMany`: read by many nodes.
    ReadOnlyMany,
    /// `ReadWriteMany`: read and write by many nodes.
    ReadWriteMany,
    /// `ReadWriteOncePod`: read and write by one pod.
    ReadWriteOncePod,
}

impl AccessMode {
    /// All known modes in canonical order (Kubernetes: `pkg/volume/util`, RWO, ROX, RWX, RWOP).
    pub const ALL: [Self; 4] =
        [Self::ReadWriteOnce, Self::ReadOnlyMany, Self::ReadWriteMany, Self::ReadWriteOncePod];

    /// The spelling of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadWriteOnce => "ReadWriteOnce",
            Self::ReadOnlyMany => "ReadOnlyMany",
            Self::ReadWriteMany => "ReadWriteMany",
            Self::ReadWriteOncePod => "ReadWriteOncePod",
        }
    }

    /// The abbreviation that `kubectl get` prints.
    pub fn short(self) -> &'static str {
        match self {
            Self::ReadWriteOnce => "RWO",
            Self::ReadOnlyMany => "ROX",
            Self::ReadWriteMany => "RWX",
            Self::ReadWriteOncePod => "RWOP",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::ReadWriteOnce => 1,
            Self::ReadOnlyMany => 2,
            Self::ReadWriteMany => 4,
            Self::ReadWriteOncePod => 8,
        }
    }
}

/// A set of access modes; prints as `RWO,RWX`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessModes {
    known: u8,
    /// Modes of a newer API; almost always none, which takes one word.
    newer: Option<Box<Newer>>,
}

/// Modes that are not known here, sorted; at least one.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Newer(Vec<Box<str>>);

impl AccessModes {
    /// Returns whether this mode is among them.
    pub fn has(&self, mode: AccessMode) -> bool {
        self.known & mode.bit() != 0
    }

    /// The set of the modes spelled as in the API, in any order.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut modes = Self::default();
        for name in names {
            match AccessMode::ALL.into_iter().find(|mode| mode.as_str() == name) {
                Some(mode) => modes.known |= mode.bit(),
                None => modes.insert_newer(name),
            }
        }
        modes
    }

    /// Returns whether every requested mode is in this set (Kubernetes: `pkg/volume/util`,
    /// `ContainsAllAccessModes`).
    pub fn offers(&self, requested: &Self) -> bool {
        self.known & requested.known == requested.known
            && requested.newer().iter().all(|mode| self.newer().binary_search(mode).is_ok())
    }

    /// The modes as the API spells them, in canonical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let known = AccessMode::ALL.into_iter().filter(|mode| self.known & mode.bit() != 0);
        known.map(|mode| -> &str { mode.as_str() }).chain(self.newer().iter().map(|mode| &**mode))
    }

    /// Returns how many modes the set holds.
    pub fn count(&self) -> usize {
        self.known.count_ones() as usize + self.newer().len()
    }

    fn newer(&self) -> &[Box<str>] {
        self.newer.as_ref().map_or(&[], |newer| &newer.0)
    }

    fn insert_newer(&mut self, name: &str) {
        let Newer(newer) = &mut **self.newer.get_or_insert_default();
        if let Err(place) = newer.binary_search_by(|mode| (**mode).cmp(name)) {
            newer.insert(place, name.into());
        }
    }
}

impl fmt::Display for AccessModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = AccessMode::ALL.into_iter().filter(|mode| self.known & mode.bit() != 0);
        let newer = self.newer().iter().map(|mode| &**mode);
        let names = known.map(|mode| -> &str { mode.short() }).chain(newer);
        let mut separator = "";
        for name in names {
            write!(f, "{separator}{name}")?;
            separator = ",";
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

impl fmt::Debug for AccessModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(bits: u8) -> AccessModes {
        AccessModes { known: bits, newer: None }
    }

    #[test]
    fn offers_is_the_subset_relation_for_all_pairs() {
        for offered in 0..16u8 {
            for requested in 0..16u8 {
                let expected = AccessMode::ALL
                    .iter()
                    .all(|mode| requested & mode.bit() == 0 || offered & mode.bit() != 0);
                assert_eq!(
                    set(offered).offers(&set(requested)),
                    expected,
                    "{offered:04b} offers {requested:04b}"
                );
            }
        }
    }

    #[test]
    fn order_and_repetition_mean_nothing() {
        let one = AccessModes::from_names(["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"]);
        let two = AccessModes::from_names(["ReadWriteOnce", "ReadWriteMany"]);
        assert_eq!(one, two);
        assert_eq!(one.to_string(), "RWO,RWX");
        assert_eq!(one.names().collect::<Vec<_>>(), ["ReadWriteOnce", "ReadWriteMany"]);
        assert_eq!(one.count(), 2);
    }

    #[test]
    fn a_newer_mode_is_kept_by_name() {
        let newer = AccessModes::from_names(["ReadWriteOnce", "ReadWriteMoon"]);
        assert_ne!(newer, AccessModes::from_names(["ReadWriteOnce"]));
        assert!(!AccessModes::from_names(["ReadWriteOnce"]).offers(&newer));
        assert_eq!(newer.to_string(), "RWO,ReadWriteMoon");
    }
}
