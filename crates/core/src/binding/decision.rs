//! What a decision says to do next: nothing, reads, or one write.
//!
//! A binding is several writes, but only one may be in flight: each is decided again on the reply to
//! the one before it, so that a crash or a conflict anywhere is just another view. Not here: how a
//! write is sent (`client`), what it looks like as a patch (`api`).

use super::object_key::ObjectKey;
use super::read::Read;
use crate::model::annotations::BOUND_BY_CONTROLLER;
use crate::model::{
    AccessModes, Claim, ClaimKey, ClassName, NonEmpty, Quantity, ResourceVersion, Uid, Volume,
    VolumeName, VolumePhase,
};

/// What to do next about an object, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<W> {
    /// What to do.
    pub next: Next,
    /// Why, as a value: events, explanations and metrics are renderings of it.
    pub why: W,
}

impl<W> Decision<W> {
    /// Nothing to do.
    pub(super) fn settled(why: W) -> Self {
        Self { next: Next::Settled, why }
    }

    /// These reads first, or nothing to do if there are none.
    pub(super) fn read(reads: Vec<Read>, why: W) -> Self {
        Self { next: Next::reads(reads), why }
    }
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing, until something changes.
    Settled,
    /// These reads, then the question again: nothing is decided on what is only not known.
    Read(NonEmpty<Read>),
    /// This write, then the question again.
    Write(Write),
    /// The storage of this released volume is to be reclaimed.
    Reclaim(Reclaim),
}

/// How storage is reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// A pod removes the files; then the volume is offered again.
    Recycle,
    /// A driver outside deletes storage and volume; nothing is left to do here but to wait for it.
    ByDriver,
}

/// The object on which a write was decided; a newer version of it makes the write lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef<N> {
    /// Its name.
    pub name: N,
    /// Its uid.
    pub uid: Option<Uid>,
    /// Its resourceVersion.
    pub version: Option<ResourceVersion>,
}

/// Who chose the other side; the binder marks what it chose itself, and takes back only that.
///
/// **Differs from Kubernetes** for a volume that a user or another component chose: the mark of a former choice, as an exported
/// volume carries it, is taken off. There it stays, and makes the volume free for every claim later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The binder: the annotation `bound-by-controller` is set with the pointer.
    Binder,
    /// A user, or another component.
    Other,
}

/// One write to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Reserves the volume for the claim: the first step of a binding.
    Reserve {
        /// The volume.
        volume: ObjectRef<VolumeName>,
        /// The claim.
        claim: ObjectRef<ClaimKey>,
        /// Who chose the volume.
        chosen: ChosenBy,
        /// The tenant with whom the volume is labelled by the same write.
        tenant: Option<Box<str>>,
    },
    /// Removes the reservation, or reduces it to the claim's name.
    Unreserve {
        /// The volume.
        volume: ObjectRef<VolumeName>,
        /// What is left of the reservation.
        left: Remaining,
    },
    /// Sets the volume's phase; with Bound the second step of a binding.
    Phase {
        /// The volume.
        volume: ObjectRef<VolumeName>,
        /// The phase.
        phase: VolumePhase,
        /// The message beside it.
        message: String,
    },
    /// Sets the claim's volumeName and marks it as bound: the third step of a binding.
    SetVolumeName {
        /// The claim.
        claim: ObjectRef<ClaimKey>,
        /// The volume.
        volume: VolumeName,
        /// Who chose the volume.
        chosen: ChosenBy,
    },
    /// Sets the claim's status; with Bound the last step of a binding.
    Status {
        /// The claim.
        claim: ObjectRef<ClaimKey>,
        /// The status.
        status: NewStatus,
    },
    /// Sets the claim's class to the default class.
    SetClass {
        /// The claim.
        claim: ObjectRef<ClaimKey>,
        /// The class.
        class: ClassName,
    },
    /// Annotates the claim with the provisioner that is to create its volume.
    SetProvisioner {
        /// The claim.
        claim: ObjectRef<ClaimKey>,
        /// The provisioner.
        provisioner: Box<str>,
        /// Set if it is the driver that serves the plug-in which the class names: the claim is marked so.
        migrated_to: Option<&'static str>,
    },
    /// The claim is marked with the driver that serves the plug-in that it asked.
    MigrateClaim {
        /// The claim.
        claim: ObjectRef<ClaimKey>,
        /// The driver; none takes the mark back.
        driver: Option<&'static str>,
    },
    /// The volume is marked with the driver that serves the plug-in which made it, and loses the finalizers of
    /// those who do not delete its storage.
    MigrateVolume {
        /// The volume.
        volume: ObjectRef<VolumeName>,
        /// The driver; none takes the mark back.
        driver: Option<&'static str>,
        /// Finalizers that it loses; all others stay.
        removed: Vec<&'static str>,
    },
}

