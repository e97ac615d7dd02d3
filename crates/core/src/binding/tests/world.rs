//! Small generated clusters, in any state that users, crashes and older binders leave behind, and the
//! next step for an object of one.
//!
//! What must hold in them is not here: see `orders`, `restarts` and `coverage`.

use std::sync::Arc;

use proptest::prelude::*;

use super::{claim, volume};
use crate::binding::{
    Evidence, ListedCollections, LiveReads, Next, Observed, View, decide_claim, decide_volume,
};
use crate::model::annotations::{
    ALLOWED_NAMESPACES, BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, STORAGE_PROVISIONER,
};
use crate::model::{
    AccessModes, Annotations, BindingMode, Claim, ClaimKey, ClaimPhase, Class, ClassName,
    ClassRequest, DefaultMark, Deletion, Expansion, NodeAffinity, Pod, PodKey, Provisioner,
    Quantity, ReclaimPolicy, Reported, Reservation, Selector, Term, Uid, Volume, VolumeMode,
    VolumeName, VolumePhase,
};

/// How many volumes, and how many claims, a cluster has at most.
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
        expansion: Expansion::NotAllowed,
        default: DefaultMark::Unmarked,
        allowed_topologies: NodeAffinity::Unrestricted,
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
        listed in proptest::option::weighted(0.2, proptest::sample::select(vec!["db", "qa"])),
    ) -> Volume {
        let mut annotations = annotations(&[(ours, BOUND_BY_CONTROLLER)]);
        if let Some(name) = provisioned {
            annotations.insert(PROVISIONED_BY, name);
        }
        if let Some(namespaces) = listed {
            annotations.insert(ALLOWED_NAMESPACES, namespaces);
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
            let theirs = view.reserved_for(&key(number)).next().filter(|_| agreed).cloned();
            let volume = theirs.or(claim.volume);
            let claim = Claim { key: key(number), uid: Some(uid(number)), volume, ..claim };
            view.apply(Observed::Claim(Arc::new(claim)));
        }
        view
    })
}

/// Decides until no read is left; `note` receives every outcome on the way.
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
        live.answer_from(view, ListedCollections::everything(), &reads);
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
