//! What other binders do, as far as it concerns this one.
//!
//! Who binds alone and sees Kubernetes' own binder at work stops to bind: two would undo each other. Who
//! looks on tells where the other chose what this one would not have chosen.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::Engine;
use crate::binding::{
    Announcement, Asker, Choice, ObjectKey, Severity, Subject, choose, fit, ranks_alike,
};
use crate::controller::mode::Mode;
use crate::k8s::managers::InTree;
use crate::model::annotations::BOUND_BY_CONTROLLER;
use crate::model::{BindingMode, Reservation, Stage, Volume, VolumeName, VolumePhase};

/// So many volumes within [`FOREIGN_WINDOW`] are no leftovers of a binder that is just being switched off.
const FOREIGN_VOLUMES_COUNT: usize = 3;

/// How long a volume that another binder wrote to counts.
const FOREIGN_WINDOW: Duration = Duration::from_mins(1);

/// Volumes that Kubernetes' own binder wrote to, and when.
#[derive(Debug, Default)]
pub(super) struct Foreign(BTreeMap<VolumeName, Instant>);

impl Engine {
    /// Looks at a change of a volume by somebody else, before it is taken in.
    pub(super) fn look_at_others(&mut self, new: &Volume, in_tree: InTree, now: Instant) {
        let old = match self.changes.get(&ObjectKey::Volume(new.name.clone())) {
            Some(change) => change.before_volume(),
            None => self.view.volume(&new.name),
        };
        let (Some(old), Some(version)) = (old.cloned(), &new.version) else { return };
        if !old.version.as_ref().is_some_and(|seen| version.is_newer_than(seen)) {
            return;
        }
        let is_kept =
            old.reservation != new.reservation && matches!(new.reservation, Reservation::Held(..));
        let is_bound = old.phase != new.phase && new.phase == VolumePhase::Bound;
        match self.mode {
            Mode::Full if (is_kept && in_tree.reservation) || (is_bound && in_tree.phase) => {
                self.note_foreign(new, now);
            }
            // One of several replicas tells it: who does not lead tells nothing and would only gather.
            Mode::Observe | Mode::Prebind
                if self.is_leading
                    && is_kept
                    && old.reservation == Reservation::Free
                    && in_tree.reservation =>
            {
                self.compare(&old, new);
            }
            Mode::Full | Mode::Observe | Mode::Prebind => {}
        }
    }

    fn note_foreign(&mut self, volume: &Volume, now: Instant) {
        let foreign = &mut self.foreign.0;
        foreign.retain(|_, at| now.duration_since(*at) < FOREIGN_WINDOW);
        foreign.insert(volume.name.clone(), now);
        if foreign.len() < FOREIGN_VOLUMES_COUNT {
            return;
        }
        self.mode = Mode::Observe;
        self.view.forget_turns();
        tracing::error!(
            "Kubernetes' own binder is at work; two would undo each other, so that nothing is bound here \
             any more; switch it off, then start this process again"
        );
        let text = "kube-controller-manager binds volumes too; Bindery only observes from now on; start \
                    kube-controller-manager with --controllers=*,-persistentvolume-binder-controller, \
                    then start the controller again";
        self.tell_of(volume, Severity::Warning, "ForeignBinder", text.to_owned());
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
        let asker = Asker::Controller(BindingMode::Immediate);
        let text = match choose(&self.view, &claim, asker) {
            Choice::Kept(other) | Choice::Free(other)
                if other.name != old.name && !ranks_alike(&other, old) =>
            {
                format!(
                    "kept for claim \"{}\" although volume \"{}\" would have been chosen here",
                    claim.key, other.name
                )
            }
            Choice::Kept(_) | Choice::Free(_) | Choice::KeptOutOfReach(_) => return,
            // One that was just created is no news: it was not Available when it was seen last.
            Choice::Nothing if old.phase == VolumePhase::Pending => return,
            Choice::Nothing => match fit(old, &claim, asker) {
                Ok(_) => return,
                Err(mismatches) => format!(
                    "kept for claim \"{}\" although it would not have been chosen here: {}",
                    claim.key,
                    mismatches.first()
                ),
            },
        };
        self.divergences += 1;
        self.tell_of(new, Severity::Normal, "DifferentChoice", text);
    }

    fn tell_of(&mut self, volume: &Volume, severity: Severity, reason: &'static str, text: String) {
        if !self.is_leading {
            return;
        }
        let on = Subject::Volume(volume.name.clone());
        let announcement = Announcement::new(on, severity, reason, text);
        self.telling.tell_once(&self.view, &ObjectKey::Volume(volume.name.clone()), announcement);
    }
}
