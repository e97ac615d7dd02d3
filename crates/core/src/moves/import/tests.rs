//! Imports: the next step, and what prevents one.

use std::time::Duration;

use super::*;
use crate::model::sample::volume;
use crate::model::{
    Backend, ClaimKey, ClassName, Deletion, Node, NodeAffinity, NodeExpression, NodeTerm,
    ReclaimPolicy, Reservation, ResourceVersion, Storage, StorageKind, Uid, Volume, VolumeName,
    VolumePhase,
};
use crate::moves::{ClaimRead, LiveClaim};

fn key() -> ClaimKey {
    ClaimKey::new("db", "data")
}

fn made() -> MadeVolume {
    MadeVolume {
        deletion: Deletion::NotAsked,
        reservation: Reservation::Named(key()),
        phase: VolumePhase::Available,
        is_finished: false,
    }
}

fn claim(uid: &str, volume: Option<&str>, is_bound: bool) -> ClaimRead {
    ClaimRead::Present(LiveClaim {
        uid: Uid::new(uid),
        version: ResourceVersion::new("1"),
        volume: volume.map(VolumeName::new),
        deletion: Deletion::NotAsked,
        is_bound,
        fence: None,
    })
}

fn step(volume: &ImportedVolume, claim: &ClaimRead) -> ImportStep {
    let (name, key) = (VolumeName::new("pv-1"), key());
    decide_import(&ImportEvidence { name: &name, key: &key, volume, claim })
}

#[test]
fn the_volume_comes_first_and_the_policy_last() {
    let write = ImportStep::Write;
    let absent = ClaimRead::Absent;
    assert_eq!(step(&ImportedVolume::Absent, &absent), write(ImportWrite::CreateVolume));
    let reserved = ImportedVolume::Made(made());
    assert_eq!(step(&reserved, &absent), write(ImportWrite::CreateClaim));
    let pending = claim("c1", Some("pv-1"), false);
    assert_eq!(step(&reserved, &pending), ImportStep::Wait);
    let held = Reservation::Held(key(), Uid::new("c1"));
    let bound = MadeVolume { reservation: held, phase: VolumePhase::Bound, ..made() };
    assert_eq!(step(&ImportedVolume::Made(bound.clone()), &pending), ImportStep::Wait);
    let complete = claim("c1", Some("pv-1"), true);
    let step_of = |made: &MadeVolume| step(&ImportedVolume::Made(made.clone()), &complete);
    assert_eq!(step_of(&bound), write(ImportWrite::Finish));
    assert_eq!(step_of(&MadeVolume { is_finished: true, ..bound.clone() }), ImportStep::End);
    let other = Reservation::Held(key(), Uid::new("c2"));
    assert_eq!(step_of(&MadeVolume { reservation: other, ..bound.clone() }), ImportStep::Wait);
    assert_eq!(step_of(&MadeVolume { phase: VolumePhase::Available, ..bound }), ImportStep::Wait);
}

#[test]
fn what_others_made_stops_an_import() {
    let stop = ImportStep::Stop;
    let name = VolumeName::new("pv-1");
    let absent = ClaimRead::Absent;
    assert_eq!(step(&ImportedVolume::Foreign, &absent), stop(ImportProblem::VolumeTaken(name)));
    let taken = || stop(ImportProblem::ClaimTaken(key()));
    assert_eq!(step(&ImportedVolume::Absent, &claim("c1", None, false)), taken());
    let reserved = ImportedVolume::Made(made());
    assert_eq!(step(&reserved, &claim("c1", Some("pv-2"), true)), taken());
}

#[test]
fn what_was_deleted_since_is_not_created_again() {
    let stop = ImportStep::Stop;
    let absent = ClaimRead::Absent;
    let held = Reservation::Held(key(), Uid::new("c1"));
    let released = MadeVolume { reservation: held, phase: VolumePhase::Released, ..made() };
    let gone = stop(ImportProblem::ClaimGone(key()));
    assert_eq!(step(&ImportedVolume::Made(released), &absent), gone);
    let finished = MadeVolume { is_finished: true, ..made() };
    assert_eq!(step(&ImportedVolume::Made(finished), &absent), gone);
    let ending = MadeVolume { deletion: Deletion::Terminating, ..made() };
    let problem = ImportProblem::Terminating(VolumeName::new("pv-1"));
    assert_eq!(step(&ImportedVolume::Made(ending), &absent), stop(problem));
}

