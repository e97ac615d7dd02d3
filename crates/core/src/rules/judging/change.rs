//! A change as it is judged: which object, from what to what, by whom.
//!
//! A deletion with a new object, or an update without an old one, has no spelling. How a change is
//! read from bytes is in `api`.

use super::actor::{Actor, User};
use super::parameters::Parameters;
use crate::model::{
    Claim, Class, CsiDriver, Deletion, Namespace, NamespaceName, NodeObject, Owner, Reservation,
    SnapshotContent, Volume, VolumeAttachment,
};

/// A requested change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// Who asks.
    pub user: User,
    /// What the asker is to the rules.
    pub actor: Actor,
    /// What the operator has set for the rules that ask.
    pub parameters: Parameters,
    /// Which part of the object the request may write.
    pub part: Part,
    /// What the request says beside the objects as decisions keep them.
    pub detail: Detail,
    /// The object, before and after.
    pub subject: ChangedObject,
}

/// Which part of the object a request may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything but status.
    Main,
    /// Status and, as the API server lets it through, metadata.
    Status,
    /// The finalizers of a namespace's `spec` and, as the API server lets it through, metadata.
    Finalize,
}

/// What a request says that no view keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// What an update of a volume changes of `spec`.
    pub spec: SpecChange,
    /// Whether an update changes `spec.mountOptions` of a volume.
    pub mount_options: Field,
    /// The owners that an object has at once, or that an update adds.
    pub owners_added: AddedOwners,
}

/// So many owners that one request adds are looked at. 8: an object has one or two, each costs a live
/// read, and a requester must not make its own review as slow as it likes.
pub const OWNERS_ADDED_MAX: usize = 8;

/// Owners that a request adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddedOwners {
    /// These, at most [`OWNERS_ADDED_MAX`].
    These(Vec<Owner>),
    /// More.
    TooMany,
}

impl Default for AddedOwners {
    /// None.
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

/// Whether an update changes a field, in any part of it, known to us or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field {
    /// It stays as it is; also where there is no old or no new object.
    #[default]
    Same,
    /// It changes.
    Changed,
}

/// What an update changes of the `spec` of a volume, in any part of it, known to us or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpecChange {
    /// It stays as it is; also where there is no old or no new object.
    #[default]
    None,
    /// Nothing but `capacity` and `volumeAttributesClassName`.
    SizeOrAttributes,
    /// Something else.
    Other,
}

/// The object that changes.
#[derive(Clone, Debug)]
pub enum ChangedObject {
    /// A volume.
    Volume(Transition<Volume>),
    /// A claim.
    Claim(Transition<Claim>),
    /// A namespace.
    Namespace(Transition<Namespace>),
    /// A StorageClass.
    Class(Transition<Class>),
    /// A VolumeAttachment.
    Attachment(Transition<VolumeAttachment>),
    /// A node.
    Node(Transition<NodeObject>),
    /// A CSIDriver.
    Driver(Transition<CsiDriver>),
    /// A VolumeSnapshotContent.
    SnapshotContent(Transition<SnapshotContent>),
}

impl ChangedObject {
    /// Whether the object is being deleted as it is stored; nothing of one that is not stored.
    pub fn stored_deletion(&self) -> Option<Deletion> {
        match self {
            Self::Volume(transition) => transition.stored().map(|volume| volume.deletion),
            Self::Claim(transition) => transition.stored().map(|claim| claim.deletion),
            Self::Namespace(transition) => transition.stored().map(|namespace| namespace.deletion),
            Self::Attachment(transition) => transition.stored().map(|one| one.deletion),
            Self::Node(transition) => transition.stored().map(|node| node.deletion),
            Self::SnapshotContent(transition) => transition.stored().map(|one| one.deletion),
            // Nothing keeps one: it goes at once.
            Self::Class(_) | Self::Driver(_) => None,
        }
    }
}

/// One object before and after.
#[derive(Clone, Debug)]
pub enum Transition<T> {
    /// It comes to be.
    Create(T),
    /// It changes.
    Update {
        /// As it is stored.
        old: T,
        /// As it would be.
        new: T,
    },
    /// It goes.
    Delete(T),
}

