//! Where our controller ends otherwise than Kubernetes' binder on purpose: each difference with its reason,
//! recognised by what it does, so that nothing else passes for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bindery::binding::{FitCheck, Mismatch, fit};
use bindery::model::{
    Claim, ClaimKey, Deletion, Reservation, Stage, Volume, VolumeName, VolumePhase,
};
use serde_json::Value;

use super::scene::{Reported, Scene};

/// Both servers after the same steps.
pub(super) struct Both<'a> {
    pub(super) ours: &'a Scene,
    pub(super) theirs: &'a Scene,
}

/// A deliberate difference.
pub(super) struct Documented {
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
    /// Whether what follows is the same all the same.
    pub(super) is_harmless: bool,
    /// What of the two it explains for a claim.
    explains: fn(&Seen<'_>) -> Option<Explained>,
}

pub(super) const ALL: &[Documented] = &[
    Documented {
        name: "kept-volume-first",
        reason: "a volume that is reserved for the claim comes before a free one with fewer access modes; \
                 there it stays unused",
        is_harmless: false,
        explains: kept_volume_first,
    },
    Documented {
        name: "agreed-pair-must-fit",
        reason: "two that name each other are rejected if their volume modes differ, as no pod could use the \
                 pair; there nothing is checked",
        is_harmless: false,
        explains: agreed_pair_must_fit,
    },
    Documented {
        name: "lost-claim-needs-its-volume",
        reason: "a Lost claim does not take a volume of the old name that has not what it needs",
        is_harmless: false,
        explains: lost_claim_needs_its_volume,
    },
    Documented {
        name: "terminating-claim-gets-nothing",
        reason: "a claim that is being deleted is given no volume; there it is",
        is_harmless: false,
        explains: terminating_claim_gets_nothing,
    },
    Documented {
        name: "mark-of-a-moved-plug-in-stays",
        reason: "the mark of the driver that a claim asks in a plug-in's place is set and left; there it is \
                 taken back at once",
        is_harmless: true,
        explains: mark_of_a_moved_plug_in_stays,
    },
];

/// The objects that an explanation covers: claims, and volumes on either server.
#[derive(Clone, Debug, Default)]
pub(super) struct Explained {
    claims: BTreeSet<String>,
    ours: BTreeSet<String>,
    theirs: BTreeSet<String>,
}

/// The same claim on both servers.
struct Seen<'a> {
    both: &'a Both<'a>,
    name: &'a str,
    ours: Arc<Claim>,
    theirs: Arc<Claim>,
    volumes: BTreeMap<VolumeName, Arc<Volume>>,
}

/// The differences that together explain how the two differ; nothing if something is left.
pub(super) fn explain(both: &Both<'_>) -> Option<Vec<&'static Documented>> {
    let (ours, theirs) = (both.ours.view(), both.theirs.view());
    let volumes: BTreeMap<_, _> =
        ours.volumes().map(|volume| (volume.name.clone(), Arc::clone(volume))).collect();
    let (mut found, mut all) = (BTreeMap::new(), Explained::default());
    for name in both.ours.claims.keys() {
        let key = ClaimKey::new(both.ours.tag.as_str(), name.as_str());
        let (Some(ours), Some(theirs)) = (ours.claim(&key), theirs.claim(&key)) else { continue };
        let (ours, theirs) = (Arc::clone(ours), Arc::clone(theirs));
        let seen = Seen { both, name, ours, theirs, volumes: volumes.clone() };
        for documented in ALL {
            if let Some(explained) = (documented.explains)(&seen) {
                found.insert(documented.name, documented);
                all.claims.extend(explained.claims);
                all.ours.extend(explained.ours);
                all.theirs.extend(explained.theirs);
            }
        }
    }
    let ours = without(both.ours.reported(), &all.claims, &all.ours);
    let theirs = without(both.theirs.reported(), &all.claims, &all.theirs);
    (!found.is_empty() && ours.is_like(&theirs)).then(|| found.into_values().collect())
}

fn without(reported: Reported, claims: &BTreeSet<String>, volumes: &BTreeSet<String>) -> Reported {
    let Reported { claims: mut reported_claims, volumes: mut reported_volumes } = reported;
    reported_claims.retain(|name, _| !claims.contains(name));
    reported_volumes.retain(|(_, name)| !volumes.contains(name));
    Reported { claims: reported_claims, volumes: reported_volumes }
}

impl Seen<'_> {
    /// The claim and these volumes.
    fn explained(&self, volumes: &[Option<&VolumeName>]) -> Explained {
        let names: BTreeSet<String> =
            volumes.iter().flatten().map(|name| name.as_str().to_owned()).collect();
        let claims = BTreeSet::from([self.name.to_owned()]);
        Explained { claims, ours: names.clone(), theirs: names }
    }

    /// The volume that our claim names, on our server.
    fn named(&self) -> Option<&Volume> {
        self.ours.volume.as_ref().and_then(|name| self.volumes.get(name)).map(|volume| &**volume)
    }

    /// Returns whether theirs is bound to the volume that ours names, and ours is not.
    fn is_bound_there_only(&self) -> bool {
        self.theirs.stage() == Stage::Completed && self.theirs.volume == self.ours.volume
    }
}

