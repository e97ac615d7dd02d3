//! Prebinds: a volume reserved for a claim, or a claim that names a volume, before a binder has acted.
//!
//! From either side and in either order of arrival; what is wrong with one is the list of
//! mismatches that `fit` gives. Each mismatch has a rule of its own.

use super::actor::Actor;
use super::change::{Change, Transition};
use super::resource::{Operation, Resource};
use super::rule::{RequestType, RequestTypes};
use super::violation::{Dependency, Violation};
use crate::binding::{Evidence, FitCheck, Lookup, Mismatch, Pairing, Read, fit, pairing};
use crate::model::{Claim, ClassName, Deletion, Reservation, Volume, VolumeName};

/// A volume and a claim that one change makes name each other, or one the other.
#[derive(Clone, Debug)]
pub struct Prebind<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The claim.
    pub claim: &'a Claim,
    /// From which side the change comes.
    pub side: Side,
    /// How the two point at each other after the change.
    pub pairing: Pairing,
    /// The mismatches that the change brings about.
    pub mismatches: Vec<Mismatch>,
    /// What that rests on.
    pub dependency: Dependency,
}

/// The side from which a prebind comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The volume is written.
    Volume,
    /// A claim that names the volume is written.
    ClaimNames,
    /// A claim is written for which the volume is reserved already.
    ClaimFinds,
}

impl Prebind<'_> {
    /// Returns whether both name each other: the binder asks nothing more of such a pair.
    pub fn is_mutual(&self) -> bool {
        matches!(self.pairing, Pairing::Agreed | Pairing::Bound)
    }

    /// Returns what follows from a pair that lacks what the claim asks for.
    pub fn consequence(&self) -> &'static str {
        match self.side {
            Side::Volume | Side::ClaimNames if self.is_mutual() => "the two would be bound anyway",
            Side::ClaimNames => "the PVC would stay Pending",
            Side::Volume => "the PVC would not use it",
            Side::ClaimFinds => "the binder skips that PV",
        }
    }

    /// The field that made the pair.
    pub fn field(&self) -> &'static str {
        match self.side {
            Side::Volume => "spec.claimRef",
            Side::ClaimNames => "spec.volumeName",
            Side::ClaimFinds => "metadata.name",
        }
    }

    /// The volume in a message about the claim, which must not name it.
    pub fn the_volume(&self) -> &'static str {
        match self.side {
            Side::Volume | Side::ClaimNames => "the PV that it names",
            Side::ClaimFinds => "the PV that is reserved for it",
        }
    }

    /// Returns what is wrong with the pair, and what follows from it. Of the volume, if that is written: what it has,
    /// what the claim requests, and what to do instead. Of the claim, if that is: what it requests, what the volume is
    /// or has instead, and what its author can do.
    pub fn text(
        &self,
        [has, wanted, advice]: [&str; 3],
        [requested, other, first]: [&str; 3],
        consequence: &str,
    ) -> String {
        let (volume, claim) = (&self.volume.name, &self.claim.key);
        match self.side {
            Side::Volume => format!(
                "PV \"{volume}\" {has}, but PVC \"{claim}\", for which it is reserved, requests \
                 {wanted}; {consequence}; {advice}"
            ),
            Side::ClaimNames | Side::ClaimFinds => format!(
                "PVC \"{}\" requests {requested}, but {} {other}; {consequence}; {}",
                claim.name,
                self.the_volume(),
                self.way_out(first)
            ),
        }
    }

    /// Returns what the author of the claim can do, besides `first`.
    pub fn way_out(&self, first: &str) -> String {
        match self.side {
            Side::Volume | Side::ClaimNames => format!("{first} or remove spec.volumeName"),
            Side::ClaimFinds => format!("{first} or ask your platform team"),
        }
    }
}

/// The message about a volume that a claim cannot get. It is the same whether the volume exists or not.
pub fn not_available(volume: &VolumeName, claim: &str) -> String {
    format!(
        "PV \"{volume}\" is not available to PVC \"{claim}\"; the PVC would stay Pending; remove \
         spec.volumeName or ask your platform team"
    )
}

/// What to do about a volume that is reserved for a claim which it does not suit.
pub const OTHER_CLAIM: &str =
    "name another PVC in spec.claimRef, or remove spec.claimRef if the PV holds no data";

/// The requests that can make a prebind, for the rules of this family.
pub const REQUEST_TYPES: RequestTypes = RequestTypes::of(&[
    RequestType::advise(Resource::Volumes, Operation::Create),
    RequestType::advise(Resource::Volumes, Operation::Update),
    RequestType::advise(Resource::Claims, Operation::Create),
    RequestType::advise(Resource::Claims, Operation::Update),
]);

