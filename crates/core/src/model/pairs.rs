//! Texts by key: how annotations and labels are kept.
//!
//! One text with its cuts, in the order of the keys: an object may carry 14,000 of them, and as many
//! boxed texts would take four times the memory. A clone shares the text, so that objects that carry
//! the same need it once. Not here: what a key means.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Values by key, in the order of the keys. Equal where keys and values are, in whatever order they were
/// put in.
#[derive(Clone, Default)]
pub(super) struct Pairs(Option<Arc<Kept>>);

/// At least one pair.
struct Kept {
    text: Box<str>,
    cuts: Box<[Cut]>,
}

/// Pairs while they are gathered, in any order.
#[derive(Debug, Default)]
pub struct PairsBuilder {
    text: String,
    cuts: Vec<Cut>,
}

/// Above this much text, room is made for [`ROOM_BYTES`] at once. Room that nothing was written to takes no
/// memory, but text that has to move takes as much again while it does.
const LARGE_BYTES: usize = 16 * 1024;

/// More than is read of any object.
const ROOM_BYTES: usize = 1 << 20;

/// Where in the text a pair stands: the key, then the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    key: u32,
    value: u32,
    end: u32,
}

impl Pairs {
    /// The value under `key`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let kept = self.0.as_ref()?;
        let place = kept.cuts.binary_search_by(|cut| cut.pair(&kept.text).0.cmp(key)).ok()?;
        kept.cuts.get(place).map(|cut| cut.pair(&kept.text).1)
    }

    /// Keys and values, in the order of the keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|kept| kept.cuts.iter().map(|cut| cut.pair(&kept.text)))
    }

    /// The same with `value` under `key`, or with nothing there.
    pub(super) fn with(&self, key: &str, value: Option<&str>) -> Self {
        let others = || self.iter().filter(|(other, _)| *other != key);
        let pairs = || others().chain(value.map(|value| (key, value)));
        let bytes = pairs().map(|(key, value)| key.len() + value.len()).sum();
        let (text, cuts) = (String::with_capacity(bytes), Vec::with_capacity(pairs().count()));
        let mut gathered = PairsBuilder { text, cuts };
        for (key, value) in pairs() {
            gathered.push(key, value);
        }
        gathered.ordered()
    }

    /// Keeps the text of `other` if it is the same.
    pub(super) fn share(&mut self, other: &Self) {
        if self == other {
            self.0.clone_from(&other.0);
        }
    }
}

impl Kept {
    /// Returns whether the same was put in, in the same order.
    fn is_same(&self, other: &Self) -> bool {
        self.text == other.text && self.cuts == other.cuts
    }
}

impl PairsBuilder {
    /// What a pair takes beside its text.
    pub const ENTRY_BYTES: usize = size_of::<Cut>();

    /// Adds one.
    pub fn push(&mut self, key: &str, value: &str) {
        let Self { text, cuts } = self;
        if text.len() > LARGE_BYTES && text.capacity() < ROOM_BYTES {
            text.reserve_exact(ROOM_BYTES);
            cuts.reserve_exact(ROOM_BYTES / Self::ENTRY_BYTES);
        }
        // What is read of one object is far below 4 GiB.
        let place = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let start = place(text);
        text.push_str(key);
        let middle = place(text);
        text.push_str(value);
        cuts.push(Cut { key: start, value: middle, end: place(text) });
    }

    /// All of them by key. Error: a key that is there twice.
    pub(super) fn sorted(self) -> Result<Pairs, Box<str>> {
        let sorted = self.ordered();
        let keys = || sorted.iter().map(|(key, _)| key);
        let twice = keys().zip(keys().skip(1)).find(|(key, next)| key == next);
        match twice.map(|(key, _)| key.into()) {
            Some(key) => Err(key),
            None => Ok(sorted),
        }
    }

    fn ordered(self) -> Pairs {
        let Self { text, mut cuts } = self;
        if cuts.is_empty() {
            return Pairs::default();
        }
        // In place: a stable sort would take as much again, and a key that is there twice is an error anyway.
        cuts.sort_unstable_by(|a, b| a.pair(&text).0.cmp(b.pair(&text).0));
        // Kept as long as the object: no room that nothing will ever fill.
        Pairs(Some(Arc::new(Kept { text: text.into(), cuts: cuts.into() })))
    }
}

impl Cut {
    /// Key and value.
    fn pair<'a>(&self, text: &'a str) -> (&'a str, &'a str) {
        let part = |from: u32, to: u32| text.get(from as usize..to as usize).unwrap_or_default();
        (part(self.key, self.value), part(self.value, self.end))
    }
}

impl PartialEq for Pairs {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            // Nearly always: many objects carry the same, and two versions of one in the same order.
            (Some(one), Some(other)) if Arc::ptr_eq(one, other) || one.is_same(other) => true,
            (Some(_) | None, _) => self.iter().eq(other.iter()),
        }
    }
}

impl Eq for Pairs {}

impl Hash for Pairs {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iter().for_each(|pair| pair.hash(state));
    }
}

impl PartialOrd for Pairs {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pairs {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(pairs: &[(&str, &str)]) -> Result<Pairs, Box<str>> {
        let mut unordered = PairsBuilder::default();
        for (key, value) in pairs {
            unordered.push(key, value);
        }
        unordered.sorted()
    }

    #[test]
    fn pairs_are_found_and_compared_by_key_in_whatever_order_they_came() {
        let one = gathered(&[("b", "2"), ("a", ""), ("c", "3")]).unwrap();
        let other = gathered(&[("c", "3"), ("b", "old"), ("a", "")]).unwrap();
        assert!(one < other && one != other);
        let other = other.with("b", Some("2"));
        assert_eq!(one, other);
        assert_eq!([one.get("a"), one.get("b"), one.get("d")], [Some(""), Some("2"), None]);
        let fewer = other.with("b", None);
        assert_eq!(fewer.iter().collect::<Vec<_>>(), [("a", ""), ("c", "3")]);
        assert_eq!(fewer.with("a", None).with("c", None), Pairs::default());
    }

    #[test]
    fn a_key_that_is_there_twice_is_reported() {
        assert_eq!(gathered(&[("b", "1"), ("a", "1"), ("b", "1")]), Err("b".into()));
    }

    #[test]
    fn only_the_same_is_shared() {
        let first = gathered(&[("a", "1")]).unwrap();
        for (value, is_shared) in [("1", true), ("2", false)] {
            let mut second = gathered(&[("a", value)]).unwrap();
            second.share(&first);
            assert_eq!(second.get("a"), Some(value));
            let (first, second) = (first.0.as_ref().unwrap(), second.0.as_ref().unwrap());
            assert_eq!(Arc::ptr_eq(first, second), is_shared);
        }
    }
}
