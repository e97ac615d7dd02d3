//! JSON that borrows its texts: what is sent is written down at once, without a copy of each key and value before.

use std::fmt::Display;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A JSON value, made of what is there.
pub(super) enum Json<'a> {
    /// `null`.
    Null,
    /// A text.
    Text(&'a str),
    /// The text of a value.
    Shown(&'a dyn Display),
    /// A list of texts.
    Texts(Vec<&'a str>),
    /// An object.
    Object(Vec<(&'a str, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// An object with these fields.
    pub(super) fn object<const N: usize>(fields: [(&'a str, Self); N]) -> Self {
        Self::Object(Vec::from(fields))
    }

    /// The text of a value, or `null`.
    pub(super) fn shown<T: Display>(value: Option<&'a T>) -> Self {
        value.map_or(Self::Null, |value| Self::Shown(value))
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Shown(value) => serializer.collect_str(value),
            Self::Texts(texts) => serializer.collect_seq(texts),
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}