#[test]
fn a_claim_that_is_being_deleted_does_not_get_a_policy_that_deletes_its_data() {
    let held = Reservation::Held(key(), Uid::new("c1"));
    let bound = MadeVolume { reservation: held, phase: VolumePhase::Bound, ..made() };
    let ClaimRead::Present(complete) = claim("c1", Some("pv-1"), true) else { panic!() };
    let ending = ClaimRead::Present(LiveClaim { deletion: Deletion::Terminating, ..complete });
    let stopped = ImportStep::Stop(ImportProblem::ClaimTerminating(key()));
    assert_eq!(step(&ImportedVolume::Made(bound.clone()), &ending), stopped);
    let finished = MadeVolume { is_finished: true, ..bound };
    assert_eq!(step(&ImportedVolume::Made(finished), &ending), ImportStep::End);
}

fn disk(name: &str, handle: &str) -> Volume {
    Volume {
        backend: Backend::Csi("disk.example.com".into()),
        storage: Some(Storage::new(StorageKind::Disk, handle)),
        name: VolumeName::new(name),
        ..volume()
    }
}

fn pair(name: &str, handle: &str) -> ImportedPair {
    ImportedPair {
        volume: disk(name, handle),
        key: key(),
        classes: [ClassName::new("fast")].into(),
        needs_driver: true,
        policy: ReclaimPolicy::Delete,
        is_handed_over: true,
        age: Duration::from_mins(1),
        stored: ImportedVolume::Absent,
        claim: ClaimRead::Absent,
    }
}

fn target() -> ImportTarget {
    ImportTarget {
        volumes: vec![disk("pv-0", "disk.example.com:0")],
        classes: [ClassName::new("fast")].into(),
        drivers: ["disk.example.com".into()].into(),
        namespaces: [("db".into(), Some(Deletion::NotAsked))].into(),
        nodes: Vec::new(),
        age_max: Duration::from_hours(1),
    }
}

#[track_caller]
fn expect(change: impl FnOnce(&mut ImportedPair, &mut ImportTarget), expected: &[ImportProblem]) {
    let (mut pair, mut target) = (pair("pv-1", "disk.example.com:1"), target());
    change(&mut pair, &mut target);
    assert_eq!(import_problems(&[pair], &target), expected);
}

#[test]
fn a_cluster_that_has_everything_takes_a_pair() {
    expect(|_, _| {}, &[]);
}

#[test]
fn everything_that_is_missing_is_reported_at_once() {
    let missing = [
        ImportProblem::NoClass(ClassName::new("fast")),
        ImportProblem::NoDriver("disk.example.com".into()),
        ImportProblem::NoNamespace("db".into()),
    ];
    expect(
        |_, target| *target = ImportTarget { age_max: target.age_max, ..Default::default() },
        &missing,
    );
    expect(|pair, target| (pair.needs_driver, target.drivers) = (false, [].into()), &[]);
    let ending = ImportProblem::NamespaceTerminating("db".into());
    let terminating = [("db".into(), Some(Deletion::Terminating))];
    expect(|_, target| target.namespaces = terminating.into(), &[ending]);
}

#[test]
fn a_second_volume_on_one_disk_is_reported() {
    let place: Box<str> = "disk.example.com:0".into();
    let (name, other) = (VolumeName::new("pv-1"), VolumeName::new("pv-0"));
    let taken = ImportProblem::StorageTaken(name, other, place.clone());
    let same = Some(Storage::new(StorageKind::Disk, &place));
    expect(|pair, _| pair.volume.storage = same, &[taken]);
    let mut second = pair("pv-2", "disk.example.com:1");
    second.key = ClaimKey::new("db", "other");
    let found = import_problems(&[pair("pv-1", "disk.example.com:1"), second], &target());
    assert!(matches!(&*found, [ImportProblem::StorageTaken(..)]), "{found:?}");
}

