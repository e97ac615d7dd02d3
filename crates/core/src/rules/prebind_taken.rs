//! Prebinding to a volume or a claim that is taken.

use super::judging::actor::Actor;
use super::judging::returning::returns_to;
use super::judging::prebind::{OTHER_CLAIM, REQUEST_TYPES, is_reserved_for, not_available};
use super::prelude::*;
use crate::binding::{Pairing, pairing};
use crate::model::annotations::BOUND_BY_CONTROLLER;
use crate::model::{Claim, Deletion, ReclaimPolicy, Reservation, Volume};

pub(super) static RULE: Rule = Rule {
    id: "prebind-taken",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC names a PV that is reserved for another PVC, or a PV is reserved for a PVC that has \
            another PV.",
        consequence: "The PVC stays Pending forever, or the PV stays reserved and unused.",
        instead: "Name an available PV, or let the binder choose. The message about a PVC does not reveal \
            anything about the PV: ask your platform team.",
    },
    policy: PolicyForm::NotExpressible(
        "It compares a PV with a PVC, and a request shows one of the two. With `--volumes-as-parameters`, a policy denies \
         it where a PVC names a PV.",
    ),
    denied: &[
        Example::new("naming a PV that another PVC has")
            .given(PAIR)
            .by(Persona::VolumeViewer)
            .creates("claim qa/data 10Gi RWO volume=pv-a")
            .then(&[Fact::Is("pvc/qa/data", "/status/phase", "\"Pending\"")]),
        Example::new("naming a PV that is reserved for another PVC")
            .given(
                "volume pv-a 10Gi RWO phase=Available for=db/data\n\
                    claim qa/data 10Gi RWO class=none-such",
            )
            .by(Persona::VolumeViewer)
            .merges("pvc/qa/data", NAME_PV_A)
            .then(&[Fact::Is("pvc/qa/data", "/status/phase", "\"Pending\"")]),
        Example::new("reserving a new PV for a PVC that has one")
            .given(PAIR)
            .creates("volume pv-b 10Gi RWO for=db/data")
            .then(&[
                Fact::Is("pv/pv-b", "/status/phase", "\"Available\""),
                Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\""),
            ]),
        Example::new("reserving a PV for a PVC that has one")
            .given("pair pv-a db/data 10Gi RWO\nvolume pv-b 10Gi RWO phase=Available")
            .merges("pv/pv-b", RESERVE)
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
    ],
    allowed: &[
        Example::new("creating a PV in the place of one that is being deleted, for the same PVC")
            .given(
                "volume pv-a 10Gi RWO csi=disk.example.com handle=vol-1 held=db/data terminating\n\
                    claim db/data 10Gi RWO volume=pv-a",
            )
            .creates(
                "volume pv-b 10Gi RWO csi=disk.example.com handle=vol-1 policy=Retain for=db/data",
            ),
        Example::new("naming the PV that the trash holds for the name")
            .given(
                "volume pv-a 10Gi RWO policy=Retain phase=Released dead=db/data \
                    annotation=bindery.dev/trash:{} \
                    annotation=bindery.dev/trash-soft:dead0000-0000-4000-8000-000000000000",
            )
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO volume=pv-a"),
        Example::new("naming an Available PV")
            .given(FREE)
            .by(Persona::VolumeViewer)
            .creates("claim qa/data 10Gi RWO volume=pv-a"),
        Example::new("naming a PV whose PVC was deleted")
            .given("volume pv-a 10Gi RWO phase=Released dead=db/data\nclaim qa/data 10Gi RWO")
            .by(Persona::VolumeViewer)
            .merges("pvc/qa/data", NAME_PV_A),
        Example::new("reserving a PV for a Pending PVC")
            .given(
                "claim db/data 10Gi RWO class=none-such\n\
                    volume pv-b 10Gi RWO class=none-such phase=Available",
            )
            .merges("pv/pv-b", RESERVE),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    if change.actor.is_binder() || change.actor == Actor::Scheduler {
        return Vec::new();
    }
    let named = change.claim().and_then(|claim| claim.created_or(|old, new| old.volume != new.volume));
    let of_claim = named.and_then(|new| claim(new, evidence));
    let written = change.volume().and_then(Transition::written);
    let reserved = written.filter(|(old, new)| {
        old.is_none_or(|old| old.reservation != new.reservation)
    });
    let of_volume = reserved.and_then(|(old, new)| volume(old, new, evidence));
    of_claim.or(of_volume).into_iter().collect()
}

