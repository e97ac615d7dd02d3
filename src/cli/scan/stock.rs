//! The objects that a scan inspects, and the reads that rules need of them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use arcstr::ArcStr;
use serde_json::Value;

use crate::api::node::node;
use crate::api::pods::any_pod;
use crate::binding::{
    Collection, Confirmation, ListedCollections, LiveReads, PodUse, Read, ReadResult, View,
};
use crate::cli::args::ClusterArgs;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadError, listed};
use crate::cli::input::dump::StorageState;
use crate::cli::input::dump::batch::{RawObject, ReadPurpose};
use crate::cli::input::listing::{CLAIM_USE, lacks};
use crate::cli::input::text::error_reason;
use crate::model::{ClaimKey, Node, NonEmpty};

/// All existing objects.
#[derive(Debug)]
pub(super) struct ScannedCluster {
    /// Volumes, claims, classes and namespaces.
    pub view: View,
    /// The files, or `cluster`.
    pub source: String,
    /// What could not be seen, with what to do.
    pub notes: Vec<String>,
    /// Which kinds of objects were all seen.
    pub listed: ListedCollections,
    nodes: Vec<Node>,
    /// Claims that pods use.
    used: BTreeSet<ClaimKey>,
    cluster: Option<ClusterClient>,
    /// The kinds about which a question stayed open, as not all of them were seen.
    wanted: RefCell<BTreeSet<Collection>>,
}

impl ScannedCluster {
    /// Reads the dumps that are named, else asks the cluster.
    pub(super) fn read(paths: &[PathBuf], cluster: &ClusterArgs) -> Result<Self, Failure> {
        if paths.is_empty() {
            return Self::of_cluster(cluster);
        }
        Self::of_state(StorageState::of_files(paths, ReadPurpose::Verdicts)?.0)
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
                Err(ReadError::Forbidden(_)) => notes.push(format!(
                    "you may not list {path}: {what} is not known; use an account that may, or a dump"
                )),
                Err(error @ (ReadError::NotFound(_) | ReadError::Failed(_))) => {
                    return Err(error.into());
                }
            }
        }
        let state = StorageState::of_lists(&lists, "cluster", ReadPurpose::Verdicts)?;
        let mut stock = Self::of_state(state)?;
        stock.notes = notes;
        stock.cluster = Some(cluster);
        Ok(stock)
    }

    fn of_state(state: StorageState) -> Result<Self, Failure> {
        let StorageState { view, others, listed, source, .. } = state;
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
        let (notes, cluster, wanted) = (Vec::new(), None, RefCell::default());
        Ok(Self { view, source, notes, listed, nodes, used, cluster, wanted })
    }

    /// Answers `reads` as far as possible; the others stay open.
    pub(super) fn answer(&self, reads: &[Read], live: &mut LiveReads) {
        let open = reads.iter().filter(|read| !self.answer_one(read, live));
        let open: Vec<Read> = open.cloned().collect();
        match &self.cluster {
            Some(cluster) if !open.is_empty() => cluster.read(&open, live),
            Some(_) => {}
            None => open.iter().filter_map(Collection::of).for_each(|(one, _)| self.want(one)),
        }
    }

    /// Answers one read from what was seen; whether that was possible.
    fn answer_one(&self, read: &Read, live: &mut LiveReads) -> bool {
        let is_whole = self.listed.settles(read);
        match read {
            Read::AnyNode(term) => {
                let is_one = self.nodes.iter().any(|node| term.admits(node));
                let answer =
                    if is_one { ReadResult::Found(Arc::new(())) } else { ReadResult::NotFound };
                let is_known = is_one || is_whole;
                is_known && live.any_nodes.insert(term.clone(), answer).is_none()
            }
            Read::PodsUsing(key) => {
                let is_used = self.used.contains(key);
                let used = if is_used { PodUse::Used } else { PodUse::Unused };
                let is_known = is_used || is_whole;
                is_known
                    && live.pods.insert(key.clone(), ReadResult::Found(Arc::new(used))).is_none()
            }
            Read::Volume(_)
            | Read::Claim(_)
            | Read::Class(_)
            | Read::DefaultClass
            | Read::Namespace(_)
            | Read::LivePods(_)
            | Read::Node(_)
            | Read::Owner(..)
            | Read::Lease(..) => {
                let mut seen = LiveReads::default();
                // A cluster goes on while it is listed: nothing there is absent before it was asked for.
                let is_dump = self.cluster.is_none();
                if let Some(one) = NonEmpty::from_vec(vec![read.clone()]).filter(|_| is_dump) {
                    seen.answer_from(&self.view, &self.listed, &one);
                }
                let is_known = seen.confirmation(read) == Confirmation::Settled;
                if is_known {
                    live.merge(seen);
                }
                is_known
            }
        }
    }

    /// Notes that more of this collection was wanted.
    fn want(&self, collection: Collection) {
        self.wanted.borrow_mut().insert(collection);
    }

    /// Of what is needed, the collections of which a dump does not show all. A cluster is asked where a rule asks.
    pub(super) fn lacking(&self, needed: &[(Collection, Option<&ArcStr>)]) -> BTreeSet<Collection> {
        let lacking = self.listed.lacking(needed.iter().copied());
        for collection in &lacking {
            self.want(*collection);
        }
        lacking
    }

    /// What could not be seen and was asked for, with what to do.
    pub(super) fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        let wanted = self.wanted.borrow();
        if !wanted.is_empty() {
            let lacks = lacks(&self.source, &self.listed, &wanted);
            notes.push(format!(
                "findings that depend on objects which were not read are unverified: {lacks}"
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

fn unreadable(other: &RawObject, source: &str, error: &serde_json::Error) -> Failure {
    let (kind, reason) = (&other.kind, error_reason(error));
    Failure::usage(format!("{source}: a {kind} cannot be read: {reason}; make a new dump"))
}
