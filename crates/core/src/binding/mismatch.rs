//! Every reason why a volume does not fit a claim.
//!
//! One list for all faces: denials, events, explanations and metric labels are renderings of it.
//! Variants name the fact and carry the values that prove it.

use std::fmt;

use crate::model::{AccessModes, ClaimKey, ClassName, Quantity, VolumeMode, VolumePhase};

/// One reason why a volume does not fit a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The volume is reserved for another claim.
    ReservedForOther {
        /// That claim.
        holder: ClaimKey,
    },
    /// The claim already has another volume.
    ClaimElsewhere,
    /// The volume does not admit the claim's namespace.
    ForeignNamespace,
    /// The volume is smaller than the request.
    TooSmall {
        /// What the claim asks for.
        requested: Quantity,
        /// What the volume has.
        offered: Quantity,
    },
    /// One is a file system, the other a raw device.
    VolumeMode {
        /// What the claim asks for.
        requested: VolumeMode,
        /// What the volume has.
        offered: VolumeMode,
    },
    /// A requested access mode is missing.
    AccessModes {
        /// What the claim asks for.
        requested: AccessModes,
        /// What the volume has.
        offered: AccessModes,
    },
    /// The classes differ; `None` is no class.
    Class {
        /// What the claim asks for.
        requested: Option<ClassName>,
        /// What the volume has.
        offered: Option<ClassName>,
    },
    /// The attributes classes differ; `None` is none.
    AttributesClass {
        /// What the claim asks for.
        requested: Option<ClassName>,
        /// What the volume has.
        offered: Option<ClassName>,
    },
    /// The volume is being deleted.
    Terminating,
    /// The volume's phase is not Available.
    NotAvailable {
        /// Its phase.
        phase: VolumePhase,
    },
    /// The claim's selector does not match the volume's labels.
    Selector {
        /// The first term that does not match, as text.
        term: String,
    },
    /// The claim asks for a copy of a data source, which the volume was not made from.
    DataSource,
    /// The volume cannot be reached from the node.
    NodeAffinity,
    /// The class delays binding until a pod has a node.
    WaitsForConsumer,
}

/// The label of another class, and what is said of many volumes of other classes.
pub(super) const OTHER_CLASS: (&str, &str) = ("class", "other StorageClass");

/// The label of a volume that another claim has, and what is said of many such volumes.
pub(super) const RESERVED_FOR_OTHER: (&str, &str) =
    ("reserved_for_other", "reserved for another PVC");

impl Mismatch {
    /// Stable name for metrics and JSON.
    pub fn label(&self) -> &'static str {
        self.names().0
    }

    /// Returns what is said of many volumes that fail for it, after their number: `5 other StorageClass`.
    pub fn in_short(&self) -> &'static str {
        self.names().1
    }

    /// Its label, and what is said in short.
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::ReservedForOther { .. } => RESERVED_FOR_OTHER,
            Self::ClaimElsewhere => ("claim_elsewhere", "not the PV of the PVC"),
            Self::ForeignNamespace => ("foreign_namespace", "for other namespaces"),
            Self::TooSmall { .. } => ("too_small", "too small"),
            Self::VolumeMode { .. } => ("volume_mode", "other volume mode"),
            Self::AccessModes { .. } => ("access_modes", "without the access modes"),
            Self::Class { .. } => OTHER_CLASS,
            Self::AttributesClass { .. } => ("attributes_class", "other VolumeAttributesClass"),
            Self::Terminating => ("terminating", "being deleted"),
            Self::NotAvailable { .. } => ("not_available", "not available"),
            Self::Selector { .. } => ("selector", "other labels"),
            Self::DataSource => ("data_source", "without the data source's content"),
            Self::NodeAffinity => ("node_affinity", "not reachable from the node"),
            Self::WaitsForConsumer => ("waits_for_consumer", "waiting for the first consumer"),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReservedForOther { holder } => write!(f, "reserved for PVC \"{holder}\""),
            Self::ClaimElsewhere => f.write_str("the PVC has another PV"),
            Self::ForeignNamespace => {
                f.write_str("the PersistentVolume does not admit the namespace of the PVC")
            }
            Self::TooSmall { requested, offered } => {
                write!(f, "{offered} is less than the requested {requested}")
            }
            Self::VolumeMode { requested, offered } => {
                write!(f, "volume mode {offered} is not {requested}")
            }
            Self::AccessModes { requested, offered } => {
                write!(f, "access modes {offered} do not offer {requested}")
            }
            Self::Class { requested, offered } => {
                other_name(f, "StorageClass", requested.as_ref(), offered.as_ref())
            }
            Self::AttributesClass { requested, offered } => {
                other_name(f, "VolumeAttributesClass", requested.as_ref(), offered.as_ref())
            }
            Self::Terminating => f.write_str("being deleted"),
            Self::NotAvailable { phase } => write!(f, "phase is {phase}, not Available"),
            Self::Selector { term } => write!(f, "labels do not match \"{term}\""),
            Self::DataSource => f.write_str("not provisioned from the data source of the PVC"),
            Self::NodeAffinity => f.write_str("not reachable from the node"),
            Self::WaitsForConsumer => {
                f.write_str("the StorageClass binds only when a pod that uses the PVC has a node")
            }
        }
    }
}

fn other_name(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    requested: Option<&ClassName>,
    offered: Option<&ClassName>,
) -> fmt::Result {
    match (offered, requested) {
        (Some(offered), Some(requested)) => {
            write!(f, "{kind} \"{offered}\" is not \"{requested}\"")
        }
        (None, Some(requested)) => {
            write!(f, "no {kind}, and \"{requested}\" is requested")
        }
        (Some(offered), None) => write!(f, "{kind} \"{offered}\", and none is requested"),
        (None, None) => write!(f, "another {kind}"),
    }
}
