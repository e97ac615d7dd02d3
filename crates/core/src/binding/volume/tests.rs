//! Every row of the volume's decision table, and each difference from Kubernetes.

use std::sync::Arc;

use super::*;
use crate::binding::tests::{claim, volume};
use crate::binding::{LiveReads, Observed, ReadResult, View, decide_claim};
use crate::model::annotations::{BIND_COMPLETED, IN_TREE_DELETION};
use crate::model::{Annotations, Pod, VolumeMode};

/// Returns what a decision does, in a word.
fn word(next: &Next) -> String {
    match next {
        Next::Settled => "nothing".to_owned(),
        Next::Read(_) => "read".to_owned(),
        Next::Reclaim(Reclaim::Recycle) => "recycle".to_owned(),
        Next::Reclaim(Reclaim::ByDriver) => "driver".to_owned(),
        Next::Write(Write::Phase { phase, message, .. }) => format!("{phase}{message}"),
        Next::Write(Write::Unreserve { left: Remaining::Nothing, .. }) => "free".to_owned(),
        Next::Write(Write::Unreserve { left: Remaining::Name, .. }) => "keep name".to_owned(),
        Next::Write(Write::MigrateVolume { .. }) => "migrate".to_owned(),
        Next::Write(
            Write::Reserve { .. }
            | Write::SetVolumeName { .. }
            | Write::Status { .. }
            | Write::SetClass { .. }
            | Write::SetProvisioner { .. }
            | Write::MigrateClaim { .. },
        ) => format!("not a volume's: {next:?}"),
    }
}

/// A decision on what the view shows, and on what was read live.
fn seen(volume: &Volume, claim: Option<&Claim>, live: &LiveReads) -> Decision<VolumeOutcome> {
    let mut view = View::default();
    view.apply(Observed::Volume(Arc::new(volume.clone())));
    if let Some(claim) = claim {
        view.apply(Observed::Claim(Arc::new(claim.clone())));
    }
    decide_volume(&Evidence::new(&view, live), &volume.name)
}

/// A decision where the claim, or its absence, was read live, and that no pod uses it.
fn decided(volume: &Volume, claim: Option<&Claim>) -> Decision<VolumeOutcome> {
    seen(volume, claim, &read_live(volume, claim, &[]))
}

/// Returns what live reads give where this is all there is.
fn read_live(volume: &Volume, claim: Option<&Claim>, pods: &[Pod]) -> LiveReads {
    let mut live = LiveReads::default();
    let answer =
        claim.map_or(ReadResult::NotFound, |claim| ReadResult::Found(Arc::new(claim.clone())));
    live.claims.insert(key(), answer);
    live.volumes.insert(volume.name.clone(), ReadResult::Found(Arc::new(volume.clone())));
    live.live_pods.insert(key(), ReadResult::Found(Arc::new(pods.to_vec())));
    live
}

fn key() -> ClaimKey {
    claim().key
}

fn held(phase: VolumePhase) -> Volume {
    Volume { reservation: Reservation::Held(key(), Uid::new("uid-1")), phase, ..volume() }
}

fn with(volume: Volume, key: &str, value: &str) -> Volume {
    let mut annotations = volume.annotations.clone();
    annotations.insert(key, value);
    Volume { annotations, ..volume }
}

#[test]
fn a_volume_without_a_claim_is_offered() {
    let named = Reservation::Named(key());
    for phase in [VolumePhase::Pending, VolumePhase::Released, VolumePhase::Failed] {
        for reservation in [Reservation::Free, named.clone()] {
            let volume = Volume { phase: phase.clone(), reservation, ..volume() };
            let decision = decided(&volume, None);
            assert_eq!(
                (word(&decision.next).as_str(), decision.why),
                ("Available", VolumeOutcome::Offered)
            );
        }
    }
    assert_eq!(word(&decided(&volume(), None).next), "nothing");
    // **Differs from Kubernetes**: released there, for a claim that cannot exist.
    let incomplete = Reservation::Incomplete(ClaimKey::new("", "data"), Some(Uid::new("u")));
    let volume = Volume { reservation: incomplete, phase: VolumePhase::Bound, ..volume() };
    let decision = decided(&volume, None);
    assert_eq!((word(&decision.next).as_str(), decision.why), ("nothing", VolumeOutcome::Unusable));
}

