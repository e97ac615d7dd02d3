//! The binding core among all the users, without faults: it sees everything at once and nothing is in
//! its way. No invariant breaks, and whenever the users pause the cluster comes to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use bindery::api::write::write_patch;
use bindery::binding::{
    Evidence, ListedCollections, LiveReads, Next, Read, View, Write, decide_claim, decide_volume,
};
use bindery::client::resource::ResourceKind;
use bindery::model::{ClaimKey, VolumeName};
use bindery_sim::{ApiRequest, ClusterState, RequestUser};
use jiff::SignedDuration;
use serde_json::Value;

use crate::invariants::{Breach, Monitor, Terms, ending};
use crate::users::Users;
use crate::users::unreadable::unreadable_names;

const US: &str = "binder";

/// Scenarios, each of one cluster.
const SEEDS: u64 = 10;

/// Things that people do in each.
const ACTIONS: usize = 120;

/// More than one action and the robots' answers can ever ask for.
const MOST_WRITES: usize = 100;

#[test]
fn nothing_breaks_and_every_pause_brings_rest() {
    let mut authors: BTreeMap<String, usize> = BTreeMap::new();
    let mut bound = 0;
    for seed in 0..SEEDS {
        let run_of_seed = run_seed(seed);
        bound += run_of_seed.bound;
        let reported: Vec<String> = run_of_seed.breaches.iter().map(ToString::to_string).collect();
        assert!(reported.is_empty(), "seed {seed}:\n{}", reported.join("\n"));
        for author in run_of_seed.authors {
            *authors.entry(author).or_default() += 1;
        }
    }
    for author in
        [US, "admin", "tenant", "kubelet", "provisioner", "system:kube-scheduler", "pvc-protection"]
    {
        assert!(authors.contains_key(author), "{author} never writes: {authors:?}");
    }
    assert!(bound > 40, "only {bound} claims were ever bound");
}

struct CoreRun {
    breaches: Vec<Breach>,
    authors: BTreeSet<String>,
    /// How often a claim became Bound.
    bound: usize,
}

fn run_seed(seed: u64) -> CoreRun {
    let mut now = "2026-11-21T05:00:00Z".parse().expect("a time");
    let mut cluster = ClusterState::new(seed, now);
    cluster.keep_history();
    let monitor = Arc::new(Mutex::new(Monitor::new(Terms::of(US))));
    let judge = Arc::clone(&monitor);
    cluster.on_accepted(Box::new(move |write| judge.lock().expect("whole").judge(write)));
    Users::found(&mut cluster);
    let mut users = Users::new(seed);
    let mut breaches = Vec::new();
    for _ in 0..ACTIONS {
        now += SignedDuration::from_secs(1);
        cluster.set_now(now);
        users.act(&mut cluster);
        settle(&mut cluster);
        while users.run_robots(&mut cluster) {
            settle(&mut cluster);
        }
        let objects = cluster.objects();
        breaches.extend(ending::at_rest(&objects, &unreadable_names(&objects)));
    }
    breaches.extend(monitor.lock().expect("whole").breaches().iter().cloned());
    let authors = cluster.history().iter().map(|write| write.user.clone()).collect();
    let is_bound = |object: &Option<Arc<Value>>| {
        object.as_ref().is_some_and(|object| object["status"]["phase"] == "Bound")
    };
    let claims =
        cluster.history().iter().filter(|write| write.resource == "persistentvolumeclaims");
    let bound = claims.filter(|write| is_bound(&write.after) && !is_bound(&write.before)).count();
    CoreRun { breaches, authors, bound }
}

/// Sends the core's writes until it has none; too many show as restlessness and as a hot loop.
fn settle(cluster: &mut ClusterState) {
    for _ in 0..MOST_WRITES {
        let Some(write) = next(cluster) else { return };
        let patch = write_patch(&write);
        let mut request = ApiRequest::merge_patch(patch.path.clone(), patch.body.clone());
        patch.content_type.clone_into(&mut request.content_type);
        let response = cluster.handle(request.by(RequestUser::named(US, &[])));
        assert_eq!(response.code, 200, "{patch:?}: {:?}", response.object());
    }
}

/// Returns what the binding core would write next, if it saw everything that can be read.
pub(crate) fn next(cluster: &ClusterState) -> Option<Write> {
    let (mut view, mut unreadable) = (View::default(), BTreeSet::new());
    for object in cluster.objects() {
        let watched = match object["kind"].as_str() {
            Some("PersistentVolume") => ResourceKind::Volumes,
            Some("PersistentVolumeClaim") => ResourceKind::Claims,
            Some("StorageClass") => ResourceKind::Classes,
            _ => continue,
        };
        match watched.observed(&object.to_string()) {
            Ok(observed) => view.apply(observed),
            Err(_) => {
                unreadable.insert(read_of(watched, &object["metadata"]));
            }
        }
    }
    let volumes = view.volumes().map(|volume| {
        decided(&view, &unreadable, |evidence| decide_volume(evidence, &volume.name).next)
    });
    let claims = view.claims().map(|claim| {
        decided(&view, &unreadable, |evidence| decide_claim(evidence, &claim.key).next)
    });
    volumes.chain(claims).find_map(|next| match next {
        Next::Write(write) => Some(write),
        Next::Settled | Next::Read(_) | Next::Reclaim(_) => None,
    })
}

/// The read that would show what the object is.
fn read_of(watched: ResourceKind, metadata: &Value) -> Read {
    let of = |field: &str| metadata[field].as_str().unwrap_or_default();
    match watched {
        ResourceKind::Volumes => Read::Volume(VolumeName::new(of("name"))),
        ResourceKind::Claims => Read::Claim(ClaimKey::new(of("namespace"), of("name"))),
        ResourceKind::Classes | ResourceKind::Pods | ResourceKind::Namespaces => {
            panic!("{metadata} can be read")
        }
    }
}

/// Returns what is decided once all is read; nothing where that is of an unreadable object.
fn decided(
    view: &View,
    unreadable: &BTreeSet<Read>,
    decide: impl Fn(&Evidence<'_>) -> Next,
) -> Next {
    let mut live = LiveReads::default();
    loop {
        match decide(&Evidence::new(view, &live)) {
            Next::Read(reads) if reads.iter().any(|read| unreadable.contains(read)) => {
                return Next::Settled;
            }
            Next::Read(reads) => live.answer_from(view, ListedCollections::everything(), &reads),
            next @ (Next::Settled | Next::Write(_) | Next::Reclaim(_)) => return next,
        }
    }
}
