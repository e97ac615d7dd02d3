//! What would make a volume and a claim fit: changes of the one or the other, and whether they help.
//!
//! A volume's labels, class and reservation can be changed while it is free. Of a claim only a missing
//! class can; for anything else it is made anew, which costs nothing, as it never had a volume. Nothing
//! is proposed for a volume whose storage would be destroyed, or that a claim has or is promised.
//!
//! Not here: the spelling as commands (`command`).

use std::sync::Arc;

use super::nearness::Miss;
use super::report::Harm;
use super::world::World;
use crate::binding::{ClaimOutcome, Collection, Mismatch, Observed, settle};
use crate::model::annotations::{BOUND_BY_CONTROLLER, LEGACY_CLASS};
use crate::model::{
    AccessModes, Claim, ClaimKey, ClaimPhase, ClassName, ClassRequest, Quantity, ReclaimPolicy,
    Reservation, Selector, Uid, Volume, VolumeMode, VolumeName, VolumePhase,
};

/// Changes that let a claim have a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Repair {
    /// The volume that is changed, and how.
    pub volume: Option<(VolumeName, VolumeChange)>,
    /// How the claim is changed.
    pub claim: ClaimChange,
    /// Who left data on the volume.
    pub left_by: LeftBy,
}

/// Who left the data that is on a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftBy {
    /// Nobody, or the claim itself before it was made anew.
    #[default]
    Nobody,
    /// Another claim of the claim's namespace.
    SameNamespace,
    /// A claim of another namespace.
    OtherNamespace,
}

/// Changes of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VolumeChange {
    /// Labels to set, or to take off.
    pub labels: Vec<(String, Option<String>)>,
    /// Its class.
    pub class: Option<ClassRequest>,
    /// The claim to keep it for, instead of one that is gone.
    pub keep_for: Option<ClaimKey>,
    /// An annotation that would contradict the change.
    pub without: Option<&'static str>,
}

/// Changes of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ClaimChange {
    /// None.
    #[default]
    None,
    /// It gets the class that it does not have.
    SetClass(ClassName),
    /// It is made anew with these changes.
    Anew(Vec<Anew>),
}

/// What is different in a claim that is made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Anew {
    /// It names no volume.
    NoVolume,
    /// It selects by no labels.
    NoSelector,
    /// It asks for this size.
    Request(Quantity),
    /// It asks for these modes.
    AccessModes(AccessModes),
    /// It asks for this mode.
    VolumeMode(VolumeMode),
    /// It asks for this class; none is no class.
    Class(Option<ClassName>),
    /// It asks for this attributes class; none is none.
    AttributesClass(Option<ClassName>),
}

impl Repair {
    /// How much it changes of what `claim` asks for.
    pub(super) fn harm(&self, claim: &Claim) -> Harm {
        let of_data = match self.left_by {
            LeftBy::Nobody => Harm::None,
            LeftBy::SameNamespace => Harm::SameNamespace,
            LeftBy::OtherNamespace => Harm::OtherNamespace,
        };
        of_data.max(self.harm_to_request(claim))
    }

    fn harm_to_request(&self, claim: &Claim) -> Harm {
        let differences = match &self.claim {
            ClaimChange::None | ClaimChange::SetClass(_) => return Harm::None,
            ClaimChange::Anew(differences) => differences,
        };
        let is_less = |difference: &Anew| match difference {
            Anew::Request(size) => *size < claim.request,
            Anew::AccessModes(modes) => !modes.offers(&claim.access_modes),
            Anew::VolumeMode(_) => true,
            Anew::NoVolume | Anew::NoSelector | Anew::Class(_) | Anew::AttributesClass(_) => false,
        };
        if differences.iter().any(is_less) { Harm::Less } else { Harm::Anew }
    }
}

