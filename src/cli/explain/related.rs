//! Objects related to the one that is explained, of the dump or of the cluster as it is now.
//!
//! Nodes, pods and events are read only where an explanation needs them; that the account may not see one of them is a
//! note. Not here: volumes, claims, classes and the pods that wait, which are settled as a plan settles them.

use std::fmt::Display;

use super::target::nearby;
use crate::api::event::{Event, event};
use crate::api::list::items;
use crate::api::pods::{PodProgress, any_pod, pod as unfinished, progress, uid};
use crate::api::scheduling::constraints;
use crate::binding::{Collection, ObjectKey};
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadError};
use crate::cli::input::dump::{CLUSTER, NODES};
use crate::cli::input::listing::lacks;
use crate::cli::input::text::error_reason;
use crate::cli::preview::settled::SettledCluster;
use crate::model::{ClaimKey, Constraints, NamespaceName, Pod, PodKey};

/// The objects that were read, and why not all were.
#[derive(Debug)]
pub(super) struct PartialList<T> {
    /// What was found.
    pub found: Vec<T>,
    /// Why not all was.
    pub note: Option<String>,
}

/// A pod, as an explanation reads it.
#[derive(Clone, Debug)]
pub(super) struct PodDetail {
    /// The pod.
    pub pod: Pod,
    /// What it asks of its node.
    pub constraints: Constraints,
    /// How far it is.
    pub progress: PodProgress,
    /// Its uid: a pod of a StatefulSet has the name of the one before it.
    pub uid: String,
}

/// Kind, namespace and name of the object that events are about.
pub(super) type EventObject<'a> = (&'a str, &'a str, &'a str);

/// A claim as the object of events.
pub(super) fn event_object(key: &ClaimKey) -> EventObject<'_> {
    ("PersistentVolumeClaim", &key.namespace, &key.name)
}

impl SettledCluster {
    /// Returns what is said of an object of which too little is known, and of one whose manifest is denied.
    pub(super) fn notes_on(&self, object: &ObjectKey) -> impl Iterator<Item = String> {
        let open = self.settlement.missing.get(object);
        let open = open.map(|open| lacks(self.place(), &self.state.listed, open));
        open.into_iter().chain(self.denied.note_on(object))
    }

    /// Its name in messages.
    pub(super) fn place(&self) -> &str {
        if self.state.cluster.is_some() { "the cluster" } else { &self.state.source }
    }

    /// The failure for an object that could not be read, as `note` says.
    pub(super) fn unread(&self, note: &str) -> Failure {
        if self.state.cluster.is_some() {
            return Failure::unreachable(note);
        }
        Failure::usage(format!("{note}; make a new dump"))
    }

    /// The failure for an object that does not exist, with the names that are near.
    pub(super) fn missing(
        &self,
        what: &str,
        name: &str,
        names: impl Iterator<Item = String>,
    ) -> Failure {
        let place = self.place();
        let near = nearby(name, names);
        let advice = if near.is_empty() {
            "check name and namespace".to_owned()
        } else {
            format!("there is {}", near.join(", "))
        };
        Failure::usage(format!("{what} \"{name}\" does not exist in {place}; {advice}"))
    }

    /// The events about an object.
    pub(super) fn events(&self, object: EventObject<'_>) -> PartialList<Event> {
        if let Some(cluster) = &self.state.cluster {
            return events(cluster, object);
        }
        let mut seen = self.shown("Event", event);
        seen.found.retain(|event| (&*event.kind, &*event.namespace, &*event.name) == object);
        let is_whole = self.state.listed.has_in(Collection::Events, &object.1.into());
        seen.lacking(self, Collection::Events, is_whole, "whether there are events about it")
    }

    /// The nodes, each as `node` reads it.
    pub(super) fn nodes<T>(
        &self,
        node: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        self.all((Collection::Nodes, "Node", NODES), node)
    }

    /// The pods that use a claim and have not finished.
    pub(super) fn users(&self, key: &ClaimKey) -> PartialList<Pod> {
        let mut pods = self.unfinished_pods(&key.namespace);
        pods.found.retain(|pod| pod.uses(key));
        pods
    }

    /// The pods of a namespace that have not finished.
    pub(super) fn unfinished_pods(&self, namespace: &str) -> PartialList<Pod> {
        let PartialList { found, note } = self.pods_in(namespace, unfinished);
        let found = found.into_iter().flatten();
        PartialList { found: found.filter(|pod| *pod.key.namespace == *namespace).collect(), note }
    }

    /// Why the account may not see the pods of a namespace in the cluster: what other pods use is not known then.
    pub(super) fn denied_pods(&self, namespace: &str) -> Option<String> {
        self.state.cluster.as_ref()?;
        let note = self.unfinished_pods(namespace).note?;
        Some(format!("which other pods use its PVCs is not known: {note}"))
    }

    /// The pods of a namespace, each as `pod` reads it; a dump shows those of others too.
    pub(super) fn pods_in<T>(
        &self,
        namespace: &str,
        pod: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        self.all((Collection::Pods, "Pod", &path), pod)
    }

    /// The pods of a node, each as `pod` reads it; a dump shows those of others too.
    pub(super) fn pods_on<T>(
        &self,
        node: &str,
        pod: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
        self.all((Collection::Pods, "Pod", &path), pod)
    }

    /// The objects of a kind that a dump shows.
    fn shown<T>(
        &self,
        kind: &str,
        object: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        let of_kind = self.state.others.iter().filter(|other| *other.kind == *kind);
        read(of_kind.map(|other| &*other.text), kind, &self.state.source, object)
    }

