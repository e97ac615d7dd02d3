//! Each step of a volume on its way to a node, whose turn it is, and what is advised.

use super::*;
use crate::model::{
    AccessModes, Backend, ClaimKey, CsiDriver, CsiNode, Deletion, Finalizers, NodeReport,
    NodeState, NodeVolumeStatus, Pod, PodKey, RegisteredDriver, Storage, StorageKind, Volume,
    VolumeAttachment, VolumeName, sample,
};

const DRIVER: &str = "csi.example.com";

/// The name of the volume in the status of a node.
const UNIQUE: &str = "kubernetes.io/csi/csi.example.com^a:b^c";

fn volume(modes: &[&str]) -> Volume {
    Volume {
        backend: Backend::Csi(DRIVER.into()),
        storage: Some(Storage::new(StorageKind::Disk, &format!("{DRIVER}:a:b^c"))),
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

/// A node that runs; these volumes are in use there, and these are attached.
fn reported(name: &str, in_use: &[&str], attached: &[&str]) -> NodeReport {
    let names = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect();
    NodeReport {
        state: NodeState { name: name.into(), is_ready: true, is_out_of_service: false },
        volumes: Some(NodeVolumeStatus {
            in_use: names(in_use),
            attached: names(attached),
            is_controller_managed: true,
        }),
    }
}

/// Node n1, which has the volume mounted.
fn holding() -> NodeReport {
    reported("n1", &["kubernetes.io/csi/csi.example.com^other", UNIQUE], &[UNIQUE])
}

fn pod(name: &str, node: &str) -> VolumeUser {
    let claims = vec![ClaimKey::new("db", "data")];
    let pod = Pod { key: PodKey::new("db", name), node: Some(node.into()), claims };
    VolumeUser { pod, deletion: Deletion::NotAsked }
}

fn driver(is_attach_required: bool) -> CsiDriver {
    CsiDriver { name: DRIVER.into(), is_attach_required, has_storage_capacity: false }
}

fn being_deleted(user: VolumeUser) -> VolumeUser {
    VolumeUser { deletion: Deletion::Terminating, ..user }
}

/// Two nodes that can have two volumes of the driver each, and these attachments.
fn evidence(attachments: Vec<VolumeAttachment>) -> AttachEvidence {
    let registered = |name: &str| CsiNode {
        name: name.into(),
        drivers: vec![RegisteredDriver { name: DRIVER.into(), volumes_max: Some(2) }],
    };
    AttachEvidence {
        attachments: Some(attachments),
        drivers: Some(vec![driver(true)]),
        csi_nodes: Some(vec![registered("n1"), registered("n2")]),
        nodes: Some(vec![reported("n1", &[], &[]), reported("n2", &[], &[UNIQUE])]),
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
    let mounts = driver(false);
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
        let pod = HolderPod { key: PodKey::new("db", "old"), deletion: Deletion::NotAsked };
        assert_eq!(holder.pods, Some(vec![pod]));
    }
    for modes in [&["ReadWriteMany"][..], &["ReadWriteOnce", "ReadOnlyMany"], &[]] {
        assert_eq!(step_of(&volume(modes), &known), AttachStep::ToCreate, "{modes:?}");
    }
}

/// Two machines must never write to one disk on our advice: deleting a VolumeAttachment is advised only where the Node
/// object is gone, the taint only after the machine is off.
#[test]
fn force_is_advised_only_where_the_machine_does_not_run() {
    let of = |nodes: Option<Vec<NodeReport>>, pods: Option<Vec<VolumeUser>>| {
        let known = AttachEvidence { nodes, pods, ..evidence(vec![attached("n1")]) };
        let found = step(&known);
        (found.turn().unwrap(), said(&found))
    };
    let using = || Some(vec![pod("old", "n1")]);
    let is_forced =
        |text: &str| text.contains("delete VolumeAttachment") && !text.contains("nor delete");
    let of_state = |is_ready: bool, is_out_of_service: bool| {
        let state = NodeState { is_ready, is_out_of_service, ..holding().state };
        NodeReport { state, ..holding() }
    };
    let dead = of_state(false, false);
    let (off, tainted) = (of_state(false, true), of_state(true, true));
    for (nodes, pods, turn, part) in [
        (Some(vec![holding()]), using(), Turn::Administrator, "by pod \"db/old\""),
        (Some(vec![holding()]), Some(Vec::new()), Turn::Kubelet, "unmounts it"),
        (Some(vec![holding()]), None, Turn::Administrator, "pods that are not known"),
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
    // Its kubelet had unmounted it before: nothing is forced.
    let unmounted =
        NodeReport { state: of_state(false, false).state, ..reported("n1", &[], &[UNIQUE]) };
    let (turn, text) = of(Some(vec![unmounted]), Some(Vec::new()));
    assert!(turn == Turn::AttachDetachController && text.contains("had unmounted it"), "{text}");
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
    for nodes in [None, Some(Vec::new()), Some(vec![NodeReport { volumes: None, ..holding() }])] {
        let known = AttachEvidence { nodes, ..evidence(vec![attached("n1")]) };
        let found = attach_step(&volume(&[]), &ClaimKey::new("db", "data"), "n1", &known);
        assert!(matches!(found, AttachStep::RecordUnknown(_)), "{found:?}");
        assert_eq!((found.turn(), found.label()), (None, "unknown"));
        assert!(said(&found).contains("status.volumesAttached, without which"));
    }
    let unread = Volume { storage: None, ..volume(&["ReadWriteOnce"]) };
    let found = step_of(&unread, &whole());
    assert_eq!(found, AttachStep::RecordUnknown(NodeStatusGap::NoHandle));
    let unused = AttachEvidence { pods: Some(Vec::new()), ..evidence(vec![attached("n1")]) };
    let found = step_of(&unread, &unused);
    assert_eq!((found.turn(), found.is_stuck(), found.label()), (None, false, "held_elsewhere"));
    let local = Volume { backend: Backend::Local, ..volume(&["ReadWriteOnce"]) };
    assert_eq!(step_of(&local, &AttachEvidence::default()), AttachStep::NotCsi);
}

/// The kubelet mounts what the status of its node lists as attached.
#[test]
fn an_attached_volume_is_recorded_in_the_status_of_the_node_before_it_is_mounted() {
    let at = |report: NodeReport| {
        step(&AttachEvidence { nodes: Some(vec![report]), ..evidence(vec![attached("n2")]) })
    };
    let found = at(reported("n2", &[UNIQUE], &["kubernetes.io/csi/other^a:b^c"]));
    assert_eq!(found, AttachStep::ToRecord);
    assert_eq!((found.turn(), found.is_stuck()), (Some(Turn::AttachDetachController), false));
    assert!(said(&found).contains("does not list it in status.volumesAttached yet"));
    assert_eq!(found.with_mount_error(Some("earlier".into())), AttachStep::ToRecord);
    assert_eq!(at(reported("n2", &[], &["x", UNIQUE])), AttachStep::ToMount);
    // Kubernetes: to a node whose kubelet attaches by itself, the controller writes nothing.
    let mut alone = reported("n2", &[], &[]);
    alone.volumes.as_mut().unwrap().is_controller_managed = false;
    assert_eq!(at(alone), AttachStep::ToMount);
}

/// From a node that is ready, a volume is never detached before its kubelet has unmounted it.
#[test]
fn the_kubelet_of_the_former_node_acts_until_it_has_unmounted_the_volume() {
    let mounted = || vec![holding(), reported("n2", &[], &[])];
    let unmounted = || vec![reported("n1", &[], &[UNIQUE]), reported("n2", &[], &[])];
    let ending = || vec![being_deleted(pod("old", "n1"))];
    let both = || vec![being_deleted(pod("old", "n1")), pod("older", "n1")];
    for (nodes, pods, turn, is_stuck, part) in [
        (mounted(), vec![], Turn::Kubelet, false, "reports it in status.volumesInUse"),
        (mounted(), ending(), Turn::Kubelet, false, "by pod \"db/old\" (being deleted)"),
        (
            mounted(),
            both(),
            Turn::Administrator,
            true,
            "by pods \"db/old\" (being deleted), \"db/older\"; it is attached to one node",
        ),
        (
            unmounted(),
            vec![],
            Turn::AttachDetachController,
            false,
            "has unmounted it, and the attach/detach controller detaches it",
        ),
    ] {
        let (nodes, pods) = (Some(nodes), Some(pods));
        let found = step(&AttachEvidence { nodes, pods, ..evidence(vec![attached("n1")]) });
        assert_eq!((found.turn(), found.is_stuck()), (Some(turn), is_stuck), "{found:?}");
        let text = said(&found);
        assert!(text.contains(part) && text.contains("leave VolumeAttachment"), "{text}");
    }
}

/// As after a VolumeAttachment was deleted by hand.
#[test]
fn a_volume_that_is_mounted_without_being_attached_is_reported() {
    let going = VolumeAttachment { deletion: Deletion::Terminating, ..attached("n1") };
    for (attachments, turn, part) in [
        (vec![going.clone()], Turn::Driver, "although its kubelet reports it in"),
        (vec![], Turn::Administrator, "has no VolumeAttachment, but the kubelet of node \"n1\""),
    ] {
        let nodes = Some(vec![holding(), reported("n2", &[], &[])]);
        let found = step(&AttachEvidence { nodes, ..evidence(attachments.clone()) });
        assert_eq!((found.turn(), found.is_stuck()), (Some(turn), true), "{found:?}");
        let text = said(&found);
        assert!(text.contains(part) && text.contains("two machines would write"), "{text}");
        let shared = volume(&["ReadWriteMany"]);
        let nodes = Some(vec![holding()]);
        let known = AttachEvidence { nodes, ..evidence(attachments) };
        assert_eq!(step_of(&shared, &known), AttachStep::ToCreate);
    }
    let found = step(&evidence(vec![going]));
    assert_eq!((found.turn(), found.is_stuck()), (Some(Turn::Driver), false), "{found:?}");
}
