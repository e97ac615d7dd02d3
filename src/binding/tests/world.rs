//! Small generated clusters in which volumes and claims are decided in any order, until nothing is left.
//!
//! What must hold after every write, whatever the order. Faults, stale views and lost writes are not
//! here: they need the whole shell.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::{claim, volume};
use crate::binding::{Asker, Choice, NewStatus};
use crate::binding::{
    ClaimOutcome, Evidence, LiveReads, Next, Observed, View, VolumeOutcome, Write, choose,
    decide_claim, decide_volume,
};
use crate::model::annotations::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, STORAGE_PROVISIONER,
};
use crate::model::{
    AccessModes, Annotations, BindingMode, Claim, ClaimKey, ClaimPhase, Class, ClassName,
    ClassRequest, DefaultMark, Deletion, Expansion, NodeAffinity, Pod, PodKey, Provisioner,
    Quantity, ReclaimPolicy, Reported, Reservation, Selector, Stage, Term, Uid, Volume, VolumeMode,
    VolumeName, VolumePhase,
};

/// More writes than any of these clusters needs; twice five for each object.
const WRITES_COUNT_MAX: usize = 200;

pub(super) const COUNT: usize = 4;

pub(super) fn volume_name(number: usize) -> VolumeName {
    VolumeName::new(format!("pv-{number}"))
}

pub(super) fn key(number: usize) -> ClaimKey {
    ClaimKey::new("db", format!("c-{number}"))
}

fn uid(number: usize) -> Uid {
    Uid::new(format!("uid-{number}"))
}

fn annotations(marks: &[(bool, &str)]) -> Annotations {
    let mut annotations = Annotations::default();
    for (_, key) in marks.iter().filter(|(is_set, _)| *is_set) {
        annotations.insert(key, "yes");
    }
    annotations
}

/// What is between a volume and a claim beside names, sizes and modes.
#[derive(Clone, Debug)]
struct Kind {
    class: Option<ClassName>,
    attributes_class: Option<ClassName>,
    access_modes: AccessModes,
}

fn kinds() -> impl Strategy<Value = Kind> {
    let class = prop_oneof![
        6 => Just(None),
        1 => proptest::sample::select(vec!["fast", "slow", "moved", "gone"]).prop_map(Some),
    ];
    let modes = proptest::sample::select(vec!["ReadWriteOnce", "ReadWriteOnce", "ReadOnlyMany"]);
    (class, proptest::bool::weighted(0.1), modes).prop_map(|(class, golden, mode)| Kind {
        class: class.map(ClassName::new),
        attributes_class: golden.then(|| ClassName::new("gold")),
        access_modes: AccessModes::from_names([mode]),
    })
}

/// A class that a driver serves at once, one of local volumes that delays, one of a plug-in that moved;
/// for "gone" there is no object.
fn classes(default: bool) -> [Class; 3] {
    let class = |name: &str, provisioner: Provisioner, binding_mode: BindingMode| Class {
        name: ClassName::new(name),
        provisioner,
        binding_mode,
        expansion: Expansion::Refused,
        default: DefaultMark::Unmarked,
    };
    let named = |name: &str| Provisioner::Named(name.into());
    let marked = DefaultMark::Marked { created: "2026".into() };
    let mark = if default { marked } else { DefaultMark::Unmarked };
    [
        Class { default: mark, ..class("fast", named("csi.example"), BindingMode::Immediate) },
        class("slow", Provisioner::Static, BindingMode::WaitForFirstConsumer),
        class("moved", named("kubernetes.io/aws-ebs"), BindingMode::Immediate),
    ]
}