/// What remains of a reservation that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// Nothing: the binder made it.
    Nothing,
    /// The claim's name: a person made it.
    Name,
}

impl Remaining {
    /// Returns what remains of the reservation of `volume`: nothing if the binder made it, else the claim's name.
    ///
    /// Kubernetes: `pv_controller.go`, `unbindVolume`.
    pub(super) fn by_chooser(volume: &Volume) -> Self {
        if volume.annotations.has(BOUND_BY_CONTROLLER) { Self::Nothing } else { Self::Name }
    }
}

/// The status of a claim, as the binder writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewStatus {
    /// Not bound; modes, capacity and attributes class are cleared.
    Pending,
    /// Has lost its volume; modes, capacity and attributes class are cleared.
    Lost,
    /// Has its volume.
    Bound {
        /// The volume's access modes.
        access_modes: AccessModes,
        /// The volume's capacity, where it is to be written: a later change of it is the resizer's.
        capacity: Option<Quantity>,
        /// The volume's attributes class, likewise.
        attributes_class: Option<ClassName>,
    },
}

impl Write {
    /// The volume whose reservation it removes whole, if it does so.
    pub(super) fn given_up(&self) -> Option<&VolumeName> {
        match self {
            Self::Unreserve { volume, left: Remaining::Nothing } => Some(&volume.name),
            Self::Unreserve { left: Remaining::Name, .. }
            | Self::Reserve { .. }
            | Self::Phase { .. }
            | Self::SetVolumeName { .. }
            | Self::Status { .. }
            | Self::SetClass { .. }
            | Self::SetProvisioner { .. }
            | Self::MigrateClaim { .. }
            | Self::MigrateVolume { .. } => None,
        }
    }

    /// Returns the object that it changes.
    pub fn object(&self) -> ObjectKey {
        match self {
            Self::Reserve { volume, .. }
            | Self::Unreserve { volume, .. }
            | Self::Phase { volume, .. }
            | Self::MigrateVolume { volume, .. } => ObjectKey::Volume(volume.name.clone()),
            Self::SetVolumeName { claim, .. }
            | Self::Status { claim, .. }
            | Self::SetClass { claim, .. }
            | Self::SetProvisioner { claim, .. }
            | Self::MigrateClaim { claim, .. } => ObjectKey::Claim(claim.name.clone()),
        }
    }

    /// Returns the uid of that object, as far as it was known.
    pub fn uid(&self) -> Option<&Uid> {
        match self {
            Self::Reserve { volume, .. }
            | Self::Unreserve { volume, .. }
            | Self::Phase { volume, .. }
            | Self::MigrateVolume { volume, .. } => volume.uid.as_ref(),
            Self::SetVolumeName { claim, .. }
            | Self::Status { claim, .. }
            | Self::SetClass { claim, .. }
            | Self::SetProvisioner { claim, .. }
            | Self::MigrateClaim { claim, .. } => claim.uid.as_ref(),
        }
    }

    /// Returns the volume that it reserves, and who chose it.
    pub fn reserves(&self) -> Option<(&VolumeName, ChosenBy)> {
        if let Self::Reserve { volume, chosen, .. } = self {
            Some((&volume.name, *chosen))
        } else {
            None
        }
    }

    /// Returns the volume whose reservation it removes.
    pub fn unreserves(&self) -> Option<&VolumeName> {
        if let Self::Unreserve { volume, .. } = self { Some(&volume.name) } else { None }
    }

    /// Its name in logs and metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Reserve { .. } => "reserve",
            Self::Unreserve { .. } => "unreserve",
            Self::Phase { .. } => "volume_phase",
            Self::SetVolumeName { .. } => "name",
            Self::Status { .. } => "claim_status",
            Self::SetClass { .. } => "set_class",
            Self::SetProvisioner { .. } => "ask",
            Self::MigrateClaim { .. } => "migrate_claim",
            Self::MigrateVolume { .. } => "migrate_volume",
        }
    }
}

impl ObjectRef<VolumeName> {
    /// The volume as it was seen.
    pub fn of_volume(volume: &Volume) -> Self {
        let (uid, version) = (volume.uid.clone(), volume.version.clone());
        Self { name: volume.name.clone(), uid, version }
    }
}

impl ObjectRef<ClaimKey> {
    /// The claim as it was seen.
    pub fn of_claim(claim: &Claim) -> Self {
        Self { name: claim.key.clone(), uid: claim.uid.clone(), version: claim.version.clone() }
    }
}

impl Next {
    /// The reads, or nothing to do if there are none.
    pub(super) fn reads(reads: Vec<Read>) -> Self {
        NonEmpty::from_vec(reads).map_or(Self::Settled, Self::Read)
    }
}
