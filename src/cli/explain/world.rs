//! What an explanation reads: a dump, or the cluster as it is now.
//!
//! Volumes, claims, classes and the pods that wait are settled as a plan settles them. Nodes, other pods and
//! events are asked for only where an explanation needs them; that the account may not see one of them is a note.

use std::fmt::Display;

use arcstr::ArcStr;

use super::target::nearby;
use crate::api::event::{self, Event};
use crate::api::node::node;
use crate::api::pods::{any_pod, pod as unfinished};
use crate::api::scheduling::{constraints, host};
use crate::binding::{Collection, ObjectKey};
use crate::cli::args::ExplainArgs;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadError};
use crate::cli::input::dump::StorageState;
use crate::cli::input::dump::batch::{RawObject, ReadPurpose};
use crate::cli::input::listing::lacks;
use crate::cli::input::text::error_reason;
use crate::cli::preview::settled::SettledCluster;
use crate::model::{ClaimKey, Constraints, Host, Node, Pod, PodKey};

/// A settled cluster and where more can be learned of it.
#[derive(Debug)]
pub(super) struct ExplainedCluster {
    /// The cluster once the binder has done all that it can.
    pub settled: SettledCluster,
    /// The cluster itself; none if a dump shows it.
    live: Option<ClusterClient>,
}

/// What the account may read.
#[derive(Debug)]
pub(super) enum AccountAccess {
    /// All volumes, claims and classes.
    Whole(Box<ExplainedCluster>),
    /// Not the volumes.
    Limited(ClusterClient),
}

/// The objects that were read, and why not all were.
#[derive(Debug)]
pub(super) struct PartialList<T> {
    /// What was found.
    pub found: Vec<T>,
    /// Why not all was.
    pub note: Option<String>,
}

impl AccountAccess {
    /// Reads the dumps that are named, else asks the cluster; and the namespace that counts.
    pub(super) fn read(arguments: &ExplainArgs) -> Result<(Self, String), Failure> {
        let namespace =
            |default: &str| arguments.namespace.clone().unwrap_or_else(|| default.to_owned());
        if !arguments.filename.is_empty() {
            let settled = SettledCluster::of_files(&arguments.filename, ReadPurpose::Explanation)?;
            return Ok((Self::whole(settled, None), namespace("default")));
        }
        let cluster = ClusterClient::connect(&arguments.cluster)?;
        let namespace = namespace(cluster.namespace());
        match cluster.lists() {
            Ok(lists) => {
                let settled = SettledCluster::of_cluster(&cluster, &lists)?;
                Ok((Self::whole(settled, Some(cluster)), namespace))
            }
            Err(ReadError::Forbidden(_)) => Ok((Self::Limited(cluster), namespace)),
            Err(error @ (ReadError::NotFound(_) | ReadError::Failed(_))) => Err(error.into()),
        }
    }

    fn whole(settled: SettledCluster, live: Option<ClusterClient>) -> Self {
        Self::Whole(Box::new(ExplainedCluster { settled, live }))
    }
}

impl ExplainedCluster {
    /// What a cluster by this name has listed of volumes, claims and classes.
    pub(super) fn of_lists(lists: &[String], name: &str) -> Result<Self, Failure> {
        Ok(Self { settled: SettledCluster::of_lists(lists, name)?, live: None })
    }

    /// What is said of an object of which too little is known, and of one whose manifest is denied.
    pub(super) fn notes_on(&self, object: &ObjectKey) -> impl Iterator<Item = String> {
        let open = self.settled.settlement.open.get(object);
        let open = open.map(|open| lacks(self.place(), &self.settled.listed, open));
        open.into_iter().chain(self.settled.denied.note_on(object))
    }

