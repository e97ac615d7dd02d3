//! What identifies an object in a JSON text: the rest of it is not looked at.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arcstr::ArcStr;
use serde::Deserialize;

use crate::api::head::object_head;
use crate::binding::Observed;
use crate::model::{Claim, Uid};

/// The namespace of an object without one, as kubectl creates it.
pub(in crate::cli) const DEFAULT_NAMESPACE: &str = "default";

/// What identifies an object; empty what it does not say.
#[derive(Clone, Debug)]
pub(in crate::cli) struct NamedMetadata {
    pub(in crate::cli) namespace: ArcStr,
    pub(in crate::cli) name: ArcStr,
    pub(in crate::cli) uid: ArcStr,
}

impl NamedMetadata {
    /// That of an object (JSON text).
    pub(in crate::cli) fn of(object: &str) -> Self {
        let head = object_head(object).unwrap_or_default();
        let [namespace, name, uid] =
            [head.namespace(), head.name(), head.uid_text()].map(ArcStr::from);
        Self { namespace, name, uid }
    }

    /// That of a volume or claim that was read. Nothing for other kinds, and for what may have been put into the default
    /// namespace when it was read.
    pub(in crate::cli) fn of_observed(observed: &Observed) -> Option<Self> {
        let is_elsewhere = |claim: &&Arc<Claim>| claim.key.namespace != DEFAULT_NAMESPACE;
        let (namespace, name, uid) = if let Some(volume) = observed.volume() {
            (ArcStr::new(), volume.name.text().clone(), &volume.uid)
        } else {
            let claim = observed.claim().filter(is_elsewhere)?;
            (claim.key.namespace.clone(), claim.key.name.clone(), &claim.uid)
        };
        let uid = uid.as_ref().map(Uid::to_string).unwrap_or_default().into();
        Some(Self { namespace, name, uid })
    }
}

impl fmt::Display for NamedMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{}{separator}{}", self.namespace, self.name)
    }
}

/// A text, borrowed where it is written without escapes.
#[derive(Debug, Default, Deserialize)]
pub(in crate::cli) struct JsonText<'a>(#[serde(borrow)] pub(in crate::cli) Cow<'a, str>);