prop_compose! {
    /// A volume in any state that users, crashes and older binders leave behind.
    fn volumes()(
        reservation in prop_oneof![
            4 => Just(Reservation::Free),
            2 => (0..=COUNT).prop_map(|n| Reservation::Named(key(n))),
            4 => (0..=COUNT).prop_map(|n| Reservation::Held(key(n), uid(n))),
            1 => (0..COUNT).prop_map(|n| Reservation::Held(key(n), Uid::new("uid-of-old"))),
            1 => Just(Reservation::Incomplete(ClaimKey::new("", "c-0"), Some(uid(0)))),
        ],
        phase in proptest::sample::select(vec![
            VolumePhase::Pending, VolumePhase::Available, VolumePhase::Bound, VolumePhase::Released,
            VolumePhase::Failed,
        ]),
        policy in proptest::sample::select(vec![
            ReclaimPolicy::Retain, ReclaimPolicy::Delete, ReclaimPolicy::Delete,
            ReclaimPolicy::Recycle, ReclaimPolicy::Newer("Shred".into()),
        ]),
        size in proptest::sample::select(vec!["5Gi", "10Gi", "20Gi"]),
        block in proptest::bool::weighted(0.1),
        ours in any::<bool>(),
        provisioned in proptest::option::weighted(0.2, proptest::sample::select(vec![
            "csi.example", "kubernetes.io/aws-ebs", "kubernetes.io/host-path",
        ])),
        terminating in proptest::bool::weighted(0.1),
        kind in kinds(),
        labelled in any::<bool>(),
        far in proptest::bool::weighted(0.2),
    ) -> Volume {
        let mut annotations = annotations(&[(ours, BOUND_BY_CONTROLLER)]);
        if let Some(name) = provisioned {
            annotations.insert(PROVISIONED_BY, name);
        }
        Volume {
            reservation, phase, policy, annotations,
            class_field: kind.class,
            attributes_class: kind.attributes_class,
            access_modes: kind.access_modes,
            labels: labelled.then_some(("tier", "gold")).into_iter().collect(),
            node_affinity: if far { NodeAffinity::Required(Vec::new()) } else { NodeAffinity::Unrestricted },
            capacity: Quantity::parse(size).unwrap(),
            mode: if block { VolumeMode::Block } else { VolumeMode::Filesystem },
            deletion: if terminating { Deletion::Terminating } else { Deletion::NotAsked },
            ..volume()
        }
    }
}

prop_compose! {
    fn claims()(
        named in proptest::option::weighted(0.5, 0..=COUNT),
        completed in proptest::bool::weighted(0.3),
        phase in proptest::sample::select(vec![ClaimPhase::Pending, ClaimPhase::Bound, ClaimPhase::Lost]),
        size in proptest::sample::select(vec!["5Gi", "10Gi"]),
        terminating in proptest::bool::weighted(0.1),
        kind in kinds(),
        choosy in proptest::bool::weighted(0.1),
        moved in proptest::bool::weighted(0.1),
    ) -> Claim {
        let is_bound = phase == ClaimPhase::Bound;
        let mut annotations = annotations(&[(completed, BIND_COMPLETED)]);
        if moved {
            annotations.insert(STORAGE_PROVISIONER, "kubernetes.io/aws-ebs");
        }
        Claim {
            volume: named.map(volume_name),
            annotations,
            phase,
            request: Quantity::parse(size).unwrap(),
            class_field: kind.class.map_or(ClassRequest::Unset, ClassRequest::Named),
            attributes_class: kind.attributes_class,
            access_modes: kind.access_modes,
            selector: choosy.then(|| Selector::new(vec![Term::equals("tier", "gold").unwrap()])),
            reported: if is_bound { reported() } else { Reported::default() },
            deletion: if terminating { Deletion::Terminating } else { Deletion::NotAsked },
            ..claim()
        }
    }
}

fn reported() -> Reported {
    let access_modes = AccessModes::from_names(["ReadWriteOnce"]);
    Reported {
        access_modes,
        capacity: Some(Quantity::parse("5Gi").unwrap()),
        attributes_class: None,
    }
}

