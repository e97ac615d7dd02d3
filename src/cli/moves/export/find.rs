//! Finds the pairs that are to be exported.

use std::collections::BTreeMap;

use crate::cli::exit::Failure;
use crate::cli::moves::object::MovedObject;
use crate::cli::moves::planned::impossible;
use crate::model::{ClaimKey, VolumeName};
use crate::move_runner::{MoveRequests, StoredClaim, StoredVolume};

/// A volume, and the claim that it is reserved for or that names it.
#[derive(Clone)]
pub(super) struct StoredPair {
    pub volume: StoredVolume,
    pub claim: StoredClaim,
}

/// The pairs, each once and by the names of their volumes, and what was left out.
pub(super) struct FoundPairs {
    pub pairs: Vec<StoredPair>,
    pub notes: Vec<String>,
}

/// Finds the pairs of all objects.
///
/// # Errors
///
/// A request failed, or objects do not exist or are not bound: all of them, a line each.
pub(super) async fn pairs(
    requests: &MoveRequests,
    objects: &[MovedObject],
) -> Result<FoundPairs, Failure> {
    let volumes = requests.volumes().await?;
    let named = volumes.into_iter().map(|stored| (stored.moved.name.clone(), stored));
    let volumes: BTreeMap<VolumeName, StoredVolume> = named.collect();
    let (mut claims, mut notes, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for object in objects {
        match object {
            MovedObject::Volume(name) => match key_of(&volumes, name) {
                Ok(key) => claims.extend(claim(requests, &key, &mut problems).await?),
                Err(problem) => problems.push(problem),
            },
            MovedObject::Claim(key) => claims.extend(claim(requests, key, &mut problems).await?),
            MovedObject::Namespace(namespace) => {
                let (bound, pending): (Vec<_>, Vec<_>) = requests
                    .claims(namespace)
                    .await?
                    .into_iter()
                    .partition(|stored| stored.claim.volume.is_some());
                if bound.is_empty() {
                    problems.push(format!(
                        "Namespace {namespace:?} has no PVC with a PV; check the name"
                    ));
                }
                claims.extend(bound);
                notes.extend(pending.iter().map(left_out));
            }
        }
    }
    let mut pairs = BTreeMap::new();
    for claim in claims {
        match volume_of(&volumes, &claim) {
            Ok(volume) => {
                let _ = pairs.insert(volume.moved.name.clone(), StoredPair { volume, claim });
            }
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(impossible(problems.join("\n")));
    }
    Ok(FoundPairs { pairs: pairs.into_values().collect(), notes })
}

/// The note about a claim of a namespace that has no volume.
fn left_out(stored: &StoredClaim) -> String {
    format!("note: PVC \"{}\" is left out: it has no PV", stored.claim.key)
}

/// The claim that a volume is reserved for.
fn key_of(
    volumes: &BTreeMap<VolumeName, StoredVolume>,
    name: &VolumeName,
) -> Result<ClaimKey, String> {
    let stored = volumes.get(name);
    let stored =
        stored.ok_or_else(|| format!("PV {:?} does not exist; check the name", name.as_str()))?;
    stored.moved.reservation.key().cloned().ok_or_else(|| {
        format!("PV {:?} is reserved for no PVC; only a bound pair is exported", name.as_str())
    })
}

/// The claim of this name; a problem if there is none.
async fn claim(
    requests: &MoveRequests,
    key: &ClaimKey,
    problems: &mut Vec<String>,
) -> Result<Option<StoredClaim>, Failure> {
    let stored = requests.claim(key).await?;
    if stored.is_none() {
        problems.push(format!(
            "PVC \"{key}\" does not exist; only a bound pair is exported; check the name, or bring the PVC back with: bindery \
             rescue pvc/{key}"
        ));
    }
    Ok(stored)
}

/// The volume that a claim names.
fn volume_of(
    volumes: &BTreeMap<VolumeName, StoredVolume>,
    claim: &StoredClaim,
) -> Result<StoredVolume, String> {
    let key = &claim.claim.key;
    let Some(name) = &claim.claim.volume else {
        return Err(format!("PVC \"{key}\" has no PV; see why with: bindery explain pvc/{key}"));
    };
    volumes.get(name).cloned().ok_or_else(|| {
        format!("PV {:?} of PVC \"{key}\" does not exist; the PVC is Lost", name.as_str())
    })
}
