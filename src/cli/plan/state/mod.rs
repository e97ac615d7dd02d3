//! The state that a plan starts from, read from dumps or from a cluster.
//!
//! A dump of a large cluster has hundreds of MB: JSON is read straight into what decisions look at, on
//! all cores, and no object is kept whole. Not here: places in manifests, which `check` gives; a dump
//! has no author.

mod objects;

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use indicatif::ProgressBar;

use self::objects::{Found, Item, items};
use crate::binding::{ClaimOutcome, Observed, View};
use crate::cli::args::ClusterArgs;
use crate::cli::check::input::told;
use crate::cli::check::live::{Cluster, Refusal, listed, name_of};
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cluster::resource::Watched;
use crate::document;
use crate::k8s::volume::Wanted;
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

/// What a state is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Purpose {
    /// What binds to what: volumes, claims, classes and the pods that wait.
    Plan,
    /// The same; objects are kept of which an explanation may tell more.
    Explanation,
    /// What is wrong with what stands: volumes with their storage, namespaces, and whatever tells which
    /// nodes there are and which claims pods use.
    Verdicts,
}

/// The kind of a note in a snapshot that a pod uses a claim.
pub(in crate::cli) const CLAIM_USE: &str = "ClaimUse";

/// What is said of objects that a cluster gave.
const CLUSTER: &str = "cluster";
/// From so many objects on, threads are worth their start and a bar is worth looking at.
const MANY: usize = 10_000;
/// So many objects are read in one go, after which the bar moves.
const STEP: usize = 1_000;

impl State {
    /// Reads the dumps that are named, else the cluster.
    pub(in crate::cli) fn read(paths: &[PathBuf], cluster: &ClusterArgs) -> Result<Self, Failure> {
        if paths.is_empty() {
            let (cluster, lists) = listed(cluster)?;
            return Self::of_cluster(&cluster, &lists);
        }
        Self::of_files(paths, Purpose::Plan)
    }

    /// Reads what a cluster lists of volumes, claims and classes, and asks it for the pods that wait.
    pub(in crate::cli) fn of_cluster(cluster: &Cluster, lists: &[String]) -> Result<Self, Failure> {
        let mut state = Self::of_texts(lists, CLUSTER, Purpose::Plan)?;
        match cluster.waiting_pods() {
            Ok(list) => state.text(&list, CLUSTER, Purpose::Plan)?,
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
    pub(in crate::cli) fn of_files(paths: &[PathBuf], purpose: Purpose) -> Result<Self, Failure> {
        let mut state = Self::default();
        for path in paths {
            let is_input = path.as_os_str() == "-";
            let text = if is_input { files::read_standard_input()? } else { files::read(path)? };
            state.text(&text, &name_of(path), purpose)?;
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
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        let mut state = Self::default();
        for text in texts {
            state.text(text, name, purpose)?;
        }
        Ok(state.ordered())
    }

    fn text(&mut self, text: &str, name: &str, purpose: Purpose) -> Result<(), Failure> {
        if document::is_json(text) {
            return self.objects(&items(text, name)?, name, purpose);
        }
        let documents = document::read(text).map_err(|error| {
            Failure::usage(format!("{name}:{}: {}; make a new dump", error.at, error.reason))
        })?;
        for document in &documents {
            let text = document.to_json().to_string();
            self.objects(&items(&text, name)?, name, purpose)?;
        }
        Ok(())
    }

    /// Takes in what stands in the items, on all cores if there are many; of two objects of one name the later
    /// counts.
    fn objects(&mut self, items: &[Item<'_>], name: &str, purpose: Purpose) -> Result<(), Failure> {
        if items.len() < MANY {
            return self.share(read_share(items, name, purpose)?);
        }
        // On anything but a terminal it stays hidden.
        let bar = ProgressBar::new(items.len() as u64);
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let shares = items.chunks(STEP);
        let read = thread::scope(|scope| {
            let reader = |first: usize| {
                let (sender, receiver) = mpsc::channel();
                let mut shares = shares.clone().skip(first).step_by(cores);
                let read = move |share| sender.send(read_share(share, name, purpose)).is_ok();
                (scope.spawn(move || shares.all(read)), receiver)
            };
            let (readers, receivers): (Vec<_>, Vec<_>) = (0..cores).map(reader).unzip();
            // What was read is taken in while more is being read.
            let read =
                shares.clone().zip(receivers.iter().cycle()).try_for_each(|(items, share)| {
                    // Silence is a reader that has failed, which is told below.
                    let Ok(share) = share.recv() else { return Ok(()) };
                    bar.inc(items.len() as u64);
                    self.share(share?)
                });
            drop(receivers);
            let ended: Result<Vec<bool>, _> =
                readers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            ended.map_err(|_| {
                Failure::usage(format!(
                    "{name}: reading it failed for a reason of our own; report this"
                ))
            })?;
            read
        });
        bar.finish_and_clear();
        read
    }

    fn share(&mut self, share: Share) -> Result<(), Failure> {
        self.others.extend(share.others);
        self.has_pods |= share.has_pods;
        for read in share.read {
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
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_)) => self.view.apply(observed),
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

/// What was read of some items, in their order.
struct Share {
    read: Vec<Result<Observed, Unread>>,
    has_pods: bool,
    others: Vec<Other>,
}

fn read_share(items: &[Item<'_>], name: &str, purpose: Purpose) -> Result<Share, Failure> {
    let mut found = Vec::with_capacity(items.len());
    items.iter().try_for_each(|item| item.find(name, &mut found))?;
    let is_kept = |found: &&Found<'_>| match purpose {
        Purpose::Plan => false,
        Purpose::Explanation => watched(found).is_none_or(is_pods),
        Purpose::Verdicts => matches!(&*found.kind, "Pod" | "Node" | CLAIM_USE),
    };
    let kept = found.iter().filter(is_kept);
    Ok(Share {
        read: found.iter().filter_map(|found| read_one(found, name, purpose)).collect(),
        has_pods: found.iter().filter_map(watched).any(is_pods),
        others: kept
            .map(|found| Other { kind: (*found.kind).into(), text: found.text.into() })
            .collect(),
    })
}

/// Reads an object that a plan looks at.
fn read_one(found: &Found<'_>, name: &str, purpose: Purpose) -> Option<Result<Observed, Unread>> {
    let wanted = match purpose {
        Purpose::Plan | Purpose::Explanation => Wanted::Labels,
        Purpose::Verdicts => Wanted::Both,
    };
    let watched = watched(found)?;
    Some(watched.observed_for(wanted, found.text).map_err(|error| {
        let (kind, called, reason) = (&found.kind, found.called(), told(&error));
        let text = format!("{name}: {kind} {called} cannot be read: {reason}");
        Unread { watched, text }
    }))
}

fn watched(found: &Found<'_>) -> Option<Watched> {
    match &*found.kind {
        "PersistentVolume" => Some(Watched::Volumes),
        "PersistentVolumeClaim" => Some(Watched::Claims),
        "StorageClass" => Some(Watched::Classes),
        "Pod" => Some(Watched::Pods),
        "Namespace" => Some(Watched::Namespaces),
        _ => None,
    }
}

fn is_pods(watched: Watched) -> bool {
    watched == Watched::Pods
}
