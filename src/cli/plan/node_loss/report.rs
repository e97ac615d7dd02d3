//! What cannot come back without some nodes: a public, versioned contract.
//!
//! Every output is a rendering of this value. Fields are only ever added; `docs/schemas/node-loss.json` describes them.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::targets::AffectedNodes;
use crate::binding::{DisplacedPod, NodeLossOutcome, NodeLossReason, UnreachableClaim};
use crate::cli::plan::report::counts;
use crate::cli::render::API_VERSION;
use crate::model::Host;

/// The kind of the report.
const KIND: &str = "NodeLossPlan";

/// What the answer leaves out.
const LIMITS: [&str; 2] = [
    "this is the volume part only: PVs, nodeSelector, required node affinity and cordons count; taints, resources, ports, \
     affinity between pods, preemption and disruption budgets do not",
    "of PVs, node affinity, zone labels, ReadWriteOncePod, attach limits and storage capacity of CSI drivers count, in-tree \
     sources do not; each pod is judged alone beside the pods that stay, so two that come back may lack room for both",
];

/// The whole report.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeLossReport {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// `NodeLossPlan`.
    pub kind: &'static str,
    /// What becomes of the nodes.
    pub nodes: NodesReport,
    /// The pods with claims on those that are gone or drained, by namespace and name.
    pub pods: Vec<PodReport>,
    /// The bound claims that no node is left for, by namespace and name; used or not.
    pub claims: Vec<ClaimReport>,
    /// How many end up how.
    pub summary: NodeLossCounts,
    /// Limits of the answer.
    pub notes: Vec<String>,
}

/// What becomes of the nodes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodesReport {
    /// Names of those that are gone.
    pub gone: Vec<String>,
    /// Names of those that are drained.
    pub drained: Vec<String>,
    /// How many others take pods: they are not cordoned.
    pub left: usize,
}

/// How many end up how; what is zero is left out.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct NodeLossCounts {
    /// Pods by outcome.
    pub pods: BTreeMap<String, usize>,
    /// Claims by outcome.
    pub claims: BTreeMap<String, usize>,
}

/// The outcome of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PodForecast {
    /// A node is left that reaches all of its volumes.
    Returns,
    /// It stays Pending.
    Pending,
    /// The input does not hold all that decides.
    Unknown,
}

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClaimReach {
    /// No node that takes pods reaches its volume.
    Unreachable,
    /// The input does not hold all that decides.
    Unknown,
}

/// One pod.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PodReport {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The node that it runs on.
    pub node: String,
    /// Its outcome.
    pub outcome: PodForecast,
    /// The claims that it uses, as `NAMESPACE/NAME`.
    pub claims: Vec<String>,
    /// Why it does not come back.
    pub reasons: Vec<ReasonReport>,
}

/// One claim.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ClaimReport {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its volume.
    pub volume: String,
    /// Its outcome.
    pub outcome: ClaimReach,
    /// Why.
    pub reason: ReasonReport,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ReasonReport {
    /// Stable name for programs.
    pub label: &'static str,
    /// The claim that it is about, as `NAMESPACE/NAME`; none if about all claims of the pod.
    pub claim: Option<String>,
    /// What is the case, what follows, what to do.
    pub message: String,
}

impl NodeLossReport {
    /// The report of an outcome.
    pub(super) fn of(affected: &AffectedNodes, hosts: &[Host], outcome: &NodeLossOutcome) -> Self {
        let AffectedNodes { gone, drained } = affected;
        let is_left = |host: &&Host| {
            let name = &host.node.name;
            !host.is_cordoned && !gone.contains(name) && !drained.contains(name)
        };
        let nodes = NodesReport {
            gone: gone.iter().map(ToString::to_string).collect(),
            drained: drained.iter().map(ToString::to_string).collect(),
            left: hosts.iter().filter(is_left).count(),
        };
        let pods: Vec<PodReport> = outcome.pods.iter().map(PodReport::of).collect();
        let claims: Vec<ClaimReport> = outcome.claims.iter().map(ClaimReport::of).collect();
        let summary = NodeLossCounts {
            pods: counts(pods.iter().map(|pod| pod.outcome)),
            claims: counts(claims.iter().map(|claim| claim.outcome)),
        };
        let notes = LIMITS.map(str::to_owned).to_vec();
        Self { api_version: API_VERSION, kind: KIND, nodes, pods, claims, summary, notes }
    }

    /// Returns whether every pod comes back and no claim is left without a node.
    pub(super) fn is_clean(&self) -> bool {
        self.claims.is_empty() && self.pods.iter().all(|pod| pod.outcome == PodForecast::Returns)
    }
}

impl PodReport {
    fn of(pod: &DisplacedPod) -> Self {
        let is_unknown = pod.reasons.iter().all(NodeLossReason::is_unknown);
        let outcome = match (pod.reasons.is_empty(), is_unknown) {
            (true, _) => PodForecast::Returns,
            (false, true) => PodForecast::Unknown,
            (false, false) => PodForecast::Pending,
        };
        Self {
            namespace: pod.pod.namespace.to_string(),
            name: pod.pod.name.to_string(),
            node: pod.node.to_string(),
            outcome,
            claims: pod.claims.iter().map(ToString::to_string).collect(),
            reasons: pod.reasons.iter().map(ReasonReport::of).collect(),
        }
    }
}

impl ClaimReport {
    fn of(claim: &UnreachableClaim) -> Self {
        let is_unknown = claim.reason.is_unknown();
        Self {
            namespace: claim.claim.namespace.to_string(),
            name: claim.claim.name.to_string(),
            volume: claim.volume.to_string(),
            outcome: if is_unknown { ClaimReach::Unknown } else { ClaimReach::Unreachable },
            reason: ReasonReport::of(&claim.reason),
        }
    }
}

impl ReasonReport {
    fn of(reason: &NodeLossReason) -> Self {
        let claim = reason.claim().map(ToString::to_string);
        Self { label: reason.label(), claim, message: reason.to_string() }
    }
}

impl fmt::Display for PodForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for ClaimReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
