//! The explanation: a public, versioned contract.
//!
//! Every output is a rendering of this value. Fields are only ever added; `docs/schemas/explanation.json`
//! describes them.

use serde::Serialize;

use crate::binding::Mismatch;
use crate::cli::preview::planned::ClaimForecast;
use crate::cli::render::API_VERSION;
use crate::cli::report::ReportedObject;

/// The state of an object and its reasons.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Explanation {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// `Explanation`.
    pub kind: &'static str,
    /// What is explained.
    pub object: ReportedObject,
    /// How it ends up: as in a plan, or a claim's phase where volumes cannot be listed.
    pub outcome: String,
    /// Whether it needs a fix.
    pub stuck: bool,
    /// All of it in one line.
    pub summary: String,
    /// Of a claim: the volume that it has or gets. Of a volume: the claim.
    pub partner: Option<String>,
    /// Of a claim the volumes that do not fit it, of a volume the claims that it does not fit, the
    /// nearest first.
    pub candidates: Vec<CandidateMismatches>,
    /// Where the claim could be served, if its class waits for the pod's node.
    pub nodes: Vec<NodeVolumes>,
    /// Of a pod: the nodes that cannot take it.
    pub excluded: Vec<ExcludedNode>,
    /// The provisioner that has to create a volume.
    pub provisioner: Option<AwaitedProvisioner>,
    /// What the binder wrote about the claim last, where volumes cannot be listed; of a pod, what the scheduler
    /// wrote.
    pub event: Option<ReportedEvent>,
    /// Of a pod that has a node and has not started: how far each of its volumes is on its way there.
    pub attachments: Vec<ReportedAttachment>,
    /// Limits of the explanation.
    pub notes: Vec<String>,
    /// The command that fixes it.
    pub fix: Option<Fix>,
    /// Other commands that fix it, the least harmful first.
    pub alternatives: Vec<Fix>,
    /// Of a pod: its claims.
    pub claims: Vec<Explanation>,
    /// Of a workload or a node: its pods that have not started.
    pub pods: Vec<Explanation>,
    /// Whether the claim gets its volume when a pod that uses it gets its node.
    #[serde(skip)]
    pub is_delayed: bool,
}

/// A volume for a claim, or a claim for a volume, and all mismatches of the two.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CandidateMismatches {
    /// A volume's name, or a claim's `NAMESPACE/NAME`.
    pub name: String,
    /// The claim that the volume is bound to or reserved for.
    pub holder: Option<String>,
    /// Every mismatch; none if the two fit.
    pub mismatches: Vec<MismatchReason>,
}

/// One mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct MismatchReason {
    /// Its stable name.
    pub label: &'static str,
    /// The mismatch in words.
    pub message: String,
    /// What the claim asks for, where there is a value.
    pub requested: Option<String>,
    /// What the volume offers, where there is a value.
    pub offered: Option<String>,
    /// The mismatch in a summary of many.
    #[serde(skip)]
    pub short: &'static str,
}

/// A node, and the volumes that a claim could have there.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeVolumes {
    /// The node.
    pub node: String,
    /// The volumes, the best first.
    pub volumes: Vec<String>,
}

/// A node that cannot take a pod.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ExcludedNode {
    /// The node.
    pub node: String,
    /// Why it is excluded.
    pub reasons: Vec<String>,
}

/// How far a volume is on its way to the node of a pod.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReportedAttachment {
    /// The volume.
    pub volume: String,
    /// The node.
    pub node: String,
    /// How far it is, by a stable name.
    pub step: &'static str,
    /// Who is to act next; none if it is not known.
    pub turn: Option<&'static str>,
    /// Whether it does not go on by itself, or failed so far.
    pub stuck: bool,
    /// All of it in one line.
    pub message: String,
}

/// A provisioner that has to create a volume.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AwaitedProvisioner {
    /// Its name.
    pub name: String,
    /// The last event that it wrote on the claim.
    pub last_event: Option<ReportedEvent>,
}

/// An event.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReportedEvent {
    /// Its source, which is not verified: any account that may write events can use any name.
    pub component: String,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// When it was written last, as RFC 3339; empty if it does not say.
    pub time: String,
}

/// One command that fixes it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Fix {
    /// The command, for a shell.
    pub command: String,
    /// What it does.
    pub effect: String,
    /// How much it changes.
    #[serde(skip)]
    pub harm: Harm,
}

/// How much a repair changes of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harm {
    /// Nothing: the claim stays, or gets a class that it did not have.
    #[default]
    None,
    /// The claim is re-created with the same request.
    Recreate,
    /// The claim gets the data of another claim of its namespace.
    SameNamespace,
    /// The claim asks for less, or for something else.
    Less,
    /// The claim gets the data of a claim of another namespace.
    OtherNamespace,
}

impl Explanation {
    /// One of `object` that has nothing but an outcome and a line.
    pub(super) fn of(
        object: ReportedObject,
        outcome: &(impl ToString + ?Sized),
        stuck: bool,
        summary: String,
    ) -> Self {
        let outcome = outcome.to_string();
        let (api_version, kind) = (API_VERSION, "Explanation");
        Self { api_version, kind, object, outcome, stuck, summary, ..Self::default() }
    }

    /// One of `object`, which messages call `name`, that is not stored.
    pub(super) fn denied(object: ReportedObject, name: &str, reason: &str) -> Self {
        let outcome = ClaimForecast::Conflict;
        Self::of(object, &outcome, true, format!("{name} is in {outcome}: {reason}"))
    }
}

impl CandidateMismatches {
    /// One that fits.
    pub(super) fn fitting(name: String) -> Self {
        Self { name, holder: None, mismatches: Vec::new() }
    }
}

impl MismatchReason {
    /// A mismatch as programs and people read it.
    pub(super) fn of(mismatch: &Mismatch) -> Self {
        let (requested, offered) = values(mismatch);
        Self {
            label: mismatch.label(),
            message: mismatch.to_string(),
            requested,
            offered,
            short: mismatch.in_short(),
        }
    }
}

/// Returns what the claim asks for and what the volume offers, where there are values.
fn values(mismatch: &Mismatch) -> (Option<String>, Option<String>) {
    fn both(
        requested: &impl ToString,
        offered: &impl ToString,
    ) -> (Option<String>, Option<String>) {
        (Some(requested.to_string()), Some(offered.to_string()))
    }
    match mismatch {
        Mismatch::TooSmall { requested, offered } => both(requested, offered),
        Mismatch::VolumeMode { requested, offered } => both(requested, offered),
        Mismatch::AccessModes { requested, offered } => both(requested, offered),
        Mismatch::Class { requested, offered }
        | Mismatch::AttributesClass { requested, offered } => {
            (requested.as_ref().map(ToString::to_string), offered.as_ref().map(ToString::to_string))
        }
        Mismatch::NotAvailable { phase } => (None, Some(phase.to_string())),
        Mismatch::Selector { term } => (Some(term.clone()), None),
        Mismatch::ReservedForOther { .. }
        | Mismatch::ClaimElsewhere
        | Mismatch::ForeignNamespace
        | Mismatch::Terminating
        | Mismatch::DataSource
        | Mismatch::NodeAffinity
        | Mismatch::WaitsForConsumer => (None, None),
    }
}
