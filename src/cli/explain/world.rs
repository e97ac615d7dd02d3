//! What an explanation looks at: a dump, or the cluster as it is now.
//!
//! Volumes, claims, classes and the pods that wait are settled as a plan settles them. Nodes, other pods and
//! events are asked for only where an explanation needs them; that the account may not see one of them is a note.

use std::fmt::Display;

use super::target::nearby;
use crate::binding::{Settlement, View, settle};
use crate::cli::args::ExplainArgs;
use crate::cli::check::input::told;
use crate::cli::check::live::{Cluster, Refusal, name_of};
use crate::cli::exit::Failure;
use crate::cli::plan::state::{Other, Pods, Purpose, State};
use crate::k8s::event::{self, Event};
use crate::k8s::node::node;
use crate::k8s::pods::any_pod;
use crate::model::{ClaimKey, Node, Pod, PodKey};

/// A settled cluster and where more can be learned of it.
#[derive(Debug)]
pub(super) struct World {
    /// The cluster once the binder has done all that it can.
    pub after: View,
    /// What became of each claim and volume.
    pub settlement: Settlement,
    /// Whether the pods are known that claims wait for.
    pub pods: Pods,
    source: Source,
}

/// Where pods, nodes and events come from.
#[derive(Debug)]
enum Source {
    /// A dump.
    Dump { name: String, others: Vec<Other> },
    /// The cluster.
    Live(Cluster),
}

/// What may be seen.
#[derive(Debug)]
pub(super) enum Sight {
    /// All volumes, claims and classes.
    Whole(Box<World>),
    /// Not the volumes.
    Limited(Cluster),
}

/// Things that were found, and what kept others from being found.
#[derive(Debug)]
pub(super) struct Seen<T> {
    /// What was found.
    pub found: Vec<T>,
    /// Why not all was.
    pub note: Option<String>,
}

impl Sight {
    /// Reads the dumps that are named, else asks the cluster; and the namespace that counts.
    pub(super) fn read(arguments: &ExplainArgs) -> Result<(Self, String), Failure> {
        let namespace =
            |default: &str| arguments.namespace.clone().unwrap_or_else(|| default.to_owned());
        if !arguments.filename.is_empty() {
            let state = State::of_files(&arguments.filename, Purpose::Explanation)?;
            let names: Vec<String> = arguments.filename.iter().map(|path| name_of(path)).collect();
            let others = state.others.clone();
            let source = Source::Dump { name: names.join(", "), others };
            return Ok((Self::whole(state, source), namespace("default")));
        }
        let cluster = Cluster::connect(&arguments.cluster)?;
        let namespace = namespace(cluster.namespace());
        match cluster.lists() {
            Ok(lists) => {
                let state = State::of_cluster(&cluster, &lists)?;
                Ok((Self::whole(state, Source::Live(cluster)), namespace))
            }
            Err(Refusal::Forbidden(_)) => Ok((Self::Limited(cluster), namespace)),
            Err(refusal @ (Refusal::Missing(_) | Refusal::Failed(_))) => Err(refusal.into()),
        }
    }

    fn whole(state: State, source: Source) -> Self {
        Self::Whole(Box::new(World::settled(state, source)))
    }
}

impl World {
    /// What these texts say, which come from `name`.
    pub(super) fn of_texts(texts: &[String], name: &str) -> Result<Self, Failure> {
        let state = State::of_texts(texts, name, Purpose::Explanation)?;
        let source = Source::Dump { name: name.to_owned(), others: state.others.clone() };
        Ok(Self::settled(state, source))
    }

    fn settled(state: State, source: Source) -> Self {
        let State { mut view, order, pods, .. } = state;
        let settlement = settle(&mut view, &order);
        Self { after: view, settlement, pods, source }
    }

    /// The failure for an object that does not exist, with the names that are near.
    pub(super) fn missing(
        &self,
        what: &str,
        name: &str,
        names: impl Iterator<Item = String>,
    ) -> Failure {
        let place = match &self.source {
            Source::Dump { name, .. } => name.as_str(),
            Source::Live(_) => "the cluster",
        };
        let near = nearby(name, names);
        let advice = if near.is_empty() {
            "check name and namespace".to_owned()
        } else {
            format!("there is {}", near.join(", "))
        };
        Failure::usage(format!("{what} \"{name}\" does not exist in {place}; {advice}"))
    }