#[test]
fn a_volume_follows_its_claim() {
    let mine = Claim { volume: Some(volume().name), ..claim() };
    let elsewhere = Claim { volume: Some(VolumeName::new("pv-b")), ..claim() };
    let available = held(VolumePhase::Available);
    let ours = with(available.clone(), BOUND_BY_CONTROLLER, "yes");
    let surplus = Volume {
        policy: ReclaimPolicy::Delete,
        ..with(available.clone(), PROVISIONED_BY, "csi.example")
    };
    let kept_surplus = Volume { policy: ReclaimPolicy::Retain, ..surplus.clone() };
    let block = Volume { mode: VolumeMode::Block, ..available.clone() };
    let rows = [
        (&available, &claim(), "nothing", VolumeOutcome::AwaitsClaim(key())),
        (&block, &claim(), "nothing", VolumeOutcome::OtherMode(key())),
        (&available, &mine, "Bound", VolumeOutcome::Bound(key())),
        (&held(VolumePhase::Bound), &mine, "nothing", VolumeOutcome::Bound(key())),
        (&ours, &elsewhere, "free", VolumeOutcome::Unreserved(key())),
        (&available, &elsewhere, "keep name", VolumeOutcome::Unreserved(key())),
        (&surplus, &elsewhere, "Released", VolumeOutcome::Released(ReleasedFor::Driver)),
        (&kept_surplus, &elsewhere, "keep name", VolumeOutcome::Unreserved(key())),
    ];
    for (number, (volume, claim, expected, why)) in rows.into_iter().enumerate() {
        let decision = decided(volume, Some(claim));
        assert_eq!((word(&decision.next).as_str(), decision.why), (expected, why), "row {number}");
    }
}

/// **Differs from Kubernetes**: there, it stays for a claim that is given no volume that goes.
#[test]
fn a_volume_that_goes_is_let_go_unless_its_claim_names_it() {
    let going = |volume: Volume| Volume { deletion: Deletion::Terminating, ..volume };
    let bound = going(held(VolumePhase::Bound));
    let ours = with(bound.clone(), BOUND_BY_CONTROLLER, "yes");
    let made = with(bound.clone(), PROVISIONED_BY, "csi.example");
    let kept = made.clone();
    let made = Volume { policy: ReclaimPolicy::Delete, ..made };
    let mine = Claim { volume: Some(volume().name), ..claim() };
    let mut lost = claim();
    lost.annotations.insert(BIND_COMPLETED, "yes");
    let rows = [
        (&ours, &claim(), "free", VolumeOutcome::Unreserved(key())),
        (&bound, &claim(), "keep name", VolumeOutcome::Unreserved(key())),
        (&kept, &claim(), "keep name", VolumeOutcome::Unreserved(key())),
        // Its driver deletes the storage of what is Released.
        (&made, &claim(), "Released", VolumeOutcome::Released(ReleasedFor::Driver)),
        (&ours, &mine, "nothing", VolumeOutcome::Bound(key())),
        // It was bound once, and has lost the name of its volume: there may be data.
        (&ours, &lost, "nothing", VolumeOutcome::AwaitsClaim(key())),
    ];
    for (number, (volume, claim, expected, why)) in rows.into_iter().enumerate() {
        let decision = decided(volume, Some(claim));
        assert_eq!((word(&decision.next).as_str(), decision.why), (expected, why), "row {number}");
    }
    // The view may be older than the third step of a former leader.
    let read = Next::reads(vec![Read::Claim(key())]);
    assert_eq!(seen(&ours, Some(&claim()), &LiveReads::default()).next, read);
    let live = read_live(&ours, Some(&mine), &[]);
    assert_eq!(seen(&ours, Some(&claim()), &live).why, VolumeOutcome::Bound(key()));
}

