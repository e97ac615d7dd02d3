//! What other binders do, as far as it concerns this one.
//!
//! Who binds alone and sees Kubernetes' own binder at work stops to bind: two would undo each other. Who
//! looks on tells where the other chose what this one would not have chosen.

use tokio::time::Instant;

use super::Reconciler;
use crate::api::managers::InTree;
use crate::binding::{
    Choice, EventType, FitCheck, ObjectEvent, ObjectKey, choose, fit, ranks_alike,
};
use crate::controller::mode::ControllerMode;
use crate::model::annotations::BOUND_BY_CONTROLLER;
use crate::model::{BindingMode, Reservation, Stage, Volume, VolumeName, VolumePhase};

impl Reconciler {
    /// Looks at a change of a volume by somebody else, before it is taken in.
    pub(super) fn look_at_others(&mut self, new: &Volume, in_tree: InTree, now: Instant) {
        let old = match self.in_flight.get(&ObjectKey::Volume(new.name.clone())) {
            Some(change) => change.before_volume(),
            None => self.view.volume(&new.name),
        };
        let (Some(old), Some(version)) = (old.cloned(), &new.version) else { return };
        if !old.version.as_ref().is_some_and(|seen| version.is_newer_than(seen)) {
            return;
        }
        // The author is that of the uid: whoever edits the rest of a reservation leaves it the other binder's.
        let is_kept = old.reservation.uid() != new.reservation.uid()
            && matches!(new.reservation, Reservation::Held(..));
        let is_bound = old.phase != new.phase && new.phase == VolumePhase::Bound;
        match self.mode {
            ControllerMode::Full if is_kept && in_tree.reservation => {
                self.note_foreign(&new.name, "reserved it", now);
            }
            ControllerMode::Full if is_bound && in_tree.phase => {
                self.note_foreign(&new.name, "made its phase Bound", now);
            }
            // One of several replicas tells it: who does not lead tells nothing and would only gather.
            ControllerMode::Observe | ControllerMode::Prebind
                if self.is_leading
                    && is_kept
                    && old.reservation == Reservation::Free
                    && in_tree.reservation =>
            {
                self.compare(&old, new);
            }
            ControllerMode::Full | ControllerMode::Observe | ControllerMode::Prebind => {}
        }
    }

    /// One write is enough: whatever is bound after it may be undone.
    fn note_foreign(&mut self, name: &VolumeName, deed: &'static str, now: Instant) {
        self.sighting =
            Some(format!("PersistentVolume \"{name}\": kube-controller-manager {deed}"));
        self.other_binder = Some((name.clone(), deed));
        self.give_way(true, now);
    }

    /// Tells whoever looks at the volume that gave another binder away, also once a replica leads that saw it before.
    pub(super) fn tell_other_binder(&mut self) {
        let Some((name, deed)) = &self.other_binder else { return };
        let Some(volume) = self.view.volume(name).cloned() else { return };
        let text = format!(
            "kube-controller-manager binds volumes too: it {deed}; two binders would undo each other's bindings, so \
             Bindery only observes from now on; start kube-controller-manager with \
             --controllers=*,-persistentvolume-binder-controller, then {}",
            self.remedy
        );
        self.tell_of(&volume, EventType::Warning, "ForeignBinder", text);
    }

    /// This loop, with what a person does for it to bind again.
    pub fn cleared_by(self, remedy: String) -> Self {
        Self { remedy, ..self }
    }

    /// What another binder did, once.
    pub fn take_sighting(&mut self) -> Option<String> {
        self.sighting.take()
    }

    /// Falls back from `full` while another binder is known to be at work, and returns to it afterwards. Either way
    /// everything is decided about anew.
    pub fn give_way(&mut self, is_other_at_work: bool, now: Instant) {
        let mode = match self.started_in {
            ControllerMode::Full if is_other_at_work => ControllerMode::Observe,
            mode @ (ControllerMode::Full | ControllerMode::Observe | ControllerMode::Prebind) => {
                mode
            }
        };
        if mode == self.mode {
            return;
        }
        if !is_other_at_work {
            self.other_binder = None;
        }
        let is_leading = self.is_leading;
        self.lead(false, now);
        self.mode = mode;
        self.lead(is_leading, now);
    }

    /// Whether it writes less than it was started to.
    pub fn has_given_way(&self) -> bool {
        self.mode != self.started_in
    }

    /// Tells if a claim was given another volume than it would have been given here. Equal volumes count
    /// as one, and what a scheduler chooses is its own.
    fn compare(&mut self, old: &Volume, new: &Volume) {
        let Some(claim) = new.reservation.key().and_then(|key| self.view.claim(key)).cloned()
        else {
            return;
        };
        let is_open = claim.stage() == Stage::Unbound && claim.volume.is_none();
        if !is_open
            || !new.annotations.has(BOUND_BY_CONTROLLER)
            || self.view.binding_mode(&claim) == BindingMode::WaitForFirstConsumer
        {
            return;
        }
        let asker = FitCheck::Controller(BindingMode::Immediate);
        let text = match choose(&self.view, &claim, asker) {
            Choice::Reserved(other) | Choice::Free(other)
                if other.name != old.name && !ranks_alike(&other, old) =>
            {
                format!(
                    "kept for claim \"{}\" although volume \"{}\" would have been chosen here",
                    claim.key, other.name
                )
            }
            Choice::Reserved(_) | Choice::Free(_) | Choice::ReservedUnreachable(_) => return,
            // One that was just created is no news: it was not Available when it was seen last.
            Choice::NoMatch if old.phase == VolumePhase::Pending => return,
            Choice::NoMatch => match fit(old, &claim, self.view.home(&claim), asker) {
                Ok(_) => return,
                Err(mismatches) => format!(
                    "kept for claim \"{}\" although it would not have been chosen here: {}",
                    claim.key,
                    mismatches.first()
                ),
            },
        };
        self.divergences += 1;
        self.tell_of(new, EventType::Normal, "DifferentChoice", text);
    }

    fn tell_of(
        &mut self,
        volume: &Volume,
        severity: EventType,
        reason: &'static str,
        text: String,
    ) {
        if !self.is_leading {
            return;
        }
        let on = ObjectKey::Volume(volume.name.clone());
        let announcement = ObjectEvent::new(on, severity, reason, text);
        self.events.tell_once(&self.view, &ObjectKey::Volume(volume.name.clone()), announcement);
    }
}
