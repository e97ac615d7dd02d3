//! What must hold whenever the API server shows a change, and once nothing goes wrong any more.

use std::collections::{BTreeMap, BTreeSet};

use bindery_sim::Accepted;
use serde_json::Value;

use super::media::{NodeDisks, Tally};
use super::people::{ADMIN, text};

/// The user of the provisioner.
pub(super) const PROVISIONER: &str = "provisioner";

/// The disks, and what was made of them so far.
pub(super) struct Judge {
    pub(super) media: NodeDisks,
    /// The uids of volumes that a person made available with what was on their disk.
    given_away: BTreeSet<String>,
    pub(super) tally: Tally,
    pub(super) breaches: Vec<String>,
    /// The accepted writes to volumes, a line each.
    pub(super) history: Vec<String>,
    /// How often each disk was offered.
    offers: BTreeMap<usize, u64>,
}

impl Judge {
    pub(super) fn new(media: NodeDisks) -> Self {
        Self {
            media,
            given_away: BTreeSet::new(),
            tally: Tally::new(),
            breaches: Vec::new(),
            history: Vec::new(),
            offers: BTreeMap::new(),
        }
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    /// Notes what is broken, where it is seen.
    fn breach(&mut self, what: String) {
        self.note(what.clone());
        self.breaches.push(what);
    }

    pub(super) fn note(&mut self, line: String) {
        self.history.push(line);
    }

    /// Takes in a write that the API server has accepted just now.
    pub(super) fn on_write(&mut self, write: &Accepted) {
        if !["persistentvolumes", "persistentvolumeclaims"].contains(&write.resource) {
            return;
        }
        let object = write.object();
        let (name, phase) = (text(object, "/metadata/name"), text(object, "/status/phase"));
        let gone = if write.after.is_none() { " (gone)" } else { "" };
        let sent = &write.sent;
        self.note(format!("{}: {:?} {name} {phase}{gone} {sent}", write.user, write.method));
        if write.resource == "persistentvolumeclaims" {
            return;
        }
        if let Some(after) = &write.after {
            self.judge_offer(write, after);
        }
        if write.user == PROVISIONER {
            self.judge_removal(write);
        }
        self.judge_data();
    }

    /// No volume that a claim can get has a disk with data of a former tenant.
    fn judge_offer(&mut self, write: &Accepted, volume: &Value) {
        let uid = text(volume, "/metadata/uid").to_owned();
        let was_reserved =
            write.before.as_ref().is_some_and(|before| !before["spec"]["claimRef"].is_null());
        let is_free = volume["spec"]["claimRef"].is_null();
        let Some(medium) = self.medium_of(volume) else {
            self.breach(format!("UnknownDisk: {volume}"));
            return;
        };
        if write.user == ADMIN && was_reserved && is_free {
            self.given_away.insert(uid.clone());
            // Withdrawn while its disk is unplugged, it leaves a disk with data that a person has to decide about.
            self.media.media[medium].is_doubtful = true;
        }
        if write.user == PROVISIONER && was_reserved && is_free {
            self.count("offers");
            let offers = self.offers.entry(medium).or_default();
            *offers += 1;
            if *offers > 1 {
                self.count("offers again");
            }
        }
        let is_offered = is_free && volume["metadata"]["deletionTimestamp"].is_null();
        if is_offered && !self.given_away.contains(&uid) && !self.media.is_clean(medium) {
            let user = write.user.clone();
            self.breach(format!("DirtyOffer: disk {medium}, by a write of {user}: {volume}"));
        }
    }

    /// The provisioner deletes no volume of a claim that exists.
    fn judge_removal(&mut self, write: &Accepted) {
        let is_deleted = |object: &Value| !object["metadata"]["deletionTimestamp"].is_null();
        let is_removed = write.after.as_ref().is_none_or(|after| is_deleted(after));
        let Some(before) = write.before.as_ref().filter(|_| is_removed) else { return };
        let claim = text(before, "/spec/claimRef/uid");
        if self.media.live.contains(claim) {
            self.breach(format!("DeletedUnderClaim: {before}"));
        }
        if !claim.is_empty() {
            self.count("released volumes deleted");
        }
    }

    /// Nothing but its tenant changes what is on a disk while the claim exists, or while a pod uses it.
    pub(super) fn judge_data(&mut self) {
        for medium in self.media.changed() {
            self.breach(format!("Wiped: disk {medium}, whose data is still a tenant's"));
        }
    }

    /// The disk that a volume was made for.
    pub(super) fn medium_of(&self, volume: &Value) -> Option<usize> {
        let mapping = volume["metadata"]["annotations"]["bindery.dev/disk-mapping"].as_str()?;
        self.media.recorded(mapping)
    }

    /// Returns why the disk of a slot is not as it must be in the end: no claim exists, no pod runs, and every policy is Delete.
    pub(super) fn unfinished(&self, slot: usize, volume: Option<&Value>) -> Option<String> {
        let medium = self.media.slots[slot].medium?;
        let state = &self.media.media[medium];
        let is_own = volume.is_none_or(|volume| self.medium_of(volume) == Some(medium));
        if is_own && self.media.is_half_cleaned(medium) {
            return Some(format!("disk {medium} is half cleaned: {volume:?}"));
        }
        let Some(volume) = volume else {
            // Nothing can be said of a disk but that it is dirty: a person decides.
            let is_held = !self.media.is_clean(medium) && state.is_doubtful;
            return (!is_held).then(|| format!("disk {medium} has no volume"));
        };
        let phase = text(volume, "/status/phase");
        if self.medium_of(volume) != Some(medium) {
            let is_held = state.is_doubtful && phase == "Released";
            return (!is_held)
                .then(|| format!("disk {medium} has the volume of another: {volume}"));
        }
        let is_given_away = self.given_away.contains(text(volume, "/metadata/uid"));
        if phase != "Available" || !volume["metadata"]["deletionTimestamp"].is_null() {
            return Some(format!("the volume of disk {medium} is {phase}: {volume}"));
        }
        if !volume["spec"]["claimRef"].is_null() {
            return Some(format!("disk {medium} is not offered: {volume}"));
        }
        let is_clean = is_given_away || self.media.is_clean(medium);
        (!is_clean).then(|| format!("disk {medium} is offered with data: {volume}"))
    }
}