#[test]
fn a_volume_whose_claim_is_gone_is_released_and_reclaimed() {
    let with_policy = |policy: ReclaimPolicy, volume: Volume| Volume { policy, ..volume };
    let csi = Volume { backend: Backend::Csi("csi.example".into()), ..held(VolumePhase::Bound) };
    let no_deleter = format!("Failed{}", no_deleter(&volume()));
    let unknown = "FailedVolume has unrecognized PersistentVolumeReclaimPolicy";
    let newer = ReclaimPolicy::Newer("Shred".into());
    let migrated = with(held(VolumePhase::Bound), MIGRATED_TO, "csi.example");
    let finalizers = [IN_TREE_DELETION].into_iter().collect();
    let in_tree = with(held(VolumePhase::Bound), PROVISIONED_BY, "kubernetes.io/gone");
    let in_tree = Volume { finalizers, ..in_tree };
    let rows = [
        (with_policy(ReclaimPolicy::Retain, csi.clone()), "nothing", ReleasedFor::Administrator),
        (with_policy(ReclaimPolicy::Delete, csi.clone()), "driver", ReleasedFor::Driver),
        (with_policy(ReclaimPolicy::Recycle, csi.clone()), "recycle", ReleasedFor::Recycler),
        (with_policy(ReclaimPolicy::Delete, migrated), "driver", ReleasedFor::Driver),
        (with_policy(newer, csi), unknown, ReleasedFor::UnknownPolicy),
        (
            with_policy(ReclaimPolicy::Delete, held(VolumePhase::Bound)),
            &no_deleter,
            ReleasedFor::NoDeleter,
        ),
        (
            with_policy(ReclaimPolicy::Delete, in_tree),
            "Failedno volume plugin matched name: kubernetes.io/gone",
            ReleasedFor::NoDeleter,
        ),
    ];
    for (volume, expected, awaited) in rows {
        let why = VolumeOutcome::Released(awaited);
        let decision = decided(&volume, None);
        assert_eq!(
            (word(&decision.next).as_str(), &decision.why),
            ("Released", &why),
            "{volume:?}"
        );
        let after = Volume { phase: VolumePhase::Released, ..volume };
        let decision = decided(&after, None);
        assert_eq!((word(&decision.next).as_str(), &decision.why), (expected, &why), "{after:?}");
    }
    // Another claim under the name is not the claim.
    let other = Claim { uid: Some(Uid::new("uid-2")), ..claim() };
    assert_eq!(word(&decided(&held(VolumePhase::Bound), Some(&other)).next), "Released");
}

/// As a real kube-controller-manager says it: NFS is known there, to recycle its volumes.
#[test]
fn who_cannot_delete_storage_says_whether_its_kind_is_known() {
    for (backend, expected) in [
        (Backend::Nfs, "no deletable volume plugin matched"),
        (Backend::Other, "no volume plugin matched"),
    ] {
        let message = no_deleter(&Volume { backend, ..volume() });
        assert!(message.ends_with(expected), "{message}");
    }
}

/// **Differs from Kubernetes**: there, pods do not count once another claim of the name was seen, and the
/// claim's absence need not be read.
#[test]
fn files_are_removed_only_when_no_one_can_have_them_mounted() {
    let volume = Volume { policy: ReclaimPolicy::Recycle, ..held(VolumePhase::Released) };
    let pod = |node: Option<&str>| Pod {
        key: PodKey::new("db", "web"),
        node: node.map(Box::from),
        claims: vec![key()],
    };
    let replaced = Claim { uid: Some(Uid::new("uid-2")), ..claim() };
    for claim in [None, Some(&replaced)] {
        let decision = decided(&volume, claim);
        let expected = ("recycle", VolumeOutcome::Released(ReleasedFor::Recycler));
        assert_eq!((word(&decision.next).as_str(), decision.why), expected);
        for node in [None, Some("n1")] {
            let live = read_live(&volume, claim, &[pod(node)]);
            let decision = seen(&volume, claim, &live);
            let users = NonEmpty::from_vec(vec![PodKey::new("db", "web")]).unwrap();
            let expected = ("nothing", VolumeOutcome::Released(ReleasedFor::Pods(users)));
            assert_eq!((word(&decision.next).as_str(), decision.why), expected);
        }
        for read in [Read::Volume(volume.name.clone()), Read::LivePods(key())] {
            let mut live = read_live(&volume, claim, &[]);
            live.fail_all(std::slice::from_ref(&read));
            assert_eq!(seen(&volume, claim, &live).next, Next::reads(vec![read]));
        }
    }
    // A user cleared the reservation, or set it to a live claim, and the watch is behind.
    let free = Volume { reservation: Reservation::Free, ..volume.clone() };
    assert_eq!(word(&seen(&volume, None, &read_live(&free, None, &[])).next), "Available");
}

