//! The state that a plan starts from, read from dumps or from a cluster.
//!
//! A dump of a large cluster has hundreds of MB: JSON is read straight into what decisions look at, on
//! all cores, and no object is kept whole. Not here: places in manifests, which `check` gives; a dump
//! has no author.

mod objects;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use indicatif::ProgressBar;

use self::objects::{Found, found};
use crate::binding::{ClaimOutcome, Observed, View};
use crate::cli::args::ClusterArgs;
use crate::cli::check::input::told;
use crate::cli::check::live::{Cluster, Refusal, listed, name_of};
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cluster::resource::Watched;
use crate::document;
use crate::model::{Claim, ClaimKey, Uid};

/// Volumes, claims, classes and the pods that use claims.
#[derive(Debug, Default)]
pub(in crate::cli) struct State {
    /// What decisions look at. Each claim has a uid: one that was not stored yet is given one.
    pub(in crate::cli) view: View,
    /// The claims in the order in which those that wait are served.
    pub(in crate::cli) order: Vec<ClaimKey>,
    /// Whether the view shows the pods that claims wait for.
    pub(in crate::cli) pods: Pods,
    /// Whether a pod was found at all.
    has_pods: bool,
    /// Objects of other kinds, as JSON.
    pub(in crate::cli) others: Vec<Other>,
}

/// Whether all pods were seen that claims of a delayed class may wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) enum Pods {
    /// They were.
    #[default]
    Seen,
    /// Not all, for this reason, with what to do.
    Unseen(String),
}

impl Pods {
    /// Why not all were seen.
    pub(in crate::cli) fn note(&self) -> Option<&str> {
        match self {
            Self::Seen => None,
            Self::Unseen(note) => Some(note),
        }
    }

    /// Whether pods are what a claim waits for.
    pub(in crate::cli) fn matter_for(outcome: &ClaimOutcome) -> bool {
        matches!(outcome, ClaimOutcome::WaitsForConsumer | ClaimOutcome::WaitsForPods(_))
    }
}

/// An object that is kept as it is written: a pod, a node, an event.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Other {
    /// Its kind.
    pub(in crate::cli) kind: Box<str>,
    /// Its JSON text.
    pub(in crate::cli) text: Box<str>,
}

/// Whether objects are kept of which an explanation may tell more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Others {
    /// They are.
    Kept,
    /// They are passed over.
    Skipped,
}

/// What is said of objects that a cluster gave.
const CLUSTER: &str = "cluster";
/// From so many objects on, a second thread is worth its start and a bar is worth looking at.
const MANY: usize = 10_000;
/// After so many objects the bar moves: often enough to be seen, seldom enough to cost nothing.
const STEP: usize = 1_000;

impl State {
    /// Reads the dumps that are named, else the cluster.
    pub(in crate::cli) fn read(paths: &[PathBuf], cluster: &ClusterArgs) -> Result<Self, Failure> {
        if paths.is_empty() {
            let (cluster, lists) = listed(cluster)?;
            return Self::of_cluster(&cluster, &lists);
        }
        Self::of_files(paths, Others::Skipped)
    }

    /// Reads what a cluster lists of volumes, claims and classes, and asks it for the pods that wait.
    pub(in crate::cli) fn of_cluster(cluster: &Cluster, lists: &[String]) -> Result<Self, Failure> {
        let mut state = Self::of_texts(lists, CLUSTER, Others::Skipped)?;
        match cluster.waiting_pods() {
            Ok(list) => state.text(&list, CLUSTER, Others::Skipped)?,
            Err(Refusal::Forbidden(_)) => {
                let note = "you may not list the pods of all namespaces: whether a pod uses a claim that \
                     waits for one is not known; use an account that may, or a dump";
                state.pods = Pods::Unseen(note.to_owned());
            }
            Err(refusal @ (Refusal::Missing(_) | Refusal::Failed(_))) => return Err(refusal.into()),
        }
        Ok(state)
    }

    /// Reads dumps.
    pub(in crate::cli) fn of_files(paths: &[PathBuf], others: Others) -> Result<Self, Failure> {
        let mut state = Self::default();
        for path in paths {
            let is_input = path.as_os_str() == "-";
            let text = if is_input { files::read_standard_input()? } else { files::read(path)? };
            state.text(&text, &name_of(path), others)?;
        }
        if !state.has_pods && state.pods == Pods::Seen {
            let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
            state.pods = Pods::Unseen(format!(
                "{} has no pods: whether a pod uses a claim that waits for one is not known; add them to \
                 the dump (kubectl get pv,pvc,sc,pods -A -o json)",
                names.join(", ")
            ));
        }
        Ok(state.ordered())
    }

    /// Reads texts that `name` gave.
    pub(in crate::cli) fn of_texts(
        texts: &[String],
        name: &str,
        others: Others,
    ) -> Result<Self, Failure> {
        let mut state = Self::default();
        for text in texts {
            state.text(text, name, others)?;
        }
        Ok(state.ordered())
    }

