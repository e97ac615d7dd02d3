//! `bindery release`: volumes of deleted claims are left to the next claims of the same names.

use serde_json::{Value, json};

use super::find::names;
use super::object::MovedObject;
use super::perform::handed_over;
use super::planned::impossible;
use super::retain::{find_all, in_move, reserved};
use crate::api::trash::{record_annotations, trash_record};
use crate::cli::args::ReleaseArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::cluster::ClusterClient;
use crate::cli::output::{print, readable};
use crate::model::annotations::TRASH;
use crate::model::{Deletion, ReclaimPolicy, Reservation, VolumePhase};
use crate::move_runner::{MoveRequests, StoredVolume, Written};
use crate::moves::MoveProblem;

/// Runs `bindery release`.
pub(in crate::cli) fn run(arguments: &ReleaseArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let namespace = arguments.namespace.as_deref().unwrap_or(cluster.namespace());
    let objects = MovedObject::parse_all(&arguments.objects, namespace)?;
    if objects.iter().any(|object| matches!(object, MovedObject::Namespace(_))) {
        return Err(Failure::usage("PVs are released one by one; write pvc/NAME or pv/NAME"));
    }
    cluster.run(async |client| {
        let requests = MoveRequests::new(client, arguments.cluster.request_timeout);
        let volumes = find(&requests, &objects).await?;
        let problems: Vec<String> = volumes.iter().filter_map(problem).collect();
        if !problems.is_empty() {
            return Err(impossible(format!("{}\nnothing was changed", problems.join("\n"))));
        }
        for stored in &volumes {
            release(&requests, stored).await?;
        }
        Ok(Exit::Clean)
    })
}

/// The volumes of all objects: of a deleted claim, the one that it has left.
async fn find(
    requests: &MoveRequests,
    objects: &[MovedObject],
) -> Result<Vec<StoredVolume>, Failure> {
    let mut found = Vec::new();
    for object in objects {
        let MovedObject::Claim(key) = object else {
            found.extend(find_all(requests, std::slice::from_ref(object)).await?);
            continue;
        };
        let mut left = reserved(requests, |reserved| reserved == key).await?;
        match (left.pop(), left.is_empty()) {
            (Some(stored), true) => found.push(stored),
            (None, _) => {
                return Err(impossible(format!(
                    "no PV is reserved for PVC \"{key}\"; check the name; nothing was changed"
                )));
            }
            (Some(last), false) => {
                left.push(last);
                return Err(impossible(format!(
                    "{} PVs are left from PVCs \"{key}\" that were deleted one after another: {}; the next PVC would get any of \
                     them; name the one with the data that you need, as pv/NAME; nothing was changed",
                    left.len(),
                    names(&left.iter().collect::<Vec<_>>())
                )));
            }
        }
    }
    Ok(found)
}

/// Why a volume cannot be released; nothing if it can be, or is.
fn problem(stored: &StoredVolume) -> Option<String> {
    let moved = &stored.moved;
    let name = moved.name.as_str();
    if let Some(problem) = in_move(stored).or_else(|| handed_over(stored)) {
        return Some(problem);
    }
    if moved.deletion == Deletion::Terminating {
        return Some(MoveProblem::VolumeTerminating(moved.name.clone()).to_string());
    }
    match (&moved.reservation, &moved.phase) {
        (Reservation::Named(_), _) => None,
        (Reservation::Held(..), VolumePhase::Released) if moved.policy == ReclaimPolicy::Retain => {
            None
        }
        (Reservation::Held(..), VolumePhase::Released) => {
            let problem = MoveProblem::BeingDeleted(moved.name.clone(), moved.policy.clone());
            Some(problem.to_string())
        }
        (Reservation::Held(key, _), phase) => Some(format!(
            "PV {name:?} has phase {phase}; a PV is released once its PVC \"{key}\" is gone; to give it to another PVC, use: \
             bindery transfer pvc/{key} --to NAMESPACE/NAME"
        )),
        (Reservation::Free | Reservation::Incomplete(..), _) => {
            Some(MoveProblem::NoClaim(moved.name.clone()).to_string())
        }
    }
}

/// Reserves the volume for the name of its former claim alone.
async fn release(requests: &MoveRequests, stored: &StoredVolume) -> Result<(), Failure> {
    let moved = &stored.moved;
    let name = moved.name.as_str();
    let key = match &moved.reservation {
        Reservation::Held(key, _) | Reservation::Named(key) => key,
        Reservation::Free | Reservation::Incomplete(..) => return Ok(()),
    };
    let patch = patch(stored)?;
    if moved.reservation.uid().is_some() || patch["metadata"].get("annotations").is_some() {
        match requests.patch_volume(&moved.name, &patch).await? {
            Written::Made => {}
            Written::Stale => {
                return Err(impossible(format!(
                    "PV {name:?} has changed meanwhile; run the same command again"
                )));
            }
        }
    }
    print(&readable(&format!(
        "  ✓ PV {name} is reserved for the next PVC {key}, and for no other\n"
    )))
}

fn patch(stored: &StoredVolume) -> Result<Value, Failure> {
    let (uid, version) = (stored.moved.uid.to_string(), stored.moved.version.to_string());
    let mut patch = json!({
        "metadata": {"uid": uid, "resourceVersion": version},
        "spec": {"claimRef": {"uid": null, "resourceVersion": null}},
    });
    // One that the trash offers goes when its time is over; what a person reserves does not.
    let text = stored.object["metadata"]["annotations"][TRASH].as_str();
    let record = text.map(|text| trash_record(text, &stored.moved.uid)).transpose();
    let record = record.map_err(|error| {
        impossible(format!(
            "the annotation bindery.dev/trash of PV {:?} cannot be read: {error}; run `bindery retain pv/{}` first",
            stored.moved.name.as_str(),
            stored.moved.name
        ))
    })?;
    if let Some(mut record) = record.flatten()
        && let Some(release) = record.release.as_mut().filter(|release| release.is_offered)
    {
        release.is_offered = false;
        patch["metadata"]["annotations"] = record_annotations(&record, &stored.moved);
    }
    Ok(patch)
}
