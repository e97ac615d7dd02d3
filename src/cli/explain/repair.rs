//! Changes after which a volume and a claim match, and whether they help.
//!
//! A volume's labels, class and reservation can be changed while it is free. Of a claim only a missing
//! class can; for anything else it is re-created, which loses nothing where no volume is bound to it. Nothing
//! is proposed for a volume whose data would be deleted, or that is bound to or reserved for a claim.
//!
//! Not here: the spelling as commands (`command`).

use std::sync::Arc;

use super::nearness::MismatchedPair;
use super::report::Harm;
use crate::binding::{ClaimOutcome, Collection, Mismatch, Observed, settle};
use crate::cli::preview::settled::SettledCluster;
use crate::model::annotations::{BOUND_BY_CONTROLLER, LEGACY_CLASS};
use crate::model::{
    AccessModes, Claim, ClaimKey, ClaimPhase, ClassName, ClassRequest, Quantity, ReclaimPolicy,
    Reservation, Selector, Uid, Volume, VolumeMode, VolumeName, VolumePhase,
};

/// Changes that let a claim have a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClaimRepair {
    /// The volume that is changed, and how.
    pub volume: Option<(VolumeName, VolumeChange)>,
    /// How the claim is changed.
    pub claim: ClaimChange,
    /// How much harm the data on the volume does: it may be another claim's.
    pub of_data: Harm,
}

/// Changes of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VolumeChange {
    /// Labels to set, or to take off.
    pub labels: Vec<(String, Option<String>)>,
    /// Its class.
    pub class: Option<ClassRequest>,
    /// The claim to reserve it for, instead of one that is deleted.
    pub reserve_for: Option<ClaimKey>,
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
    /// It is re-created with these changes.
    Recreate(Vec<ClaimDifference>),
}

/// A change in a claim that is re-created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaimDifference {
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

impl ClaimRepair {
    /// Returns how much it changes of what `claim` asks for.
    pub(super) fn harm(&self, claim: &Claim) -> Harm {
        self.of_data.max(self.harm_to_request(claim))
    }

    /// Returns whether the claim is deleted on the way.
    pub(super) fn deletes_claim(&self) -> bool {
        match self.claim {
            ClaimChange::None | ClaimChange::SetClass(_) => false,
            ClaimChange::Recreate(_) => true,
        }
    }

    fn harm_to_request(&self, claim: &Claim) -> Harm {
        let differences = match &self.claim {
            ClaimChange::None | ClaimChange::SetClass(_) => return Harm::None,
            ClaimChange::Recreate(differences) => differences,
        };
        let is_less = |difference: &ClaimDifference| match difference {
            ClaimDifference::Request(size) => *size < claim.request,
            ClaimDifference::AccessModes(modes) => !modes.offers(&claim.access_modes),
            ClaimDifference::VolumeMode(_) => true,
            ClaimDifference::NoVolume
            | ClaimDifference::NoSelector
            | ClaimDifference::Class(_)
            | ClaimDifference::AttributesClass(_) => false,
        };
        if differences.iter().any(is_less) { Harm::Less } else { Harm::Recreate }
    }
}

/// The changes that remove all mismatches of a pair, if there are any.
pub(super) fn repair(miss: &MismatchedPair<'_>, cluster: &SettledCluster) -> Option<ClaimRepair> {
    let MismatchedPair { volume, claim, mismatches } = miss;
    let mut wanted = Wanted::default();
    for mismatch in mismatches {
        wanted.note(mismatch)?;
    }
    if wanted.is_held {
        if !is_left_over(volume, cluster) {
            return None;
        }
        // For a reserved volume neither class nor labels are compared.
        let change = VolumeChange {
            reserve_for: Some(claim.key.clone()),
            without: carried(volume, BOUND_BY_CONTROLLER),
            ..VolumeChange::default()
        };
        let of_data = harm_of_data(volume.reservation.key(), &claim.key);
        return Some(ClaimRepair { of_data, ..whole(volume, change, wanted.differences) });
    }
    if !wanted.differences.is_empty() {
        wanted.differences.extend(wanted.class.map(|(_, offered)| ClaimDifference::Class(offered)));
        wanted.differences.extend(wanted.is_unselected.then_some(ClaimDifference::NoSelector));
        return Some(whole(volume, VolumeChange::default(), wanted.differences));
    }
    if let (Some((_, Some(offered))), false) = (&wanted.class, wanted.is_unselected)
        && claim.class() == ClassRequest::Unset
    {
        let claim = ClaimChange::SetClass(offered.clone());
        return Some(ClaimRepair { claim, ..ClaimRepair::default() });
    }
    let class = wanted.class.map(|(requested, _)| request(requested));
    let without = class.as_ref().and_then(|_| carried(volume, LEGACY_CLASS));
    let change = VolumeChange { labels: labels(volume, claim), class, reserve_for: None, without };
    Some(whole(volume, change, Vec::new()))
}

/// The changes that the mismatches of a pair need.
#[derive(Debug, Default)]
struct Wanted {
    /// In a re-created claim.
    differences: Vec<ClaimDifference>,
    /// The class that is requested, and the one that is offered.
    class: Option<(Option<ClassName>, Option<ClassName>)>,
    /// Whether the labels are others.
    is_unselected: bool,
    /// Whether the volume is, or was, another claim's.
    is_held: bool,
}

