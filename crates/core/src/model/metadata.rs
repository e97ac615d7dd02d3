//! Fields of `metadata` that objects of several kinds have.

/// `metadata.creationTimestamp`, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CreationTimestamp(i64);

impl CreationTimestamp {
    /// The time of this many seconds since 1970.
    pub fn at(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0
    }
}

/// Whether an object is being deleted. A deletion cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// `deletionTimestamp` is absent.
    NotAsked,
    /// `deletionTimestamp` is set: the object goes when its last finalizer does.
    Terminating,
}
