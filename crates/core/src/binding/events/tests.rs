//! Every outcome and its event; what an event must not reveal; and its length.

use std::sync::Arc;

use arcstr::ArcStr;
use proptest::prelude::*;

use super::*;
use crate::binding::tests::{claim, volume};
use crate::binding::{
    ClaimOutcome, Loss, Mismatch, Observed, Recycling, ReleasedFor, View, VolumeOutcome,
};
use crate::model::{
    AccessModes, BindingMode, Claim, ClaimKey, Class, ClassName, ClassRequest, DefaultMark,
    Expansion, NodeAffinity, NonEmpty, Pod, PodKey, Provisioner, Quantity, Reservation, Volume,
    VolumeMode, VolumeName, VolumePhase,
};

fn pv() -> VolumeName {
    VolumeName::new("pv-a")
}

fn of_class(claim: Claim) -> Claim {
    Claim { class_field: ClassRequest::Named(ClassName::new("fast")), ..claim }
}

/// Two volumes that are too small, one of another tenant, one of another class.
fn view(mode: BindingMode) -> View {
    let mut view = View::default();
    let small = Volume { capacity: Quantity::parse("1Gi").unwrap(), ..volume() };
    let taken = Reservation::Named(ClaimKey::new("secret-tenant", "secret-claim"));
    let fast = Some(ClassName::new("fast"));
    let volumes = [
        ("secret-1", small.clone()),
        ("secret-2", small),
        ("secret-3", Volume { reservation: taken, ..volume() }),
        ("secret-4", Volume { class_field: fast, phase: VolumePhase::Released, ..volume() }),
    ];
    for (name, volume) in volumes {
        view.apply(Observed::Volume(Arc::new(Volume { name: VolumeName::new(name), ..volume })));
    }
    view.apply(Observed::Class(Arc::new(Class {
        name: ClassName::new("fast"),
        provisioner: Provisioner::Static,
        binding_mode: mode,
        expansion: Expansion::NotAllowed,
        default: DefaultMark::Unmarked,
        allowed_topologies: NodeAffinity::Unrestricted,
    })));
    view
}

fn line(event: &ObjectEvent) -> String {
    let ObjectEvent { on, event_type, reason, text } = event;
    let on = match on {
        ObjectKey::Claim(key) => format!("claim {key}"),
        ObjectKey::Volume(name) => format!("volume {name}"),
    };
    format!("{on} {} {reason} {text}", event_type.as_str())
}

fn event_line(view: &View, claim: &Claim, outcome: &ClaimOutcome) -> String {
    claim_event(view, claim, outcome).as_ref().map_or_else(|| "nothing".to_owned(), line)
}

/// Every mismatch of a named volume, with values that an event must not reveal.
fn misfits() -> NonEmpty<Mismatch> {
    let size = |text: &str| Quantity::parse(text).unwrap();
    let class = || Some(ClassName::new("secret-class"));
    let mismatches = vec![
        Mismatch::TooSmall { requested: size("5Gi"), offered: size("777Gi") },
        Mismatch::VolumeMode { requested: VolumeMode::Block, offered: VolumeMode::Filesystem },
        Mismatch::AccessModes {
            requested: AccessModes::default(),
            offered: AccessModes::from_names(["ReadWriteOncePod"]),
        },
        Mismatch::AttributesClass { requested: None, offered: class() },
        Mismatch::Terminating,
        Mismatch::Class { requested: None, offered: class() },
    ];
    NonEmpty::from_vec(mismatches).unwrap()
}

fn one(mismatch: Mismatch) -> NonEmpty<Mismatch> {
    NonEmpty::from_vec(vec![mismatch]).unwrap()
}

fn pods(names: &[&str]) -> ClaimOutcome {
    let names = names.iter().map(|name| ArcStr::from(*name)).collect();
    ClaimOutcome::WaitsForPods(NonEmpty::from_vec(names).unwrap())
}

