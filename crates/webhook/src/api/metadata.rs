//! `metadata` of any object: the fields that decisions read.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use serde::de::{IgnoredAny, SeqAccess};

use super::bounded::{
    OptionalText, ParseBudget, ReadLabels, Seed, Text, WireCollection, parsed_as_collection, wire,
};
use super::digest::Digest;
use crate::model::{
    Annotations, CreationTimestamp, Deletion, Finalizers, Owner, ResourceVersion, Uid,
};

wire! {
    /// The wire form of `metadata`.
    #[derive(Debug)]
    pub struct Metadata<'a> {
        /// The name.
        pub name: Option<Text<'a>> = "name",
        /// The namespace.
        pub namespace: Option<Text<'a>> = "namespace",
        /// The uid.
        pub uid: Option<Text<'a>> = "uid",
        /// The resourceVersion.
        pub resource_version: Option<Text<'a>> = "resourceVersion",
        /// When it was created.
        pub creation_timestamp: Option<Text<'a>> = "creationTimestamp",
        /// When deletion was asked for; only its presence counts.
        pub deletion_timestamp: Option<IgnoredAny> = "deletionTimestamp",
        /// The labels, if they were wanted.
        pub labels: ReadLabels = "labels",
        /// The annotations that decisions read.
        pub annotations: Annotations = "annotations",
        /// The finalizers that decisions read.
        pub finalizers: Finalizers = "finalizers",
        /// The owners.
        pub owner_references: OwnersWire<'a> = "ownerReferences",
    }

    /// The wire form of an owner reference.
    #[derive(Debug)]
    pub struct OwnerWire<'a> {
        /// Its group and version.
        pub api_version: Option<Text<'a>> = "apiVersion",
        /// Its kind.
        pub kind: Option<Text<'a>> = "kind",
        /// Its name.
        pub name: Option<Text<'a>> = "name",
        /// Its uid.
        pub uid: Option<Text<'a>> = "uid",
    }
}

/// How many owners of an object are kept. 64: an object has one or two.
const OWNERS_COUNT_MAX: usize = 64;

/// The wire form of `metadata.ownerReferences`.
#[derive(Debug, Default)]
pub struct OwnersWire<'a> {
    /// The first of them.
    kept: Vec<OwnerWire<'a>>,
    /// How many there are.
    count: usize,
    /// Of all uids, in order.
    digest: [u64; 2],
}

impl OwnersWire<'_> {
    /// Returns whether there are more than were kept.
    pub fn is_cut(&self) -> bool {
        self.count > self.kept.len()
    }

    /// Returns whether both name the same owners in the same order.
    pub fn equals(&self, other: &Self) -> bool {
        (self.count, self.digest) == (other.count, other.digest)
    }
}

impl<'de: 'a, 'a> WireCollection<'de> for OwnersWire<'a> {
    const EXPECTED: &'static str = "a list";

    fn from_seq<A: SeqAccess<'de>>(
        budget: &ParseBudget<'_>,
        mut items: A,
    ) -> Result<Self, A::Error> {
        let (mut owners, mut digest) = (Self::default(), Digest::default());
        while let Some(owner) = items.next_element_seed(Seed::<OwnerWire<'_>>::new(budget))? {
            digest.add(owner.uid.or_empty());
            owners.count += 1;
            if owners.kept.len() < OWNERS_COUNT_MAX {
                owners.kept.push(owner);
            }
        }
        owners.digest = digest.finish();
        Ok(owners)
    }
}

parsed_as_collection!(OwnersWire<'a>, 'a);

/// A time in the form in which the API server writes each, `2006-01-02T15:04:05Z`.
fn usual_time(text: &str) -> Option<Timestamp> {
    let bytes: &[u8; 20] = text.as_bytes().try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    if marks.iter().any(|(place, mark)| bytes[*place] != *mark) {
        return None;
    }
    let digit = |place: usize| {
        i8::try_from(bytes[place].wrapping_sub(b'0')).ok().filter(|digit| (0..10).contains(digit))
    };
    let two = |place: usize| Some(digit(place)? * 10 + digit(place + 1)?);
    let year = i16::from(two(0)?) * 100 + i16::from(two(2)?);
    let date = Date::new(year, two(5)?, two(8)?).ok()?;
    let time = Time::new(two(11)?, two(14)?, two(17)?, 0).ok()?;
    Offset::UTC.to_timestamp(date.to_datetime(time)).ok()
}

impl Metadata<'_> {
    /// Returns whether deletion was asked for.
    pub fn deletion(&self) -> Deletion {
        match self.deletion_timestamp {
            Some(_) => Deletion::Terminating,
            None => Deletion::NotAsked,
        }
    }

    /// The uid, where one was given.
    pub fn uid(&self) -> Option<Uid> {
        self.uid.filled().map(Uid::new)
    }

    /// Its owners that were kept and have a uid.
    pub fn owners(&self) -> impl Iterator<Item = Owner> {
        self.owner_references.kept.iter().filter_map(|owner| {
            Some(Owner {
                api_version: owner.api_version.or_empty().into(),
                kind: owner.kind.or_empty().into(),
                name: owner.name.or_empty().into(),
                uid: Uid::new(owner.uid.filled()?),
            })
        })
    }

    /// Returns when it was created, if that is a valid time.
    pub fn created(&self) -> Option<CreationTimestamp> {
        let text = self.creation_timestamp.filled()?;
        let time = usual_time(text).or_else(|| text.parse().ok())?;
        Some(CreationTimestamp::at(time.as_second()))
    }

    /// The resourceVersion, where one was given.
    pub fn version(&self) -> Option<ResourceVersion> {
        self.resource_version.filled().map(ResourceVersion::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_time_is_what_any_time_is() {
        let times = [
            ("2024-02-29T23:59:59Z", true),
            ("1970-01-01T00:00:00Z", true),
            ("9999-12-30T00:00:00Z", true),
            ("0001-01-01T00:00:00Z", true),
            ("2023-02-29T00:00:00Z", false),
            ("2024-01-01T24:00:00Z", false),
            ("2024-01-01T00:00:60Z", false),
            ("2024-01-01t00:00:00Z", false),
            ("2024-1a-01T00:00:00Z", false),
            ("2024-01-01T00:00:00+", false),
            ("2024-01-01T00:00:00.5Z", false),
        ];
        for (text, is_usual) in times {
            let read = usual_time(text);
            assert_eq!(read.is_some(), is_usual, "{text}");
            assert!(read.is_none() || read == text.parse().ok(), "{text}");
        }
    }
}
