//! `bindery export`: pairs of a cluster as one file for another one.

mod find;
mod notes;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use self::find::StoredPair;
use self::notes::MarkedPair;
use super::object::MovedObject;
use super::parallel::{all, for_each};
use super::planned::impossible;
use crate::api::moves::{
    ExportMark, HandOver, exported_claim, exported_object, exported_volume, hand_over,
    hand_over_patch, is_in_import, volume_class,
};
use crate::api::trash::policy_before_trash;
use crate::cli::args::{ExportArgs, Notation};
use crate::cli::exit::{Exit, Failure};
use crate::cli::files::Readers;
use crate::cli::input::cluster::ClusterClient;
use crate::cli::output::{deliver, eprint_line, one_line};
use crate::cli::render;
use crate::model::ReclaimPolicy;
use crate::move_runner::{MoveRequests, StoredClaim, StoredVolume, Written};
use crate::moves::{ExportEvidence, export_problems};

/// Runs the command.
pub(in crate::cli) fn run(arguments: &ExportArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let namespace = arguments.namespace.as_deref().unwrap_or(cluster.namespace());
    let objects = MovedObject::parse_all(&arguments.objects, namespace)?;
    let (list, notes) = cluster.run(async |client| {
        let requests = MoveRequests::new(client, arguments.cluster.request_timeout);
        export(&requests, &objects, arguments.hand_over).await
    })?;
    let text = match arguments.format {
        Notation::Yaml => render::yaml(&list)?,
        Notation::Json => render::json(&list)?,
    };
    deliver(arguments.output.as_deref(), &text, Readers::Owner)?;
    for note in notes {
        eprint_line(&one_line(&note));
    }
    Ok(Exit::Clean)
}

/// The list of all pairs, and the notes about it.
async fn export(
    requests: &MoveRequests,
    objects: &[MovedObject],
    hands_over: bool,
) -> Result<(Value, Vec<String>), Failure> {
    // Before the first read: what is newer is not in the export.
    let time = Timestamp::now();
    let found = find::pairs(requests, objects).await?;
    check(requests, &found.pairs, hands_over).await?;
    let pairs = marked(requests, found.pairs, time, hands_over).await?;
    let mut notes = found.notes;
    notes.extend(notes::about(&pairs));
    let mut items = classes_and_drivers(requests, &pairs).await?;
    items.extend(pairs.iter().map(|pair| exported_volume(&pair.volume, &pair.mark)));
    items
        .extend(pairs.iter().map(|pair| exported_claim(&pair.claim.object, &pair.claim.claim.key)));
    Ok((json!({"apiVersion": "v1", "kind": "List", "items": items}), notes))
}

/// Reports every problem of every pair.
async fn check(
    requests: &MoveRequests,
    pairs: &[StoredPair],
    hands_over: bool,
) -> Result<(), Failure> {
    let mut users = BTreeMap::new();
    let namespaces: BTreeSet<&str> =
        pairs.iter().map(|pair| &*pair.claim.claim.key.namespace).collect();
    // One that was handed over before counts as handed over in this export too.
    let is_given =
        |volume: &StoredVolume| Ok::<_, Failure>(hands_over || former(volume)?.is_some());
    let mut is_any_given = false;
    for pair in pairs {
        is_any_given |= is_given(&pair.volume)?;
    }
    let mut attached = BTreeMap::new();
    if is_any_given {
        for namespace in namespaces {
            let _ = users.insert(namespace, requests.users_in(namespace).await?);
        }
        attached = attachments(requests).await?;
    }
    let mut problems = Vec::new();
    for StoredPair { volume, claim } in pairs {
        let key = &claim.claim.key;
        let users = users.get(&*key.namespace).and_then(|users| users.get(&*key.name));
        let seen = ExportEvidence {
            volume: &volume.moved,
            claim: &StoredClaim::state(Some(claim)),
            is_in_move: volume.recorded.is_some() || volume.unreadable.is_some(),
            is_in_import: is_in_import(&volume.object),
            users: users.map_or(&[], Vec::as_slice),
            nodes: attached.get(volume.moved.name.as_str()).map_or(&[], Vec::as_slice),
            hands_over: is_given(volume)?,
        };
        problems.extend(export_problems(&seen).iter().map(ToString::to_string));
    }
    if problems.is_empty() { Ok(()) } else { Err(impossible(problems.join("\n"))) }
}

