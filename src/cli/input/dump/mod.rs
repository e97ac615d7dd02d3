//! The objects of dumps or of a cluster.
//!
//! A dump of a large cluster has hundreds of MB: JSON is read straight into what decisions look at, on
//! all cores, and an object is kept whole only where the purpose needs it. Not here: places in manifests, which `check`
//! gives; a dump has no author.

pub(in crate::cli) mod batch;
pub(in crate::cli) mod item;
pub(in crate::cli) mod new_object;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use jiff::Timestamp;

use self::batch::{BatchResult, RawObject, ReadObject, ReadPurpose, UnreadableObject, read_share};
use self::item::{DumpItem, sections};
use self::new_object::{NewObject, is_stored, set_default_class};
use crate::binding::{ClaimOutcome, Collection, ListedCollections, Observed, View};
use crate::cli::args::ClusterArgs;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadError, ReadableLists};
use crate::cli::input::listing::{Listing, lacks};
use crate::cli::input::text::{name_of, names_of, no_object, read_text};
use crate::client::resource::ResourceKind;
use crate::document;
use crate::model::Claim;
use crate::model::annotations::TENANT;

/// Volumes, claims, classes and the pods that use claims.
#[derive(Debug, Default)]
pub(in crate::cli) struct StorageState {
    /// What decisions look at. Each claim has a uid: one that was not stored yet is given one.
    pub(in crate::cli) view: View,
    /// Whether the view shows the pods that claims wait for.
    pub(in crate::cli) pods: PodCoverage,
    /// Which kinds of objects were all seen.
    pub(in crate::cli) listed: ListedCollections,
    /// The files, or `cluster`.
    pub(in crate::cli) source: String,
    /// How old the files are, where that matters.
    pub(in crate::cli) age: Duration,
    /// The cluster itself, to ask it for more.
    pub(in crate::cli) cluster: Option<ClusterClient>,
    /// What the account may not read, with what to do.
    pub(in crate::cli) notes: Vec<String>,
    /// When the snapshot that is being read was taken.
    taken: Option<Timestamp>,
    /// Objects without a uid, in the order of the input: they are still to be applied.
    manifests: Vec<NewObject>,
    /// How many objects and lists were found.
    count: usize,
    /// Objects of other kinds, as JSON.
    pub(in crate::cli) others: Vec<RawObject>,
}

/// Whether all pods were seen that claims of a delayed class may wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) enum PodCoverage {
    /// They were.
    #[default]
    Complete,
    /// Not all, for this reason, with what to do.
    Partial(String),
}

impl PodCoverage {
    /// Returns why not all were seen.
    pub(in crate::cli) fn note(&self) -> Option<&str> {
        match self {
            Self::Complete => None,
            Self::Partial(note) => Some(note),
        }
    }

    /// Returns whether pods are what a claim waits for.
    pub(in crate::cli) fn matters_for(outcome: &ClaimOutcome) -> bool {
        matches!(outcome, ClaimOutcome::WaitsForConsumer | ClaimOutcome::WaitsForPods(_))
    }
}

/// The name of a cluster in messages.
pub(in crate::cli) const CLUSTER: &str = "cluster";
/// Where a cluster lists its Pending pods, in all namespaces.
const WAITING_PODS: &str = "/api/v1/pods?fieldSelector=status.phase%3DPending";
/// Where a cluster lists all its pods.
const PODS: &str = "/api/v1/pods";
/// Where a cluster lists its namespaces.
pub(in crate::cli) const NAMESPACES: &str = "/api/v1/namespaces";
/// Where a cluster lists its nodes.
pub(in crate::cli) const NODES: &str = "/api/v1/nodes";
/// Where a cluster lists its `StatefulSet`s.
const STATEFUL_SETS: &str = "/apis/apps/v1/statefulsets";
/// Where a cluster lists what drivers say, and what it says.
const OF_DRIVERS: [(&str, Collection, &str); 3] = [
    ("/apis/storage.k8s.io/v1/csinodes", Collection::CsiNodes, "how many PVs a Node can attach"),
    (
        "/apis/storage.k8s.io/v1/csidrivers",
        Collection::Drivers,
        "which drivers say how much storage they have",
    ),
    (
        "/apis/storage.k8s.io/v1/csistoragecapacities",
        Collection::StorageCapacities,
        "how much storage drivers have",
    ),
];
/// From this many objects on, several threads read them and a progress bar is shown.
const MANY: usize = 10_000;
/// Objects that are read between two steps of the bar.
const STEP: usize = 1_000;

impl StorageState {
    /// Reads the dumps that are named, else asks the cluster.
    pub(in crate::cli) fn read(
        paths: &[PathBuf],
        cluster: &ClusterArgs,
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        if !paths.is_empty() {
            return Ok(Self::of_files(paths, purpose)?.0);
        }
        let cluster = ClusterClient::connect(cluster)?;
        let lists = cluster.lists()?;
        Self::of_cluster(cluster, &lists, purpose)
    }

