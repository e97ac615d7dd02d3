//! The two pointers between a volume and a claim, as one value.
//!
//! A volume names a claim in `spec.claimRef`, a claim names a volume in `spec.volumeName`. Every
//! combination has a name here, so that no decision compares the pointers itself.

use crate::model::{Claim, Reservation, Volume};

/// How a volume and a claim point at each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pairing {
    /// Neither points at the other.
    Unrelated,
    /// The claim names the volume, which is not reserved.
    Requested,
    /// The volume is reserved for a claim of this name; the claim names no volume.
    Reserved,
    /// The volume is reserved for exactly this claim, which names no volume yet.
    Held,
    /// Both name each other, the volume without the claim's uid.
    Agreed,
    /// Both name each other, uid included.
    Bound,
    /// The volume is reserved for this claim, which names another volume.
    ClaimElsewhere,
    /// The claim names this volume, which is reserved for another claim.
    VolumeElsewhere,
}

/// Where one side points, seen from the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Toward {
    Nothing,
    ThisByName,
    This,
    Other,
}

/// Returns how `volume` and `claim` point at each other.
///
/// A reservation for this name with another uid is for another claim: uids never return.
/// Kubernetes: `pkg/volume/util`, `IsVolumeBoundToClaim`.
pub fn pairing(volume: &Volume, claim: &Claim) -> Pairing {
    match (volume_toward(volume, claim), claim_toward(claim, volume)) {
        (Toward::Nothing, Toward::This | Toward::ThisByName) => Pairing::Requested,
        (Toward::ThisByName, Toward::Nothing) => Pairing::Reserved,
        (Toward::ThisByName, Toward::This | Toward::ThisByName) => Pairing::Agreed,
        (Toward::This, Toward::Nothing) => Pairing::Held,
        (Toward::This, Toward::This | Toward::ThisByName) => Pairing::Bound,
        (Toward::This | Toward::ThisByName, Toward::Other) => Pairing::ClaimElsewhere,
        (Toward::Other, Toward::This | Toward::ThisByName) => Pairing::VolumeElsewhere,
        (Toward::Nothing | Toward::Other, Toward::Nothing | Toward::Other) => Pairing::Unrelated,
    }
}

fn volume_toward(volume: &Volume, claim: &Claim) -> Toward {
    match &volume.reservation {
        Reservation::Free => Toward::Nothing,
        Reservation::Named(key) if *key == claim.key => Toward::ThisByName,
        Reservation::Held(key, uid) if *key == claim.key && Some(uid) == claim.uid.as_ref() => {
            Toward::This
        }
        Reservation::Named(_) | Reservation::Held(..) | Reservation::Incomplete(..) => {
            Toward::Other
        }
    }
}

fn claim_toward(claim: &Claim, volume: &Volume) -> Toward {
    match &claim.volume {
        None => Toward::Nothing,
        Some(name) if *name == volume.name => Toward::This,
        Some(_) => Toward::Other,
    }
}
