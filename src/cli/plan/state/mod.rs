//! The state that a plan starts from, read from dumps or from a cluster.
//!
//! A dump of a large cluster has hundreds of MB: JSON is read straight into what decisions look at, on
//! all cores, and no object is kept whole. Not here: places in manifests, which `check` gives; a dump
//! has no author.

mod admission;
mod objects;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use arcstr::ArcStr;
use indicatif::ProgressBar;

pub(in crate::cli) use self::admission::Denied;
use self::admission::{Manifest, is_stored, key_of_new, uid_once_stored};
use self::objects::{Found, Item, sections};
use crate::api::volume::Wanted;
use crate::binding::{ClaimOutcome, Collection, Listed, Observed, View};
use crate::cli::args::ClusterArgs;
use crate::cli::check::input::told;
use crate::cli::check::live::{Cluster, Refusal, listed, name_of};
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cli::listing::{Listing, WHOLE_DUMP, collection, lacks};
use crate::client::resource::Watched;
use crate::document;
use crate::model::annotations::TENANT;
use crate::model::{Claim, ClaimKey};

/// Volumes, claims, classes and the pods that use claims.
#[derive(Debug, Default)]
pub(in crate::cli) struct State {
    /// What decisions look at. Each claim has a uid: one that was not stored yet is given one.
    pub(in crate::cli) view: View,
    /// The claims in the order in which those that wait are served.
    pub(in crate::cli) order: Vec<ClaimKey>,
    /// Whether the view shows the pods that claims wait for.
    pub(in crate::cli) pods: Pods,
    /// Which kinds of objects were all seen.
    pub(in crate::cli) listed: Listed,
    /// The files, or `cluster`.
    pub(in crate::cli) source: String,
    /// Objects without a uid, in the order of the input: they are still to be applied.
    manifests: Vec<Manifest>,
    /// Those that `check` denies.
    pub(in crate::cli) denied: Denied,
    /// How many objects and lists were found.
    count: usize,
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
        let mut state = Self::of_lists(lists, CLUSTER, Purpose::Plan)?;
        match cluster.waiting_pods() {
            Ok(list) => {
                state.text(&list, CLUSTER, Purpose::Plan)?;
                state.listed.add(Collection::Pods);
            }
            Err(Refusal::Forbidden(_)) => {
                let note = "you may not list the pods of all namespaces: whether a pod uses a claim that \
                     waits for one is not known; use an account that may, or a dump";
                state.pods = Pods::Unseen(note.to_owned());
            }
            Err(refusal @ (Refusal::Missing(_) | Refusal::Failed(_))) => return Err(refusal.into()),
        }
        state.namespaces(cluster)?;
        Ok(state)
    }

    /// Asks the cluster for its namespaces where a volume belongs to a tenant. An account that may not list them
    /// leaves it open whose they are.
    fn namespaces(&mut self, cluster: &Cluster) -> Result<(), Failure> {
        if !self.view.volumes().any(|volume| volume.labels.get(TENANT).is_some()) {
            return Ok(());
        }
        match cluster.get(Watched::Namespaces.path()) {
            Ok(list) => {
                self.text(&list, CLUSTER, Purpose::Plan)?;
                self.listed.add(Collection::Namespaces);
                Ok(())
            }
            Err(Refusal::Forbidden(_)) => Ok(()),
            Err(refusal @ (Refusal::Missing(_) | Refusal::Failed(_))) => Err(refusal.into()),
        }
    }

    /// Reads dumps. A file in which there is no object is refused.
    pub(in crate::cli) fn of_files(paths: &[PathBuf], purpose: Purpose) -> Result<Self, Failure> {
        let mut state = Self::default();
        let mut texts = Vec::new();
        for path in paths {
            let is_input = path.as_os_str() == "-";
            let text = if is_input { files::read_standard_input()? } else { files::read(path)? };
            let before = state.count;
            state.text(&text, &name_of(path), purpose)?;
            if state.count == before {
                return Err(no_object(&name_of(path)));
            }
            texts.push((name_of(path), text));
        }
        let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
        state.source = names.join(", ");
        let lacks_pods =
            |claim: &Arc<Claim>| !state.listed.has_in(Collection::Pods, &claim.key.namespace);
        if state.pods == Pods::Seen && state.view.claims().any(lacks_pods) {
            let open = BTreeSet::from([Collection::Pods]);
            let lacks = lacks(&state.source, &state.listed, &open);
            let fact = "whether a pod uses a claim that waits for one is not known";
            state.pods = Pods::Unseen(format!("{fact}: {lacks}"));
        }
        match purpose {
            Purpose::Plan | Purpose::Explanation => state.judge_manifests(&texts)?,
            Purpose::Verdicts => {}
        }
        Ok(state.ordered())
    }

    /// Reads what a cluster, by this name, has listed of volumes, claims and classes.
    pub(in crate::cli) fn of_lists(
        lists: &[String],
        name: &str,
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        let mut state = Self { source: name.to_owned(), ..Self::default() };
        for text in lists {
            state.text(text, name, purpose)?;
        }
        // Each is of all namespaces, whatever it holds.
        for collection in [Collection::Volumes, Collection::Claims, Collection::Classes] {
            state.listed.add(collection);
        }
        Ok(state.ordered())
    }

    fn text(&mut self, text: &str, name: &str, purpose: Purpose) -> Result<(), Failure> {
        each_json(text, name, |json| self.sections(json, name, purpose))
    }

    fn sections(&mut self, text: &str, name: &str, purpose: Purpose) -> Result<(), Failure> {
        for mut section in sections(text, name)? {
            self.count += usize::from(section.listing.may_be_empty());
            self.objects(&section.items, &mut section.listing, (name, purpose))?;
            section.listing.conclude(&mut self.listed);
        }
        Ok(())
    }

    /// Takes in what stands in the items, on all cores if there are many; of two objects of one name the later
    /// counts.
    fn objects(
        &mut self,
        items: &[Item<'_>],
        listing: &mut Listing,
        (name, purpose): (&str, Purpose),
    ) -> Result<(), Failure> {
        if items.len() < MANY {
            return self.share(read_share(items, name, purpose)?, listing);
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
                    self.share(share?, listing)
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

    fn share(&mut self, share: Share, listing: &mut Listing) -> Result<(), Failure> {
        self.others.extend(share.others);
        self.count += share.count;
        share.found.into_iter().for_each(|collection| listing.see(collection));
        share.namespaces.iter().for_each(|namespace| listing.see_namespace(namespace));
        for read in share.read {
            match read {
                Ok(Taken { observed, manifest }) => {
                    if let Some(namespace) = namespace_of(&observed) {
                        listing.see_namespace(namespace);
                    }
                    self.take(observed, manifest);
                }
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

    fn take(&mut self, observed: Observed, manifest: Option<Manifest>) {
        // Over what is stored, a manifest is an update.
        let is_update = manifest.as_ref().is_some_and(|one| is_stored(&self.view, &one.key));
        self.manifests.extend(manifest);
        if is_update {
            return;
        }
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
        self.set_default_class();
        let mut claims: Vec<&Arc<Claim>> = self.view.claims().collect();
        claims.sort_by(|a, b| a.turn().cmp(&b.turn()));
        self.order = claims.into_iter().map(|claim| claim.key.clone()).collect();
        self
    }
}

/// Hands on a text that is JSON, or each document of one that is YAML as JSON.
fn each_json(
    text: &str,
    name: &str,
    mut take: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if document::is_json(text) {
        return take(text);
    }
    let documents = document::read(text).map_err(|error| {
        Failure::usage(format!("{name}:{}: {}; make a new dump", error.at, error.reason))
    })?;
    documents.iter().try_for_each(|one| take(&one.to_json().to_string()))
}

/// The namespace of what tells whether a dump is of one namespace only.
fn namespace_of(observed: &Observed) -> Option<&ArcStr> {
    match observed {
        Observed::Claim(claim) => Some(&claim.key.namespace),
        Observed::Pod(pod) => Some(&pod.key.namespace),
        Observed::PodGone(key) => Some(&key.namespace),
        Observed::Volume(_)
        | Observed::Class(_)
        | Observed::Namespace(_)
        | Observed::VolumeGone(_)
        | Observed::ClaimGone(_)
        | Observed::ClassGone(_)
        | Observed::NamespaceGone(_) => None,
    }
}

/// The failure of a dump that is none.
pub(in crate::cli) fn no_object(name: &str) -> Failure {
    Failure::usage(format!(
        "{name} holds no Kubernetes object; give what {WHOLE_DUMP} wrote, or bindery snapshot"
    ))
}

/// The claim once its manifest was stored: it has a uid.
fn stored(mut claim: Arc<Claim>) -> Arc<Claim> {
    if claim.uid.is_none() {
        let uid = uid_once_stored(&claim.key);
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

/// An object that was read.
struct Taken {
    observed: Observed,
    /// The object, if it is still to be applied.
    manifest: Option<Manifest>,
}

/// What was read of some items, in their order.
struct Share {
    read: Vec<Result<Taken, Unread>>,
    /// How many objects there are.
    count: usize,
    found: BTreeSet<Collection>,
    /// Namespaces of objects that are not looked at: two are enough.
    namespaces: BTreeSet<ArcStr>,
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
        count: found.iter().filter(|found| !found.kind.is_empty()).count(),
        found: found.iter().filter_map(|found| collection(&found.kind)).collect(),
        namespaces: namespaces_of_others(&found),
        others: kept
            .map(|found| Other { kind: (*found.kind).into(), text: text_of(found) })
            .collect(),
    })
}

/// The text of a pod or event that is kept, with its namespace.
fn text_of(found: &Found<'_>) -> Box<str> {
    let is_namespaced = matches!(&*found.kind, "Pod" | "Event");
    let is_nowhere = is_namespaced && found.namespace().is_none();
    let text = is_nowhere.then(|| found.in_default_namespace()).flatten();
    text.map_or_else(|| found.text.into(), Into::into)
}

fn namespaces_of_others(found: &[Found<'_>]) -> BTreeSet<ArcStr> {
    let mut namespaces = BTreeSet::new();
    for found in found.iter().filter(|found| watched(found).is_none()) {
        namespaces.extend(found.namespace());
        if namespaces.len() > 1 {
            break;
        }
    }
    namespaces
}

/// Reads an object that a plan looks at.
fn read_one(found: &Found<'_>, name: &str, purpose: Purpose) -> Option<Result<Taken, Unread>> {
    let wanted = match purpose {
        Purpose::Plan | Purpose::Explanation => Wanted::Labels,
        Purpose::Verdicts => Wanted::Both,
    };
    let watched = watched(found)?;
    let read = watched.observed_for(wanted, found.text);
    let is_nowhere = |observed| namespace_of(observed).is_some_and(ArcStr::is_empty);
    let read = match read.as_ref().is_ok_and(is_nowhere).then(|| found.in_default_namespace()) {
        Some(Some(text)) => watched.observed_for(wanted, &text),
        Some(None) | None => read,
    };
    let taken = |observed| {
        let manifest = key_of_new(&observed).map(|key| Manifest { key, text: found.text.into() });
        Taken { observed, manifest }
    };
    Some(read.map(taken).map_err(|error| {
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