    /// Reads what a cluster lists of volumes, claims and classes, and asks it for what else is needed.
    pub(in crate::cli) fn of_cluster(
        cluster: ClusterClient,
        lists: &[String],
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        Self::of_lists(lists, CLUSTER, purpose)?.complete(cluster, purpose)
    }

    /// The same of the lists that the account may read; what it may not is not known.
    pub(in crate::cli) fn of_readable(
        cluster: ClusterClient,
        ReadableLists { texts, readable, .. }: &ReadableLists,
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        Self::of_texts(texts, readable, CLUSTER, purpose)?.complete(cluster, purpose)
    }

    /// Asks a cluster for what is needed besides volumes, claims and classes.
    fn complete(self, cluster: ClusterClient, purpose: ReadPurpose<'_>) -> Result<Self, Failure> {
        let mut state = self;
        match purpose {
            ReadPurpose::Plan | ReadPurpose::Explanation => {
                if !state.list(&cluster, WAITING_PODS, Collection::Pods, purpose)? {
                    let note = "you may not list the pods of all namespaces: whether a pod uses a PVC with delayed \
                         binding is not known; use an account that may, or a dump";
                    state.pods = PodCoverage::Partial(note.to_owned());
                }
                state.list_tenants(&cluster, purpose)?;
            }
            ReadPurpose::NodeLoss => {
                for (path, collection) in [(NODES, Collection::Nodes), (PODS, Collection::Pods)] {
                    state.text(&cluster.get(path)?, CLUSTER, purpose)?;
                    state.listed.add(collection);
                }
                for (path, collection, what) in OF_DRIVERS {
                    if !state.list(&cluster, path, collection, purpose)? {
                        state.notes.push(format!(
                            "you may not list {path}: {what} is not known; use an account that may, or a dump"
                        ));
                    }
                }
                state.list_tenants(&cluster, purpose)?;
            }
            ReadPurpose::Verdicts => {
                for (path, collection, what) in [
                    (NAMESPACES, Collection::Namespaces, "which modes hold in them"),
                    (NODES, Collection::Nodes, "which there are"),
                    (
                        STATEFUL_SETS,
                        Collection::StatefulSets,
                        "whether PVCs differ from their volumeClaimTemplates",
                    ),
                ] {
                    if !state.list(&cluster, path, collection, purpose)? {
                        state.notes.push(format!(
                            "you may not list {path}: {what} is not known; use an account that may, or a dump"
                        ));
                    }
                }
            }
            // Asked for where a verdict depends on it.
            ReadPurpose::Manifests(_) | ReadPurpose::Changes => {}
        }
        state.cluster = Some(cluster);
        Ok(state)
    }

    /// Reads the namespaces, if volumes are for those of a tenant. Without the permission the tenants stay unknown.
    fn list_tenants(
        &mut self,
        cluster: &ClusterClient,
        purpose: ReadPurpose<'_>,
    ) -> Result<(), Failure> {
        if self.view.volumes().any(|volume| volume.labels.get(TENANT).is_some()) {
            self.list(cluster, NAMESPACES, Collection::Namespaces, purpose)?;
        }
        Ok(())
    }

    /// Reads what a cluster lists at `path`; whether the account may list it.
    fn list(
        &mut self,
        cluster: &ClusterClient,
        path: &str,
        collection: Collection,
        purpose: ReadPurpose<'_>,
    ) -> Result<bool, Failure> {
        match cluster.get(path) {
            Ok(list) => {
                self.text(&list, CLUSTER, purpose)?;
                self.listed.add(collection);
                Ok(true)
            }
            Err(ReadError::Forbidden(_)) => Ok(false),
            Err(error @ (ReadError::NotFound(_) | ReadError::Failed(_))) => Err(error.into()),
        }
    }

    /// Reads dumps; with it come their texts, each with its name. A file without an object is an error.
    pub(in crate::cli) fn of_files(
        paths: &[PathBuf],
        purpose: ReadPurpose<'_>,
    ) -> Result<(Self, Vec<(String, String)>), Failure> {
        let mut state = Self { source: names_of(paths), ..Self::default() };
        let mut texts = Vec::new();
        for path in paths {
            let (name, text) = (name_of(path), read_text(path)?);
            let before = state.count;
            state.text(&text, &name, purpose)?;
            if state.count == before {
                return Err(no_object(&name));
            }
            if purpose == ReadPurpose::Changes {
                // A snapshot says when it was taken, however often it was copied since.
                let age = state.taken.take().map_or_else(|| age_of(path), since);
                state.age = state.age.max(age);
            }
            texts.push((name, text));
        }
        let lacks_pods =
            |claim: &Arc<Claim>| !state.listed.has_in(Collection::Pods, &claim.key.namespace);
        if state.pods == PodCoverage::Complete && state.view.claims().any(lacks_pods) {
            let open = BTreeSet::from([Collection::Pods]);
            let lacks = lacks(&state.source, &state.listed, &open);
            let fact = "whether a pod uses a PVC with delayed binding is not known";
            state.pods = PodCoverage::Partial(format!("{fact}: {lacks}"));
        }
        set_default_class(&mut state.view, &state.manifests);
        Ok((state, texts))
    }