    /// Its name in messages.
    pub(super) fn place(&self) -> &str {
        if self.live.is_some() { "the cluster" } else { &self.settled.source }
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

    /// The events about a claim.
    pub(super) fn events(&self, key: &ClaimKey) -> PartialList<Event> {
        self.events_on((CLAIM, &key.namespace, &key.name))
    }

    /// The events about a pod.
    pub(super) fn pod_events(&self, key: &PodKey) -> PartialList<Event> {
        self.events_on(("Pod", &key.namespace, &key.name))
    }

    fn events_on(&self, object: EventObject<'_>) -> PartialList<Event> {
        let (kind, namespace, called) = object;
        let SettledCluster { source: name, others, listed, .. } = &self.settled;
        match &self.live {
            None => {
                let about = |event: &Event| {
                    event.kind == kind && *event.namespace == **namespace && *event.name == **called
                };
                let mut seen = read(others, "Event", name, event::event);
                seen.found.retain(about);
                if !listed.has_in(Collection::Events, namespace) {
                    let fact = "whether there are events about it is not known";
                    let none = self.lacking(name, Collection::Events, fact);
                    seen.note.get_or_insert(none);
                }
                seen
            }
            Some(cluster) => asked(cluster, object),
        }
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> PartialList<Node> {
        self.all(Collection::Nodes, "Node", "/api/v1/nodes", node)
    }

    /// The nodes, as a scheduler looks at them.
    pub(super) fn hosts(&self) -> PartialList<Host> {
        self.all(Collection::Nodes, "Node", "/api/v1/nodes", host)
    }

    /// The pods that use a claim and have not finished.
    pub(super) fn users(&self, key: &ClaimKey) -> PartialList<Pod> {
        let path = format!("/api/v1/namespaces/{}/pods", key.namespace);
        let PartialList { found, note } = self.all(Collection::Pods, "Pod", &path, unfinished);
        let found = found.into_iter().flatten().filter(|pod| pod.uses(key)).collect();
        PartialList { found, note }
    }

    /// The objects of a kind; a note if not all of them were seen. `path` is where a cluster has them.
    fn all<T>(
        &self,
        collection: Collection,
        kind: &str,
        path: &str,
        object: impl Fn(&str) -> Result<T, serde_json::Error>,
    ) -> PartialList<T> {
        let SettledCluster { source: name, others, listed, .. } = &self.settled;
        match &self.live {
            None => {
                let PartialList { found, note } = read(others, kind, name, object);
                let fact = format!("which {} there are is not known", collection.label());
                let is_part = !listed.has(collection);
                let none = is_part.then(|| self.lacking(name, collection, &fact));
                PartialList { found, note: note.or(none) }
            }
            Some(cluster) => {
                let list = match cluster.get(path) {
                    Ok(list) => list,
                    Err(error) => return PartialList::nothing(&error.into()),
                };
                match StorageState::of_lists(&[list], "cluster", ReadPurpose::Explanation) {
                    Ok(state) => read(&state.others, kind, "cluster", object),
                    Err(failure) => PartialList::nothing(&failure),
                }
            }
        }
    }

    /// That `fact`, as the dump `name` does not show all of a kind.
    fn lacking(&self, name: &str, collection: Collection, fact: &str) -> String {
        format!("{fact}: {}", lacks(name, &self.settled.listed, &[collection].into()))
    }

    /// The pod of this name, and what it asks of its node.
    pub(super) fn pod(&self, key: &PodKey) -> Result<(Pod, Constraints), Failure> {
        let SettledCluster { source, others, .. } = &self.settled;
        match &self.live {
            None => {
                let PartialList { found: pods, note } = read(others, "Pod", source, whole_pod);
                let found = pods.iter().find(|(pod, _)| pod.key == *key).cloned();
                let missing = || {
                    let names = pods.iter().map(|(pod, _)| pod.key.to_string());
                    self.missing("pod", &key.to_string(), names)
                };
                found.ok_or_else(|| {
                    let unread =
                        note.map(|note| Failure::usage(format!("{note}; make a new dump")));
                    unread.unwrap_or_else(missing)
                })
            }
            Some(cluster) => pod(cluster, key),
        }
    }
}

/// Kind, namespace and name of an object.
type EventObject<'a> = (&'a str, &'a ArcStr, &'a ArcStr);

fn whole_pod(text: &str) -> Result<(Pod, Constraints), serde_json::Error> {
    Ok((any_pod(text)?, constraints(text)?))
}

const CLAIM: &str = "PersistentVolumeClaim";

impl<T> PartialList<T> {
    fn nothing(failure: &Failure) -> Self {
        Self { found: Vec::new(), note: Some(failure.message.clone()) }
    }
}

/// The objects of a kind, as far as they can be read.
fn read<T>(
    others: &[RawObject],
    kind: &str,
    source: &str,
    object: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> PartialList<T> {
    let mut seen = PartialList { found: Vec::new(), note: None };
    for other in others.iter().filter(|other| *other.kind == *kind) {
        match object(&other.text) {
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

/// Where the events about a claim are.
pub fn events_path(key: &ClaimKey) -> String {
    path_of_events((CLAIM, &key.namespace, &key.name))
}

fn path_of_events((kind, namespace, name): EventObject<'_>) -> String {
    format!(
        "/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.kind%3D{kind},\
         involvedObject.name%3D{name}"
    )
}

/// The events about a claim, asked of the cluster.
pub(super) fn events(cluster: &ClusterClient, key: &ClaimKey) -> PartialList<Event> {
    asked(cluster, (CLAIM, &key.namespace, &key.name))
}

fn asked(cluster: &ClusterClient, object: EventObject<'_>) -> PartialList<Event> {
    let list = match cluster.get(&path_of_events(object)) {
        Ok(list) => list,
        Err(error) => return PartialList::nothing(&error.into()),
    };
    match event::events(&list) {
        Ok(found) => PartialList { found, note: None },
        Err(error) => {
            PartialList::nothing(&Failure::usage(format!("its events are unreadable: {error}")))
        }
    }
}

/// A pod and what it asks of its node, asked of the cluster.
pub(super) fn pod(cluster: &ClusterClient, key: &PodKey) -> Result<(Pod, Constraints), Failure> {
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
