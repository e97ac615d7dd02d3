//! The object to explain: `pvc/NAME`, `pv/NAME` or `pod/NAME`, as kubectl spells it.

use crate::cli::exit::Failure;
use crate::cli::input::object_id::{claim_key, volume_key};
use crate::cli::report::ReportedObject;
use crate::model::{ClaimKey, PodKey, VolumeName};
use crate::rules::distance_if_similar;

/// The object to explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExplainTarget {
    /// A claim.
    Claim(ClaimKey),
    /// A volume.
    Volume(VolumeName),
    /// A pod.
    Pod(PodKey),
}

impl ExplainTarget {
    /// Reads `KIND/NAME`, or `KIND/NAMESPACE/NAME`; `namespace` stands in where none is given.
    pub(super) fn parse(text: &str, namespace: &str) -> Result<Self, Failure> {
        let invalid = |reason: &str| {
            Failure::usage(format!(
                "\"{text}\" {reason}; write pvc/NAME, pv/NAME or pod/NAME, with -n NAMESPACE"
            ))
        };
        let (kind, rest) = text.split_once('/').ok_or_else(|| invalid("names no kind"))?;
        let (given, name) = match rest.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, rest),
        };
        if name.is_empty() || name.contains('/') || given == Some("") {
            return Err(invalid("names no object"));
        }
        let namespace = given.unwrap_or(namespace);
        match kind.to_ascii_lowercase().as_str() {
            "pvc" | "claim" | "persistentvolumeclaim" | "persistentvolumeclaims" => {
                Ok(Self::Claim(ClaimKey::new(namespace, name)))
            }
            "pod" | "po" | "pods" => Ok(Self::Pod(PodKey::new(namespace, name))),
            "pv" | "volume" | "persistentvolume" | "persistentvolumes" => match given {
                None => Ok(Self::Volume(VolumeName::new(name))),
                Some(_) => Err(invalid("gives a PV a namespace, and PVs have none")),
            },
            _ => Err(invalid("is of a kind that is not explained")),
        }
    }
}

impl From<&ClaimKey> for ReportedObject {
    fn from(key: &ClaimKey) -> Self {
        Self::from(&claim_key(&key.namespace, &key.name))
    }
}

impl From<&VolumeName> for ReportedObject {
    fn from(name: &VolumeName) -> Self {
        Self::from(&volume_key(name.as_str()))
    }
}

impl From<&PodKey> for ReportedObject {
    fn from(key: &PodKey) -> Self {
        let (namespace, name) = (key.namespace.to_string(), key.name.to_string());
        Self { kind: "Pod", namespace: Some(namespace), name }
    }
}

/// The names among `names` that are nearest to one that does not exist: the same word elsewhere, then by
/// the number of letters to change. At most three.
pub(super) fn nearby(missing: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let word = last(missing);
    let near = names.filter_map(|name| Some((distance_if_similar(&last(&name), &word)?, name)));
    let mut near: Vec<(usize, String)> = near.collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_kind_is_known_and_namespaces_only_where_they_are() {
        let claim = ExplainTarget::Claim(ClaimKey::new("db", "x"));
        for text in
            ["pvc/x", "claim/x", "PersistentVolumeClaim/x", "persistentvolumeclaims/x", "pvc/db/x"]
        {
            assert_eq!(ExplainTarget::parse(text, "db"), Ok(claim.clone()), "{text}");
        }
        for text in ["pv/x", "volume/x", "persistentvolume/x"] {
            assert_eq!(
                ExplainTarget::parse(text, "db"),
                Ok(ExplainTarget::Volume(VolumeName::new("x")))
            );
        }
        assert_eq!(
            ExplainTarget::parse("pod/qa/x", "db"),
            Ok(ExplainTarget::Pod(PodKey::new("qa", "x")))
        );
        for text in ["x", "pvc/", "pvc//x", "pvc/a/b/c", "pv/db/x", "node/x"] {
            assert!(ExplainTarget::parse(text, "db").is_err(), "{text}");
        }
    }

    #[test]
    fn the_nearest_names_are_those_with_the_fewest_letters_changed() {
        let names = ["db/dta", "qa/data", "db/date", "db/web"].map(str::to_owned);
        assert_eq!(nearby("db/data", names.into_iter()), ["qa/data", "db/date", "db/dta"]);
    }
}
