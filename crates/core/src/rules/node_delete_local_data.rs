//! Deleting a node on whose own disks bound data is.

use super::prelude::*;
use crate::model::{Backend, ClaimKey, Node, Volume};

pub(super) static RULE: Rule = Rule {
    id: "node-delete-local-data",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Nodes, Operation::Delete)]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A node is deleted while PVs on its own disks are bound to PVCs: local PVs that it reaches, and PVs \
            whose node affinity names it.",
        consequence: "No pod can use these PVs until a node of the same name joins again with the same disks. If the \
            machine goes, its data goes.",
        instead: "Copy the data to PVs of another node, or let the application replicate it, before the node goes. \
            `bindery plan --without node/NAME` lists the pods and PVCs that cannot come back.",
    },
    policy: PolicyForm::NotExpressible("Which disks are on a node shows on the PVs."),
    denied: &[
        Example::new("deleting a node with a local PV that is bound")
            .given("node n1 ready\npair pv-a db/data 10Gi RWO local=/mnt/disks/a node=n1")
            .deletes("node/n1")
            .then(&[Fact::Gone("node/n1")]),
        Example::new("deleting a node that the PV of a driver names")
            .given("node n1\npair pv-a db/data 10Gi RWO csi=disk.example.com node=n1")
            .deletes("node/n1")
            .then(&[Fact::Gone("node/n1")]),
    ],
    allowed: &[
        Example::new("deleting a node whose local PVs are not bound")
            .given("node n1\nvolume pv-a 10Gi RWO phase=Available local=/mnt/disks/a node=n1")
            .deletes("node/n1"),
        Example::new("deleting a node while bound PVs are on another")
            .given("node n1\nnode n2\npair pv-a db/data 10Gi RWO local=/mnt/disks/a node=n2")
            .deletes("node/n1"),
        Example::new("deleting a node that a shared PV does not need")
            .given("node n1\npair pv-a db/data 10Gi RWO")
            .deletes("node/n1"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::Node(Transition::Delete(object)) = &change.subject else {
        return Vec::new();
    };
    let node = &object.node;
    let here = evidence.view().volumes().filter(|volume| is_on(volume, node));
    let mut held = here.filter_map(|volume| Some((&**volume, bound(volume, evidence)?)));
    let Some((volume, (key, dependency))) = held.next() else { return Vec::new() };
    vec![Violation::new("metadata.name", text(node, volume, key, held.count())).depending_on(dependency)]
}

/// Returns whether the data of the volume is on the disks of this node.
fn is_on(volume: &Volume, node: &Node) -> bool {
    match volume.backend {
        Backend::Local => volume.node_affinity.admits(node),
        Backend::Csi(_) | Backend::HostPath => volume.node_affinity.names(node),
        Backend::Nfs | Backend::Other => false,
    }
}

fn text(node: &Node, volume: &Volume, key: &ClaimKey, others: usize) -> String {
    let more = match others {
        0 => String::new(),
        more => format!(" and those of {more} more"),
    };
    format!(
        "the data of PV \"{}\", bound to PVC \"{key}\",{more} is on the disks of node \"{}\"; no pod can use it \
         on another node, and it is lost if the machine goes; copy it first; bindery plan --without node/{} lists \
         what cannot come back",
        volume.name, node.name, node.name
    )
}
