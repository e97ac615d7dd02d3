//! `bindery plan --without` and `--drain`: which pods and claims cannot come back without a node.
//!
//! The core decides (`binding::judge_node_loss`); here its objects are read and its answer is printed. That objects are
//! absent must be proven: without a list of nodes there is no answer.

mod drivers;
mod html;
mod render;
mod report;
mod targets;

use std::collections::{BTreeMap, BTreeSet};

use self::report::NodeLossReport;
use self::targets::AffectedNodes;
use crate::api::placed_pod::placed_pod;
use crate::api::scheduling::host;
use crate::binding::{Collection, NodeLoss, judge_node_loss};
use crate::cli::args::PlanArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::dump::StorageState;
use crate::cli::input::dump::batch::ReadPurpose;
use crate::cli::input::listing::lacks;
use crate::cli::input::text::error_reason;
use crate::cli::output::Colour;
use crate::cli::preview::settled::SettledCluster;
use crate::cli::render::write;
use crate::model::{Host, PlacedPod, PodKey};

/// Runs the command for the nodes that its arguments name.
pub(super) fn run(arguments: &PlanArgs) -> Result<Exit, Failure> {
    let PlanArgs { filename, cluster, .. } = arguments;
    let cluster = SettledCluster::read(filename, cluster, ReadPurpose::NodeLoss)?;
    let SettledCluster { state, denied, .. } = &cluster;
    let hosts = hosts(state)?;
    let affected = AffectedNodes::of(arguments, &hosts, &state.source)?;
    let ReadPods { pods, notes } = ReadPods::of(state);
    let drivers = drivers::evidence(state)?;
    let outcome = judge_node_loss(&NodeLoss {
        hosts: &hosts,
        gone: &affected.gone,
        drained: &affected.drained,
        pods: &pods,
        view: &state.view,
        listed: &state.listed,
        drivers: &drivers,
    });
    let mut report = NodeLossReport::of(&affected, &hosts, &outcome);
    let is_whole = notes.is_empty() && denied.is_empty();
    let limits = drivers::notes(state, &outcome);
    report.notes.splice(0..0, notes.into_iter().chain(limits).chain(denied.notes()));
    write(&report, &arguments.output, Colour::Off)?;
    let is_clean = is_whole && report.is_clean();
    Ok(if is_clean { Exit::Clean } else { Exit::Denied })
}

/// The nodes; of two of one name the later counts.
fn hosts(state: &StorageState) -> Result<Vec<Host>, Failure> {
    let source = &state.source;
    if !state.listed.has(Collection::Nodes) {
        let lacks = lacks(source, &state.listed, &[Collection::Nodes].into());
        return Err(Failure::usage(format!("which Nodes there are is not known: {lacks}")));
    }
    let mut hosts: BTreeMap<Box<str>, Host> = BTreeMap::new();
    for other in state.others.iter().filter(|other| *other.kind == *"Node") {
        let host = host(&other.text).map_err(|error| {
            let (name, reason) = (&other.metadata.name, error_reason(&error));
            Failure::usage(format!(
                "{source}: Node {name} cannot be read: {reason}; make a new dump"
            ))
        })?;
        hosts.insert(host.node.name.clone(), host);
    }
    Ok(hosts.into_values().collect())
}

/// The pods that have not finished, and what is not known of others.
struct ReadPods {
    pods: Vec<PlacedPod>,
    /// Why the answer is incomplete.
    notes: Vec<String>,
}

impl ReadPods {
    /// Those of an input; of two of one name the later counts. Tenants write pods: one that cannot be read does not
    /// block the answer, but it is not clean.
    fn of(state: &StorageState) -> Self {
        let (mut pods, mut notes) = (BTreeMap::<PodKey, PlacedPod>::new(), Vec::new());
        for other in state.others.iter().filter(|other| *other.kind == *"Pod") {
            let key = PodKey::new(other.metadata.namespace.clone(), other.metadata.name.clone());
            pods.remove(&key);
            match placed_pod(&other.text) {
                Ok(pod) => pods.extend(pod.map(|pod| (key, pod))),
                Err(error) => notes.push(format!(
                    "the answer is incomplete: Pod {key} cannot be read: {}; look at the pod",
                    error_reason(&error)
                )),
            }
        }
        let needed = [Collection::Volumes, Collection::Claims, Collection::Pods];
        let open: BTreeSet<Collection> =
            needed.into_iter().filter(|collection| !state.listed.has(*collection)).collect();
        if !open.is_empty() {
            let lacks = lacks(&state.source, &state.listed, &open);
            notes.push(format!("the answer is incomplete: {lacks}"));
        }
        Self { pods: pods.into_values().collect(), notes }
    }
}