#[test]
fn pending_claims_report_the_reason() {
    let view = view(BindingMode::Immediate);
    let rows = [
        event_line(&view, &claim(), &ClaimOutcome::NoMatchingVolume),
        event_line(&view, &of_class(claim()), &ClaimOutcome::NoMatchingVolume),
        event_line(&view, &of_class(claim()), &ClaimOutcome::NoClass(ClassName::new("fast"))),
        event_line(&view, &of_class(claim()), &ClaimOutcome::WaitsForConsumer),
        event_line(&view, &of_class(claim()), &pods(&["web-0"])),
        event_line(&view, &of_class(claim()), &pods(&["web-0", "web-1"])),
        event_line(
            &view,
            &of_class(claim()),
            &ClaimOutcome::WaitsForProvisioner("csi.example".into()),
        ),
        event_line(&view, &claim(), &ClaimOutcome::NoVolume(pv())),
        event_line(&view, &claim(), &ClaimOutcome::Taken(pv())),
    ];
    insta::assert_snapshot!(rows.join("\n"), @r#"
    claim db/data Normal FailedBinding no persistent volumes available for this claim and no storage class is set; 0/4 volumes fit: 1 other StorageClass, 1 reserved for another PVC, 2 too small
    claim db/data Normal FailedBinding no persistent volumes available for this claim and storage class "fast" has no provisioner; 0/4 volumes fit: 3 other StorageClass, 1 not available
    claim db/data Warning ProvisioningFailed storageclass.storage.k8s.io "fast" not found; 0/4 volumes fit: 3 other StorageClass, 1 not available
    claim db/data Normal WaitForFirstConsumer waiting for first consumer to be created before binding
    claim db/data Normal WaitForPodScheduled waiting for pod web-0 to be scheduled
    claim db/data Normal WaitForPodScheduled waiting for pods web-0,web-1 to be scheduled
    claim db/data Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'csi.example' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.
    claim db/data Warning FailedBinding PV "pv-a", which the PVC names, does not exist; the PVC is Pending until it does; create the PV, or delete and re-create the PVC without spec.volumeName
    claim db/data Warning FailedBinding volume "pv-a" already bound to a different claim.
    "#);
}

#[test]
fn events_say_why_claims_lost_or_cannot_have_their_volume() {
    let view = view(BindingMode::Immediate);
    let rows = [
        event_line(&view, &claim(), &ClaimOutcome::Unfit(pv(), one(Mismatch::Terminating))),
        event_line(&view, &claim(), &ClaimOutcome::Unfit(pv(), misfits())),
        event_line(&view, &claim(), &ClaimOutcome::BoundDespite(pv(), misfits())),
        event_line(&view, &claim(), &ClaimOutcome::Lost(Loss::Reference)),
        event_line(&view, &claim(), &ClaimOutcome::Lost(Loss::Volume(pv()))),
        event_line(&view, &claim(), &ClaimOutcome::Lost(Loss::Misbound(pv()))),
        event_line(&view, &claim(), &ClaimOutcome::Lost(Loss::Unfit(pv(), misfits()))),
    ];
    insta::assert_snapshot!(rows.join("\n"), @r#"
    claim db/data Warning VolumeMismatch Cannot bind to requested volume "pv-a": the volume is marked for deletion "pv-a"
    claim db/data Warning VolumeMismatch Cannot bind to requested volume "pv-a": the volume is marked for deletion "pv-a"; also: requested PV is too small, storageClassName does not match, volumeAttributesClassName does not match, incompatible volumeMode, incompatible accessMode
    claim db/data Warning BoundDespiteMismatch PV "pv-a" is bound to the PVC because each names the other, although: the volume is marked for deletion "pv-a"; also: requested PV is too small, storageClassName does not match, volumeAttributesClassName does not match, incompatible volumeMode, incompatible accessMode
    claim db/data Warning ClaimLost Bound claim has lost reference to PersistentVolume. Data on the volume is lost!
    claim db/data Warning ClaimLost Bound claim has lost its PersistentVolume. Data on the volume is lost!
    claim db/data Warning ClaimMisbound Two claims are bound to the same volume, this one is bound incorrectly
    claim db/data Warning ClaimLost Bound claim has lost its PersistentVolume; PV "pv-a", which has its name, does not fit: the volume is marked for deletion "pv-a"; also: requested PV is too small, storageClassName does not match, volumeAttributesClassName does not match, incompatible volumeMode, incompatible accessMode; restore the former PV
    "#);
}

#[test]
fn a_claim_that_makes_progress_gets_no_event() {
    for outcome in [
        ClaimOutcome::Unseen,
        ClaimOutcome::Unknown,
        ClaimOutcome::Terminating,
        ClaimOutcome::Bound(pv()),
        ClaimOutcome::GetsDefaultClass(ClassName::new("fast")),
    ] {
        assert_eq!(event_line(&view(BindingMode::Immediate), &claim(), &outcome), "nothing");
    }
}

#[test]
fn what_is_known_of_the_pods_and_the_volume_is_added() {
    let mut view = view(BindingMode::WaitForFirstConsumer);
    let delayed = of_class(claim());
    let node = Some("n1".into());
    let by_hand = Pod { key: PodKey::new("db", "by-hand"), node, claims: vec![claim().key] };
    view.apply(Observed::Pod(Arc::new(by_hand)));
    let fits = Volume { class_field: Some(ClassName::new("fast")), name: pv(), ..volume() };
    view.apply(Observed::Volume(Arc::new(fits)));
    let mut rows = vec![
        event_line(&view, &delayed, &ClaimOutcome::WaitsForConsumer),
        event_line(&view, &delayed, &ClaimOutcome::NoMatchingVolume),
    ];
    let theirs = Volume { reservation: Reservation::Named(claim().key), ..volume() };
    view.apply(Observed::Volume(Arc::new(Volume { name: pv(), ..theirs })));
    rows.push(event_line(&view, &claim(), &ClaimOutcome::Unfit(pv(), one(Mismatch::Terminating))));
    insta::assert_snapshot!(rows.join("\n"), @r#"
    claim db/data Normal WaitForFirstConsumer waiting for first consumer to be created before binding; pod "by-hand" has a node that the scheduler did not choose, so that no volume is chosen for it; let the scheduler place the pod
    claim db/data Normal FailedBinding no persistent volumes available for this claim and storage class "fast" has no provisioner; 0/5 volumes fit: 3 other StorageClass, 1 not available, 1 waiting for the first consumer
    claim db/data Warning VolumeMismatch Cannot bind to requested volume "pv-a": the volume is marked for deletion "pv-a"; the two are not bound, although each names the other
    "#);
}

/// Kubernetes: `volume/plugins.go`, `FindProvisionablePluginByName`.
#[test]
fn a_plug_in_that_no_one_has_is_reported() {
    let mut view = view(BindingMode::Immediate);
    let mut class = Class::clone(view.class(&ClassName::new("fast")).unwrap());
    class.provisioner = Provisioner::Named("kubernetes.io/rbd".into());
    view.apply(Observed::Class(Arc::new(class)));
    let expected = "claim db/data Warning ProvisioningFailed no volume plugin matched name: \
        kubernetes.io/rbd; 0/4 volumes fit: 3 other StorageClass, 1 not available";
    assert_eq!(event_line(&view, &of_class(claim()), &ClaimOutcome::NoMatchingVolume), expected);
}

#[test]
fn volumes_get_an_event_where_a_person_must_act() {
    let rows = |outcome: VolumeOutcome| -> Vec<String> {
        volume_events(&volume(), &outcome).iter().map(line).collect()
    };
    for outcome in [
        VolumeOutcome::Unseen,
        VolumeOutcome::Offered,
        VolumeOutcome::ClaimUnknown,
        VolumeOutcome::AwaitsClaim(claim().key),
        VolumeOutcome::Bound(claim().key),
        VolumeOutcome::Unreserved(claim().key),
        VolumeOutcome::Released(ReleasedFor::Administrator),
        VolumeOutcome::Released(ReleasedFor::Driver),
        VolumeOutcome::Released(ReleasedFor::Recycler),
    ] {
        assert_eq!(rows(outcome.clone()), [""; 0], "{outcome:?}");
    }
    let users = vec![PodKey::new("db", "a"), PodKey::new("db", "b")];
    let users = NonEmpty::from_vec(users).unwrap();
    let reported = [
        VolumeOutcome::Unusable,
        VolumeOutcome::OtherMode(claim().key),
        VolumeOutcome::Released(ReleasedFor::NoDeleter),
        VolumeOutcome::Released(ReleasedFor::UnknownPolicy),
        VolumeOutcome::Released(ReleasedFor::Pods(users)),
        VolumeOutcome::Released(ReleasedFor::OtherVolume(VolumeName::new("pv-b"))),
    ];
    let reported: Vec<String> = reported.into_iter().flat_map(rows).collect();
    insta::assert_snapshot!(reported.join("\n"), @r#"
    volume pv-a Warning UnusableReservation spec.claimRef lacks a namespace or a name, so that no PVC can ever bind to the PV; complete spec.claimRef, or remove it if the PV holds no data
    volume pv-a Warning VolumeMismatch Cannot bind PersistentVolume to requested PersistentVolumeClaim "data" due to incompatible volumeMode.
    claim db/data Warning VolumeMismatch Cannot bind PersistentVolume "pv-a" to requested PersistentVolumeClaim due to incompatible volumeMode.
    volume pv-a Warning VolumeFailedDelete error getting deleter volume plugin for volume "pv-a": no volume plugin matched; no driver deletes this kind of storage; set persistentVolumeReclaimPolicy to Retain and copy what is needed, then delete the PV and its storage by hand
    volume pv-a Warning VolumeUnknownReclaimPolicy Volume has unrecognized PersistentVolumeReclaimPolicy
    volume pv-a Normal VolumeFailedRecycle Volume is used by pods: db/a,db/b
    volume pv-a Warning VolumeFailedRecycle PV is not recycled, because the files of PV "pv-b" are inside or around its path and would be removed too; set persistentVolumeReclaimPolicy to Retain
    "#);
}

#[test]
fn a_volume_gets_an_event_about_how_its_recycling_ended() {
    let ends = [
        Recycling::Done,
        Recycling::Failed("recycler pod was deleted".into()),
        Recycling::NoRecycler,
    ];
    let reported = ends.map(|end| line(&recycling_event(&volume(), &end)));
    insta::assert_snapshot!(reported.join("\n"), @"
    volume pv-a Normal VolumeRecycled Volume recycled
    volume pv-a Warning VolumeFailedRecycle Recycle failed: recycler pod was deleted
    volume pv-a Warning VolumeFailedRecycle No recycler plugin found for the volume!
    ");
}

/// A tenant who names any volume, or waits for one, learns numbers only.
#[test]
fn no_event_of_a_claim_tells_of_others() {
    let view = view(BindingMode::Immediate);
    let outcomes = [
        ClaimOutcome::NoMatchingVolume,
        ClaimOutcome::NoClass(ClassName::new("fast")),
        ClaimOutcome::NoVolume(pv()),
        ClaimOutcome::Taken(pv()),
        ClaimOutcome::Unfit(pv(), misfits()),
        ClaimOutcome::BoundDespite(pv(), misfits()),
        ClaimOutcome::Lost(Loss::Unfit(pv(), misfits())),
        ClaimOutcome::Lost(Loss::Misbound(pv())),
        ClaimOutcome::Unfit(
            pv(),
            one(Mismatch::ReservedForOther { holder: ClaimKey::new("secret-tenant", "x") }),
        ),
    ];
    for outcome in outcomes {
        for claim in [claim(), of_class(claim())] {
            let text = event_line(&view, &claim, &outcome);
            for secret in ["secret", "777Gi", "Pod", "RWOP", "Filesystem"] {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
    }
}

proptest! {
    /// The API server rejects an event with a longer text.
    #[test]
    fn a_text_is_cut_between_characters(name in "[a-zé🙂]{0,80}", count in 1..40_usize) {
        let names: Vec<String> = (0..count).map(|number| format!("{name}{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let outcome = pods(&names);
        let view = View::default();
        let text = claim_event(&view, &claim(), &outcome).unwrap().text;
        let whole = format!("waiting for pods {} to be scheduled", names.join(","));
        prop_assert!(text.len() <= 1024);
        match text.strip_suffix('…') {
            Some(head) => {
                prop_assert!(whole.len() > 1024 && whole.starts_with(head));
                prop_assert!(head.len() > 1010);
            }
            None => prop_assert!(count == 1 || text == whole),
        }
    }
}
