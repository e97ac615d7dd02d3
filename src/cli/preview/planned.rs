//! The outcome of a claim and of a volume, as plans and explanations report it.
//!
//! Part of a public, versioned contract: fields are only ever added; `docs/schemas/plan.json` describes them.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum ClaimForecast {
    /// It is bound already.
    Bound,
    /// It will be bound.
    Binds,
    /// A provisioner will make its volume.
    Provisions,
    /// It will bind or be deleted without help: it waits for a pod, or for the end of its deletion.
    Waits,
    /// No volume matches it.
    Unmatched,
    /// It was bound and has lost its volume.
    Lost,
    /// The volume that it names can never be its own.
    Conflict,
    /// The input does not hold all that decides.
    Unknown,
}

impl fmt::Display for ClaimForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl ClaimForecast {
    /// Returns whether it needs a fix; for an unknown one, a complete dump.
    pub(in crate::cli) fn is_stuck(self) -> bool {
        match self {
            Self::Bound | Self::Binds | Self::Provisions | Self::Waits => false,
            Self::Unmatched | Self::Lost | Self::Conflict | Self::Unknown => true,
        }
    }
}

/// The outcome of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum VolumeForecast {
    /// It is bound already.
    Bound,
    /// It will be bound.
    Binds,
    /// No claim binds to it.
    Free,
    /// Its claim is gone.
    Released,
    /// It is reserved for a claim that does not exist, or cannot bind to it.
    Reserved,
    /// Reclaiming it failed.
    Failed,
    /// The input does not hold all claims that it may be for.
    Unknown,
}

impl fmt::Display for VolumeForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One claim.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct PlannedClaim {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its outcome.
    pub outcome: ClaimForecast,
    /// The volume that it has or gets.
    pub volume: Option<String>,
    /// Why, where that needs saying.
    pub reason: Option<String>,
    /// For an unmatched claim: how many volumes fail for which first reason.
    pub mismatches: BTreeMap<&'static str, usize>,
    /// For an unmatched claim: the claim that gets the volume that would match.
    pub blocked_by: Option<Blocker>,
    /// For a claim whose volume the binder chooses: how many other free volumes of the same class,
    /// modes and size it could have been given.
    pub equal_alternatives: Option<usize>,
    /// The class that it asks for; none is no class.
    pub class: Option<String>,
    /// The size that it asks for.
    pub request: String,
    /// The access modes that it asks for.
    pub access_modes: Vec<String>,
    /// What its volume offers; the volume says it for programs.
    #[serde(skip)]
    pub given: Option<Given>,
}

/// What the volume of a claim offers.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Given {
    /// Its size.
    pub size: String,
    /// By how many bytes it is larger than the request.
    pub wasted_bytes: Option<i128>,
}

/// The claim that gets the volume that would match another.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Blocker {
    /// The claim that gets it, as `NAMESPACE/NAME`.
    pub claim: String,
    /// The volume.
    pub volume: String,
}

/// One volume.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct PlannedVolume {
    /// Its name.
    pub name: String,
    /// Its outcome.
    pub outcome: VolumeForecast,
    /// The claim that it is or will be bound to, or is reserved for.
    pub claim: Option<String>,
    /// By how many bytes it is larger than what its claim asks for.
    pub wasted_bytes: Option<i128>,
    /// Its class; none is no class.
    pub class: Option<String>,
    /// Its size.
    pub capacity: String,
    /// Its access modes.
    pub access_modes: Vec<String>,
}
