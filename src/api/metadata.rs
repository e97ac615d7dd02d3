//! `metadata` of any object, as far as decisions read it.

use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::bounded::{Object, ReadAnnotations, ReadFinalizers, ReadLabels, Text};
use super::digest::Digest;
use crate::model::{CreationTimestamp, Deletion, Owner, ResourceVersion, Uid};

/// The wire form of `metadata`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata<'a> {
    /// The name.
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    /// The namespace.
    pub namespace: Option<Text<'a>>,
    /// The uid.
    pub uid: Option<Text<'a>>,
    /// The resourceVersion.
    pub resource_version: Option<Text<'a>>,
    /// When it was created.
    pub creation_timestamp: Option<Text<'a>>,
    /// When deletion was asked for; only its presence counts.
    pub deletion_timestamp: Option<IgnoredAny>,
    /// The labels, if they were wanted.
    pub labels: ReadLabels,
    /// The annotations that decisions read.
    pub annotations: ReadAnnotations,
    /// The finalizers that decisions read.
    pub finalizers: ReadFinalizers,
    /// The owners.
    pub owner_references: OwnersWire<'a>,
}

/// The wire form of an owner reference.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerWire<'a> {
    /// Its group and version.
    #[serde(borrow)]
    pub api_version: Option<Text<'a>>,
    /// Its kind.
    pub kind: Option<Text<'a>>,
    /// Its name.
    pub name: Option<Text<'a>>,
    /// Its uid.
    pub uid: Option<Text<'a>>,
}

/// How many owners of an object are kept. 64: an object has one or two.
const OWNERS_COUNT_MAX: usize = 64;

/// The wire form of `metadata.ownerReferences`.
#[derive(Debug, Default)]
pub struct OwnersWire<'a> {
    /// The first of them.
    kept: Vec<Object<OwnerWire<'a>>>,
    /// How many there are.
    count: usize,
    /// Of all uids, in order.
    digest: [u64; 2],
}

impl OwnersWire<'_> {
    /// Whether there are more than were kept.
    pub fn is_cut(&self) -> bool {
        self.count > self.kept.len()
    }

    /// Whether both name the same owners in the same order.
    pub fn is_as(&self, other: &Self) -> bool {
        (self.count, self.digest) == (other.count, other.digest)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for OwnersWire<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OwnersVisitor;
        impl<'de> Visitor<'de> for OwnersVisitor {
            type Value = OwnersWire<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<OwnersWire<'de>, E> {
                Ok(OwnersWire::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<OwnersWire<'de>, A::Error> {
                let mut owners = OwnersWire::default();
                let mut digest = Digest::default();
                while let Some(owner) = items.next_element::<Object<OwnerWire<'_>>>()? {
                    digest.add(or_empty(owner.0.uid.as_ref()));
                    owners.count += 1;
                    if owners.kept.len() < OWNERS_COUNT_MAX {
                        owners.kept.push(owner);
                    }
                }
                owners.digest = digest.finish();
                Ok(owners)
            }
        }
        deserializer.deserialize_any(OwnersVisitor)
    }
}

impl Metadata<'_> {
    /// Whether deletion was asked for.
    pub fn deletion(&self) -> Deletion {
        match self.deletion_timestamp {
            Some(_) => Deletion::Terminating,
            None => Deletion::NotAsked,
        }
    }

    /// The uid, where one was given.
    pub fn uid(&self) -> Option<Uid> {
        filled(self.uid.as_ref()).map(Uid::new)
    }

    /// Those of its owners that were kept, but for those without a uid.
    pub fn owners(&self) -> impl Iterator<Item = Owner> {
        self.owner_references.kept.iter().filter_map(|Object(owner)| {
            Some(Owner {
                api_version: or_empty(owner.api_version.as_ref()).into(),
                kind: or_empty(owner.kind.as_ref()).into(),
                name: or_empty(owner.name.as_ref()).into(),
                uid: Uid::new(filled(owner.uid.as_ref())?),
            })
        })
    }

    /// When it was created, where that is told and a time.
    pub fn created(&self) -> Option<CreationTimestamp> {
        let time: Timestamp = filled(self.creation_timestamp.as_ref())?.parse().ok()?;
        Some(CreationTimestamp::at(time.as_second()))
    }

    /// The resourceVersion, where one was given.
    pub fn version(&self) -> Option<ResourceVersion> {
        filled(self.resource_version.as_ref()).map(ResourceVersion::new)
    }
}

/// The text, unless it is absent or empty.
pub(super) fn filled<'a>(text: Option<&'a Text<'_>>) -> Option<&'a str> {
    text.map(|text| &*text.0).filter(|text| !text.is_empty())
}

/// The text, empty where it is absent.
pub(super) fn or_empty<'a>(text: Option<&'a Text<'_>>) -> &'a str {
    text.map_or("", |text| &text.0)
}