/// The nodes to which volumes are attached, by the names of the volumes. They may write to it although no pod is left.
async fn attachments(requests: &MoveRequests) -> Result<BTreeMap<String, Vec<Box<str>>>, Failure> {
    let mut attached: BTreeMap<String, Vec<Box<str>>> = BTreeMap::new();
    for attachment in requests.storage_objects("volumeattachments").await? {
        let spec = &attachment["spec"];
        let volume = spec["source"]["persistentVolumeName"].as_str();
        if let (Some(volume), Some(node)) = (volume, spec["nodeName"].as_str()) {
            attached.entry(volume.to_owned()).or_default().push(node.into());
        }
    }
    Ok(attached)
}

/// Hands all volumes over, if that is asked for, and marks them.
async fn marked(
    requests: &MoveRequests,
    pairs: Vec<StoredPair>,
    time: Timestamp,
    hands_over: bool,
) -> Result<Vec<MarkedPair>, Failure> {
    let requests = requests.clone();
    let work = move |StoredPair { volume, claim }: StoredPair| {
        let requests = requests.clone();
        async move {
            let before = former(&volume)?;
            let is_handed_over = before.is_some() || hands_over;
            let policy = policy_before_trash(&volume.volume);
            let policy = policy.unwrap_or_else(|| volume.moved.policy.clone());
            if hands_over && before.is_none() {
                give(&requests, &volume, &policy, time).await?;
            }
            let policy = before.map_or(policy, |it| it.policy);
            let mark = ExportMark {
                volume_uid: volume.moved.uid.clone(),
                policy,
                exported: time,
                is_handed_over,
            };
            Ok(MarkedPair { volume: volume.object, claim, mark })
        }
    };
    all(for_each(&pairs, work).await)
}

/// The hand-over that is recorded on a volume.
fn former(volume: &StoredVolume) -> Result<Option<HandOver>, Failure> {
    hand_over(&volume.object).map_err(|error| {
        impossible(format!(
            "the annotation bindery.dev/handed-over of PV {:?} cannot be read: {error}; what its reclaim policy was is not known; \
             remove the annotation, and set the reclaim policy that it had",
            volume.moved.name.as_str()
        ))
    })
}

/// Hands the data of a volume over.
async fn give(
    requests: &MoveRequests,
    volume: &StoredVolume,
    before: &ReclaimPolicy,
    time: Timestamp,
) -> Result<(), Failure> {
    let name = &volume.moved.name;
    match requests.patch_volume(name, &hand_over_patch(&volume.moved, before, time)).await? {
        Written::Made => Ok(()),
        Written::Stale => Err(impossible(format!(
            "PV {:?} has changed since it was read; the export would not have the change; run the command again",
            name.as_str()
        ))),
    }
}

/// The StorageClasses and CSIDrivers that the pairs name, as far as they exist.
async fn classes_and_drivers(
    requests: &MoveRequests,
    pairs: &[MarkedPair],
) -> Result<Vec<Value>, Failure> {
    let objects = pairs.iter().flat_map(|pair| [&pair.volume, &pair.claim.object]);
    let classes: BTreeSet<&str> = objects.map(volume_class).collect();
    let drivers = pairs.iter().filter_map(|pair| pair.volume["spec"]["csi"]["driver"].as_str());
    let drivers: BTreeSet<&str> = drivers.collect();
    let mut items = Vec::new();
    for (resource, kind, names) in
        [("storageclasses", "StorageClass", classes), ("csidrivers", "CSIDriver", drivers)]
    {
        let objects = requests.storage_objects(resource).await?;
        let named = objects.iter().filter(|object| {
            object["metadata"]["name"].as_str().is_some_and(|name| names.contains(name))
        });
        items.extend(named.map(|object| exported_object(object, kind)));
    }
    Ok(items)
}