    /// The events about a claim.
    pub(super) fn events(&self, key: &ClaimKey) -> Seen<Event> {
        match &self.source {
            Source::Dump { name, others } => {
                let about = |event: &Event| {
                    event.kind == CLAIM
                        && *event.namespace == *key.namespace
                        && *event.name == *key.name
                };
                let mut seen = read(others, "Event", name, event::event);
                seen.found.retain(about);
                seen
            }
            Source::Live(cluster) => events(cluster, key),
        }
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> Seen<Node> {
        match &self.source {
            Source::Dump { name, others } => {
                let Seen { found, note } = read(others, "Node", name, node);
                let none = found.is_empty().then(|| {
                    format!(
                        "{name} has no nodes: on which of them the claim could be served is not known; add \
                         them to the dump (kubectl get pv,pvc,sc,pods,nodes -A -o json)"
                    )
                });
                Seen { found, note: note.or(none) }
            }
            Source::Live(cluster) => {
                let list = match cluster.get("/api/v1/nodes") {
                    Ok(list) => list,
                    Err(refusal) => return Seen::nothing(&refusal.into()),
                };
                match State::of_texts(&[list], "cluster", Purpose::Explanation) {
                    Ok(state) => read(&state.others, "Node", "cluster", node),
                    Err(failure) => Seen::nothing(&failure),
                }
            }
        }
    }

    /// The pod of this name.
    pub(super) fn pod(&self, key: &PodKey) -> Result<Pod, Failure> {
        match &self.source {
            Source::Dump { name: source, others } => {
                let Seen { found: pods, note } = read(others, "Pod", source, any_pod);
                let found = pods.iter().find(|pod| pod.key == *key).cloned();
                let missing = || {
                    let names = pods.iter().map(|pod| pod.key.to_string());
                    self.missing("pod", &key.to_string(), names)
                };
                found.ok_or_else(|| {
                    let unread =
                        note.map(|note| Failure::usage(format!("{note}; make a new dump")));
                    unread.unwrap_or_else(missing)
                })
            }
            Source::Live(cluster) => pod(cluster, key),
        }
    }
}

const CLAIM: &str = "PersistentVolumeClaim";

impl<T> Seen<T> {
    fn nothing(failure: &Failure) -> Self {
        Self { found: Vec::new(), note: Some(failure.message.clone()) }
    }
}

/// The objects of a kind, as far as they can be read.
fn read<T>(
    others: &[Other],
    kind: &str,
    source: &str,
    object: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> Seen<T> {
    let mut seen = Seen { found: Vec::new(), note: None };
    for other in others.iter().filter(|other| *other.kind == *kind) {
        match object(&other.text) {
            Ok(object) => seen.found.push(object),
            Err(error) => {
                let article = if kind == "Event" { "an" } else { "a" };
                let reason = told(&error);
                seen.note = Some(format!("{source}: {article} {kind} cannot be read: {reason}"));
            }
        }
    }
    seen
}

/// Where the events about a claim are.
pub(in crate::cli) fn events_path(key: &ClaimKey) -> String {
    let ClaimKey { namespace, name } = key;
    format!(
        "/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.kind%3D{CLAIM},\
         involvedObject.name%3D{name}"
    )
}

/// The events about a claim, asked of the cluster.
pub(super) fn events(cluster: &Cluster, key: &ClaimKey) -> Seen<Event> {
    let list = match cluster.get(&events_path(key)) {
        Ok(list) => list,
        Err(refusal) => return Seen::nothing(&refusal.into()),
    };
    match event::events(&list) {
        Ok(found) => Seen { found, note: None },
        Err(error) => Seen::nothing(&Failure::usage(format!("its events are unreadable: {error}"))),
    }
}

/// A pod, asked of the cluster.
pub(super) fn pod(cluster: &Cluster, key: &PodKey) -> Result<Pod, Failure> {
    let path = format!("/api/v1/namespaces/{}/pods/{}", key.namespace, key.name);
    let text = found(cluster.get(&path), "pod", key)?;
    any_pod(&text).map_err(|error| Failure::usage(format!("pod \"{key}\" cannot be read: {error}")))
}

/// The answer about one object; that it does not exist is wrong input.
pub(super) fn found(
    answer: Result<String, Refusal>,
    what: &str,
    key: &impl Display,
) -> Result<String, Failure> {
    answer.map_err(|refusal| match refusal {
        Refusal::Missing(_) => Failure::usage(format!(
            "{what} \"{key}\" does not exist in the cluster; check name and namespace"
        )),
        Refusal::Forbidden(failure) | Refusal::Failed(failure) => failure,
    })
}
