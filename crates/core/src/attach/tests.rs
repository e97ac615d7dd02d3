//! Each step of a volume on its way to a node, whose turn it is, and what is advised.

use super::*;
use crate::model::{
    AccessModes, Backend, ClaimKey, CsiDriver, CsiNode, Deletion, Finalizers, NodeState, Pod,
    PodKey, RegisteredDriver, Volume, VolumeAttachment, VolumeName, sample,
};

const DRIVER: &str = "csi.example.com";

fn volume(modes: &[&str]) -> Volume {
    Volume {
        backend: Backend::Csi(DRIVER.into()),
        access_modes: AccessModes::from_names(modes.iter().copied()),
        ..sample::volume()
    }
}

/// An attachment of the volume to a node, carried out.
fn attached(node: &str) -> VolumeAttachment {
    VolumeAttachment {
        name: format!("csi-{node}").into(),
        driver: DRIVER.into(),
        node: node.into(),
        volume: Some(sample::volume().name),
        is_attached: true,
        attach_error: None,
        detach_error: None,
        deletion: Deletion::NotAsked,
        finalizers: Finalizers::default(),
    }
}

fn node(name: &str) -> NodeState {
    NodeState { name: name.into(), is_ready: true, is_out_of_service: false }
}

fn pod(name: &str, node: &str) -> Pod {
    let claims = vec![ClaimKey::new("db", "data")];
    Pod { key: PodKey::new("db", name), node: Some(node.into()), claims }
}

/// Two nodes that can have two volumes of the driver each, and these attachments.
fn evidence(attachments: Vec<VolumeAttachment>) -> AttachEvidence {
    let registered = |name: &str| CsiNode {
        name: name.into(),
        drivers: vec![RegisteredDriver { name: DRIVER.into(), volumes_max: Some(2) }],
    };
    AttachEvidence {
        attachments: Some(attachments),
        drivers: Some(vec![CsiDriver { name: DRIVER.into(), is_attach_required: true }]),
        csi_nodes: Some(vec![registered("n1"), registered("n2")]),
        nodes: Some(vec![node("n1"), node("n2")]),
        pods: Some(vec![pod("old", "n1"), pod("new", "n2")]),
    }
}

/// How far the volume is on its way to node n2.
fn step_of(volume: &Volume, evidence: &AttachEvidence) -> AttachStep {
    attach_step(volume, &ClaimKey::new("db", "data"), "n2", evidence)
}

fn step(evidence: &AttachEvidence) -> AttachStep {
    step_of(&volume(&["ReadWriteOnce"]), evidence)
}

fn said(step: &AttachStep) -> String {
    let volume = volume(&["ReadWriteOnce"]);
    VolumeOnNode { volume: &volume, node: "n2", step }.to_string()
}

#[test]
fn a_volume_is_created_attached_and_mounted_in_turn() {
    let pending = VolumeAttachment { is_attached: false, ..attached("n2") };
    for (attachments, expected, turn) in [
        (vec![], AttachStep::ToCreate, Turn::AttachDetachController),
        (vec![pending], AttachStep::ToAttach("csi-n2".into()), Turn::Driver),
        (vec![attached("n2")], AttachStep::ToMount, Turn::Kubelet),
    ] {
        let found = step(&evidence(attachments));
        assert_eq!((found.turn(), found.is_stuck()), (Some(turn), false), "{found:?}");
        assert_eq!(found, expected);
    }
}

#[test]
fn what_failed_is_said_with_the_message_of_the_driver() {
    let failed = VolumeAttachment {
        is_attached: false,
        attach_error: Some("no such disk".into()),
        ..attached("n2")
    };
    let found = step(&evidence(vec![failed]));
    let message = "no such disk".into();
    assert_eq!(found, AttachStep::AttachFailed { message, full: None });
    assert!(found.is_stuck() && said(&found).contains("no such disk"));
    let going = VolumeAttachment { deletion: Deletion::Terminating, ..attached("n2") };
    let found = step(&evidence(vec![going.clone()]));
    assert!(matches!(found, AttachStep::Detaching { error: None, .. }) && !found.is_stuck());
    let failed = VolumeAttachment { detach_error: Some("busy".into()), ..going };
    let found = step(&evidence(vec![failed]));
    assert!(found.is_stuck() && said(&found).contains("busy"), "{found:?}");
}

