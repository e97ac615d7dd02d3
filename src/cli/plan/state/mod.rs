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
use crate::binding::{Observed, View};
use crate::cli::args::ClusterArgs;
use crate::cli::check::input::told;
use crate::cli::check::live::{listed, name_of};
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cluster::resource::Watched;
use crate::document;
use crate::model::{Claim, ClaimKey, Uid};

/// Volumes, claims and classes.
#[derive(Debug, Default)]
pub(in crate::cli) struct State {
    /// What decisions look at. Each claim has a uid: one that was not stored yet is given one.
    pub(in crate::cli) view: View,
    /// The claims in the order in which those that wait are served.
    pub(in crate::cli) order: Vec<ClaimKey>,
    /// Objects of other kinds, as JSON.
    pub(in crate::cli) others: Vec<Other>,
}

/// An object that no binding rests on: a pod, a node, an event.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Other {
    /// Its kind.
    pub(in crate::cli) kind: Box<str>,
    /// Its JSON text.
    pub(in crate::cli) text: Box<str>,
}

/// Whether objects that no binding rests on are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Others {
    /// They are.
    Kept,
    /// They are passed over.
    Skipped,
}

/// From so many objects on, a second thread is worth its start and a bar is worth looking at.
const MANY: usize = 10_000;
/// After so many objects the bar moves: often enough to be seen, seldom enough to cost nothing.
const STEP: usize = 1_000;

impl State {
    /// Reads the dumps that are named, else the cluster.
    pub(in crate::cli) fn read(paths: &[PathBuf], cluster: &ClusterArgs) -> Result<Self, Failure> {
        if paths.is_empty() {
            let (_, lists) = listed(cluster)?;
            return Self::of_texts(&lists, "cluster", Others::Skipped);
        }
        Self::of_files(paths, Others::Skipped)
    }

    /// Reads dumps.
    pub(in crate::cli) fn of_files(paths: &[PathBuf], others: Others) -> Result<Self, Failure> {
        let mut state = Self::default();
        for path in paths {
            let is_input = path.as_os_str() == "-";
            let text = if is_input { files::read_standard_input()? } else { files::read(path)? };
            state.text(&text, &name_of(path), others)?;
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
            let kept = found.iter().filter(|found| watched(found).is_none());
            let kept =
                kept.map(|found| Other { kind: (*found.kind).into(), text: found.text.into() });
            self.others.extend(kept);
        }
        for read in read_all(found, name)? {
            self.take(read?);
        }
        Ok(())
    }

    fn take(&mut self, observed: Observed) {
        let observed = match observed {
            Observed::Claim(claim) => Observed::Claim(stored(claim)),
            observed @ (Observed::Volume(_)
            | Observed::Class(_)
            | Observed::Pod(_)
            | Observed::VolumeGone(_)
            | Observed::ClaimGone(_)
            | Observed::ClassGone(_)
            | Observed::PodGone(_)) => observed,
        };
        self.view.apply(observed);
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

/// Reads volumes, claims and classes in their order, on all cores if there are many.
fn read_all(found: &[Found<'_>], name: &str) -> Result<Vec<Result<Observed, Failure>>, Failure> {
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

fn read_share(
    found: &[Found<'_>],
    name: &str,
    bar: &ProgressBar,
) -> Vec<Result<Observed, Failure>> {
    let mut read = Vec::with_capacity(found.len());
    for objects in found.chunks(STEP) {
        read.extend(objects.iter().filter_map(|found| read_one(found, name)));
        bar.inc(objects.len() as u64);
    }
    read
}

/// Reads an object that a binding rests on.
fn read_one(found: &Found<'_>, name: &str) -> Option<Result<Observed, Failure>> {
    Some(watched(found)?.observed(found.text).map_err(|error| {
        let (kind, namespace, object, reason) =
            (&found.kind, &found.namespace, &found.name, told(&error));
        let separator = if namespace.is_empty() { "" } else { "/" };
        Failure::usage(format!(
            "{name}: {kind} {namespace}{separator}{object} cannot be read: {reason}; make a new dump"
        ))
    }))
}

fn watched(found: &Found<'_>) -> Option<Watched> {
    match &*found.kind {
        "PersistentVolume" => Some(Watched::Volumes),
        "PersistentVolumeClaim" => Some(Watched::Claims),
        "StorageClass" => Some(Watched::Classes),
        _ => None,
    }
}
