//! How an update changes the spec of a volume, in fields known to us or not.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::digest::Digest;
use crate::rules::SpecChange;
use crate::rules::judging::expansion::FIELDS;

/// What changes from the text of one spec to that of another; an error if one of them is no object.
pub(super) fn spec_change(old: &str, new: &str) -> Result<SpecChange, serde_json::Error> {
    if old == new {
        return Ok(SpecChange::None);
    }
    let is_same = rest(old)? == rest(new)?;
    Ok(if is_same { SpecChange::SizeOrAttributes } else { SpecChange::Other })
}

/// A digest of all members but [`FIELDS`]: collected, they would be as many as a body has room for.
fn rest(text: &str) -> Result<[u64; 2], serde_json::Error> {
    serde_json::Deserializer::from_str(text).deserialize_map(Rest)
}

struct Rest;

impl<'de> Visitor<'de> for Rest {
    type Value = [u64; 2];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut digest = Digest::default();
        while let Some(is_added) = members.next_key_seed(Key(&mut digest))? {
            let value: &RawValue = members.next_value()?;
            if is_added {
                digest.add(value.get());
            }
        }
        Ok(digest.finish())
    }
}

/// Adds a key to the digest, and tells whether its value is to be added; it is not kept, however long it is.
struct Key<'a>(&'a mut Digest);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        let is_added = !FIELDS.contains(&key);
        if is_added {
            self.0.add(key);
        }
        Ok(is_added)
    }
}
