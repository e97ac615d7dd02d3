//! Whether a volume belongs to a bound pair: the question behind every rule about bound volumes.

use super::violation::Dependency;
use crate::binding::{Evidence, Lookup, Pairing, Read, pairing};
use crate::model::{Claim, ClaimKey, Deletion, Reservation, Volume};

/// What a volume's reservation comes to.
#[derive(Clone, Debug)]
pub enum Pair<'a> {
    /// The claim of the reservation's uid lives and is not bound to another volume, whether or not
    /// it points back yet.
    Bound {
        /// The claim's name.
        key: &'a ClaimKey,
        /// The claim; absent while it is only assumed to live.
        claim: Option<&'a Claim>,
        /// What that rests on.
        dependency: Dependency,
    },
    /// The claim is gone or going.
    Ending {
        /// The claim's name.
        key: &'a ClaimKey,
        /// The claim while it is still there.
        claim: Option<&'a Claim>,
        /// What that rests on.
        dependency: Dependency,
    },
    /// No claim has a hold on the volume.
    Unbound,
}

/// Returns what the reservation of `volume` comes to.
pub fn pair<'a>(volume: &'a Volume, evidence: &Evidence<'a>) -> Pair<'a> {
    let Reservation::Held(key, uid) = &volume.reservation else { return Pair::Unbound };
    let lookup = evidence.holder(key, uid);
    let dependency = Dependency::on(Read::Claim(key.clone()), lookup);
    match lookup {
        Lookup::Present(claim) if claim.deletion == Deletion::Terminating => {
            Pair::Ending { key, claim: Some(claim), dependency }
        }
        Lookup::Present(claim) if pairing(volume, claim) == Pairing::ClaimElsewhere => {
            Pair::Unbound
        }
        Lookup::Present(claim) => Pair::Bound { key, claim: Some(claim), dependency },
        Lookup::Absent => Pair::Ending { key, claim: None, dependency },
        Lookup::Unknown => Pair::Bound { key, claim: None, dependency },
    }
}

/// Key and certainty of a bound pair, for rules that ask no more.
pub fn bound<'a>(
    volume: &'a Volume,
    evidence: &Evidence<'a>,
) -> Option<(&'a ClaimKey, Dependency)> {
    match pair(volume, evidence) {
        Pair::Bound { key, dependency, .. } => Some((key, dependency)),
        Pair::Ending { .. } | Pair::Unbound => None,
    }
}
