//! Every row of the claim's decision table, and each difference from Kubernetes.

use std::sync::Arc;

use super::*;
use crate::binding::tests::{claim, volume};
use crate::binding::{ChosenBy, ListedCollections, LiveReads, Observed, View};
use crate::model::annotations::{BIND_COMPLETED, MIGRATED_TO};
use crate::model::{
    AccessModes, Annotations, DefaultMark, Expansion, NodeAffinity, Pod, PodKey, Uid, VolumeMode,
    VolumePhase,
};

/// A cluster that is seen whole: a read finds what the view shows.
fn decided(volumes: &[Volume], claims: &[Claim], classes: &[Class]) -> Decision<ClaimOutcome> {
    let mut view = View::default();
    for volume in volumes {
        view.apply(Observed::Volume(Arc::new(volume.clone())));
    }
    for claim in claims {
        view.apply(Observed::Claim(Arc::new(claim.clone())));
    }
    for class in classes {
        view.apply(Observed::Class(Arc::new(class.clone())));
    }
    let mut live = LiveReads::default();
    for _ in 0..3 {
        let decision = decide_claim(&Evidence::new(&view, &live), &claims[0].key);
        let Next::Read(reads) = &decision.next else { return decision };
        live.answer_from(&view, ListedCollections::everything(), reads);
    }
    panic!("the same reads are wanted again")
}

/// Returns what a decision writes, in a word, and the outcome.
fn step(decision: &Decision<ClaimOutcome>) -> (&'static str, ClaimOutcome) {
    let word = match &decision.next {
        Next::Settled => "nothing",
        Next::Read(_) => "read",
        Next::Reclaim(_) => "reclaim",
        Next::Write(Write::Reserve { .. }) => "reserve",
        Next::Write(Write::Unreserve { .. }) => "unreserve",
        Next::Write(Write::Phase { .. }) => "phase",
        Next::Write(Write::SetVolumeName { .. }) => "name",
        Next::Write(Write::Status { status: NewStatus::Pending, .. }) => "pending",
        Next::Write(Write::Status { status: NewStatus::Lost, .. }) => "lost",
        Next::Write(Write::Status { status: NewStatus::Bound { .. }, .. }) => "bound",
        Next::Write(Write::SetClass { .. }) => "class",
        Next::Write(Write::SetProvisioner { .. }) => "ask",
        Next::Write(Write::MigrateClaim { .. }) => "migrate",
        Next::Write(Write::MigrateVolume { .. }) => "migrate volume",
    };
    (word, decision.why.clone())
}

fn pv() -> VolumeName {
    volume().name
}

fn named() -> Claim {
    Claim { volume: Some(pv()), ..claim() }
}

fn done() -> Claim {
    let mut annotations = Annotations::default();
    annotations.insert(BIND_COMPLETED, "yes");
    Claim { annotations, ..named() }
}

fn held() -> Volume {
    Volume { reservation: Reservation::Held(claim().key, Uid::new("uid-1")), ..volume() }
}

fn others() -> Volume {
    Volume { reservation: Reservation::Held(ClaimKey::new("db", "x"), Uid::new("u")), ..volume() }
}

fn small() -> Volume {
    Volume { capacity: Quantity::parse("1Gi").unwrap(), ..volume() }
}

fn class(mode: BindingMode, provisioner: Provisioner) -> Class {
    let (name, expansion) = (ClassName::new("fast"), Expansion::NotAllowed);
    Class {
        name,
        provisioner,
        binding_mode: mode,
        expansion,
        default: DefaultMark::Unmarked,
        allowed_topologies: NodeAffinity::Unrestricted,
    }
}

fn of_class(claim: Claim) -> Claim {
    Claim { class_field: ClassRequest::Named(ClassName::new("fast")), ..claim }
}