    /// The objects of a collection, as `object` reads them; `path` is where a cluster lists them.
    pub(super) fn all<T>(
        &self,
        of: (Collection, &str, &str),
        object: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        self.all_if_whole(of, self.state.listed.has(of.0), object)
    }

    /// The same where those of one namespace are enough; a dump shows those of others too.
    pub(super) fn all_in<T>(
        &self,
        of: (Collection, &str, &str),
        namespace: &NamespaceName,
        object: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        self.all_if_whole(of, self.state.listed.has_in(of.0, namespace), object)
    }

    fn all_if_whole<T>(
        &self,
        (collection, kind, path): (Collection, &str, &str),
        is_whole: bool,
        object: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        if let Some(cluster) = &self.state.cluster {
            return listed(cluster, path, kind, object);
        }
        let fact = format!("which {} there are", collection.label());
        self.shown(kind, object).lacking(self, collection, is_whole, &fact)
    }

    /// The pod of this name, what it asks of its node, and how far it is.
    pub(super) fn pod(&self, key: &PodKey) -> Result<PodDetail, Failure> {
        if let Some(cluster) = &self.state.cluster {
            return pod(cluster, key);
        }
        let PartialList { found: pods, note } = self.shown("Pod", whole_pod);
        let found = pods.iter().find(|one| one.pod.key == *key).cloned();
        let unread = note.map(|note| Failure::usage(format!("{note}; make a new dump")));
        let names = || pods.iter().map(|one| one.pod.key.to_string());
        found
            .ok_or_else(|| unread.unwrap_or_else(|| self.missing("pod", &key.to_string(), names())))
    }
}

impl<T> PartialList<T> {
    fn nothing(failure: &Failure) -> Self {
        Self { found: Vec::new(), note: Some(failure.message.clone()) }
    }

    /// Notes that `fact` is not known, unless the dump shows all of the collection.
    fn lacking(
        mut self,
        of: &SettledCluster,
        collection: Collection,
        is_whole: bool,
        fact: &str,
    ) -> Self {
        if !is_whole {
            let lacks = lacks(&of.state.source, &of.state.listed, &[collection].into());
            self.note.get_or_insert_with(|| format!("{fact} is not known: {lacks}"));
        }
        self
    }
}

/// Reads a pod from its JSON text.
pub(super) fn whole_pod(text: &str) -> Result<PodDetail, serde_json::Error> {
    let (pod, constraints) = (any_pod(text)?, constraints(text)?);
    Ok(PodDetail { pod, constraints, progress: progress(text)?, uid: uid(text)? })
}

/// The objects of a kind, as far as they can be read.
fn read<'a, T>(
    texts: impl Iterator<Item = &'a str>,
    kind: &str,
    source: &str,
    object: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> PartialList<T> {
    let mut seen = PartialList { found: Vec::new(), note: None };
    for text in texts {
        match object(text) {
            Ok(object) => seen.found.push(object),
            Err(error) => {
                let article = if kind == "Event" { "an" } else { "a" };
                let reason = error_reason(&error);
                seen.note = Some(format!("{source}: {article} {kind} cannot be read: {reason}"));
            }
        }
    }
    seen
}

/// The objects of a kind that a cluster lists at `path`.
fn listed<T>(
    cluster: &ClusterClient,
    path: &str,
    kind: &str,
    object: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> PartialList<T> {
    let list = match cluster.get(path) {
        Ok(list) => list,
        Err(error) => return PartialList::nothing(&error.into()),
    };
    match items(&list) {
        Ok(texts) => read(texts.into_iter(), kind, CLUSTER, object),
        Err(error) => {
            let reason = error_reason(&error);
            PartialList::nothing(&Failure::usage(format!("{path} cannot be read: {reason}")))
        }
    }
}

/// Returns where the events about a claim are.
pub fn events_path(key: &ClaimKey) -> String {
    path_of_events(event_object(key))
}

fn path_of_events((kind, namespace, name): EventObject<'_>) -> String {
    format!(
        "/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.kind%3D{kind},\
         involvedObject.name%3D{name}"
    )
}

/// The events about an object, asked of the cluster.
pub(super) fn events(cluster: &ClusterClient, object: EventObject<'_>) -> PartialList<Event> {
    listed(cluster, &path_of_events(object), "Event", event)
}

/// The pods of a namespace, asked of the cluster.
pub(super) fn pods(cluster: &ClusterClient, namespace: &str) -> PartialList<PodDetail> {
    listed(cluster, &format!("/api/v1/namespaces/{namespace}/pods"), "Pod", whole_pod)
}

/// A pod, asked of the cluster.
pub(super) fn pod(cluster: &ClusterClient, key: &PodKey) -> Result<PodDetail, Failure> {
    let path = format!("/api/v1/namespaces/{}/pods/{}", key.namespace, key.name);
    let text = found(cluster.get(&path), "pod", key)?;
    whole_pod(&text)
        .map_err(|error| Failure::usage(format!("pod \"{key}\" cannot be read: {error}")))
}

/// The answer about one object; that it does not exist is wrong input.
pub(super) fn found(
    answer: Result<String, ReadError>,
    what: &str,
    key: &impl Display,
) -> Result<String, Failure> {
    answer.map_err(|error| match error {
        ReadError::NotFound(_) => Failure::usage(format!(
            "{what} \"{key}\" does not exist in the cluster; check name and namespace"
        )),
        ReadError::Forbidden(failure) | ReadError::Failed(failure) => failure,
    })
}
