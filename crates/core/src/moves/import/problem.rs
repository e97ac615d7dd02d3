//! What a person has to solve before an import goes on, in words.

use std::fmt;
use std::time::Duration;

use crate::model::{ClaimKey, ClassName, ReclaimPolicy, VolumeName};

/// Why an import does not begin, or does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportProblem {
    /// Another volume has the name.
    VolumeTaken(VolumeName),
    /// Another claim has the name.
    ClaimTaken(ClaimKey),
    /// Two volumes of the export have one name.
    VolumeTwice(VolumeName),
    /// Two claims of the export have one name.
    ClaimTwice(ClaimKey),
    /// A second volume is on the storage at this place.
    StorageTaken(VolumeName, VolumeName, Box<str>),
    /// The volume that the import made is being deleted.
    Terminating(VolumeName),
    /// The claim that the import created is being deleted.
    ClaimTerminating(ClaimKey),
    /// The claim that the import made is gone.
    ClaimGone(ClaimKey),
    /// The StorageClass does not exist.
    NoClass(ClassName),
    /// The CSI driver is not installed.
    NoDriver(Box<str>),
    /// The namespace does not exist.
    NoNamespace(Box<str>),
    /// The namespace is being deleted.
    NamespaceTerminating(Box<str>),
    /// No node can reach the volume.
    NoNode(VolumeName),
    /// The export is older than it may be.
    TooOld(Duration, Duration),
    /// Both clusters could delete the data.
    TwoOwners(VolumeName, ReclaimPolicy),
    /// The account may not make this request.
    Forbidden(Box<str>),
    /// The API server would not create the volume, for this reason.
    VolumeDenied(VolumeName, Box<str>),
    /// The API server would not create the claim, for this reason.
    ClaimDenied(ClaimKey, Box<str>),
}

impl fmt::Display for ImportProblem {
    #[expect(clippy::too_many_lines, reason = "one sentence for each problem, and nothing else")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VolumeTaken(name) => write!(
                f,
                "PV {:?} exists, and this import did not create it; two PVs cannot have one name; see what it is with: bindery \
                 explain pv/{name}",
                name.as_str()
            ),
            Self::ClaimTaken(key) => write!(
                f,
                "PVC \"{key}\" exists and has another volume, or none; a PVC has one volume for life; rename it first, or import \
                 into another namespace with --map namespace=OLD=NEW"
            ),
            Self::VolumeTwice(name) => write!(
                f,
                "two PVs have the name {:?}; only one of them could be created; leave out one",
                name.as_str()
            ),
            Self::ClaimTwice(key) => write!(
                f,
                "two PVs are for PVC \"{key}\"; one of them would stay without a PVC; leave out one, or see --map namespace"
            ),
            Self::StorageTaken(name, other, place) => write!(
                f,
                "PV {:?} has the storage {place:?}, and so has PV {:?}; two PVCs would write to it; set \
                 persistentVolumeReclaimPolicy of both to Retain first, then keep only one of the PVs",
                name.as_str(),
                other.as_str()
            ),
            Self::Terminating(name) => write!(
                f,
                "PV {:?}, which this import created, is being deleted, and cannot be imported; whether its data stays depends on its \
                 reclaim policy; check that the disk exists before you run the import again",
                name.as_str()
            ),
            Self::ClaimTerminating(key) => write!(
                f,
                "PVC \"{key}\", which this import created, is being deleted; its PV keeps the reclaim policy Retain, and its data; \
                 once the PVC is gone, use: bindery rescue pvc/{key}, then run the same import again"
            ),
            Self::ClaimGone(key) => write!(
                f,
                "PVC \"{key}\" does not exist, and this import has created its PV; if it was deleted, use: bindery rescue \
                 pvc/{key}, then run the same import again; if not, give the same --map namespace as before"
            ),
            Self::NoClass(class) => write!(
                f,
                "StorageClass {:?} does not exist; the PVC could not be expanded; create it, or name another one with --map \
                 class={}=NEW",
                class.as_str(),
                class.as_str()
            ),
            Self::NoDriver(driver) => write!(
                f,
                "CSIDriver {driver:?} does not exist, so the driver is not installed; no pod could mount the PV; install it, or \
                 name another one with --map driver={driver}=NEW"
            ),
            Self::NoNamespace(name) => {
                write!(f, "Namespace {name:?} does not exist; create it first")
            }
            Self::NamespaceTerminating(name) => write!(
                f,
                "Namespace {name:?} is being deleted, and a PVC in it would be deleted with it; name another one with --map \
                 namespace={name}=NEW"
            ),
            Self::NoNode(name) => write!(
                f,
                "no node of this cluster fits spec.nodeAffinity of PV {:?}; no pod could use it; name the node that has the disk \
                 with --map node=OLD=NEW",
                name.as_str()
            ),
            Self::TooOld(age, most) => write!(
                f,
                "the export is {} old, and at most {} is allowed; PVs that were expanded or deleted since would be imported as \
                 they were; export again, or set --max-age",
                hours(*age),
                hours(*most)
            ),
            Self::TwoOwners(name, policy) => write!(
                f,
                "PV {:?} would have the reclaim policy {policy} in both clusters; deleting its PVC in one would delete the data of \
                 the other; export it again with --hand-over, or import it with --retain",
                name.as_str()
            ),
            Self::Forbidden(request) => write!(
                f,
                "this account may not {request}; the import would stop halfway; use an account with that permission"
            ),
            Self::VolumeDenied(name, reason) => write!(
                f,
                "PV {:?} could not be created: {reason}; its PVC would stay Pending; solve this first",
                name.as_str()
            ),
            Self::ClaimDenied(key, reason) => write!(
                f,
                "PVC \"{key}\" could not be created: {reason}; the PV would be left without a PVC; solve this first"
            ),
        }
    }
}

/// A time in hours and minutes.
fn hours(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    format!("{}h{}m", minutes / 60, minutes % 60)
}