/// One violation per prebind in `change` for which `describe` returns a text, with the weight that `weigh` gives it;
/// an open one if the other half was not seen.
pub fn violations(
    change: &Change,
    evidence: &Evidence<'_>,
    describe: impl Fn(&Prebind<'_>, &Mismatch) -> Option<String>,
    weigh: impl Fn(&Prebind<'_>, Violation) -> Violation,
) -> Vec<Violation> {
    let mut found = Vec::new();
    let prebinds = match prebinds(change, evidence) {
        Ok(prebinds) => prebinds,
        Err(unseen) => return vec![unseen],
    };
    for prebind in prebinds {
        let texts = prebind.mismatches.iter().filter_map(|mismatch| describe(&prebind, mismatch));
        found.extend(texts.map(|text| {
            let violation = Violation::new(prebind.field(), text);
            weigh(&prebind, violation.depending_on(prebind.dependency.clone()))
        }));
    }
    found
}

/// A warning if an unfit volume is reserved for a claim that does not name it: the binder skips such a volume, and
/// the claim may get another.
pub fn unless_found(prebind: &Prebind<'_>, violation: Violation) -> Violation {
    match prebind.side {
        Side::Volume | Side::ClaimNames => violation,
        Side::ClaimFinds => violation.as_warning(),
    }
}

/// A warning where both name each other: Kubernetes binds such a pair whatever size, access modes and classes are.
pub fn unless_mutual(prebind: &Prebind<'_>, violation: Violation) -> Violation {
    if prebind.is_mutual() { violation.as_warning() } else { violation }
}

/// A warning in both cases.
pub fn unless_found_or_mutual(prebind: &Prebind<'_>, violation: Violation) -> Violation {
    unless_found(prebind, unless_mutual(prebind, violation))
}

/// Returns what is wrong with a pair whose classes of this `kind` differ; `reserved` says what
/// happens to a volume that is reserved for such a claim.
pub fn class_text(
    prebind: &Prebind<'_>,
    (kind, reserved): (&str, &str),
    requested: Option<&ClassName>,
    offered: Option<&ClassName>,
) -> String {
    let named = |class: Option<&ClassName>| match class {
        None => format!("no {kind}"),
        Some(name) => format!("{kind} \"{name}\""),
    };
    let (has, requested) = (format!("has {}", named(offered)), named(requested));
    let consequence = match prebind.side {
        Side::Volume | Side::ClaimNames if prebind.is_mutual() => prebind.consequence(),
        Side::ClaimNames => prebind.consequence(),
        Side::Volume | Side::ClaimFinds => reserved,
    };
    prebind.text(
        [
            &has,
            &requested,
            &format!("use the {kind} of the PVC, or remove spec.claimRef if the PV holds no data"),
        ],
        [&requested, &format!("has another {kind}"), &format!("use the {kind} of the PV")],
        consequence,
    )
}

/// Every prebind that `change` makes or worsens.
///
/// The binder completing a reservation and the scheduler making one are not prebinds.
///
/// # Errors
///
/// The open violation, where the object that is to be the other half was not seen.
pub fn prebinds<'a>(
    change: &'a Change,
    evidence: &Evidence<'a>,
) -> Result<Vec<Prebind<'a>>, Violation> {
    if change.actor.is_binder() || change.actor == Actor::Scheduler {
        return Ok(Vec::new());
    }
    if let Some((old, new)) = change.volume().and_then(Transition::written) {
        return from_volume(old, new, evidence);
    }
    let names = |old: &Claim, new: &Claim| old.volume.is_none() && new.volume.is_some();
    let named = change.claim().and_then(|claim| claim.created_or(names));
    named.map_or(Ok(Vec::new()), |new| from_claim(new, evidence))
}

