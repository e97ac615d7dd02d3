//! The piece of storage behind a volume, so that two volumes on the same one are recognized.
//!
//! Not here: how it is read from the source of a volume (`api::storage`).

use std::fmt;

use arcstr::ArcStr;

/// A disk, a share or a folder, wherever that is the same from every volume that names it. Ordered so that what
/// is inside a folder stands behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Storage {
    kind: StorageKind,
    place: ArcStr,
}

/// What kind of storage it is, as far as that decides who else may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageKind {
    /// A disk or share that only its own system distinguishes: one name, one piece.
    Disk,
    /// A file system by the name that its driver gives it: many nodes and many volumes may have it at a time.
    FileSystem,
    /// A folder on an NFS server; others are inside it.
    Share,
    /// A disk or folder of a node (`local`): the same path on another node is another one.
    Local,
    /// Any folder of a node (`hostPath`).
    Folder,
}

impl Storage {
    /// The storage of this kind at this place. Places are compared as texts; of a share, a slash at the end does
    /// not count.
    pub fn new(kind: StorageKind, place: &str) -> Self {
        let place = match kind {
            StorageKind::Share | StorageKind::Local | StorageKind::Folder => {
                place.trim_end_matches('/')
            }
            StorageKind::Disk | StorageKind::FileSystem => place,
        };
        Self { kind, place: place.into() }
    }

    /// Returns what kind it is.
    pub fn kind(&self) -> StorageKind {
        self.kind
    }

    /// Returns where it is, as its source spells it.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns whether this is a share inside `other`, or the same.
    pub fn is_within(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.place.strip_prefix(other.place()).is_some_and(|rest| {
                rest.is_empty() || (self.kind == StorageKind::Share && rest.starts_with('/'))
            })
    }

    /// Returns whether removing all files of one removes files of the other: they are the same, or one is inside the
    /// other. Of folders of nodes that is so on one node.
    pub fn overlaps(&self, other: &Self) -> bool {
        let is_of_a_node = |kind| matches!(kind, StorageKind::Local | StorageKind::Folder);
        let are_comparable =
            self.kind == other.kind || (is_of_a_node(self.kind) && is_of_a_node(other.kind));
        if self.kind == StorageKind::Disk || !are_comparable {
            return self == other;
        }
        let (mut ours, mut theirs) = (components(&self.place), components(&other.place));
        loop {
            match (ours.next(), theirs.next()) {
                (Some(our), Some(their)) if our != their => return false,
                (Some(_), Some(_)) => {}
                (None, _) | (_, None) => return true,
            }
        }
    }

    /// The shares that this one is inside of, widest first: what an index is asked for.
    pub fn around(&self) -> impl Iterator<Item = Self> + '_ {
        let is_share = self.kind == StorageKind::Share;
        let ends = self.place.match_indices('/').map(|(at, _)| at).filter(move |_| is_share);
        ends.filter_map(|end| {
            let place = self.place.get(..end)?;
            Some(Self { kind: self.kind, place: place.into() })
        })
    }
}

/// The names on the way to a place; a slash twice and a dot lead nowhere.
fn components(place: &str) -> impl Iterator<Item = &str> {
    place.split('/').filter(|name| !name.is_empty() && *name != ".")
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_inside_the_folders_above_it_and_nothing_else_is_inside_anything() {
        let share = |place: &str| Storage::new(StorageKind::Share, place);
        let (inner, outer) = (share("nfs.example.com:/a/b"), share("nfs.example.com:/a/"));
        assert!(inner.is_within(&outer) && inner.is_within(&inner) && !outer.is_within(&inner));
        assert!(!share("nfs.example.com:/ab").is_within(&outer), "a longer name");
        assert!(!share("other.example.com:/a/b").is_within(&outer));
        assert_eq!(inner.around().collect::<Vec<_>>(), [share("nfs.example.com:"), outer.clone()]);
        assert!(outer < inner, "an index finds what is inside right behind it");
        for (other, overlaps) in [
            ("nfs.example.com:/a//b/c", true),
            ("nfs.example.com:/", true),
            ("nfs.example.com:/a/bc", false),
            ("nfs.example.com:/b", false),
            ("other.example.com:/a/b", false),
        ] {
            assert_eq!(inner.overlaps(&share(other)), overlaps, "{other}");
            assert_eq!(share(other).overlaps(&inner), overlaps, "{other}");
        }
        let local = |place: &str| Storage::new(StorageKind::Local, place);
        let folder = Storage::new(StorageKind::Folder, "/mnt");
        assert!(folder.overlaps(&local("/mnt/a")) && !folder.overlaps(&local("/srv/mnt")));
        let disk = |name: &str| Storage::new(StorageKind::Disk, name);
        assert!(disk("vol/1").overlaps(&disk("vol/1")) && !disk("vol").overlaps(&disk("vol/1")));
        assert!(!local("/mnt/a/b").is_within(&local("/mnt/a")));
        assert_eq!(local("/mnt/a/b").around().next(), None);
    }
}