/// While it is attached, what the kubelet said before is past.
#[test]
fn what_the_kubelet_said_counts_once_it_is_its_turn() {
    let error = || Some("wrong fs type".into());
    let known = evidence(vec![attached("n2")]);
    let found = step(&known).with_mount_error(error());
    assert_eq!((found.turn(), found.is_stuck()), (Some(Turn::Kubelet), true));
    assert!(said(&found).contains("wrong fs type"));
    assert_eq!(step(&known).with_mount_error(None), AttachStep::ToMount);
    let earlier = step(&evidence(Vec::new())).with_mount_error(error());
    assert_eq!(earlier, AttachStep::ToCreate);
}

/// Without registration the external-attacher does not know the node, and the kubelet not the driver.
#[test]
fn a_driver_has_to_be_registered_at_every_step_and_may_need_no_attachment() {
    for attachments in [vec![], vec![attached("n2")]] {
        let absent = AttachEvidence { csi_nodes: Some(Vec::new()), ..evidence(attachments) };
        assert_eq!(step(&absent), AttachStep::NotRegistered);
    }
    let mounts = CsiDriver { name: DRIVER.into(), is_attach_required: false };
    let mut known =
        AttachEvidence { drivers: Some(vec![mounts]), ..evidence(vec![attached("n1")]) };
    assert_eq!(step(&known), AttachStep::ToMount);
    known.csi_nodes = Some(Vec::new());
    assert_eq!(step(&known), AttachStep::NotRegistered);
    // Kubernetes: a driver without a CSIDriver object attaches.
    let known = AttachEvidence { drivers: Some(Vec::new()), ..evidence(Vec::new()) };
    assert_eq!(step(&known), AttachStep::ToCreate);
}

/// The attach/detach controller does not heed the limit; a driver does.
#[test]
fn a_driver_that_fails_on_a_full_node_is_said_to() {
    let other = |number: u32, driver: &str, node: &str| VolumeAttachment {
        name: format!("csi-{number}").into(),
        driver: driver.into(),
        volume: Some(VolumeName::new(format!("pv-{number}"))),
        ..attached(node)
    };
    let failed = || VolumeAttachment {
        is_attached: false,
        attach_error: Some("no slot".into()),
        ..attached("n2")
    };
    let full_of = |others: [VolumeAttachment; 2]| {
        let attachments = others.into_iter().chain([failed()]).collect();
        let found = step(&evidence(attachments));
        let AttachStep::AttachFailed { full, .. } = &found else { panic!("{found:?}") };
        (*full, said(&found))
    };
    let (full, text) = full_of([other(1, DRIVER, "n2"), other(2, DRIVER, "n2")]);
    assert_eq!(full, Some(2));
    assert!(text.contains("no slot; the node can have 2 volumes"), "{text}");
    assert_eq!(full_of([other(1, DRIVER, "n2"), other(2, "other", "n2")]).0, None);
    assert_eq!(full_of([other(1, DRIVER, "n2"), other(2, DRIVER, "n1")]).0, None);
}