/// A claim that names a volume. The text never depends on who has it: a denial must not reveal anything about other
/// namespaces to a tenant.
fn claim(new: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    let name = new.volume.as_ref()?;
    let lookup = evidence.volume(name);
    let volume = match lookup {
        Lookup::Present(volume) => volume,
        Lookup::Absent => return None,
        Lookup::Unknown => {
            return Some(Violation::open("spec.volumeName", Read::Volume(name.clone())));
        }
    };
    // The trash offers it to the name in a moment.
    let home = evidence.namespace(&new.key.namespace).present();
    let is_returning = returns_to(volume, new, home);
    if pairing(volume, new) != Pairing::VolumeElsewhere || is_returning {
        return None;
    }
    let violation = Violation::new("spec.volumeName", not_available(name, &new.key.name))
        .depending_on(Dependency::on(Read::Volume(name.clone()), lookup));
    Some(match &volume.reservation {
        Reservation::Held(key, uid) => {
            let holder = evidence.holder(key, uid);
            let violation =
                violation.depending_on(Dependency::on(Read::Claim(key.clone()), holder));
            match holder {
                Lookup::Present(holder) if holder.deletion == Deletion::Terminating => {
                    violation.as_warning()
                }
                Lookup::Absent => violation.as_warning(),
                Lookup::Present(_) | Lookup::Unknown => violation,
            }
        }
        // No claim can take it, so none has it: `prebind-incomplete` reports that.
        Reservation::Free | Reservation::Incomplete(..) => violation.as_warning(),
        Reservation::Named(_) => violation,
    })
}

/// A volume that is reserved for a claim which has another volume, or for which another one is reserved.
fn volume(old: Option<&Volume>, new: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let (key, lookup) = match &new.reservation {
        Reservation::Named(key) => (key, evidence.claim(key)),
        Reservation::Held(key, uid) => (key, evidence.holder(key, uid)),
        Reservation::Free | Reservation::Incomplete(..) => return None,
    };
    let read = Read::Claim(key.clone());
    let claim = lookup.present();
    let was_reserved = match (old, claim) {
        (None, _) => false,
        (Some(old), Some(claim)) => is_reserved_for(old, claim),
        (Some(old), None) => old.reservation.key() == Some(key),
    };
    if was_reserved {
        return None;
    }
    if lookup == Lookup::Unknown {
        return Some(Violation::open("spec.claimRef", read));
    }
    let dependency = Dependency::on(read, lookup);
    if let Some(claim) = claim
        && pairing(new, claim) == Pairing::ClaimElsewhere
    {
        let other = claim.volume.as_ref()?;
        let has = evidence.volume(other);
        if has.present().is_some_and(|has| takes_the_place_of(new, has)) {
            return None;
        }
        let text = format!(
            "PVC \"{key}\" already has PV \"{other}\"; PV \"{}\" would stay reserved and unused; \
             {OTHER_CLAIM}",
            new.name
        );
        let on_other = Dependency::on(Read::Volume(other.clone()), has);
        let violation = Violation::new("spec.claimRef", text)
            .depending_on(on_other)
            .depending_on(dependency);
        let going = claim.deletion == Deletion::Terminating;
        return Some(if going { violation.as_warning() } else { violation });
    }
    // A scheduler that chose again after its first choice failed; a binder undoes the first.
    let is_chosen_anew = old.is_some_and(|old| old.reservation == Reservation::Free)
        && new.reservation.uid().is_some()
        && new.annotations.has(BOUND_BY_CONTROLLER);
    if is_chosen_anew {
        return None;
    }
    let rival = evidence.reserved_for(key).find(|rival| is_rival(rival, new, claim))?;
    let text = format!(
        "PV \"{}\" is already reserved for PVC \"{key}\"; one of the two would stay unused; \
         name another PVC in spec.claimRef of \"{}\", or remove it if that PV holds no data",
        rival.name, new.name
    );
    let read = Read::Volume(rival.name.clone());
    let on_rival = Dependency::on(read, evidence.volume(&rival.name));
    let violation =
        Violation::new("spec.claimRef", text).depending_on(on_rival).depending_on(dependency);
    let going = claim.is_some_and(|claim| claim.deletion == Deletion::Terminating);
    Some(if going { violation.as_warning() } else { violation })
}

/// Returns whether `new` is of the storage of a volume that is being deleted: once that one and its claim are gone, the next
/// claim of the name gets the data back.
fn takes_the_place_of(new: &Volume, other: &Volume) -> bool {
    other.deletion == Deletion::Terminating
        && new.policy == ReclaimPolicy::Retain
        && new.storage.is_some()
        && new.storage == other.storage
}

/// Returns whether `rival` is reserved for the same claim as `new`, and still of use to it.
fn is_rival(rival: &Volume, new: &Volume, claim: Option<&Claim>) -> bool {
    let counts = match &rival.reservation {
        Reservation::Named(_) => true,
        Reservation::Held(_, uid) => claim.is_some_and(|claim| claim.uid.as_ref() == Some(uid)),
        Reservation::Free | Reservation::Incomplete(..) => false,
    };
    let chosen = claim.is_some_and(|claim| claim.volume.as_ref() == Some(&new.name));
    counts && !chosen && rival.name != new.name && rival.deletion == Deletion::NotAsked
}
