//! What a view shows once a write has been made.
//!
//! A write that was sent is taken for done at once, so that the next decision does not give the same
//! volume away again; `plan` takes every write for done. Not here: taking one back (a newer observation
//! does).

use super::decision::{ChosenBy, NewStatus, ObjectRef, Remaining, Write};
use super::view::View;
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, MIGRATED_TO,
    STORAGE_PROVISIONER, TENANT, YES,
};
use crate::model::{
    Annotations, Claim, ClaimKey, ClaimPhase, ClassRequest, Reported, Reservation, Volume,
};

impl View {
    /// Shows `write` as done. An object that is not in the view stays out of it.
    pub fn assume(&mut self, write: &Write) {
        match write {
            Write::Reserve { volume, claim, chosen, tenant } => {
                self.change_volume(&volume.name, |volume| {
                    reserve(volume, claim, *chosen);
                    if tenant.is_some() {
                        volume.labels = volume.labels.with(TENANT, tenant.as_deref());
                    }
                });
                self.remove_pending(&claim.name);
            }
            Write::Unreserve { volume, left } => {
                self.change_volume(&volume.name, |volume| unreserve(volume, *left));
            }
            Write::Phase { volume, phase, .. } => {
                self.change_volume(&volume.name, |volume| volume.phase = phase.clone());
            }
            Write::SetVolumeName { claim, volume, chosen } => {
                self.change_claim(&claim.name, |claim| {
                    claim.volume = Some(volume.clone());
                    claim.annotations.insert(BIND_COMPLETED, YES);
                    mark(&mut claim.annotations, *chosen);
                });
            }
            Write::Status { claim, status } => {
                self.change_claim(&claim.name, |claim| report(claim, status));
            }
            Write::SetClass { claim, class } => self.change_claim(&claim.name, |claim| {
                claim.class_field = ClassRequest::Named(class.clone());
            }),
            Write::SetProvisioner { claim, provisioner, migrated_to } => {
                self.change_claim(&claim.name, |claim| {
                    claim.annotations.insert(STORAGE_PROVISIONER, provisioner);
                    claim.annotations.insert(BETA_STORAGE_PROVISIONER, provisioner);
                    if migrated_to.is_some() {
                        mark_driver(&mut claim.annotations, *migrated_to);
                    }
                });
            }
            Write::MigrateClaim { claim, driver } => {
                self.change_claim(&claim.name, |claim| {
                    mark_driver(&mut claim.annotations, *driver);
                });
            }
            Write::MigrateVolume { volume, driver, removed } => {
                self.change_volume(&volume.name, |volume| {
                    mark_driver(&mut volume.annotations, *driver);
                    let kept = volume.finalizers.iter().filter(|name| !removed.contains(name));
                    volume.finalizers = kept.collect();
                });
            }
        }
    }
}

fn reserve(volume: &mut Volume, claim: &ObjectRef<ClaimKey>, chosen: ChosenBy) {
    volume.reservation = match &claim.uid {
        Some(uid) => Reservation::Held(claim.name.clone(), uid.clone()),
        None => Reservation::Named(claim.name.clone()),
    };
    match chosen {
        ChosenBy::Binder => volume.annotations.insert(BOUND_BY_CONTROLLER, YES),
        ChosenBy::Other => volume.annotations.remove(BOUND_BY_CONTROLLER),
    }
}

fn unreserve(volume: &mut Volume, left: Remaining) {
    volume.reservation = match (left, volume.reservation.key()) {
        (Remaining::Name, Some(key)) => Reservation::Named(key.clone()),
        (Remaining::Name, None) | (Remaining::Nothing, _) => Reservation::Free,
    };
    volume.annotations.remove(BOUND_BY_CONTROLLER);
}

fn mark(annotations: &mut Annotations, chosen: ChosenBy) {
    match chosen {
        ChosenBy::Binder => annotations.insert(BOUND_BY_CONTROLLER, YES),
        ChosenBy::Other => {}
    }
}

fn mark_driver(annotations: &mut Annotations, driver: Option<&str>) {
    match driver {
        Some(driver) => annotations.insert(MIGRATED_TO, driver),
        None => annotations.remove(MIGRATED_TO),
    }
}

fn report(claim: &mut Claim, status: &NewStatus) {
    match status {
        NewStatus::Pending => {
            claim.phase = ClaimPhase::Pending;
            claim.reported = Reported::default();
        }
        NewStatus::Lost => {
            claim.phase = ClaimPhase::Lost;
            claim.reported = Reported::default();
        }
        NewStatus::Bound { access_modes, capacity, attributes_class } => {
            claim.phase = ClaimPhase::Bound;
            claim.reported.access_modes = access_modes.clone();
            if capacity.is_some() {
                claim.reported.capacity.clone_from(capacity);
                claim.reported.attributes_class.clone_from(attributes_class);
            }
        }
    }
}
