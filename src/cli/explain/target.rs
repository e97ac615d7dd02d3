//! The object to explain: `pvc/NAME`, `pod/NAME` and so on, or `pvc NAME`, as kubectl spells them.

use crate::api::pods::Workload;
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
    /// A StatefulSet or a Deployment, by namespace and name.
    Workload(Workload, PodKey),
    /// A node.
    Node(Box<str>),
}

impl ExplainTarget {
    /// Reads `KIND/NAME`, `KIND/NAMESPACE/NAME` or the two words `KIND NAME`; `namespace` stands in where none is given.
    pub(super) fn parse(words: &[String], namespace: &str) -> Result<Self, Failure> {
        let text = words.join("/");
        let invalid = |reason: &str| {
            Failure::usage(format!(
                "\"{}\" {reason}; write pvc/NAME, pv/NAME, pod/NAME, statefulset/NAME, deployment/NAME or node/NAME, \
                 with -n NAMESPACE",
                words.join(" ")
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
        let of_cluster = |what: &str| match given {
            None => Ok(()),
            Some(_) => Err(invalid(&format!("gives a {what} a namespace, and {what}s have none"))),
        };
        match kind.to_ascii_lowercase().as_str() {
            "pvc" | "claim" | "persistentvolumeclaim" | "persistentvolumeclaims" => {
                Ok(Self::Claim(ClaimKey::new(namespace, name)))
            }
            "pod" | "po" | "pods" => Ok(Self::Pod(PodKey::new(namespace, name))),
            "sts" | "statefulset" | "statefulsets" | "statefulsets.apps" | "statefulset.apps" => {
                Ok(Self::Workload(Workload::StatefulSet, PodKey::new(namespace, name)))
            }
            "deploy" | "deployment" | "deployments" | "deployments.apps" | "deployment.apps" => {
                Ok(Self::Workload(Workload::Deployment, PodKey::new(namespace, name)))
            }
            "pv" | "volume" | "persistentvolume" | "persistentvolumes" => {
                of_cluster("PV").map(|()| Self::Volume(VolumeName::new(name)))
            }
            "node" | "no" | "nodes" => of_cluster("Node").map(|()| Self::Node(name.into())),
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

impl ReportedObject {
    /// A workload.
    pub(super) fn workload(workload: Workload, key: &PodKey) -> Self {
        Self { kind: workload.as_str(), ..Self::from(key) }
    }

    /// A node.
    pub(super) fn node(name: &str) -> Self {
        Self { kind: "Node", namespace: None, name: name.to_owned() }
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

    fn parsed(text: &str) -> Result<ExplainTarget, Failure> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        ExplainTarget::parse(&words, "db")
    }

    #[test]
    fn every_spelling_of_a_kind_is_known_and_namespaces_only_where_they_are() {
        let key = || PodKey::new("db", "x");
        let volume = ExplainTarget::Volume(VolumeName::new("x"));
        let of = |workload| ExplainTarget::Workload(workload, key());
        let spellings: [(&[&str], ExplainTarget); 6] = [
            (
                &[
                    "pvc/x",
                    "claim/x",
                    "PersistentVolumeClaim/x",
                    "persistentvolumeclaims/x",
                    "pvc/db/x",
                    "pvc x",
                ],
                ExplainTarget::Claim(ClaimKey::new("db", "x")),
            ),
            (&["pv/x", "volume/x", "persistentvolume/x", "pv x"], volume),
            (&["pod/x", "po x", "pods/db/x"], ExplainTarget::Pod(key())),
            (&["sts/x", "StatefulSet x", "statefulsets.apps/x"], of(Workload::StatefulSet)),
            (&["deploy/x", "deployment x", "deployment.apps/db/x"], of(Workload::Deployment)),
            (&["node/x", "no x", "nodes/x"], ExplainTarget::Node("x".into())),
        ];
        for (texts, expected) in spellings {
            for text in texts {
                assert_eq!(parsed(text), Ok(expected.clone()), "{text}");
            }
        }
        for text in ["x", "pvc/", "pvc//x", "pvc/a/b/c", "pv/db/x", "node/db/x", "secret/x", "pvc "]
        {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_nearest_names_are_those_with_the_fewest_letters_changed() {
        let names = ["db/dta", "qa/data", "db/date", "db/web"].map(str::to_owned);
        assert_eq!(nearby("db/data", names.into_iter()), ["qa/data", "db/date", "db/dta"]);
    }
}
