//! A node: whether it runs, the volumes that are attached to it, and its pods that have not started.

use super::attachment;
use super::report::Explanation;
use super::workload::{first, lack, of_pods};
use crate::api::attachment::node_state;
use crate::api::pods::{PodProgress, any_pod, progress};
use crate::attach::AttachEvidence;
use crate::cli::exit::Failure;
use crate::cli::preview::settled::SettledCluster;
use crate::cli::report::ReportedObject;
use crate::model::{NodeState, PodKey, RegisteredDriver, VolumeAttachment};

/// Explains the node of this name.
pub(super) fn explain(cluster: &SettledCluster, name: &str) -> Result<Explanation, Failure> {
    let nodes = cluster.nodes(node_state);
    let Some(node) = nodes.found.iter().find(|node| *node.name == *name) else {
        let names = nodes.found.iter().map(|node| node.name.to_string());
        let unread = nodes.note.map(|note| cluster.unread(&note));
        return Err(unread.unwrap_or_else(|| cluster.missing("Node", name, names)));
    };
    let on_node = |text: &str| Ok((any_pod(text)?, progress(text)?));
    let pods = cluster.pods_on(name, on_node);
    let own = pods
        .found
        .into_iter()
        .filter(|(pod, _)| pod.node.as_deref() == Some(name) && !pod.claims.is_empty());
    let own: Vec<(PodKey, PodProgress)> = own.map(|(pod, progress)| (pod.key, progress)).collect();
    let mut explanation = of_pods(cluster, ReportedObject::node(name), &own)?;
    let (evidence, notes) = attachment::of_nodes(cluster);
    if !node.is_ready || node.is_out_of_service {
        "stuck".clone_into(&mut explanation.outcome);
        explanation.stuck = true;
    }
    lack(&mut explanation, pods.note);
    explanation.notes.extend(notes);
    let mut summary = format!("node \"{name}\" {}", state(node));
    for text in volumes(name, &evidence) {
        summary.extend(["; ", &text]);
    }
    if let Some(pod) = first(&explanation) {
        summary.extend(["; ", &pod.summary]);
    }
    explanation.summary = summary;
    Ok(explanation)
}

fn state(node: &NodeState) -> &'static str {
    match (node.is_out_of_service, node.is_ready) {
        (true, true) => {
            "is ready and has the taint out-of-service: what is mounted there is detached once its pods are deleted; remove \
             the taint first"
        }
        (true, false) => {
            "is out of service: what is attached to it is detached once its pods are deleted; make sure that its machine \
             is off"
        }
        (false, true) => "is ready",
        (false, false) => {
            "is not ready: what is attached to it is detached within 6 minutes after its pods are deleted, even if its \
             machine still writes; switch the machine off first"
        }
    }
}

/// How many volumes of each driver the node has and can have.
fn volumes(name: &str, evidence: &AttachEvidence) -> Vec<String> {
    let (Some(csi_nodes), Some(attachments)) = (&evidence.csi_nodes, &evidence.attachments) else {
        return vec!["how many volumes are attached is not known".to_owned()];
    };
    let drivers =
        csi_nodes.iter().filter(|node| *node.name == *name).flat_map(|node| &node.drivers);
    let one = |driver: &RegisteredDriver| {
        let is_own = |one: &&_| is_of(one, name, &driver.name);
        let count = attachments.iter().filter(is_own).count();
        match driver.volumes_max {
            Some(limit) => {
                format!("{count} of {limit} volumes of driver \"{}\" are attached", driver.name)
            }
            None => format!("{count} volumes of driver \"{}\" are attached", driver.name),
        }
    };
    drivers.map(one).collect()
}

fn is_of(attachment: &VolumeAttachment, node: &str, driver: &str) -> bool {
    *attachment.node == *node && *attachment.driver == *driver
}