#[test]
fn a_volume_of_the_same_name_is_reported_once() {
    let taken = ImportProblem::VolumeTaken(VolumeName::new("pv-1"));
    let foreign = ImportedVolume::Foreign;
    let same = vec![disk("pv-1", "disk.example.com:1")];
    expect(|pair, target| (pair.stored, target.volumes) = (foreign, same), &[taken]);
}

fn of_node(name: &str) -> NodeAffinity {
    let host = NodeExpression::new("kubernetes.io/hostname", "In", &[name]).unwrap();
    NodeAffinity::Required(vec![NodeTerm::new(vec![host], Vec::new())])
}

fn node(name: &str) -> Node {
    let labels = [("kubernetes.io/hostname", name)];
    Node { name: name.into(), labels: labels.into_iter().collect() }
}

#[test]
fn a_volume_of_nodes_that_the_cluster_does_not_have_is_reported() {
    let affinity = || of_node("a");
    let none = ImportProblem::NoNode(VolumeName::new("pv-1"));
    expect(|pair, _| pair.volume.node_affinity = affinity(), std::slice::from_ref(&none));
    let among = |names: &[&str]| names.iter().map(|name| node(name)).collect();
    let others = among(&["b"]);
    expect(|pair, to| (pair.volume.node_affinity, to.nodes) = (affinity(), others), &[none]);
    let all = among(&["b", "a"]);
    expect(|pair, to| (pair.volume.node_affinity, to.nodes) = (affinity(), all), &[]);
}

#[test]
fn the_same_path_on_two_nodes_is_two_disks() {
    let on = |name: &str, node: &str| {
        let mut volume = disk(name, "/mnt/disks/1");
        volume.node_affinity = of_node(node);
        volume
    };
    let nodes = || vec![node("a"), node("b")];
    for (other, is_taken) in [("b", false), ("a", true)] {
        let (mut pair, mut target) = (pair("pv-1", "any"), target());
        pair.volume = on("pv-1", "a");
        (target.volumes, target.nodes) = (vec![on("pv-0", other)], nodes());
        let found = import_problems(&[pair], &target);
        assert_eq!(matches!(&*found, [ImportProblem::StorageTaken(..)]), is_taken, "{found:?}");
        assert_eq!(found.is_empty(), !is_taken, "{found:?}");
    }
}

#[test]
fn names_that_two_pairs_have_are_reported() {
    let pairs = [pair("pv-1", "disk.example.com:1"), pair("pv-1", "disk.example.com:2")];
    let expected =
        [ImportProblem::VolumeTwice(VolumeName::new("pv-1")), ImportProblem::ClaimTwice(key())];
    assert_eq!(import_problems(&pairs, &target()), expected);
}

#[test]
fn two_clusters_that_would_delete_the_data_are_reported() {
    let both = ImportProblem::TwoOwners(VolumeName::new("pv-1"), ReclaimPolicy::Delete);
    expect(|pair, _| pair.is_handed_over = false, &[both]);
    let retain = ReclaimPolicy::Retain;
    expect(|pair, _| (pair.is_handed_over, pair.policy) = (false, retain), &[]);
    // While its last write is not made; afterwards, a person has accepted it.
    for (is_finished, count) in [(false, 1), (true, 0)] {
        let mut pair = pair("pv-1", "disk.example.com:1");
        let held = Reservation::Held(key(), Uid::new("c1"));
        let bound = MadeVolume { reservation: held, phase: VolumePhase::Bound, ..made() };
        (pair.stored, pair.claim, pair.is_handed_over) = (
            ImportedVolume::Made(MadeVolume { is_finished, ..bound }),
            claim("c1", Some("pv-1"), true),
            false,
        );
        let found = import_problems(&[pair], &target());
        assert_eq!(found.len(), count, "{found:?}");
    }
}

#[test]
fn an_old_export_is_reported_unless_its_import_has_begun() {
    let age = Duration::from_secs(3601);
    let old = ImportProblem::TooOld(age, Duration::from_hours(1));
    expect(|pair, _| pair.age = age, &[old]);
    let begun = ImportedVolume::Made(made());
    expect(|pair, _| (pair.age, pair.stored) = (age, begun), &[]);
}
