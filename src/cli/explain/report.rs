//! The explanation: a public, versioned contract.
//!
//! Every output is a rendering of this value. Fields are only ever added; `docs/schemas/explanation.json`
//! describes them.

use serde::Serialize;

use crate::binding::Mismatch;
use crate::cli::API_VERSION;
use crate::cli::preview::planned::ClaimFate;

/// Why an object stands where it stands.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Explanation {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// `Explanation`.
    pub kind: &'static str,
    /// What is explained.
    pub object: Object,
    /// How it ends up: as in a plan, or a claim's phase where volumes cannot be listed.
    pub outcome: String,
    /// Whether somebody has to do something.
    pub stuck: bool,
    /// All of it in one line.
    pub summary: String,
    /// Of a claim: the volume that it has or gets. Of a volume: the claim.
    pub partner: Option<String>,
    /// Of a claim the volumes that do not fit it, of a volume the claims that it does not fit, the
    /// nearest first.
    pub candidates: Vec<Candidate>,
    /// Where the claim could be served, if its class waits for the pod's node.
    pub nodes: Vec<Reach>,
    /// Of a pod: the nodes that cannot take it.
    pub excluded: Vec<Excluded>,
    /// The provisioner that is awaited.
    pub provisioner: Option<Awaited>,
    /// What the binder wrote about the claim last, where volumes cannot be listed; of a pod, what the scheduler
    /// wrote.
    pub event: Option<Written>,
    /// What restricts the explanation.
    pub notes: Vec<String>,
    /// The command that fixes it.
    pub fix: Option<Fix>,
    /// Other commands that would, the mildest first.
    pub alternatives: Vec<Fix>,
    /// Of a pod: its claims.
    pub claims: Vec<Explanation>,
    /// Whether the claim gets its volume when a pod that uses it gets its node.
    #[serde(skip)]
    pub is_delayed: bool,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Object {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace; none for a volume.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// A volume for a claim, or a claim for a volume, and all that speaks against the two.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Candidate {
    /// A volume's name, or a claim's `NAMESPACE/NAME`.
    pub name: String,
    /// The claim that has the volume or for which it is kept.
    pub holder: Option<String>,
    /// Every mismatch; none if the two fit.
    pub mismatches: Vec<Reason>,
}

/// One mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Reason {
    /// Its stable name.
    pub label: &'static str,
    /// The mismatch in words.
    pub message: String,
    /// What the claim asks for, where there is a value.
    pub requested: Option<String>,
    /// What the volume offers, where there is a value.
    pub offered: Option<String>,
    /// As it is said of many.
    #[serde(skip)]
    pub short: &'static str,
}

/// A node, and the volumes that a claim could have there.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Reach {
    /// The node.
    pub node: String,
    /// The volumes, the best first.
    pub volumes: Vec<String>,
}

/// A node that cannot take a pod.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Excluded {
    /// The node.
    pub node: String,
    /// Everything that speaks against it.
    pub reasons: Vec<String>,
}

/// A provisioner that is awaited.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Awaited {
    /// Its name.
    pub name: String,
    /// The last event that it wrote on the claim.
    pub last_event: Option<Written>,
}

/// An event.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Written {
    /// Who wrote it, as it says itself: whoever may write events can write any name.
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

/// How much a repair changes of what somebody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harm {
    /// Nothing: the claim stays, or gets a class that it did not have.
    None,
    /// The claim is made anew, and asks for as much as before.
    Anew,
    /// The claim gets what another claim of its namespace left on its volume.
    SameNamespace,
    /// The claim asks for less, or for something else.
    Less,
    /// The claim gets what a claim of another namespace left on its volume.
    OtherNamespace,
}

impl Explanation {
    /// One of `object` that has nothing but an outcome and a line.
    pub(super) fn of(object: Object, outcome: &str, stuck: bool, summary: String) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "Explanation",
            object,
            outcome: outcome.to_owned(),
            stuck,
            summary,
            partner: None,
            candidates: Vec::new(),
            nodes: Vec::new(),
            excluded: Vec::new(),
            provisioner: None,
            event: None,
            notes: Vec::new(),
            fix: None,
            alternatives: Vec::new(),
            claims: Vec::new(),
            is_delayed: false,
        }
    }

    /// One of `object`, which messages call `name`, that is not stored.
    pub(super) fn denied(object: Object, name: &str, reason: &str) -> Self {
        let outcome = ClaimFate::Conflict.as_str();
        Self::of(object, outcome, true, format!("{name} is in {outcome}: {reason}"))
    }
}

impl Candidate {
    /// One that fits.
    pub(super) fn fitting(name: String) -> Self {
        Self { name, holder: None, mismatches: Vec::new() }
    }
}

impl Reason {
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

fn values(mismatch: &Mismatch) -> (Option<String>, Option<String>) {
    match mismatch {
        Mismatch::TooSmall { requested, offered } => {
            (Some(requested.to_string()), Some(offered.to_string()))
        }
        Mismatch::VolumeMode { requested, offered } => {
            (Some(requested.to_string()), Some(offered.to_string()))
        }
        Mismatch::AccessModes { requested, offered } => {
            (Some(requested.to_string()), Some(offered.to_string()))
        }
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