/// The changes that remove all mismatches of a pair, if there are any.
pub(super) fn repair(miss: &Miss<'_>, world: &World) -> Option<Repair> {
    let Miss { volume, claim, mismatches } = miss;
    let mut wanted = Wanted::default();
    for mismatch in mismatches {
        wanted.note(mismatch)?;
    }
    if wanted.is_held {
        if !is_left_over(volume, world) {
            return None;
        }
        // A volume that is kept for the claim is asked neither for its class nor for its labels.
        let change = VolumeChange {
            keep_for: Some(claim.key.clone()),
            without: carried(volume, BOUND_BY_CONTROLLER),
            ..VolumeChange::default()
        };
        let left_by = left_by(volume.reservation.key(), &claim.key);
        return Some(Repair { left_by, ..whole(volume, change, wanted.anew) });
    }
    if !wanted.anew.is_empty() {
        wanted.anew.extend(wanted.class.map(|(_, offered)| Anew::Class(offered)));
        wanted.anew.extend(wanted.is_unselected.then_some(Anew::NoSelector));
        return Some(whole(volume, VolumeChange::default(), wanted.anew));
    }
    if let (Some((_, Some(offered))), false) = (&wanted.class, wanted.is_unselected)
        && claim.class() == ClassRequest::Unset
    {
        let claim = ClaimChange::SetClass(offered.clone());
        return Some(Repair { claim, ..Repair::default() });
    }
    let class = wanted.class.map(|(requested, _)| match requested {
        Some(class) => ClassRequest::Named(class),
        None => ClassRequest::Classless,
    });
    let without = class.as_ref().and_then(|_| carried(volume, LEGACY_CLASS));
    let change = VolumeChange { labels: labels(volume, claim), class, keep_for: None, without };
    Some(whole(volume, change, Vec::new()))
}

/// What the mismatches of a pair want changed.
#[derive(Debug, Default)]
struct Wanted {
    /// In a claim that is made anew.
    anew: Vec<Anew>,
    /// The class that is requested, and the one that is offered.
    class: Option<(Option<ClassName>, Option<ClassName>)>,
    /// Whether the labels are others.
    is_unselected: bool,
    /// Whether the volume is, or was, another claim's.
    is_held: bool,
}

impl Wanted {
    /// Takes in a mismatch; nothing comes back for one that nobody can repair.
    fn note(&mut self, mismatch: &Mismatch) -> Option<()> {
        match mismatch {
            Mismatch::TooSmall { offered, .. } => self.anew.push(Anew::Request(offered.clone())),
            Mismatch::AccessModes { offered, .. } => {
                self.anew.push(Anew::AccessModes(offered.clone()));
            }
            Mismatch::VolumeMode { offered, .. } => {
                self.anew.push(Anew::VolumeMode(offered.clone()));
            }
            Mismatch::AttributesClass { offered, .. } => {
                self.anew.push(Anew::AttributesClass(offered.clone()));
            }
            Mismatch::Class { requested, offered } => {
                self.class = Some((requested.clone(), offered.clone()));
            }
            Mismatch::Selector { .. } => self.is_unselected = true,
            Mismatch::ReservedForOther { .. } | Mismatch::NotAvailable { .. } => {
                self.is_held = true;
            }
            // Whom a volume admits is for its administrator to say.
            Mismatch::ForeignNamespace
            | Mismatch::ClaimElsewhere
            | Mismatch::Terminating
            | Mismatch::DataSource
            | Mismatch::NodeAffinity
            | Mismatch::WaitsForConsumer => return None,
        }
        Some(())
    }
}

/// The claim made anew without the volume that it names.
pub(super) fn unnamed() -> Repair {
    Repair { claim: ClaimChange::Anew(vec![Anew::NoVolume]), ..Repair::default() }
}

fn whole(volume: &Volume, change: VolumeChange, anew: Vec<Anew>) -> Repair {
    let volume = (change != VolumeChange::default()).then(|| (volume.name.clone(), change));
    let claim = if anew.is_empty() { ClaimChange::None } else { ClaimChange::Anew(anew) };
    Repair { volume, claim, left_by: LeftBy::Nobody }
}

