//! What a scan looks at: everything that stands, and what can be found out about it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::binding::{Answer, LiveReads, PodUse, Read, View};
use crate::cli::args::ClusterArgs;
use crate::cli::check::input::told;
use crate::cli::check::live::{Cluster, Refusal, listed, name_of};
use crate::cli::exit::Failure;
use crate::cli::plan::state::{CLAIM_USE, Other, Purpose, State};
use crate::k8s::node::node;
use crate::k8s::pods::any_pod;
use crate::model::{ClaimKey, Node, NodeTerm, NonEmpty};

/// Everything that stands.
#[derive(Debug)]
pub(super) struct Stock {
    /// Volumes, claims, classes and namespaces.
    pub view: View,
    /// The files, or `cluster`.
    pub source: String,
    /// What could not be seen, with what to do.
    pub notes: Vec<String>,
    /// Nodes; absent if nobody listed them.
    nodes: Option<Vec<Node>>,
    /// Claims that pods use; absent if nobody listed pods.
    used: Option<BTreeSet<ClaimKey>>,
    cluster: Option<Cluster>,
    /// The kinds about which a question stayed open, as none of them was seen.
    wanted: RefCell<BTreeSet<&'static str>>,
}

impl Stock {
    /// Reads the dumps that are named, else asks the cluster.
    pub(super) fn read(paths: &[PathBuf], cluster: &ClusterArgs) -> Result<Self, Failure> {
        if paths.is_empty() {
            return Self::of_cluster(cluster);
        }
        let state = State::of_files(paths, Purpose::Verdicts)?;
        let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
        Self::of_state(state, names.join(", "))
    }

    fn of_cluster(arguments: &ClusterArgs) -> Result<Self, Failure> {
        let (cluster, mut lists) = listed(arguments)?;
        let mut notes = Vec::new();
        for (path, what) in [
            ("/api/v1/namespaces", "which modes hold in them"),
            ("/api/v1/nodes", "which there are"),
        ] {
            match cluster.get(path) {
                Ok(list) => lists.push(list),
                Err(Refusal::Forbidden(_)) => notes.push(format!(
                    "you may not list {path}: {what} is not known; use an account that may, or a dump"
                )),
                Err(refusal @ (Refusal::Missing(_) | Refusal::Failed(_))) => {
                    return Err(refusal.into());
                }
            }
        }
        let state = State::of_texts(&lists, "cluster", Purpose::Verdicts)?;
        let mut stock = Self::of_state(state, "cluster".to_owned())?;
        stock.notes = notes;
        stock.cluster = Some(cluster);
        Ok(stock)
    }

    fn of_state(state: State, source: String) -> Result<Self, Failure> {
        let State { view, others, .. } = state;
        let of = |kind: &'static str| others.iter().filter(move |other| &*other.kind == kind);
        let mut nodes = Vec::new();
        for other in of("Node") {
            nodes.push(node(&other.text).map_err(|error| unreadable(other, &source, &error))?);
        }
        let mut used = BTreeSet::new();
        for other in of("Pod") {
            let pod = any_pod(&other.text).map_err(|error| unreadable(other, &source, &error))?;
            used.extend(pod.in_use().iter().cloned());
        }
        used.extend(of(CLAIM_USE).filter_map(|other| used_claim(&other.text)));
        let is_snapshot = of(CLAIM_USE).next().is_some();
        let has_pods = is_snapshot || of("Pod").next().is_some();
        Ok(Self {
            view,
            source,
            notes: Vec::new(),
            nodes: (!nodes.is_empty()).then_some(nodes),
            used: has_pods.then_some(used),
            cluster: None,
            wanted: RefCell::default(),
        })
    }

    /// Answers `reads` as far as possible; those that nobody can answer stay open.
    pub(super) fn answer(&self, reads: &[Read], live: &mut LiveReads) {
        let open = reads.iter().filter(|read| !self.answer_one(read, live));
        let open: Vec<Read> = open.cloned().collect();
        match &self.cluster {
            Some(cluster) if !open.is_empty() => cluster.read(&open, live),
            Some(_) | None => {}
        }
    }

    /// Answers one read from what was seen; whether that was possible.
    fn answer_one(&self, read: &Read, live: &mut LiveReads) -> bool {
        let has_seen = match read {
            Read::AnyNode(term) => {
                let answer = self.any_node(term);
                return answer.map(|answer| live.any_nodes.insert(term.clone(), answer)).is_some();
            }
            Read::PodsUsing(key) => {
                let Some(used) = &self.used else { return false };
                let used = if used.contains(key) { PodUse::Used } else { PodUse::Unused };
                live.pods.insert(key.clone(), Answer::Found(Arc::new(used)));
                return true;
            }
            Read::Node(_) | Read::Owner(..) => return false,
            Read::Volume(_) => self.has("volumes", self.view.volumes_count() > 0),
            Read::Claim(_) => self.has("claims", self.view.claims_count() > 0),
            Read::Class(_) | Read::DefaultClass => {
                self.has("classes", self.view.classes().next().is_some())
            }
            Read::Namespace(_) => self.has("namespaces", self.view.namespaces().next().is_some()),
            Read::LivePods(_) => self.has("pods", self.used.is_some()),
        };
        if has_seen && let Some(one) = NonEmpty::from_vec(vec![read.clone()]) {
            // What is not among all that there is does not exist.
            live.answer_from(&self.view, &one);
        }
        has_seen
    }

    /// Whether everything of a kind was seen. A cluster goes on while it is listed, so that nothing there is
    /// absent before it was asked for; a dump of which a kind was left out has none of it.
    fn has(&self, kind: &'static str, is_listed: bool) -> bool {
        let is_dump = self.cluster.is_none();
        if is_dump && !is_listed {
            self.wanted.borrow_mut().insert(kind);
        }
        is_dump && is_listed
    }

    fn any_node(&self, term: &NodeTerm) -> Option<Answer<()>> {
        let Some(nodes) = &self.nodes else {
            self.wanted.borrow_mut().insert("nodes");
            return None;
        };
        let is_one = nodes.iter().any(|node| term.admits(node));
        Some(if is_one { Answer::Found(Arc::new(())) } else { Answer::NotFound })
    }

    /// What could not be seen and was asked for, with what to do.
    pub(super) fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        for kind in self.wanted.borrow().iter().filter(|_| self.cluster.is_none()) {
            notes.push(format!(
                "{} has no {kind}: what depends on them is not told; add them to the dump (kubectl get \
                 pv,pvc,sc,ns,nodes,pods -A -o json), or use bindery snapshot",
                self.source
            ));
        }
        notes
    }
}

/// The claim that a note in a snapshot is about.
fn used_claim(text: &str) -> Option<ClaimKey> {
    let note: Value = serde_json::from_str(text).ok()?;
    let metadata = |key: &str| note.pointer(&format!("/metadata/{key}"))?.as_str();
    Some(ClaimKey::new(metadata("namespace")?, metadata("name")?))
}

fn unreadable(other: &Other, source: &str, error: &serde_json::Error) -> Failure {
    let (kind, reason) = (&other.kind, told(error));
    Failure::usage(format!("{source}: a {kind} cannot be read: {reason}; make a new dump"))
}
