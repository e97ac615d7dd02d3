//! The state that a plan starts from, read from dumps or from a cluster.
//!
//! A dump of a large cluster has hundreds of MB: JSON is read straight into what decisions look at, on
//! all cores, and no object is kept whole. Not here: places in manifests, which `check` gives; a dump
//! has no author.

pub(in crate::cli) mod batch;
pub(in crate::cli) mod item;
pub(in crate::cli) mod new_object;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use indicatif::ProgressBar;

use self::batch::{Other, Purpose, Share, Taken, Unread, namespace_of, read_share};
use self::item::{Item, sections};
use self::new_object::{Manifest, is_stored, set_default_class, stored};
use crate::binding::{ClaimOutcome, Collection, ListedCollections, Observed, View};
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{Cluster, Refusal};
use crate::cli::input::listing::{Listing, lacks};
use crate::cli::input::text::{name_of, names_of, no_object, read_text};
use crate::client::resource::ResourceKind;
use crate::document;
use crate::model::Claim;
use crate::model::annotations::TENANT;

/// Volumes, claims, classes and the pods that use claims.
#[derive(Debug, Default)]
pub(in crate::cli) struct State {
    /// What decisions look at. Each claim has a uid: one that was not stored yet is given one.
    pub(in crate::cli) view: View,
    /// Whether the view shows the pods that claims wait for.
    pub(in crate::cli) pods: Pods,
    /// Which kinds of objects were all seen.
    pub(in crate::cli) listed: ListedCollections,
    /// The files, or `cluster`.
    pub(in crate::cli) source: String,
    /// Objects without a uid, in the order of the input: they are still to be applied.
    manifests: Vec<Manifest>,
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

/// What is said of objects that a cluster gave.
const CLUSTER: &str = "cluster";
/// From so many objects on, threads are worth their start and a bar is worth looking at.
const MANY: usize = 10_000;
/// So many objects are read in one go, after which the bar moves.
const STEP: usize = 1_000;

impl State {
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
        match cluster.get(ResourceKind::Namespaces.path()) {
            Ok(list) => {
                self.text(&list, CLUSTER, Purpose::Plan)?;
                self.listed.add(Collection::Namespaces);
                Ok(())
            }
            Err(Refusal::Forbidden(_)) => Ok(()),
            Err(refusal @ (Refusal::Missing(_) | Refusal::Failed(_))) => Err(refusal.into()),
        }
    }

    /// Reads dumps; with it come their texts, each with its name. A file in which there is no object is refused.
    pub(in crate::cli) fn of_files(
        paths: &[PathBuf],
        purpose: Purpose,
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
            texts.push((name, text));
        }
        let lacks_pods =
            |claim: &Arc<Claim>| !state.listed.has_in(Collection::Pods, &claim.key.namespace);
        if state.pods == Pods::Seen && state.view.claims().any(lacks_pods) {
            let open = BTreeSet::from([Collection::Pods]);
            let lacks = lacks(&state.source, &state.listed, &open);
            let fact = "whether a pod uses a claim that waits for one is not known";
            state.pods = Pods::Unseen(format!("{fact}: {lacks}"));
        }
        set_default_class(&mut state.view, &state.manifests);
        Ok((state, texts))
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
        set_default_class(&mut state.view, &state.manifests);
        Ok(state)
    }

    pub(in crate::cli) fn text(
        &mut self,
        text: &str,
        name: &str,
        purpose: Purpose,
    ) -> Result<(), Failure> {
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
                Err(Unread { watched: ResourceKind::Pods, text }) => {
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

    /// The manifests; of two of one object the later counts.
    pub(in crate::cli) fn take_manifests(&mut self) -> Vec<Manifest> {
        let mut manifests = std::mem::take(&mut self.manifests);
        let mut seen = BTreeSet::new();
        manifests.reverse();
        manifests.retain(|one| seen.insert(one.key.clone()));
        manifests.reverse();
        manifests
    }
}

/// Hands on a text that is JSON, or each document of one that is YAML as JSON.
pub(in crate::cli) fn each_json(
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
