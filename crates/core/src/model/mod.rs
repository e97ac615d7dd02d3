//! Values of the domain: volumes, claims, classes and what they are made of.
//!
//! Plain data with the comparisons that Kubernetes makes. No decision is taken here, nothing is
//! read or written, and no wire format is known: see `binding` and `api`.

mod access_modes;
pub mod annotations;
mod attachment;
mod claim;
mod class;
mod finalizers;
mod metadata;
pub mod name_syntax;
mod names;
mod namespace;
mod nonempty;
mod owner;
mod pairs;
mod placed_pod;
mod pod;
mod quantity;
#[cfg(test)]
pub(crate) mod sample;
mod scheduling;
mod selector;
mod snapshot;
mod storage;
mod tenancy;
mod text_enum;
mod topology;
mod volume;
mod zone_labels;

pub use access_modes::{AccessMode, AccessModes};
pub use annotations::Annotations;
pub use attachment::{
    CsiDriver, CsiNode, NodeObject, NodeReport, NodeState, NodeVolumeStatus, OUT_OF_SERVICE,
    RegisteredDriver, StorageCapacity, VolumeAttachment,
};
pub use claim::{Claim, ClaimPhase, Content, Reported, Stage};
pub use class::{
    BindingMode, Class, ClassRequest, DefaultMark, Expansion, Provisioner, VolumeClass,
};
pub use finalizers::Finalizers;
pub use metadata::{CreationTimestamp, Deletion};
pub use names::{ClaimKey, ClassName, ResourceVersion, Uid, VolumeName};
pub use namespace::{Namespace, NamespaceName};
pub use nonempty::NonEmpty;
pub use owner::Owner;
pub use placed_pod::{PlacedPod, PodOrigin};
pub use pod::{Pod, PodKey};
pub use quantity::{Quantity, QuantityError};
pub use scheduling::{Constraints, Host, Obstacle, Taint, Toleration};
pub use selector::{Labels, Selector, Term, TermError};
pub use snapshot::SnapshotContent;
pub use storage::{Storage, StorageKind};
pub use tenancy::{Audience, TenantLabel};
pub use topology::{
    Bound, Node, NodeAffinity, NodeExpression, NodeName, NodeQuery, NodeTerm, NodeTermError,
    WiderLabel, stable_label,
};
pub use volume::{
    Backend, EffectiveClass, ReclaimPolicy, Reservation, ReservationKind, Volume, VolumeMode,
    VolumePhase,
};