    fn text(&mut self, text: &str, name: &str, others: Others) -> Result<(), Failure> {
        if document::is_json(text) {
            return self.objects(&found(text, name)?, name, others);
        }
        let documents = document::read(text).map_err(|error| {
            Failure::usage(format!("{name}:{}: {}; make a new dump", error.at, error.reason))
        })?;
        for document in &documents {
            let text = document.to_json().to_string();
            self.objects(&found(&text, name)?, name, others)?;
        }
        Ok(())
    }

    /// Takes in what was found; of two objects of one name the later counts.
    fn objects(&mut self, found: &[Found<'_>], name: &str, others: Others) -> Result<(), Failure> {
        if others == Others::Kept {
            let kept = found.iter().filter(|found| watched(found).is_none_or(is_pods));
            let kept =
                kept.map(|found| Other { kind: (*found.kind).into(), text: found.text.into() });
            self.others.extend(kept);
        }
        self.has_pods |= found.iter().filter_map(watched).any(is_pods);
        for read in read_all(found, name)? {
            match read {
                Ok(observed) => self.take(observed),
                // Tenants write pods: one of them must not stand in the way of everybody's plan.
                Err(Unread { watched: Watched::Pods, text }) => {
                    let unknown = "whether it uses a claim that waits for a pod is not known";
                    self.pods = Pods::Unseen(format!("{text}: {unknown}; look at the pod"));
                }
                Err(Unread { text, .. }) => {
                    return Err(Failure::usage(format!("{text}; make a new dump")));
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, observed: Observed) {
        match observed {
            Observed::Claim(claim) => self.view.apply(Observed::Claim(stored(claim))),
            // Most pods wait for nothing.
            Observed::Pod(pod) if pod.claims.is_empty() => {
                self.view.apply(Observed::PodGone(pod.key.clone()));
            }
            observed @ (Observed::Volume(_)
            | Observed::Class(_)
            | Observed::Pod(_)
            | Observed::VolumeGone(_)
            | Observed::ClaimGone(_)
            | Observed::ClassGone(_)
            | Observed::PodGone(_)) => self.view.apply(observed),
        }
    }

    fn ordered(mut self) -> Self {
        let mut claims: Vec<&Arc<Claim>> = self.view.claims().collect();
        claims.sort_by(|a, b| a.turn().cmp(&b.turn()));
        self.order = claims.into_iter().map(|claim| claim.key.clone()).collect();
        self
    }
}

/// The claim once its manifest was stored: it has a uid.
fn stored(mut claim: Arc<Claim>) -> Arc<Claim> {
    if claim.uid.is_none() {
        let uid = Uid::new(format!("not stored yet: {}", claim.key));
        Arc::make_mut(&mut claim).uid = Some(uid);
    }
    claim
}

/// An object that cannot be read.
struct Unread {
    watched: Watched,
    /// Which, and why.
    text: String,
}

/// Reads what a plan looks at in its order, on all cores if there is much.
fn read_all(found: &[Found<'_>], name: &str) -> Result<Vec<Result<Observed, Unread>>, Failure> {
    if found.len() < MANY {
        return Ok(read_share(found, name, &ProgressBar::hidden()));
    }
    // On anything but a terminal it stays hidden.
    let bar = ProgressBar::new(found.len() as u64);
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let read = thread::scope(|scope| {
        let shares = found.chunks(found.len().div_ceil(cores));
        let shares = shares.map(|share| scope.spawn(|| read_share(share, name, &bar)));
        let shares: Vec<_> = shares.collect();
        shares.into_iter().map(thread::ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
    });
    bar.finish_and_clear();
    let read = read.map_err(|_| {
        Failure::usage(format!("{name}: reading it failed for a reason of our own; report this"))
    })?;
    Ok(read.into_iter().flatten().collect())
}

fn read_share(found: &[Found<'_>], name: &str, bar: &ProgressBar) -> Vec<Result<Observed, Unread>> {
    let mut read = Vec::with_capacity(found.len());
    for objects in found.chunks(STEP) {
        read.extend(objects.iter().filter_map(|found| read_one(found, name)));
        bar.inc(objects.len() as u64);
    }
    read
}

/// Reads an object that a plan looks at.
fn read_one(found: &Found<'_>, name: &str) -> Option<Result<Observed, Unread>> {
    let watched = watched(found)?;
    Some(watched.observed(found.text).map_err(|error| {
        let (kind, namespace, object, reason) =
            (&found.kind, &found.namespace, &found.name, told(&error));
        let separator = if namespace.is_empty() { "" } else { "/" };
        let text =
            format!("{name}: {kind} {namespace}{separator}{object} cannot be read: {reason}");
        Unread { watched, text }
    }))
}

fn watched(found: &Found<'_>) -> Option<Watched> {
    match &*found.kind {
        "PersistentVolume" => Some(Watched::Volumes),
        "PersistentVolumeClaim" => Some(Watched::Claims),
        "StorageClass" => Some(Watched::Classes),
        "Pod" => Some(Watched::Pods),
        _ => None,
    }
}

fn is_pods(watched: Watched) -> bool {
    watched == Watched::Pods
}