fn from_volume<'a>(
    old: Option<&'a Volume>,
    new: &'a Volume,
    evidence: &Evidence<'a>,
) -> Result<Vec<Prebind<'a>>, Violation> {
    let (key, lookup) = match &new.reservation {
        Reservation::Named(key) => (key, evidence.claim(key)),
        Reservation::Held(key, uid) => (key, evidence.holder(key, uid)),
        Reservation::Free | Reservation::Incomplete(..) => return Ok(Vec::new()),
    };
    let claim = match lookup {
        Lookup::Present(claim) => claim,
        Lookup::Absent => return Ok(Vec::new()),
        Lookup::Unknown if old.is_some_and(|old| is_as_fit(old, new)) => return Ok(Vec::new()),
        Lookup::Unknown => return Err(Violation::open("spec.claimRef", Read::Claim(key.clone()))),
    };
    // Reserved for this very claim: a reservation of its name with a former uid was for another.
    let reserved_before = old.filter(|old| is_reserved_for(old, claim));
    let is_bound =
        |old: &Volume| old.reservation.uid().is_some_and(|uid| Some(uid) == claim.uid.as_ref());
    if reserved_before.is_some_and(is_bound) {
        // For the rules of bound volumes to judge.
        return Ok(Vec::new());
    }
    let before = reserved_before.map(|old| mismatches(old, claim)).unwrap_or_default();
    let dependency = Dependency::on(Read::Claim(key.clone()), lookup);
    let prebind = prebind(new, claim, Side::Volume, dependency);
    Ok(prebind.map(|prebind| prebind.without(&before)).into_iter().collect())
}

/// Returns whether a claim that suited the volume before suits it now, whatever the claim asks for.
fn is_as_fit(old: &Volume, new: &Volume) -> bool {
    old.reservation == new.reservation
        && old.deletion == new.deletion
        && old.capacity == new.capacity
        && old.access_modes == new.access_modes
        && old.mode == new.mode
        && old.class() == new.class()
        && old.attributes_class == new.attributes_class
        && old.labels == new.labels
}

/// Returns whether the volume's reservation is for this claim, by name alone or by its uid.
pub fn is_reserved_for(volume: &Volume, claim: &Claim) -> bool {
    match pairing(volume, claim) {
        Pairing::Reserved
        | Pairing::Held
        | Pairing::Agreed
        | Pairing::Bound
        | Pairing::ClaimElsewhere => true,
        Pairing::Unrelated | Pairing::Requested | Pairing::VolumeElsewhere => false,
    }
}

fn from_claim<'a>(new: &'a Claim, evidence: &Evidence<'a>) -> Result<Vec<Prebind<'a>>, Violation> {
    if let Some(name) = &new.volume {
        let lookup = evidence.volume(name);
        let read = Read::Volume(name.clone());
        let volume = match lookup {
            Lookup::Present(volume) => volume,
            Lookup::Absent => return Ok(Vec::new()),
            Lookup::Unknown => return Err(Violation::open("spec.volumeName", read)),
        };
        let dependency = Dependency::on(read, lookup);
        return Ok(prebind(volume, new, Side::ClaimNames, dependency).into_iter().collect());
    }
    let reserved = evidence.reserved_for(&new.key).filter_map(|volume| {
        let read = Read::Volume(volume.name.clone());
        let dependency = Dependency::on(read, evidence.volume(&volume.name));
        prebind(volume, new, Side::ClaimFinds, dependency)
    });
    let reserved: Vec<Prebind<'a>> = reserved.collect();
    // Kubernetes: `storage/volume/pv_helpers.go`, `FindMatchingVolume`: of several volumes that are reserved
    // for the claim, those that do not fit are passed over.
    if reserved.iter().any(|prebind| prebind.mismatches.is_empty()) {
        return Ok(Vec::new());
    }
    Ok(reserved)
}

fn prebind<'a>(
    volume: &'a Volume,
    claim: &'a Claim,
    side: Side,
    dependency: Dependency,
) -> Option<Prebind<'a>> {
    if volume.deletion == Deletion::Terminating || claim.deletion == Deletion::Terminating {
        return None;
    }
    let pairing = pairing(volume, claim);
    match pairing {
        // The volume of another claim: only `prebind-taken` reports that.
        Pairing::Unrelated | Pairing::ClaimElsewhere | Pairing::VolumeElsewhere => None,
        Pairing::Requested
        | Pairing::Reserved
        | Pairing::Held
        | Pairing::Agreed
        | Pairing::Bound => {
            let mismatches = mismatches(volume, claim);
            Some(Prebind { volume, claim, side, pairing, mismatches, dependency })
        }
    }
}

fn mismatches(volume: &Volume, claim: &Claim) -> Vec<Mismatch> {
    // For whom the volume is, `foreign-namespace-volume` says.
    match fit(volume, claim, None, FitCheck::Prebind) {
        Ok(_) => Vec::new(),
        Err(mismatches) => mismatches.iter().cloned().collect(),
    }
}

impl Prebind<'_> {
    fn without(mut self, before: &[Mismatch]) -> Self {
        let stood =
            |mismatch: &Mismatch| before.iter().any(|earlier| earlier.label() == mismatch.label());
        self.mismatches.retain(|mismatch| !stood(mismatch));
        self
    }
}
