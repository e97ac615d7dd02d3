//! The finalizers of an object that decisions read.
//!
//! Which these are, `annotations` says. Not here: how they are read from JSON.

use std::sync::Arc;

/// Finalizers, sorted. A clone shares them, so that objects that carry the same need them once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finalizers(Option<Arc<Vec<Box<str>>>>);

impl Finalizers {
    /// Returns whether this one is there.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|finalizer| finalizer == name)
    }

    /// Their names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|names| names.iter().map(AsRef::as_ref))
    }

    /// Keeps those of `other` if they are the same.
    pub fn share(&mut self, other: &Self) {
        if self == other {
            self.0.clone_from(&other.0);
        }
    }
}

impl<T: Into<Box<str>>> FromIterator<T> for Finalizers {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut names: Vec<Box<str>> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        names.dedup();
        // Kept as long as the object, which has one or two.
        names.shrink_to_fit();
        Self((!names.is_empty()).then(|| Arc::new(names)))
    }
}
