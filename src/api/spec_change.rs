//! How an update changes the spec of a volume, in fields known to us or not.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::bounded::StrSeed;
use super::digest::Digest;
use crate::rules::SpecChange;
use crate::rules::judging::expansion::FIELDS;

/// Returns what changes from the text of one spec to that of another; an error if one of them is no object.
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
        while let Some(is_added) = members.next_key_seed(StrSeed("a key", |key: &str| {
            let is_added = !FIELDS.contains(&key);
            if is_added {
                digest.add(key);
            }
            is_added
        }))? {
            let value: &RawValue = members.next_value()?;
            if is_added {
                digest.add(value.get());
            }
        }
        Ok(digest.finish())
    }
}