/// A volume of a plug-in that moved must be marked before its driver can be waited for.
#[test]
fn marks_of_migration_come_before_everything_else() {
    let made = with(held(VolumePhase::Bound), PROVISIONED_BY, "kubernetes.io/gce-pd");
    let made = Volume { policy: ReclaimPolicy::Delete, ..made };
    let decision = decided(&made, None);
    assert_eq!(word(&decision.next), "migrate");
    let Next::Write(write) = decision.next else { panic!("no write") };
    let mut view = View::default();
    view.apply(Observed::Volume(Arc::new(made)));
    view.assume(&write);
    let marked = Volume::clone(view.volume(&volume().name).unwrap());
    assert_eq!(marked.annotations.get(MIGRATED_TO), Some("pd.csi.storage.gke.io"));
    assert_eq!(word(&decided(&marked, None).next), "Released");
    let released = Volume { phase: VolumePhase::Released, ..marked };
    assert_eq!(word(&decided(&released, None).next), "driver");
}

/// **Differs from Kubernetes**: released there, and with the policy Delete destroyed unused.
#[test]
fn a_volume_that_its_claim_never_used_is_given_back() {
    let ours = with(held(VolumePhase::Available), BOUND_BY_CONTROLLER, "yes");
    assert_eq!(word(&decided(&ours, None).next), "free");
    // A volume that was made for the claim alone goes with it.
    let provisioned = with(ours, PROVISIONED_BY, "csi.example");
    assert_eq!(word(&decided(&provisioned, None).next), "Released");
    // Creating an object again resets its phase, so that Pending proves nothing.
    for phase in [VolumePhase::Bound, VolumePhase::Pending] {
        let used = with(held(phase), BOUND_BY_CONTROLLER, "yes");
        assert_eq!(word(&decided(&used, None).next), "Released");
    }
}

/// **Differs from Kubernetes**: there, whatever carries the binder's mark is free for every claim.
#[test]
fn a_volume_that_may_hold_data_keeps_the_name_when_its_claim_takes_another() {
    let elsewhere = Claim { volume: Some(VolumeName::new("pv-b")), ..claim() };
    for (phase, expected) in [
        (VolumePhase::Available, "free"),
        (VolumePhase::Bound, "free"),
        (VolumePhase::Pending, "keep name"),
        (VolumePhase::Released, "keep name"),
        (VolumePhase::Failed, "keep name"),
    ] {
        let marked = with(held(phase.clone()), BOUND_BY_CONTROLLER, "yes");
        assert_eq!(word(&decided(&marked, Some(&elsewhere)).next), expected, "{phase}");
    }
}

/// The binder's mark of a former life would make its next claim's volume free for every other.
#[test]
fn a_volume_that_a_person_reserved_loses_the_mark_of_the_binders_choice() {
    let named = Volume { reservation: Reservation::Named(key()), ..volume() };
    let marked = with(named, BOUND_BY_CONTROLLER, "yes");
    let mut view = View::default();
    view.apply(Observed::Volume(Arc::new(marked.clone())));
    view.apply(Observed::Claim(Arc::new(claim())));
    let live = read_live(&marked, Some(&claim()), &[]);
    let Next::Write(write) = decide_claim(&Evidence::new(&view, &live), &key()).next else {
        panic!("no write")
    };
    assert!(matches!(write, Write::Reserve { .. }), "{write:?}");
    view.assume(&write);
    let reserved = Volume::clone(view.volume(&marked.name).unwrap());
    assert!(!reserved.annotations.has(BOUND_BY_CONTROLLER));
    assert_eq!(word(&decided(&reserved, None).next), "Released");
}

/// Kubernetes issue 43592: a claim whose event is late must not cost its volume.
#[test]
fn a_claim_that_was_not_seen_is_read_before_anything_is_released() {
    let volume = held(VolumePhase::Bound);
    let nothing = LiveReads::default();
    let mut failed = LiveReads::default();
    failed.fail_all(&[Read::Claim(key())]);
    let replaced = Claim { uid: Some(Uid::new("uid-2")), ..claim() };
    for claim in [None, Some(&replaced)] {
        for live in [&nothing, &failed] {
            let decision = seen(&volume, claim, live);
            assert_eq!(word(&decision.next), "read");
            assert_eq!(decision.why, VolumeOutcome::ClaimUnknown);
        }
    }
    // Nor is a surplus volume given up on a claim that may have changed.
    let mut elsewhere = Claim { volume: Some(VolumeName::new("pv-b")), ..claim() };
    elsewhere.annotations = Annotations::default();
    elsewhere.annotations.insert(BIND_COMPLETED, "yes");
    let surplus =
        Volume { policy: ReclaimPolicy::Delete, ..with(volume, PROVISIONED_BY, "csi.example") };
    for live in [&nothing, &failed] {
        assert_eq!(word(&seen(&surplus, Some(&elsewhere), live).next), "read");
    }
}
