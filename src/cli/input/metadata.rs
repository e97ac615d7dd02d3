//! What identifies an object in a JSON text: the rest of it is not looked at.

use std::borrow::Cow;
use std::fmt;

use arcstr::ArcStr;
use serde::{Deserialize, Deserializer};

/// The namespace of an object without one, as kubectl creates it.
pub(in crate::cli) const DEFAULT_NAMESPACE: &str = "default";

/// An object of which only what identifies it is read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedObject {
    metadata: NamedMetadata,
}

/// What identifies an object; empty what it does not say.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::cli) struct NamedMetadata {
    #[serde(deserialize_with = "text_or_empty")]
    pub(in crate::cli) namespace: ArcStr,
    #[serde(deserialize_with = "text_or_empty")]
    pub(in crate::cli) name: ArcStr,
    #[serde(deserialize_with = "text_or_empty")]
    pub(in crate::cli) uid: ArcStr,
}

impl NamedMetadata {
    /// That of an object (JSON text).
    pub(in crate::cli) fn of(object: &str) -> Self {
        serde_json::from_str::<NamedObject>(object).unwrap_or_default().metadata
    }
}

impl fmt::Display for NamedMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{}{separator}{}", self.namespace, self.name)
    }
}

fn text_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ArcStr, D::Error> {
    let text = Option::<JsonText<'de>>::deserialize(deserializer)?;
    Ok(text.map(|text| ArcStr::from(&*text.0)).unwrap_or_default())
}

/// A text, borrowed where it is written without escapes.
#[derive(Debug, Default, Deserialize)]
pub(in crate::cli) struct JsonText<'a>(#[serde(borrow)] pub(in crate::cli) Cow<'a, str>);
