//! `bindery trash empty`: volumes go before their time is over, after a confirmation.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdin};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::found::{TrashedVolume, find};
use crate::cli::args::TrashEmptyArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::cluster::ClusterClient;
use crate::cli::moves::object::MovedObject;
use crate::cli::output::{print, readable};
use crate::model::VolumeName;
use crate::model::annotations::{TRASH, TRASH_EMPTY};
use crate::move_runner::{MoveRequests, Permission, Written};

/// The pause before a volume is read again, whose policy the controller is to set.
const PAUSE: Duration = Duration::from_millis(200);

/// Runs `bindery trash empty`.
pub(super) fn run(arguments: &TrashEmptyArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let namespace = arguments.namespace.as_deref().unwrap_or(cluster.namespace());
    let objects = MovedObject::parse_all(&arguments.objects, namespace)?;
    cluster.run(async |client| {
        let requests = MoveRequests::new(client, arguments.cluster.request_timeout);
        empty(&requests, &objects, arguments).await
    })
}

async fn empty(
    requests: &MoveRequests,
    objects: &[MovedObject],
    arguments: &TrashEmptyArgs,
) -> Result<Exit, Failure> {
    let all = find(requests).await?.volumes;
    let mut chosen = Vec::new();
    for object in objects {
        let found = all.iter().filter(|volume| is_meant(object, volume));
        let before = chosen.len();
        chosen.extend(found.cloned());
        if chosen.len() == before {
            let text = "is not in the trash: it was deleted before, or was never there; leave it out, or look with `bindery \
                 trash`; this call has deleted nothing";
            return Err(Failure { exit: Exit::Denied, message: format!("{object} {text}") });
        }
    }
    chosen.sort_by(|one, other| one.moved.name.cmp(&other.moved.name));
    chosen.dedup_by(|one, other| one.moved.name == other.moved.name);
    if let Some(message) = chosen.iter().find_map(blocked) {
        return Err(Failure { exit: Exit::Denied, message });
    }
    expect_permitted(requests).await?;
    confirm(&chosen, arguments.yes)?;
    for volume in &chosen {
        release(requests, volume).await?;
    }
    for volume in &chosen {
        await_policy(requests, volume, arguments.timeout).await?;
    }
    Ok(Exit::Clean)
}

/// Why a volume cannot be deleted now; nothing if it can.
fn blocked(volume: &TrashedVolume) -> Option<String> {
    let name = volume.moved.name.as_str();
    if volume.is_reserved_by_hand {
        return Some(format!(
            "PV {name:?} is reserved for the next PVC \"{}\", so that it does not go; to delete it, run `bindery rescue \
             pv/{name}`, delete that PVC, then retry; nothing was deleted",
            volume.claim
        ));
    }
    if volume.record.release.is_none() {
        return Some(format!(
            "the controller has not recorded yet that the PVC of PV {name:?} is gone; retry once `bindery trash` shows when the \
             PV goes; nothing was deleted"
        ));
    }
    volume.is_moving.then(|| {
        format!(
            "PV {name:?} is in a move, such as a rescue; let it end, or undo it; nothing was deleted"
        )
    })
}

fn is_meant(object: &MovedObject, volume: &TrashedVolume) -> bool {
    match object {
        MovedObject::Claim(key) => volume.claim == *key,
        MovedObject::Volume(name) => volume.moved.name == *name,
        MovedObject::Namespace(name) => volume.claim.namespace == **name,
    }
}

async fn expect_permitted(requests: &MoveRequests) -> Result<(), Failure> {
    let permission = Permission {
        verb: "patch",
        group: "",
        resource: "persistentvolumes",
        namespace: "".into(),
    };
    if requests.may(&permission).await? {
        return Ok(());
    }
    let message = format!("this account may not {permission}; nothing was deleted");
    Err(Failure { exit: Exit::Denied, message })
}

/// Shows what would be deleted, and asks unless the answer was given.
fn confirm(chosen: &[TrashedVolume], is_confirmed: bool) -> Result<(), Failure> {
    let mut text = String::from("These PVs would be deleted, and their data with them:\n");
    for volume in chosen {
        let TrashedVolume { moved, claim, capacity, .. } = volume;
        // Writing to a string does not fail.
        let _ = writeln!(text, "  PV {}, {capacity}, of PVC {claim}", moved.name);
    }
    print(&readable(&text))?;
    if is_confirmed {
        return Ok(());
    }
    let refused = |message: &str| Failure { exit: Exit::Denied, message: message.to_owned() };
    if !stdin().is_terminal() {
        return Err(refused("nothing was deleted; to confirm it without a terminal, add --yes"));
    }
    print("This cannot be undone. Write yes to go on: ")?;
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    if read.is_ok() && answer.trim() == "yes" {
        Ok(())
    } else {
        Err(refused("nothing was deleted"))
    }
}

/// States on the volume that it does not stay any longer after this release.
async fn release(requests: &MoveRequests, volume: &TrashedVolume) -> Result<(), Failure> {
    let moved = &volume.moved;
    let (uid, version) = (moved.uid.to_string(), moved.version.to_string());
    let released = volume.record.release.as_ref().map(|release| release.claim.to_string());
    let annotations = json!({TRASH_EMPTY: released});
    let metadata = json!({"uid": uid, "resourceVersion": version, "annotations": annotations});
    let patch = json!({"metadata": metadata});
    match requests.patch_volume(&moved.name, &patch).await? {
        Written::Made => Ok(()),
        Written::Stale => Err(Failure {
            exit: Exit::Denied,
            message: format!(
                "PV {:?} has changed meanwhile, so that it is not deleted; look with `bindery trash`, then retry",
                moved.name.as_str()
            ),
        }),
    }
}

/// Waits until the controller has set the former policy, or the volume is gone.
async fn await_policy(
    requests: &MoveRequests,
    volume: &TrashedVolume,
    timeout: Duration,
) -> Result<(), Failure> {
    let (name, until) = (&volume.moved.name, Instant::now() + timeout);
    loop {
        let stored = requests.volume(name).await?;
        let stored = stored.filter(|stored| stored.moved.uid == volume.moved.uid);
        let Some(stored) = stored else { return print(&done(name, "is deleted")) };
        if stored.object["metadata"]["annotations"].get(TRASH).is_none() {
            let policy = format!("has reclaim policy {} again", stored.moved.policy);
            return print(&done(name, &policy));
        }
        if Instant::now() >= until {
            return Err(Failure {
                exit: Exit::Denied,
                message: format!(
                    "PV {:?} is still there: the controller has not set its reclaim policy again; it will once it runs, and \
                     its log says what prevents it; `kubectl annotate pv {} {TRASH_EMPTY}-` lets the PV stay for its time",
                    name.as_str(),
                    name.as_str()
                ),
            });
        }
        sleep(PAUSE).await;
    }
}

fn done(name: &VolumeName, what: &str) -> String {
    readable(&format!("  ✓ PV {name} {what}\n"))
}
