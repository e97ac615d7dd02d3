//! `bindery retain`: the data of volumes outlives their claims.

use serde_json::{Value, json};

use super::find::{by_name, of_claim};
use super::object::MovedObject;
use super::planned::impossible;
use crate::api::trash::no_record;
use crate::cli::args::RetainArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::cluster::ClusterClient;
use crate::cli::output::{print, readable};
use crate::model::annotations::TRASH;
use crate::model::{ClaimKey, ReclaimPolicy};
use crate::move_runner::{MoveRequests, StoredVolume, Written};
use crate::rules::judging::restored_policy::RECORDS;

/// Runs `bindery retain`.
pub(in crate::cli) fn run(arguments: &RetainArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let namespace = arguments.namespace.as_deref().unwrap_or(cluster.namespace());
    let objects = MovedObject::parse_all(&arguments.objects, namespace)?;
    cluster.run(async |client| {
        let requests = MoveRequests::new(client, arguments.cluster.request_timeout);
        let volumes = find_all(&requests, &objects).await?;
        if let Some(problem) = volumes.iter().find_map(in_move) {
            return Err(impossible(format!("{problem}; nothing was changed")));
        }
        for stored in &volumes {
            retain(&requests, stored).await?;
        }
        Ok(Exit::Clean)
    })
}

/// The volumes of all objects.
pub(super) async fn find_all(
    requests: &MoveRequests,
    objects: &[MovedObject],
) -> Result<Vec<StoredVolume>, Failure> {
    let mut volumes = Vec::new();
    for object in objects {
        volumes.extend(find(requests, object).await?);
    }
    Ok(volumes)
}

/// Why a volume with a journal is not changed; nothing if it has none.
pub(super) fn in_move(stored: &StoredVolume) -> Option<String> {
    let name = stored.moved.name.as_str();
    stored.recorded.as_ref().map(|_| {
        format!("PV {name:?} is in a move, which sets a reclaim policy in the end; let it end, then retry")
    })
}

/// The volumes of an object.
async fn find(requests: &MoveRequests, object: &MovedObject) -> Result<Vec<StoredVolume>, Failure> {
    let found = match object {
        MovedObject::Volume(name) => vec![by_name(requests, name).await?],
        MovedObject::Claim(key) => match of_claim(requests, key).await? {
            Some(stored) => vec![stored],
            None => reserved(requests, |reserved| reserved == key).await?,
        },
        MovedObject::Namespace(name) => {
            reserved(requests, |reserved| *reserved.namespace == **name).await?
        }
    };
    if found.is_empty() {
        return Err(impossible(format!(
            "{object} does not exist, and no PV is reserved for it; check the name; nothing was changed"
        )));
    }
    Ok(found)
}

/// The volumes that are reserved for such claims.
pub(super) async fn reserved(
    requests: &MoveRequests,
    is_meant: impl Fn(&ClaimKey) -> bool,
) -> Result<Vec<StoredVolume>, Failure> {
    let mut volumes = requests.volumes().await?;
    volumes.retain(|stored| stored.moved.reservation.key().is_some_and(&is_meant));
    volumes.into_iter().map(|stored| Ok(stored.readable()?)).collect()
}

/// Sets the policy, and removes the records that name another one.
async fn retain(requests: &MoveRequests, stored: &StoredVolume) -> Result<(), Failure> {
    let moved = &stored.moved;
    let name = moved.name.as_str();
    let annotations = &stored.object["metadata"]["annotations"];
    let names_another = [TRASH].iter().chain(&RECORDS).any(|key| annotations.get(key).is_some());
    if moved.policy == ReclaimPolicy::Retain && !names_another {
        return print(&readable(&format!("  ✓ PV {name} has reclaim policy Retain already\n")));
    }
    match requests.patch_volume(&moved.name, &patch(stored)).await? {
        Written::Made => print(&readable(&format!("  ✓ PV {name} has reclaim policy Retain\n"))),
        Written::Stale => Err(impossible(format!(
            "PV {name:?} has changed meanwhile; run the same command again"
        ))),
    }
}

fn patch(stored: &StoredVolume) -> Value {
    let (uid, version) = (stored.moved.uid.to_string(), stored.moved.version.to_string());
    // The marks of an import and of a creation that have not ended, and the journal of another volume, name a policy too.
    let mut annotations = no_record();
    for key in RECORDS {
        annotations[key] = Value::Null;
    }
    json!({
        "metadata": {"uid": uid, "resourceVersion": version, "annotations": annotations},
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    })
}