pub(super) fn worlds() -> impl Strategy<Value = View> {
    let volumes = proptest::collection::vec(volumes(), 0..=COUNT);
    let claims = proptest::collection::vec(claims(), 0..=COUNT);
    let pods = proptest::collection::vec((0..COUNT, any::<bool>()), 0..=2);
    let (default, agreed) = (proptest::bool::weighted(0.2), proptest::bool::weighted(0.3));
    (volumes, claims, default, agreed, pods).prop_map(|(volumes, claims, default, agreed, pods)| {
        let mut view = View::default();
        for class in classes(default) {
            view.apply(Observed::Class(Arc::new(class)));
        }
        for (number, (of, has_node)) in pods.into_iter().enumerate() {
            let (key, claims) = (PodKey::new("db", format!("p-{number}")), vec![key(of)]);
            let node = has_node.then(|| "n1".into());
            view.apply(Observed::Pod(Arc::new(Pod { key, node, claims })));
        }
        for (number, volume) in volumes.into_iter().enumerate() {
            let volume = Volume { name: volume_name(number), ..volume };
            view.apply(Observed::Volume(Arc::new(volume)));
        }
        for (number, claim) in claims.into_iter().enumerate() {
            // Two that name each other are rare by chance.
            let theirs = view.kept_for(&key(number)).next().filter(|_| agreed).cloned();
            let volume = theirs.or(claim.volume);
            let claim = Claim { key: key(number), uid: Some(uid(number)), volume, ..claim };
            view.apply(Observed::Claim(Arc::new(claim)));
        }
        view
    })
}

/// Decides until no read is left; `note` is told every outcome on the way.
pub(super) fn next(view: &View, object: &Object, mut note: impl FnMut(String)) -> Next {
    let mut live = LiveReads::default();
    for _ in 0..4 {
        let evidence = Evidence::new(view, &live);
        let (next, why) = match object {
            Object::Volume(name) => {
                let decision = decide_volume(&evidence, name);
                (decision.next, format!("volume {:?}", decision.why))
            }
            Object::Claim(key) => {
                let decision = decide_claim(&evidence, key);
                (decision.next, format!("claim {:?}", decision.why))
            }
        };
        note(why);
        let Next::Read(reads) = next else { return next };
        live.answer_from(view, &reads);
    }
    panic!("{object:?} wants reads that were made")
}

#[derive(Clone, Debug)]
pub(super) enum Object {
    Volume(VolumeName),
    Claim(ClaimKey),
}

pub(super) fn objects(view: &View) -> Vec<Object> {
    let volumes = view.volumes().map(|volume| Object::Volume(volume.name.clone()));
    volumes.chain(view.claims().map(|claim| Object::Claim(claim.key.clone()))).collect()
}