#[test]
fn a_claim_without_a_volume_takes_one_or_waits() {
    let driver = Provisioner::Named("csi.example".into());
    let immediate = class(BindingMode::Immediate, driver.clone());
    let delayed = class(BindingMode::WaitForFirstConsumer, driver);
    let fixed = class(BindingMode::Immediate, Provisioner::Static);
    let gone = class(BindingMode::Immediate, Provisioner::Named("kubernetes.io/rbd".into()));
    let mut selected = of_class(claim());
    selected.annotations.insert(SELECTED_NODE, "n1");
    let mut asked = of_class(claim());
    asked.annotations.insert(STORAGE_PROVISIONER, "csi.example");
    let going = Claim { deletion: Deletion::Terminating, ..claim() };
    let classless = Claim { class_field: ClassRequest::Classless, ..claim() };
    let lost = Claim { phase: ClaimPhase::Lost, ..claim() };
    let default =
        Class { default: DefaultMark::Marked { created: "2026".into() }, ..immediate.clone() };
    let fast = Volume { class_field: Some(ClassName::new("fast")), ..volume() };
    let bound = ClaimOutcome::Bound(pv());
    let waits = ClaimOutcome::WaitsForProvisioner("csi.example".into());
    let rows = [
        (vec![volume()], claim(), vec![], ("reserve", bound.clone())),
        (vec![held()], claim(), vec![], ("phase", bound.clone())),
        (vec![small()], claim(), vec![], ("nothing", ClaimOutcome::NoMatchingVolume)),
        (vec![], lost, vec![], ("pending", ClaimOutcome::NoMatchingVolume)),
        // **Differs from Kubernetes**: a claim that is being deleted gets no volume.
        (vec![volume()], going, vec![], ("nothing", ClaimOutcome::Terminating)),
        (vec![volume()], claim(), vec![default.clone()], ("reserve", bound.clone())),
        (
            vec![],
            claim(),
            vec![default.clone()],
            ("class", ClaimOutcome::GetsDefaultClass(default.name.clone())),
        ),
        (vec![], classless, vec![default], ("nothing", ClaimOutcome::NoMatchingVolume)),
        (
            vec![],
            of_class(claim()),
            vec![],
            ("nothing", ClaimOutcome::NoClass(ClassName::new("fast"))),
        ),
        // A class without an object binds at once.
        (vec![fast.clone()], of_class(claim()), vec![], ("reserve", bound)),
        (vec![], of_class(claim()), vec![immediate.clone()], ("ask", waits.clone())),
        (vec![], asked, vec![immediate], ("nothing", waits.clone())),
        (vec![], of_class(claim()), vec![fixed], ("nothing", ClaimOutcome::NoMatchingVolume)),
        (vec![], of_class(claim()), vec![gone], ("nothing", ClaimOutcome::NoMatchingVolume)),
        (
            vec![fast.clone()],
            of_class(claim()),
            vec![delayed.clone()],
            ("nothing", ClaimOutcome::WaitsForConsumer),
        ),
        // Kubernetes 1.14: the node that a scheduler chose must not make the binder choose a volume.
        (vec![fast], selected, vec![delayed], ("ask", waits)),
    ];
    for (number, (volumes, claim, classes, expected)) in rows.into_iter().enumerate() {
        assert_eq!(step(&decided(&volumes, &[claim], &classes)), expected, "row {number}");
    }
}

#[test]
fn a_class_of_a_plug_in_that_moved_asks_its_driver() {
    let ebs = Provisioner::Named("kubernetes.io/aws-ebs".into());
    let class = class(BindingMode::Immediate, ebs);
    let decision = decided(&[], &[of_class(claim())], std::slice::from_ref(&class));
    let waits = ClaimOutcome::WaitsForProvisioner("ebs.csi.aws.com".into());
    assert_eq!(step(&decision), ("ask", waits.clone()));
    let Next::Write(write) = decision.next else { panic!("no write") };
    let mut view = View::default();
    view.apply(Observed::Claim(Arc::new(of_class(claim()))));
    view.assume(&write);
    let asked = Claim::clone(view.claim(&claim().key).unwrap());
    assert_eq!(asked.annotations.get(MIGRATED_TO), Some("ebs.csi.aws.com"));
    assert_eq!(step(&decided(&[], &[asked], std::slice::from_ref(&class))), ("nothing", waits));
    // An older release asked the plug-in by its own name; the mark comes first, then the new name.
    let mut old = of_class(claim());
    old.annotations.insert(STORAGE_PROVISIONER, "kubernetes.io/aws-ebs");
    assert_eq!(step(&decided(&[], std::slice::from_ref(&old), &[class])).0, "migrate");
    let bound = Volume { phase: VolumePhase::Bound, ..held() };
    let bound_claim = Claim { volume: Some(pv()), ..old };
    assert_eq!(step(&decided(&[bound], &[bound_claim], &[])).0, "migrate");
}