fn kept_volume_first(seen: &Seen<'_>) -> Option<Explained> {
    let (kept, other) = (seen.ours.volume.as_ref()?, seen.theirs.volume.as_ref()?);
    let there: &Value = seen.both.theirs.volumes.get(kept.as_str())?;
    let is_unused = there["spec"]["claimRef"]["name"] == seen.name
        && there["spec"]["claimRef"]["uid"].is_null();
    (kept != other && is_unused).then(|| seen.explained(&[Some(kept), Some(other)]))
}

fn agreed_pair_must_fit(seen: &Seen<'_>) -> Option<Explained> {
    let volume = seen.named()?;
    let is_agreed = volume.reservation == Reservation::Named(seen.ours.key.clone());
    let is_denied = seen.ours.stage() == Stage::Unbound && seen.is_bound_there_only();
    let against = fit(volume, &seen.ours, None, FitCheck::Prebind).err()?;
    let is_unusable =
        against.iter().any(|mismatch| matches!(mismatch, Mismatch::VolumeMode { .. }));
    (is_agreed && is_denied && is_unusable).then(|| seen.explained(&[Some(&volume.name)]))
}

fn lost_claim_needs_its_volume(seen: &Seen<'_>) -> Option<Explained> {
    let volume = seen.named()?;
    let is_free = volume.reservation == Reservation::Free && volume.phase == VolumePhase::Available;
    let is_lost = seen.both.ours.claims[seen.name]["status"]["phase"] == "Lost";
    let against = fit(volume, &seen.ours, None, FitCheck::Prebind).err()?;
    let is_serious = against.iter().any(is_serious);
    let explains = is_free && is_lost && is_serious && seen.is_bound_there_only();
    explains.then(|| seen.explained(&[Some(&volume.name)]))
}

fn terminating_claim_gets_nothing(seen: &Seen<'_>) -> Option<Explained> {
    let is_denied = seen.ours.deletion == Deletion::Terminating
        && seen.ours.stage() == Stage::Unbound
        && seen.theirs.stage() == Stage::Completed;
    is_denied.then(|| seen.explained(&[seen.theirs.volume.as_ref()]))
}

fn mark_of_a_moved_plug_in_stays(seen: &Seen<'_>) -> Option<Explained> {
    const MARK: &str = "pv.kubernetes.io/migrated-to";
    let reported = |scene: &Scene| scene.reported().claims.remove(seen.name);
    let (mut ours, theirs) = (reported(seen.both.ours)?, reported(seen.both.theirs)?);
    let mark = ours["annotations"].as_object_mut()?.remove(MARK)?;
    let is_asked = mark == theirs["annotations"]["volume.kubernetes.io/storage-provisioner"];
    (is_asked && ours == theirs).then(|| seen.explained(&[]))
}

fn is_serious(mismatch: &Mismatch) -> bool {
    matches!(
        mismatch,
        Mismatch::VolumeMode { .. } | Mismatch::AccessModes { .. } | Mismatch::TooSmall { .. }
    )
}