    /// Reads what a cluster, by this name, has listed of volumes, claims and classes.
    pub(in crate::cli) fn of_lists(
        lists: &[String],
        name: &str,
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        let all = [Collection::Volumes, Collection::Claims, Collection::Classes];
        Self::of_texts(lists, &all, name, purpose)
    }

    /// Reads lists of these collections, each of all namespaces.
    fn of_texts(
        lists: &[String],
        collections: &[Collection],
        name: &str,
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        let mut state = Self { source: name.to_owned(), ..Self::default() };
        for text in lists {
            state.text(text, name, purpose)?;
        }
        for collection in collections {
            state.listed.add(*collection);
        }
        set_default_class(&mut state.view, &state.manifests);
        Ok(state)
    }

    /// Reads a text, which `name` gave.
    pub(in crate::cli) fn text(
        &mut self,
        text: &str,
        name: &str,
        purpose: ReadPurpose<'_>,
    ) -> Result<(), Failure> {
        each_json(text, name, |json| self.sections(json, name, purpose))
    }

    fn sections(
        &mut self,
        text: &str,
        name: &str,
        purpose: ReadPurpose<'_>,
    ) -> Result<(), Failure> {
        for mut section in sections(text, name)? {
            let is_undated = section.listing.is_snapshot() && section.taken.is_none();
            if purpose == ReadPurpose::Changes && is_undated {
                return Err(Failure::usage(format!(
                    "{name}: the snapshot does not say when it was taken; make a new one with bindery snapshot"
                )));
            }
            self.taken = self.taken.or(section.taken);
            self.count += usize::from(section.listing.may_be_empty());
            self.objects(&section.items, &mut section.listing, (name, purpose))?;
            section.listing.conclude(&mut self.listed);
        }
        Ok(())
    }

    /// Adds the objects of the items, on all cores if there are many. Of two objects of one name the later counts.
    fn objects(
        &mut self,
        items: &[DumpItem<'_>],
        listing: &mut Listing,
        (name, purpose): (&str, ReadPurpose<'_>),
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
                    // A closed channel is a reader that failed, which is reported below.
                    let Ok(share) = share.recv() else { return Ok(()) };
                    bar.inc(items.len() as u64);
                    self.share(share?, listing)
                });
            drop(receivers);
            let ended: Result<Vec<bool>, _> =
                readers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            ended.map_err(|_| {
                Failure::usage(format!("{name}: reading it failed because of a bug; report it"))
            })?;
            read
        });
        bar.finish_and_clear();
        read
    }

    fn share(&mut self, share: BatchResult, listing: &mut Listing) -> Result<(), Failure> {
        self.others.extend(share.others);
        self.count += share.count;
        share.found.into_iter().for_each(|collection| listing.see(collection));
        share.namespaces.iter().for_each(|namespace| listing.see_namespace(namespace));
        for read in share.read {
            match read {
                Ok(ReadObject { observed, manifest }) => {
                    self.take(observed, manifest);
                }
                // Tenants write pods: one of them must not block every plan.
                Err(UnreadableObject { watched: ResourceKind::Pods, text }) => {
                    let unknown = "whether it uses a PVC with delayed binding is not known";
                    self.pods = PodCoverage::Partial(format!("{text}: {unknown}; look at the pod"));
                }
                Err(UnreadableObject { text, .. }) => {
                    return Err(Failure::usage(format!("{text}; make a new dump")));
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, observed: Observed, manifest: Option<NewObject>) {
        // Over what is stored, a manifest is an update.
        let is_update = manifest.as_ref().is_some_and(|one| is_stored(&self.view, &one.key));
        self.manifests.extend(manifest);
        if !is_update {
            self.view.apply(observed);
        }
    }

    /// The manifests; of two of one object the later counts.
    pub(in crate::cli) fn take_manifests(&mut self) -> Vec<NewObject> {
        let mut manifests = std::mem::take(&mut self.manifests);
        let mut seen = BTreeSet::new();
        manifests.reverse();
        manifests.retain(|one| seen.insert(one.key.clone()));
        manifests.reverse();
        manifests
    }
}

/// The time since then; zero if it is in the future.
fn since(taken: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(taken)).unwrap_or_default()
}

/// The age of a file; zero if it is in the future or unknown, as that of standard input.
fn age_of(path: &Path) -> Duration {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified.and_then(|modified| modified.elapsed().ok()).unwrap_or_default()
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