#[test]
fn a_delayed_claim_tells_for_which_pods_it_waits() {
    let delayed = class(BindingMode::WaitForFirstConsumer, Provisioner::Static);
    let waits = |pods: &[(&str, Option<&str>)]| {
        let mut view = View::default();
        view.apply(Observed::Claim(Arc::new(of_class(claim()))));
        view.apply(Observed::Class(Arc::new(delayed.clone())));
        for (name, node) in pods {
            let (key, node) = (PodKey::new("db", *name), node.map(Box::from));
            view.apply(Observed::Pod(Arc::new(Pod { key, node, claims: vec![claim().key] })));
        }
        let decision = decide_claim(&Evidence::new(&view, &LiveReads::default()), &claim().key);
        step(&decision)
    };
    assert_eq!(waits(&[]), ("nothing", ClaimOutcome::WaitsForConsumer));
    // A pod that was given a node by hand passed the scheduler by, which alone would choose a volume.
    assert_eq!(waits(&[("by-hand", Some("n1"))]), ("nothing", ClaimOutcome::WaitsForConsumer));
    let names = NonEmpty::from_vec(vec!["a".into(), "b".into()]).unwrap();
    let pods = [("b", None), ("by-hand", Some("n1")), ("a", None)];
    assert_eq!(waits(&pods), ("nothing", ClaimOutcome::WaitsForPods(names)));
}

#[test]
fn a_claim_that_names_a_volume_gets_that_or_none() {
    let agreed = Volume { reservation: Reservation::Named(claim().key), ..volume() };
    let block = Volume { mode: VolumeMode::Block, ..agreed.clone() };
    let little = Volume { reservation: agreed.reservation.clone(), ..small() };
    let other_class = Volume { class_field: Some(ClassName::new("slow")), ..agreed.clone() };
    let alone =
        Volume { access_modes: AccessModes::from_names(["ReadOnlyMany"]), ..agreed.clone() };
    let word = |volumes: &[Volume], claim: Claim, classes: &[Class]| {
        let decision = decided(volumes, &[claim], classes);
        let (word, why) = step(&decision);
        let outcome = match why {
            ClaimOutcome::Bound(_) => "bound",
            ClaimOutcome::BoundDespite(..) => "bound despite",
            ClaimOutcome::Unfit(..) => "unfit",
            ClaimOutcome::Taken(_) => "taken",
            ClaimOutcome::NoVolume(_) => "no volume",
            ClaimOutcome::Unseen
            | ClaimOutcome::Terminating
            | ClaimOutcome::Unknown
            | ClaimOutcome::GetsDefaultClass(_)
            | ClaimOutcome::WaitsForConsumer
            | ClaimOutcome::WaitsForPods(_)
            | ClaimOutcome::WaitsForProvisioner(_)
            | ClaimOutcome::NoMatchingVolume
            | ClaimOutcome::NoClass(_)
            | ClaimOutcome::Lost(_) => panic!("{decision:?}"),
        };
        (word, outcome)
    };
    assert_eq!(word(&[], named(), &[]), ("nothing", "no volume"));
    assert_eq!(word(&[volume()], named(), &[]), ("reserve", "bound"));
    assert_eq!(word(&[small()], named(), &[]), ("nothing", "unfit"));
    assert_eq!(word(&[others()], named(), &[]), ("nothing", "taken"));
    let calls_itself_bound = Claim { phase: ClaimPhase::Bound, ..named() };
    assert_eq!(word(&[others()], calls_itself_bound.clone(), &[]), ("pending", "taken"));
    let mut chosen_by_the_binder = calls_itself_bound;
    chosen_by_the_binder.annotations.insert(BOUND_BY_CONTROLLER, "yes");
    assert_eq!(word(&[others()], chosen_by_the_binder, &[]), ("nothing", "taken"));
    assert_eq!(word(&[held()], named(), &[]), ("phase", "bound"));
    assert_eq!(word(&[agreed], named(), &[]), ("reserve", "bound"));
    // **Differs from Kubernetes**: a pair that agrees is bound there whatever its volume modes are.
    assert_eq!(word(&[block], named(), &[]), ("nothing", "unfit"));
    for volume in [little, alone] {
        assert_eq!(word(&[volume], named(), &[]), ("reserve", "bound despite"));
    }
    assert_eq!(word(&[other_class], named(), &[]), ("reserve", "bound despite"));
}

