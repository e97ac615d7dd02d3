//! A rule for whose data is on a volume: no claim is given that of another.
//!
//! The data is that of the claim which was last bound to the volume. A person who changes the reservation, or
//! creates the volume again, says whose it is: that claim's, or no claim's.

use std::collections::BTreeMap;

use bindery_sim::Accepted;

use super::seen::Seen;
use super::{CLAIMS, Found, Invariant, VOLUMES, path, reserved_for, text};

/// It reserves a volume that no claim has yet, as a binder does.
const SCHEDULER: &str = "system:kube-scheduler";

/// Whose data is on which volume: claims, by namespace and name, by the volume's name.
#[derive(Default)]
pub(super) struct Owners(BTreeMap<String, String>);

impl Owners {
    /// Judges a controller's write: the one that gives a free volume to a claim.
    pub(super) fn judge(&self, write: &Accepted) -> Found {
        let (VOLUMES, Some(before), Some(after)) = (write.resource, &write.before, &write.after)
        else {
            return Vec::new();
        };
        let (volume, claim) = (path(after), reserved_for(after));
        if !reserved_for(before).is_empty() || claim.is_empty() {
            return Vec::new();
        }
        let owner = self.0.get(&volume).filter(|owner| **owner != claim);
        let reported = |owner| {
            let text = format!("volume {volume} with the data of {owner} is given to {claim}");
            (Invariant::DataStays, text)
        };
        owner.map(reported).into_iter().collect()
    }

    /// Takes a write in.
    pub(super) fn learn(&mut self, seen: &Seen, write: &Accepted, is_ours: bool) {
        match (write.resource, &write.before, &write.after) {
            (VOLUMES, before, Some(after)) => {
                let (was, is) = (before.as_deref().map(reserved_for), reserved_for(after));
                let is_changed = was.as_ref() != Some(&is);
                let is_emptied = before.as_deref().is_some_and(|before| {
                    text(before, "/spec/persistentVolumeReclaimPolicy") == "Recycle"
                        && matches!(text(before, "/status/phase"), "Released" | "Failed")
                });
                let is_persons = !is_ours && write.user != SCHEDULER;
                if is_changed && (is_persons || is_emptied) {
                    self.note(path(after), is);
                }
            }
            (CLAIMS, _, Some(claim)) if text(claim, "/status/phase") == "Bound" => {
                let volume = seen.volume(text(claim, "/spec/volumeName"));
                let uid = text(claim, "/metadata/uid");
                if let Some(volume) = volume.filter(|it| text(it, "/spec/claimRef/uid") == uid) {
                    self.note(path(volume), path(claim));
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, volume: String, owner: String) {
        if owner.is_empty() {
            self.0.remove(&volume);
        } else {
            self.0.insert(volume, owner);
        }
    }
}
