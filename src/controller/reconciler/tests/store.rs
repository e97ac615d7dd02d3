//! The store alone: what it shows while writes are in flight, and what it ignores.

use std::sync::Arc;

use tokio::time::Instant;

use super::{found, held, key, named, pv, pvc};
use crate::binding::{LiveReads, ObjectKey, ObjectRef, Observed, ReadResult, Write};
use crate::client::resource::ResourceKind;
use crate::controller::reconciler::in_flight::WriteResult;
use crate::controller::reconciler::store::ObjectStore;
use crate::model::{ResourceVersion, Volume, VolumeName, VolumePhase};

fn seen(volume: &Volume) -> Observed {
    Observed::Volume(Arc::new(volume.clone()))
}

fn version(number: u32) -> ResourceVersion {
    ResourceVersion::new(number.to_string())
}

/// A store that shows volume `a` at version 5, and what a watch shows it then.
fn store() -> ObjectStore {
    let mut store = ObjectStore::default();
    store.apply(seen(&pv("a", 5, "1Gi", "Available")));
    store
}

fn watched(store: &mut ObjectStore, number: u32) -> Option<Observed> {
    let volume = pv("a", number, "1Gi", "Available");
    store.on_watched(seen(&volume), &version(number), false, Instant::now())
}

/// The write that calls volume `a` Bound.
fn write() -> Write {
    let Volume { name, uid, version, .. } = pv("a", 5, "1Gi", "Available");
    let volume = ObjectRef { name, uid, version };
    Write::Phase { volume, phase: VolumePhase::Bound, message: String::new() }
}

fn phase(store: &ObjectStore) -> VolumePhase {
    store.view().volume(&VolumeName::new("a")).unwrap().phase.clone()
}

#[test]
fn only_a_newer_version_is_news() {
    let mut store = store();
    assert!(watched(&mut store, 4).is_none());
    assert!(watched(&mut store, 5).is_none());
    assert!(watched(&mut store, 6).is_some());
}

#[test]
fn an_assumed_write_is_shown_and_what_is_seen_meanwhile_waits_for_its_end() {
    let mut store = store();
    store.assume(&key("c"), &write());
    assert_eq!(phase(&store), VolumePhase::Bound);
    let confirmed = store.confirmed_volume(&VolumeName::new("a")).unwrap();
    assert_eq!(confirmed.phase, VolumePhase::Available);
    assert!(watched(&mut store, 6).is_none());
    let end = store.finish(&named("a"), WriteResult::AsBefore, Instant::now());
    let (finished, _) = end.unwrap();
    assert_eq!((finished.owner, finished.newest.version()), (key("c"), Some(&version(6))));
    store.apply(finished.newest);
    assert_eq!(phase(&store), VolumePhase::Available);
    assert!(store.finish(&named("a"), WriteResult::AsBefore, Instant::now()).is_none());
}

/// A read that was sent before the deletion may be answered after it.
#[test]
fn an_answer_does_not_bring_back_what_was_deleted() {
    for (is_reading, is_back) in [(true, false), (false, true)] {
        let (mut store, now) = (store(), Instant::now());
        let gone = Observed::VolumeGone(VolumeName::new("a"));
        let gone = store.on_watched(gone, &version(7), is_reading, now).unwrap();
        store.apply(gone);
        let old = seen(&pv("a", 5, "1Gi", "Available"));
        assert_eq!(store.on_answer(old, &version(5)).is_some(), is_back, "{is_reading}");
        let again = seen(&pv("a", 8, "1Gi", "Available"));
        assert!(store.on_answer(again, &version(8)).is_some());
    }
}

#[test]
fn it_is_synced_once_every_resource_was_listed() {
    let mut store = ObjectStore::default();
    for kind in ResourceKind::ALL {
        assert!(!store.is_synced());
        store.listed.insert(kind);
    }
    assert!(store.is_synced());
}

/// Absence is proven by a read that finds nothing, or a claim of another uid; not by one that fails.
#[test]
fn a_claim_is_known_to_be_gone_by_a_read_only() {
    let claim = pvc("c", 1, 0);
    let other = pvc("d", 1, 0);
    for (answer, is_gone) in [
        (ReadResult::NotFound, true),
        (ReadResult::Found(Arc::new(other)), true),
        (ReadResult::Found(Arc::new(claim.clone())), false),
        (ReadResult::Failed, false),
        (ReadResult::Unreadable, false),
    ] {
        let mut store = ObjectStore::default();
        store.apply(seen(&held(5)));
        let mut live = LiveReads::default();
        live.claims.insert(claim.key.clone(), answer.clone());
        store.learn(&named("a"), &live);
        let uid = claim.uid.as_ref().unwrap();
        assert_eq!(store.view().is_gone(uid), is_gone, "{answer:?}");
        store.learn(&ObjectKey::Claim(claim.key.clone()), &found(held(5)));
        assert_eq!(store.view().is_gone(uid), is_gone);
    }
}