#[test]
fn a_bound_claim_keeps_its_volume_or_has_lost_it() {
    let bound_volume = Volume { phase: VolumePhase::Bound, ..held() };
    let reported = Reported {
        access_modes: AccessModes::from_names(["ReadWriteOnce"]),
        ..Reported::default()
    };
    let whole = Claim { phase: ClaimPhase::Bound, reported: reported.clone(), ..done() };
    let was_large = Claim {
        reported: Reported { capacity: Some(Quantity::parse("5Gi").unwrap()), ..reported },
        ..whole.clone()
    };
    let unnamed = Claim { volume: None, ..done() };
    let by_name = Volume { reservation: Reservation::Named(claim().key), ..volume() };
    let grown = Claim { request: Quantity::parse("50Gi").unwrap(), ..whole.clone() };
    let bound = ClaimOutcome::Bound(pv());
    let misbound = ClaimOutcome::Lost(Loss::Misbound(pv()));
    let rows = [
        (vec![bound_volume.clone()], whole.clone(), ("nothing", bound.clone())),
        (vec![bound_volume.clone()], done(), ("bound", bound.clone())),
        (vec![held()], whole.clone(), ("phase", bound.clone())),
        (vec![], unnamed, ("lost", ClaimOutcome::Lost(Loss::Reference))),
        (vec![], whole.clone(), ("lost", ClaimOutcome::Lost(Loss::Volume(pv())))),
        (
            vec![],
            Claim { phase: ClaimPhase::Lost, ..done() },
            ("nothing", ClaimOutcome::Lost(Loss::Volume(pv()))),
        ),
        (vec![others()], whole.clone(), ("lost", misbound.clone())),
        (vec![by_name], whole.clone(), ("lost", misbound)),
        (vec![volume()], whole, ("reserve", bound.clone())),
        // What was asked since does not count; what was reported does.
        (vec![volume()], grown, ("reserve", bound)),
    ];
    for (number, (volumes, claim, expected)) in rows.into_iter().enumerate() {
        assert_eq!(step(&decided(&volumes, &[claim], &[])), expected, "row {number}");
    }
    // **Differs from Kubernetes**: a volume that was re-created under the name must fit.
    let (word, why) = step(&decided(&[small()], &[was_large], &[]));
    assert_eq!(word, "lost");
    assert!(matches!(why, ClaimOutcome::Lost(Loss::Unfit(..))), "{why:?}");
}

/// "Not seen" decides nothing.
#[test]
fn what_is_not_known_is_read_first() {
    let reads = |claim: Claim, volumes: &[Volume]| {
        let mut view = View::default();
        let key = claim.key.clone();
        view.apply(Observed::Claim(Arc::new(claim)));
        for volume in volumes {
            view.apply(Observed::Volume(Arc::new(volume.clone())));
        }
        decide_claim(&Evidence::new(&view, &LiveReads::default()), &key).next
    };
    let volume_read = Next::reads(vec![Read::Volume(pv())]);
    assert_eq!(reads(named(), &[]), volume_read);
    assert_eq!(reads(done(), &[]), volume_read);
    // The volume's watch may be behind.
    assert_eq!(reads(done(), &[others()]), volume_read);
    // So may it be where a claim was called Lost by a binder that had seen more.
    let lost = Claim { phase: ClaimPhase::Lost, ..done() };
    assert_eq!(reads(lost.clone(), &[held()]), volume_read);
    assert_eq!(reads(lost, &[volume()]), volume_read);
    let class_read = Next::reads(vec![Read::Class(ClassName::new("fast"))]);
    assert_eq!(reads(of_class(claim()), &[volume()]), class_read);
    // How it binds counts for no volume that is the claim's already.
    let phase = reads(of_class(claim()), &[held()]);
    assert!(matches!(phase, Next::Write(Write::Phase { .. })), "{phase:?}");
}

#[test]
fn the_binder_marks_what_it_chose_itself() {
    let chosen = |volume: Volume, claim: Claim| {
        let next = decided(&[volume], &[claim], &[]).next;
        let Next::Write(Write::Reserve { chosen, .. } | Write::SetVolumeName { chosen, .. }) = next
        else {
            panic!("{next:?}")
        };
        chosen
    };
    let agreed = Volume { reservation: Reservation::Named(claim().key), ..volume() };
    let bound = Volume { phase: VolumePhase::Bound, ..held() };
    assert_eq!(chosen(volume(), claim()), ChosenBy::Binder);
    assert_eq!(chosen(volume(), named()), ChosenBy::Binder);
    assert_eq!(chosen(agreed, claim()), ChosenBy::Other);
    assert_eq!(chosen(bound.clone(), claim()), ChosenBy::Binder);
    assert_eq!(chosen(bound, named()), ChosenBy::Other);
}