impl<T> Transition<T> {
    /// The same of what `made` makes of each object.
    pub fn map<U>(self, made: impl Fn(T) -> U) -> Transition<U> {
        match self {
            Self::Create(object) => Transition::Create(made(object)),
            Self::Update { old, new } => Transition::Update { old: made(old), new: made(new) },
            Self::Delete(object) => Transition::Delete(made(object)),
        }
    }

    /// The object as it would be, or as it was when it goes.
    pub fn latest(&self) -> &T {
        match self {
            Self::Create(object) | Self::Delete(object) => object,
            Self::Update { new, .. } => new,
        }
    }

    /// The object as it is stored, if it is.
    pub fn stored(&self) -> Option<&T> {
        match self {
            Self::Create(_) => None,
            Self::Update { old, .. } => Some(old),
            Self::Delete(object) => Some(object),
        }
    }

    /// The object as it would be, if it stays.
    pub fn proposed(&self) -> Option<&T> {
        match self {
            Self::Create(object) => Some(object),
            Self::Update { new, .. } => Some(new),
            Self::Delete(_) => None,
        }
    }

    /// The object as it is stored, if it is, and as it would be; nothing if it goes.
    pub fn written(&self) -> Option<(Option<&T>, &T)> {
        Some((self.stored(), self.proposed()?))
    }

    /// The object as it would be, if it comes to be or if it changes, from old to new, as `changes` says.
    pub fn created_or(&self, changes: impl FnOnce(&T, &T) -> bool) -> Option<&T> {
        let (old, new) = self.written()?;
        old.is_none_or(|old| changes(old, new)).then_some(new)
    }
}

impl Change {
    /// The volume's transition, if a volume changes.
    pub fn volume(&self) -> Option<&Transition<Volume>> {
        let ChangedObject::Volume(transition) = &self.subject else { return None };
        Some(transition)
    }

    /// The claim's transition, if a claim changes.
    pub fn claim(&self) -> Option<&Transition<Claim>> {
        let ChangedObject::Claim(transition) = &self.subject else { return None };
        Some(transition)
    }

    /// Old and new volume of an update.
    pub fn volume_update(&self) -> Option<(&Volume, &Volume)> {
        match self.volume()? {
            Transition::Update { old, new } => Some((old, new)),
            Transition::Create(_) | Transition::Delete(_) => None,
        }
    }

    /// Old and new claim of an update.
    pub fn claim_update(&self) -> Option<(&Claim, &Claim)> {
        match self.claim()? {
            Transition::Update { old, new } => Some((old, new)),
            Transition::Create(_) | Transition::Delete(_) => None,
        }
    }

    /// The volume that it reserves for a claim, or for another one than before; nothing if it carries a mark.
    pub fn newly_reserved(&self) -> Option<&Volume> {
        let transition = self.volume().filter(|_| self.part == Part::Main)?;
        let new = transition.proposed().filter(|new| !new.carries_mark())?;
        let was = transition.stored().map(|old| &old.reservation);
        let is_reserved = |to: &Reservation| to.key().is_some_and(|key| !key.namespace.is_empty());
        (is_reserved(&new.reservation) && was != Some(&new.reservation)).then_some(new)
    }

    /// The namespace that it concerns: itself, that of the claim, or that of the claim for which the stored volume is
    /// reserved. So a change of claimRef cannot choose the namespace whose overrides apply to it.
    pub fn namespace(&self) -> Option<&NamespaceName> {
        match &self.subject {
            ChangedObject::Claim(transition) => Some(&transition.latest().key.namespace),
            ChangedObject::Namespace(transition) => Some(&transition.latest().name),
            ChangedObject::Volume(transition) => {
                let is_reserved = |volume: &'_ Volume| volume.reservation.key().is_some();
                let stored = transition.stored().filter(|volume| is_reserved(volume));
                let volume = stored.or(transition.proposed())?;
                volume.reservation.key().map(|key| &key.namespace)
            }
            ChangedObject::Class(_)
            | ChangedObject::Attachment(_)
            | ChangedObject::Node(_)
            | ChangedObject::Driver(_)
            | ChangedObject::SnapshotContent(_) => None,
        }
    }

    /// Returns whether the stored object is being deleted already.
    pub fn is_terminating(&self) -> bool {
        self.subject.stored_deletion() == Some(Deletion::Terminating)
    }
}
