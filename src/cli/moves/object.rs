//! The objects that a move is about, as they are spelled: `pvc/NAME`, `pvc/NAMESPACE/NAME`, `pv/NAME`, `ns/NAME`.

use std::fmt;

use crate::cli::exit::Failure;
use crate::cli::input::object_id::ObjectKind;
use crate::model::{ClaimKey, VolumeName, name_syntax};

/// The object that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum MovedObject {
    /// A claim.
    Claim(ClaimKey),
    /// A volume.
    Volume(VolumeName),
    /// All claims of a namespace.
    Namespace(Box<str>),
}

impl MovedObject {
    /// Reads `KIND/NAME` or `pvc/NAMESPACE/NAME`; `namespace` stands in where none is given.
    pub(in crate::cli) fn parse(text: &str, namespace: &str) -> Result<Self, Failure> {
        let words: Vec<&str> = text.split('/').collect();
        let kind = words.first().and_then(|kind| ObjectKind::from_argument(kind));
        match (kind, &*words) {
            (Some(ObjectKind::Claim), [_, name]) => {
                valid(ClaimKey::new(namespace, *name)).map(Self::Claim)
            }
            (Some(ObjectKind::Claim), [_, namespace, name]) => {
                valid(ClaimKey::new(*namespace, *name)).map(Self::Claim)
            }
            (Some(ObjectKind::Volume), [_, name]) if !name.is_empty() => {
                Ok(Self::Volume(VolumeName::new(*name)))
            }
            (Some(ObjectKind::Namespace), [_, name]) if !name.is_empty() => {
                Ok(Self::Namespace((*name).into()))
            }
            _ => Err(Failure::usage(format!(
                "{text:?} names no object that can be moved; write pvc/NAME with -n NAMESPACE, pvc/NAMESPACE/NAME, pv/NAME, \
                 or, for a rescue, ns/NAME"
            ))),
        }
    }

    /// Reads several of them.
    pub(in crate::cli) fn parse_all(
        texts: &[String],
        namespace: &str,
    ) -> Result<Vec<Self>, Failure> {
        texts.iter().map(|text| Self::parse(text, namespace)).collect()
    }

    /// The name that a claim at another place has if none is given.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Claim(key) => &key.name,
            Self::Volume(_) | Self::Namespace(_) => "",
        }
    }
}

impl fmt::Display for MovedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(key) => write!(f, "PVC \"{key}\""),
            Self::Volume(name) => write!(f, "PV {:?}", name.as_str()),
            Self::Namespace(name) => write!(f, "any PV of Namespace {name:?}"),
        }
    }
}

/// Reads a claim.
pub(super) fn claim(text: &str, namespace: &str) -> Result<ClaimKey, Failure> {
    match MovedObject::parse(text, namespace)? {
        MovedObject::Claim(key) => Ok(key),
        MovedObject::Volume(_) | MovedObject::Namespace(_) => {
            Err(Failure::usage(format!("{text:?} is no PVC; write pvc/NAMESPACE/NAME")))
        }
    }
}

/// Reads `NAMESPACE/NAME`, or `NAMESPACE` alone: the name is then `name`.
pub(super) fn destination(text: &str, name: &str) -> Result<ClaimKey, Failure> {
    let (namespace, name) = text.split_once('/').unwrap_or((text, name));
    if name.is_empty() {
        return Err(Failure::usage(format!("--to {text:?} gives no name; write NAMESPACE/NAME")));
    }
    valid(ClaimKey::new(namespace, name))
}

/// Returns the key if a claim can have it.
pub(super) fn valid(key: ClaimKey) -> Result<ClaimKey, Failure> {
    let is_valid =
        name_syntax::is_dns_label(&key.namespace) && name_syntax::is_dns_subdomain(&key.name);
    if is_valid {
        return Ok(key);
    }
    Err(Failure::usage(format!(
        "\"{key}\" can be no PVC: names are made of lower case letters, digits, - and ., and begin and end with a letter or a \
         digit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_spelled_as_kubectl_spells_them() {
        let claim = || MovedObject::Claim(ClaimKey::new("shop", "data"));
        for text in ["pvc/data", "pvc/shop/data", "PersistentVolumeClaim/data"] {
            assert_eq!(MovedObject::parse(text, "shop"), Ok(claim()), "{text}");
        }
        assert_eq!(MovedObject::parse("ns/shop", ""), Ok(MovedObject::Namespace("shop".into())));
        for text in ["data", "pvc/", "pvc/a/b/c", "pv/", "pv/a/b", "pod/x", "pvc/Data", "pvc/a b/c"]
        {
            assert!(MovedObject::parse(text, "shop").is_err(), "{text}");
        }
        assert_eq!(destination("b", "data"), Ok(ClaimKey::new("b", "data")));
        assert_eq!(destination("b/x", "data"), Ok(ClaimKey::new("b", "x")));
        assert!(destination("b/", "data").is_err() && destination("b", "").is_err());
    }
}