#[test]
fn a_volume_of_one_node_waits_for_the_other_and_a_shared_one_does_not() {
    let known = evidence(vec![attached("n1")]);
    for modes in [&["ReadWriteOnce"][..], &["ReadWriteOncePod"]] {
        let found = step_of(&volume(modes), &known);
        let AttachStep::HeldElsewhere(holder) = &found else { panic!("{found:?}") };
        assert_eq!((&*holder.node, holder.state), ("n1", HolderNode::Ready));
        assert_eq!(holder.pods, Some(vec![PodKey::new("db", "old")]));
    }
    for modes in [&["ReadWriteMany"][..], &["ReadWriteOnce", "ReadOnlyMany"], &[]] {
        assert_eq!(step_of(&volume(modes), &known), AttachStep::ToCreate, "{modes:?}");
    }
}

/// Two machines must never write to one disk on our advice: deleting a VolumeAttachment is advised only where the Node
/// object is gone, the taint only after the machine is off.
#[test]
fn force_is_advised_only_where_the_machine_does_not_run() {
    let of = |nodes: Option<Vec<NodeState>>, pods: Option<Vec<Pod>>| {
        let known = AttachEvidence { nodes, pods, ..evidence(vec![attached("n1")]) };
        let found = step(&known);
        (found.turn().unwrap(), said(&found))
    };
    let using = || Some(vec![pod("old", "n1")]);
    let is_forced =
        |text: &str| text.contains("delete VolumeAttachment") && !text.contains("nor delete");
    let dead = NodeState { is_ready: false, ..node("n1") };
    let off = NodeState { is_out_of_service: true, ..dead.clone() };
    let tainted = NodeState { is_out_of_service: true, ..node("n1") };
    for (nodes, pods, turn, part) in [
        (Some(vec![node("n1")]), using(), Turn::Administrator, "by pod \"db/old\""),
        (Some(vec![node("n1")]), Some(Vec::new()), Turn::Kubelet, "unmounts it"),
        (Some(vec![node("n1")]), None, Turn::Administrator, "pods that are not known"),
        (Some(vec![dead]), Some(Vec::new()), Turn::Administrator, "switch that machine off, then"),
        (
            Some(vec![off]),
            using(),
            Turn::AttachDetachController,
            "make sure that its machine is off",
        ),
        (
            Some(vec![tainted]),
            using(),
            Turn::Administrator,
            "remove the taint before a pod there is deleted",
        ),
        (None, using(), Turn::Administrator, "not known"),
    ] {
        let (found, text) = of(nodes, pods);
        assert_eq!(found, turn, "{text}");
        assert!(text.contains(part) && !is_forced(&text), "{text}");
    }
    let (turn, text) = of(Some(Vec::new()), using());
    assert!(turn == Turn::AttachDetachController && is_forced(&text), "{text}");
}

/// The common cause of "Multi-Attach error": no pod uses it there, and it is not detached.
#[test]
fn a_driver_that_cannot_detach_it_from_the_other_node_is_said_to() {
    let other = VolumeAttachment {
        deletion: Deletion::Terminating,
        detach_error: Some("node is locked".into()),
        ..attached("n1")
    };
    let found = step(&AttachEvidence { pods: Some(Vec::new()), ..evidence(vec![other]) });
    assert_eq!((found.turn(), found.is_stuck()), (Some(Turn::Driver), true));
    assert!(said(&found).contains("node is locked"), "{}", said(&found));
}

#[test]
fn a_list_that_is_not_complete_makes_it_unknown_never_fine() {
    let whole = || evidence(vec![attached("n2")]);
    for (known, lacking) in [
        (AttachEvidence { attachments: None, ..whole() }, AttachCollection::Attachments),
        (AttachEvidence { drivers: None, ..whole() }, AttachCollection::Drivers),
        (AttachEvidence { csi_nodes: None, ..whole() }, AttachCollection::CsiNodes),
    ] {
        let found = step(&known);
        assert_eq!((found.turn(), &found), (None, &AttachStep::Unknown(lacking)));
        assert!(said(&found).contains("not known"));
    }
    let local = Volume { backend: Backend::Local, ..volume(&["ReadWriteOnce"]) };
    assert_eq!(step_of(&local, &AttachEvidence::default()), AttachStep::NotCsi);
}
