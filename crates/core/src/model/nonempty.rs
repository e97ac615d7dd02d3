//! A list that is never empty: a denial without a reason cannot be expressed.
//!
//! Only what the core needs is here; it is not a general collection.

use std::fmt;

/// A list with at least one item, in the order in which the items were found.
#[derive(Clone, PartialEq, Eq)]
pub struct NonEmpty<T> {
    first: T,
    rest: Vec<T>,
}

impl<T> NonEmpty<T> {
    /// The list as an option: `None` for an empty vector.
    pub fn from_vec(items: Vec<T>) -> Option<Self> {
        let mut items = items.into_iter();
        let first = items.next()?;
        Some(Self { first, rest: items.collect() })
    }

    /// The first item.
    pub fn first(&self) -> &T {
        &self.first
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

impl<T: fmt::Debug> fmt::Debug for NonEmpty<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
