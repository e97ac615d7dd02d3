//! Other binders: what Kubernetes' own binder writes, as far as it concerns this one.
//!
//! In `full` one write of another binder is enough to fall back to `observe`: two would undo each other's bindings. In
//! the other modes its choices are compared with those that would have been made here.

use crate::api::managers::InTree;
use crate::binding::{
    Choice, EventType, FitCheck, ObjectEvent, ObjectKey, View, choose, fit, ranks_alike,
};
use crate::controller::mode::ControllerMode;
use crate::model::annotations::BOUND_BY_CONTROLLER;
use crate::model::{BindingMode, Claim, Reservation, Stage, Volume, VolumeName, VolumePhase};

/// The mode, and what is known of other binders.
#[derive(Debug)]
pub(super) struct OtherBinders {
    started_in: ControllerMode,
    mode: ControllerMode,
    /// The volume that another binder wrote to, and what it did.
    seen: Option<(VolumeName, &'static str)>,
    /// The same, until it is stored.
    sighting: Option<String>,
    /// What a person does for this one to bind again once the other binder is switched off.
    remedy: String,
    divergences: u64,
}

/// What a change of a volume shows of another binder.
#[derive(Debug)]
pub(super) enum Trace {
    /// Nothing.
    None,
    /// It binds although this one does.
    AtWork,
    /// It chose another volume than would have been chosen here.
    Divergence(ObjectEvent),
}

impl OtherBinders {
    /// None is known.
    pub(super) fn new(mode: ControllerMode, remedy: String) -> Self {
        Self { started_in: mode, mode, seen: None, sighting: None, remedy, divergences: 0 }
    }

    /// The mode in which the controller works now.
    pub(super) fn mode(&self) -> ControllerMode {
        self.mode
    }

    /// Returns whether that is less than it was started in.
    pub(super) fn has_fallen_back(&self) -> bool {
        self.mode != self.started_in
    }

    /// Returns how often another binder chose a volume that would not have been chosen here.
    pub(super) fn divergences(&self) -> u64 {
        self.divergences
    }

    /// Returns what another binder did, once.
    pub(super) fn take_sighting(&mut self) -> Option<String> {
        self.sighting.take()
    }

    /// The mode for when another binder is at work, or is not; nothing if that is the mode already.
    pub(super) fn next_mode(&self, is_at_work: bool) -> Option<ControllerMode> {
        let next = match self.started_in {
            ControllerMode::Full if is_at_work => ControllerMode::Observe,
            mode @ (ControllerMode::Full | ControllerMode::Observe | ControllerMode::Prebind) => {
                mode
            }
        };
        (next != self.mode).then_some(next)
    }

    /// Works in `mode` from now on, with or without another binder at work.
    pub(super) fn change_mode(&mut self, mode: ControllerMode) {
        self.mode = mode;
    }

    /// Forgets the other binder: a person has cleared it.
    pub(super) fn clear(&mut self) {
        self.seen = None;
    }

    /// Inspects a change of a volume by another writer, before it is applied to `view`. Only the leader reports choices:
    /// every replica sees them.
    pub(super) fn inspect(
        &mut self,
        view: &View,
        (old, new): (&Volume, &Volume),
        in_tree: InTree,
        is_leading: bool,
    ) -> Trace {
        let is_newer = old.version.as_ref().zip(new.version.as_ref());
        if !is_newer.is_some_and(|(old, new)| new.is_newer_than(old)) {
            return Trace::None;
        }
        // The author is that of the uid: a change to the rest of a reservation leaves it the other binder's.
        let is_reserved = old.reservation.uid() != new.reservation.uid()
            && matches!(new.reservation, Reservation::Held(..));
        let is_bound = old.phase != new.phase && new.phase == VolumePhase::Bound;
        match self.mode {
            ControllerMode::Full if is_reserved && in_tree.reservation => {
                self.note(&new.name, "reserved it")
            }
            ControllerMode::Full if is_bound && in_tree.phase => {
                self.note(&new.name, "made its phase Bound")
            }
            ControllerMode::Observe | ControllerMode::Prebind
                if is_leading
                    && is_reserved
                    && old.reservation == Reservation::Free
                    && in_tree.reservation =>
            {
                self.compare(view, old, new)
            }
            ControllerMode::Full | ControllerMode::Observe | ControllerMode::Prebind => Trace::None,
        }
    }

    /// The event about the volume that another binder wrote to.
    pub(super) fn event(&self) -> Option<ObjectEvent> {
        let (name, deed) = self.seen.as_ref()?;
        let text = format!(
            "kube-controller-manager binds volumes too: it {deed}; two binders would undo each other's bindings, so \
             Bindery only observes from now on; start kube-controller-manager with \
             --controllers=*,-persistentvolume-binder-controller, then {}",
            self.remedy
        );
        Some(about(name, EventType::Warning, "OtherBinder", text))
    }

    fn note(&mut self, name: &VolumeName, deed: &'static str) -> Trace {
        self.sighting =
            Some(format!("PersistentVolume \"{name}\": kube-controller-manager {deed}"));
        self.seen = Some((name.clone(), deed));
        Trace::AtWork
    }

    fn compare(&mut self, view: &View, old: &Volume, new: &Volume) -> Trace {
        let claim = new.reservation.key().and_then(|key| view.claim(key));
        let Some(text) = claim.and_then(|claim| divergence(view, claim, old, new)) else {
            return Trace::None;
        };
        self.divergences += 1;
        Trace::Divergence(about(&new.name, EventType::Normal, "DifferentChoice", text))
    }
}

fn about(
    name: &VolumeName,
    event_type: EventType,
    reason: &'static str,
    text: String,
) -> ObjectEvent {
    ObjectEvent::new(ObjectKey::Volume(name.clone()), event_type, reason, text)
}

/// Returns why the volume would not have been chosen here for the claim, if it would not. Equal volumes count as one,
/// and what a scheduler chooses is its own.
fn divergence(view: &View, claim: &Claim, old: &Volume, new: &Volume) -> Option<String> {
    let is_open = claim.stage() == Stage::Unbound && claim.volume.is_none();
    if !is_open
        || !new.annotations.has(BOUND_BY_CONTROLLER)
        || view.binding_mode(claim) == BindingMode::WaitForFirstConsumer
    {
        return None;
    }
    let asker = FitCheck::Controller(BindingMode::Immediate);
    let reason = match choose(view, claim, asker) {
        Choice::Reserved(other) | Choice::Free(other)
            if other.name != old.name && !ranks_alike(&other, old) =>
        {
            return Some(format!(
                "reserved for PVC \"{}\" although PV \"{}\" would have been chosen here",
                claim.key, other.name
            ));
        }
        Choice::Reserved(_) | Choice::Free(_) | Choice::ReservedUnreachable(_) => return None,
        // One that was just created differs in nothing: it was not Available when it was seen last.
        Choice::NoMatch if old.phase == VolumePhase::Pending => return None,
        Choice::NoMatch => fit(old, claim, view.home(claim), asker).err()?,
    };
    Some(format!(
        "reserved for PVC \"{}\" although it would not have been chosen here: {}",
        claim.key,
        reason.first()
    ))
}