/// What may never be written, whatever came before.
fn check(view: &View, write: &Write) {
    let held_by = |volume: &Volume, key: &ClaimKey, uid: Option<&Uid>| {
        matches!(&volume.reservation, Reservation::Held(held, held_uid)
            if held == key && Some(held_uid) == uid)
    };
    match write {
        Write::Reserve { volume, claim, .. } => {
            let volume = view.volume(&volume.name).unwrap();
            let is_free_or_theirs = match &volume.reservation {
                Reservation::Free => true,
                Reservation::Named(key) => *key == claim.name,
                Reservation::Held(_, uid) => Some(uid) == claim.uid.as_ref(),
                Reservation::Incomplete(_, uid) => *uid == claim.uid && uid.is_some(),
            };
            assert!(is_free_or_theirs, "{write:?} takes {volume:?}");
        }
        Write::Name { claim, volume, .. } => {
            let volume = view.volume(volume).unwrap();
            assert!(held_by(volume, &claim.name, claim.uid.as_ref()), "{write:?}");
            assert_eq!(volume.phase, VolumePhase::Bound, "{write:?}");
            assert_eq!(volume.deletion, Deletion::NotAsked, "{write:?}");
        }
        Write::Phase { volume, phase: VolumePhase::Released, .. }
        | Write::Unreserve { volume, .. } => {
            let volume = view.volume(&volume.name).unwrap();
            assert!(!has_its_claim(view, volume), "{write:?} of {volume:?}");
        }
        Write::Status { claim, status: NewStatus::Bound { .. } } => {
            let claim = view.claim(&claim.name).unwrap();
            let volume = view.volume(claim.volume.as_ref().unwrap()).unwrap();
            assert!(held_by(volume, &claim.key, claim.uid.as_ref()), "{write:?}");
        }
        Write::Phase { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::Ask { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => {}
    }
}

fn mode(view: &View, claim: &Claim) -> BindingMode {
    let request = claim.class();
    let class = request.wanted().name().and_then(|name| view.class(name));
    class.map_or(BindingMode::Immediate, |class| class.binding_mode)
}

/// Whether the claim of the volume's reservation is there and has no other volume.
fn has_its_claim(view: &View, volume: &Volume) -> bool {
    let Reservation::Held(key, uid) = &volume.reservation else { return false };
    view.claim(key).is_some_and(|claim| {
        claim.uid.as_ref() == Some(uid)
            && claim.volume.as_ref().is_none_or(|named| *named == volume.name)
    })
}

/// Picks objects as `schedule` says, then one after the other, until all are settled.
fn run(mut view: View, schedule: &[usize]) -> View {
    let objects = objects(&view);
    if objects.is_empty() {
        return view;
    }
    let mut picks = schedule.iter().copied().chain(0..);
    let mut writes = 0;
    let mut settled = BTreeSet::new();
    while settled.len() < objects.len() {
        let pick = picks.next().unwrap_or_default() % objects.len();
        if let Next::Write(write) = next(&view, &objects[pick], drop) {
            check(&view, &write);
            view.assume(&write);
            settled.clear();
            writes += 1;
            assert!(writes < WRITES_COUNT_MAX, "no end: {write:?}");
        } else {
            settled.insert(pick);
        }
    }
    view
}

proptest! {
    /// No order of decisions takes a volume from its claim, or goes on for ever.
    #[test]
    fn every_order_settles_without_a_breach(
        world in worlds(),
        schedule in proptest::collection::vec(0..64_usize, 0..40),
    ) {
        let settled = run(world, &schedule);
        for claim in settled.claims().filter(|claim| claim.phase == ClaimPhase::Bound) {
            let is_held = claim.volume.as_ref().and_then(|name| settled.volume(name));
            let is_held = is_held.is_some_and(|volume| has_its_claim(&settled, volume));
            let is_going = claim.deletion == Deletion::Terminating && claim.stage() == Stage::Unbound;
            // Kubernetes: the status of a claim that asks a provisioner is left as it was found.
            let is_asking = claim.stage() == Stage::Unbound
                && claim.volume.is_none()
                && claim.class().wanted().name().is_some();
            prop_assert!(is_held || is_going || is_asking, "{claim:?} in {settled:?}");
        }
        // Whoever still waits had nothing to take.
        for claim in settled.claims().filter(|claim| claim.volume.is_none()) {
            let waits = claim.stage() == Stage::Unbound && claim.deletion == Deletion::NotAsked;
            let choice = choose(&settled, claim, Asker::Controller(mode(&settled, claim)));
            let is_going = |choice: &Choice| match choice {
                Choice::Kept(volume) => volume.deletion == Deletion::Terminating,
                Choice::Free(_) | Choice::KeptOutOfReach(_) | Choice::Nothing => false,
            };
            prop_assert!(!waits || choice == Choice::Nothing || is_going(&choice), "{choice:?}");
        }
    }

    /// A settled cluster stays as it is.
    #[test]
    fn nothing_is_decided_twice(world in worlds()) {
        let settled = run(world, &[]);
        for object in objects(&settled) {
            let next = next(&settled, &object, drop);
            prop_assert!(!matches!(next, Next::Write(_)), "{object:?}: {next:?}");
        }
    }
}

#[test]
fn an_object_that_nobody_saw_is_left_alone() {
    let (view, live) = (View::default(), LiveReads::default());
    let evidence = Evidence::new(&view, &live);
    let volume = decide_volume(&evidence, &volume_name(0));
    assert_eq!((volume.next, volume.why), (Next::Settled, VolumeOutcome::Unseen));
    let claim = decide_claim(&evidence, &key(0));
    assert_eq!((claim.next, claim.why), (Next::Settled, ClaimOutcome::Unseen));
}
