//! Names of objects, from the cluster or the dump that the line names.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use serde::Deserialize;
use serde_json::Value;

use super::words::{ANSWER_TIMEOUT, Words};
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cli::input::cluster::ClusterClient;
use crate::cli::input::metadata::DEFAULT_NAMESPACE;
use crate::document;

/// No user picks from more, and a large cluster must not make a key press slow.
const NAMES_MAX: usize = 500;

/// A kind whose objects a command line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Claim,
    Volume,
    Pod,
    StatefulSet,
    Deployment,
    Node,
    Namespace,
    Class,
    Attachment,
    Driver,
}

impl Kind {
    /// As a command line spells it.
    fn word(self) -> &'static str {
        match self {
            Self::Claim => "pvc",
            Self::Volume => "pv",
            Self::Pod => "pod",
            Self::StatefulSet => "statefulset",
            Self::Deployment => "deployment",
            Self::Node => "node",
            Self::Namespace => "ns",
            Self::Class => "sc",
            Self::Attachment => "volumeattachment",
            Self::Driver => "csidriver",
        }
    }

    /// Its name in the API.
    fn name(self) -> &'static str {
        match self {
            Self::Claim => "PersistentVolumeClaim",
            Self::Volume => "PersistentVolume",
            Self::Pod => "Pod",
            Self::StatefulSet => "StatefulSet",
            Self::Deployment => "Deployment",
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::Class => "StorageClass",
            Self::Attachment => "VolumeAttachment",
            Self::Driver => "CSIDriver",
        }
    }

    fn is_namespaced(self) -> bool {
        match self {
            Self::Claim | Self::Pod | Self::StatefulSet | Self::Deployment => true,
            Self::Volume
            | Self::Node
            | Self::Namespace
            | Self::Class
            | Self::Attachment
            | Self::Driver => false,
        }
    }

    /// Where its objects are listed; of a namespace, if it has them.
    fn path(self, namespace: &str) -> String {
        let group = match self {
            Self::Claim | Self::Volume | Self::Pod | Self::Node | Self::Namespace => "/api/v1",
            Self::StatefulSet | Self::Deployment => "/apis/apps/v1",
            Self::Class | Self::Attachment | Self::Driver => "/apis/storage.k8s.io/v1",
        };
        let resource = format!("{}s", self.name().to_ascii_lowercase());
        let namespace =
            if self.is_namespaced() { format!("/namespaces/{namespace}") } else { String::new() };
        format!("{group}{namespace}/{resource}?limit={NAMES_MAX}")
    }
}

/// The values of an argument that names an object of one of these kinds: the kinds until one is there, then its objects.
pub(super) fn values(kinds: &[Kind], current: &str, words: &Words) -> Vec<String> {
    let of_word = |word: &str| kinds.iter().copied().find(|kind| kind.word() == word);
    if let Some(kind) = words.before(current).and_then(of_word) {
        return names(kind, None, words);
    }
    let Some((word, rest)) = current.split_once('/') else {
        return kinds.iter().map(|kind| format!("{}/", kind.word())).collect();
    };
    let Some(kind) = of_word(word) else { return Vec::new() };
    let namespace = rest.split_once('/').map(|(namespace, _)| namespace);
    let before = namespace.map_or(format!("{word}/"), |namespace| format!("{word}/{namespace}/"));
    names(kind, namespace, words).into_iter().map(|name| format!("{before}{name}")).collect()
}

/// The names of the objects of a kind; none if they cannot be read in time.
pub(super) fn names(kind: Kind, namespace: Option<&str>, words: &Words) -> Vec<String> {
    let (sender, receiver) = mpsc::channel();
    let (words, namespace) = (words.clone(), namespace.map(str::to_owned));
    // A credential plugin or a large dump may take longer than anybody waits; the process ends without it.
    thread::spawn(move || {
        let namespace = namespace.as_deref().or_else(|| words.namespace());
        let found = match dump(&words) {
            Some(path) => in_dump(kind, namespace, &path),
            None => in_cluster(kind, namespace, &words),
        };
        // The receiver is gone after the time.
        let _ = sender.send(found.unwrap_or_default());
    });
    receiver.recv_timeout(ANSWER_TIMEOUT).unwrap_or_default()
}

/// The first dump that the line names. With `--live`, what `-f` names are manifests.
fn dump(words: &Words) -> Option<PathBuf> {
    let live = words.values("live", None);
    let given = if live.is_empty() { words.values("filename", Some("-f")) } else { live };
    let is_file = |path: &&str| !["cluster", "-"].contains(path) && Path::new(path).is_file();
    given.into_iter().find(is_file).map(PathBuf::from)
}

fn in_cluster(kind: Kind, namespace: Option<&str>, words: &Words) -> Result<Vec<String>, Failure> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        name: String,
    }
    let cluster = ClusterClient::connect(&words.cluster())?;
    let namespace = namespace.unwrap_or_else(|| cluster.namespace());
    let text = cluster.get(&kind.path(namespace)).map_err(Failure::from)?;
    let list: List =
        serde_json::from_str(&text).map_err(|error| Failure::unreachable(error.to_string()))?;
    Ok(list.items.into_iter().map(|item| item.metadata.name).collect())
}

fn in_dump(kind: Kind, namespace: Option<&str>, path: &Path) -> Result<Vec<String>, Failure> {
    let text = files::read(path)?;
    let documents = document::read(&text).map_err(|error| Failure::usage(error.reason))?;
    let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE);
    let mut names = Vec::new();
    for document in &documents {
        let value = document.to_json();
        let items = value["items"].as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let here = |item: &Value| {
            let metadata = &item["metadata"];
            let is_there = !kind.is_namespaced()
                || metadata["namespace"].as_str().unwrap_or(DEFAULT_NAMESPACE) == namespace;
            let name = metadata["name"].as_str().filter(|_| is_there);
            name.filter(|_| item["kind"] == kind.name()).map(str::to_owned)
        };
        names.extend(items.iter().filter_map(here));
    }
    names.truncate(NAMES_MAX);
    Ok(names)
}