/// The annotation, if the volume has it.
fn carried(volume: &Volume, annotation: &'static str) -> Option<&'static str> {
    volume.annotations.has(annotation).then_some(annotation)
}

/// Whose data a volume holds that `holder` had, for the claim of this name.
fn left_by(holder: Option<&ClaimKey>, claim: &ClaimKey) -> LeftBy {
    match holder {
        Some(holder) if holder == claim => LeftBy::Nobody,
        Some(holder) if holder.namespace == claim.namespace => LeftBy::SameNamespace,
        Some(_) | None => LeftBy::OtherNamespace,
    }
}

/// Whether a volume's claim is gone for good and its data is kept.
fn is_left_over(volume: &Volume, world: &World) -> bool {
    let Reservation::Held(key, uid) = &volume.reservation else { return false };
    let is_gone = match world.settled.after.claim(key) {
        Some(holder) => holder.uid.as_ref() != Some(uid),
        None => world.settled.listed.has_in(Collection::Claims, &key.namespace),
    };
    volume.policy == ReclaimPolicy::Retain && volume.phase == VolumePhase::Released && is_gone
}

/// The labels that the claim's selector misses.
fn labels(volume: &Volume, claim: &Claim) -> Vec<(String, Option<String>)> {
    let terms = claim.selector.iter().flat_map(Selector::terms);
    let unmatched = terms.filter(|term| !term.matches(&volume.labels));
    let remedies = unmatched.map(|term| (term.key().to_owned(), term.remedy().map(str::to_owned)));
    remedies.collect()
}

/// Whether the claim is served, or waits for what comes by itself, once `repair` was made: asked of the
/// same core that binds.
pub(super) fn helps(repair: &Repair, world: &World, claim: &Claim) -> bool {
    let mut view = world.settled.after.clone();
    if let Some((name, change)) = &repair.volume {
        let Some(volume) = view.volume(name) else { return false };
        let volume = changed_volume(volume, change);
        view.apply(Observed::Volume(Arc::new(volume)));
    }
    view.apply(Observed::Claim(Arc::new(changed_claim(claim, &repair.claim))));
    let settlement = settle(&mut view, std::slice::from_ref(&claim.key), &world.settled.listed);
    match settlement.claim(&claim.key) {
        Some(
            ClaimOutcome::Bound(_)
            | ClaimOutcome::WaitsForConsumer
            | ClaimOutcome::WaitsForPods(_)
            | ClaimOutcome::WaitsForProvisioner(_),
        ) => true,
        Some(
            ClaimOutcome::Unseen
            | ClaimOutcome::Terminating
            | ClaimOutcome::Unknown
            | ClaimOutcome::BoundDespite(..)
            | ClaimOutcome::GetsDefaultClass(_)
            | ClaimOutcome::NoMatchingVolume
            | ClaimOutcome::NoClass(_)
            | ClaimOutcome::NoVolume(_)
            | ClaimOutcome::Unfit(..)
            | ClaimOutcome::Taken(_)
            | ClaimOutcome::Lost(_),
        )
        | None => false,
    }
}

fn changed_volume(volume: &Volume, change: &VolumeChange) -> Volume {
    let mut changed = volume.clone();
    for (key, value) in &change.labels {
        changed.labels = changed.labels.with(key, value.as_deref());
    }
    if let Some(annotation) = change.without {
        changed.annotations.remove(annotation);
    }
    if let Some(class) = &change.class {
        changed.class_field = match class {
            ClassRequest::Named(class) => Some(class.clone()),
            ClassRequest::Unset | ClassRequest::Classless => None,
        };
    }
    if let Some(key) = &change.keep_for {
        changed.reservation = Reservation::Named(key.clone());
    }
    changed
}

fn changed_claim(claim: &Claim, change: &ClaimChange) -> Claim {
    let mut changed = claim.clone();
    match change {
        ClaimChange::None => {}
        ClaimChange::SetClass(class) => changed.class_field = ClassRequest::Named(class.clone()),
        ClaimChange::Anew(differences) => {
            changed.uid = Some(Uid::new(format!("made anew: {}", claim.key)));
            changed.phase = ClaimPhase::Pending;
            for difference in differences {
                differ(&mut changed, difference);
            }
        }
    }
    changed
}

fn differ(claim: &mut Claim, difference: &Anew) {
    match difference {
        Anew::NoVolume => claim.volume = None,
        Anew::NoSelector => claim.selector = None,
        Anew::Request(size) => claim.request = size.clone(),
        Anew::AccessModes(modes) => claim.access_modes = modes.clone(),
        Anew::VolumeMode(mode) => claim.mode = mode.clone(),
        Anew::Class(class) => {
            claim.annotations.remove(LEGACY_CLASS);
            claim.class_field = match class {
                Some(class) => ClassRequest::Named(class.clone()),
                None => ClassRequest::Classless,
            };
        }
        Anew::AttributesClass(class) => claim.attributes_class.clone_from(class),
    }
}