impl Wanted {
    /// Adds a mismatch; returns `None` if it cannot be repaired.
    fn note(&mut self, mismatch: &Mismatch) -> Option<()> {
        match mismatch {
            Mismatch::TooSmall { offered, .. } => {
                self.differences.push(ClaimDifference::Request(offered.clone()));
            }
            Mismatch::AccessModes { offered, .. } => {
                self.differences.push(ClaimDifference::AccessModes(offered.clone()));
            }
            Mismatch::VolumeMode { offered, .. } => {
                self.differences.push(ClaimDifference::VolumeMode(offered.clone()));
            }
            Mismatch::AttributesClass { offered, .. } => {
                self.differences.push(ClaimDifference::AttributesClass(offered.clone()));
            }
            Mismatch::Class { requested, offered } => {
                self.class = Some((requested.clone(), offered.clone()));
            }
            Mismatch::Selector { .. } => self.is_unselected = true,
            Mismatch::ReservedForOther { .. } | Mismatch::NotAvailable { .. } => {
                self.is_held = true;
            }
            // The administrator decides which namespaces may use a volume.
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

/// The claim re-created without the volume that it names.
pub(super) fn unnamed() -> ClaimRepair {
    ClaimRepair {
        claim: ClaimChange::Recreate(vec![ClaimDifference::NoVolume]),
        ..ClaimRepair::default()
    }
}

fn whole(volume: &Volume, change: VolumeChange, differences: Vec<ClaimDifference>) -> ClaimRepair {
    let volume = (change != VolumeChange::default()).then(|| (volume.name.clone(), change));
    let claim =
        if differences.is_empty() { ClaimChange::None } else { ClaimChange::Recreate(differences) };
    ClaimRepair { volume, claim, of_data: Harm::None }
}

/// The annotation, if the volume has it.
fn carried(volume: &Volume, annotation: &'static str) -> Option<&'static str> {
    volume.annotations.has(annotation).then_some(annotation)
}

/// The harm of giving the data that `holder` left on a volume to `claim`.
fn harm_of_data(holder: Option<&ClaimKey>, claim: &ClaimKey) -> Harm {
    match holder {
        Some(holder) if holder == claim => Harm::None,
        Some(holder) if holder.namespace == claim.namespace => Harm::SameNamespace,
        Some(_) | None => Harm::OtherNamespace,
    }
}

/// Returns whether a volume's claim is deleted and its data retained.
fn is_left_over(volume: &Volume, cluster: &SettledCluster) -> bool {
    let Reservation::Held(key, uid) = &volume.reservation else { return false };
    let is_gone = match cluster.state.view.claim(key) {
        Some(holder) => holder.uid.as_ref() != Some(uid),
        None => cluster.state.listed.has_in(Collection::Claims, &key.namespace),
    };
    volume.policy == ReclaimPolicy::Retain && volume.phase == VolumePhase::Released && is_gone
}

/// The labels that the claim's selector requires and the volume lacks.
fn labels(volume: &Volume, claim: &Claim) -> Vec<(String, Option<String>)> {
    let terms = claim.selector.iter().flat_map(Selector::terms);
    let unmatched = terms.filter(|term| !term.matches(&volume.labels));
    let remedies = unmatched.map(|term| (term.key().to_owned(), term.remedy().map(str::to_owned)));
    remedies.collect()
}

/// Returns whether the claim binds, or will without help, after `repair`: decided by the core that binds.
pub(super) fn helps(repair: &ClaimRepair, cluster: &SettledCluster, claim: &Claim) -> bool {
    let mut view = cluster.state.view.clone();
    if let Some((name, change)) = &repair.volume {
        let Some(volume) = view.volume(name) else { return false };
        let volume = changed_volume(volume, change);
        view.apply(Observed::Volume(Arc::new(volume)));
    }
    view.apply(Observed::Claim(Arc::new(changed_claim(claim, &repair.claim))));
    let settlement = settle(&mut view, std::slice::from_ref(&claim.key), &cluster.state.listed);
    matches!(
        settlement.claim(&claim.key),
        Some(
            ClaimOutcome::Bound(_)
                | ClaimOutcome::WaitsForConsumer
                | ClaimOutcome::WaitsForPods(_)
                | ClaimOutcome::WaitsForProvisioner(_)
        )
    )
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
        changed.class_field = class.wanted().name().cloned();
    }
    if let Some(key) = &change.reserve_for {
        changed.reservation = Reservation::Named(key.clone());
    }
    changed
}

fn changed_claim(claim: &Claim, change: &ClaimChange) -> Claim {
    let mut changed = claim.clone();
    match change {
        ClaimChange::None => {}
        ClaimChange::SetClass(class) => changed.class_field = ClassRequest::Named(class.clone()),
        ClaimChange::Recreate(differences) => {
            changed.uid = Some(Uid::new(format!("re-created: {}", claim.key)));
            changed.phase = ClaimPhase::Pending;
            for difference in differences {
                differ(&mut changed, difference);
            }
        }
    }
    changed
}

fn differ(claim: &mut Claim, difference: &ClaimDifference) {
    match difference {
        ClaimDifference::NoVolume => claim.volume = None,
        ClaimDifference::NoSelector => claim.selector = None,
        ClaimDifference::Request(size) => claim.request = size.clone(),
        ClaimDifference::AccessModes(modes) => claim.access_modes = modes.clone(),
        ClaimDifference::VolumeMode(mode) => claim.mode = mode.clone(),
        ClaimDifference::Class(class) => {
            claim.annotations.remove(LEGACY_CLASS);
            claim.class_field = request(class.clone());
        }
        ClaimDifference::AttributesClass(class) => claim.attributes_class.clone_from(class),
    }
}

/// The class, or that none is wanted.
fn request(class: Option<ClassName>) -> ClassRequest {
    class.map_or(ClassRequest::Classless, ClassRequest::Named)
}
