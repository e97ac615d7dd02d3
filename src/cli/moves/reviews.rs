//! The writes of moves as the AdmissionReviews that the API server would send: `bindery check` judges them, each on what those
//! before left.
//!
//! Between two writes, the binder and the API server do their part: a deleted claim goes, and a reserved pair binds.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::planned::{PlannedMove, Preparation, impossible};
use crate::api::moves::{claim_of_volume, record_patch};
use crate::cli::args::Apply;
use crate::cli::exit::Failure;
use crate::cli::input::object_id::{ObjectId, ObjectKind, claim_key, volume_key};
use crate::cli::judge::ProposedChange;
use crate::cli::judge::proposed::{created, stored};
use crate::model::annotations::BIND_COMPLETED;
use crate::model::{ClaimKey, VolumeName, VolumePhase};
use crate::move_runner::{Beginning, StoredVolume, WriteRequest, copy_of};
use crate::moves::{MoveWrite, ReplacementWrite, created_uid};
use crate::rules::{Part, User};

/// Returns the writes of all moves as a list of AdmissionReviews by `user`. Those of several moves take turns, as they do
/// when they are made: the second move of a swap waits for the first one.
pub(super) fn reviews(moves: &[(PlannedMove, Beginning)], user: &User) -> Result<Value, Failure> {
    let mut objects = Objects { user, stored: BTreeMap::new(), reviews: Vec::new() };
    for (planned, beginning) in moves {
        objects.take_in(planned, beginning);
    }
    let steps = moves.iter().map(|(planned, beginning)| steps(planned, beginning));
    let mut steps: Vec<_> = steps.map(Vec::into_iter).collect();
    while steps.iter().any(|left| left.len() > 0) {
        for (left, (planned, beginning)) in steps.iter_mut().zip(moves) {
            if let Some(step) = left.next() {
                objects.make(step, planned, beginning)?;
            }
        }
    }
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": objects.reviews}))
}

/// Returns the requester that a `userInfo` names.
pub(super) fn user(info: &Value) -> User {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let groups = info["groups"].as_array().into_iter().flatten().map(text).collect();
    User { name: text(&info["username"]), groups }
}

/// One write.
#[derive(Clone, Copy)]
enum Step<'a> {
    Recreate,
    RecordRecreated,
    Replace(&'a ReplacementWrite),
    Move(&'a MoveWrite),
}

fn steps<'a>(planned: &PlannedMove, beginning: &'a Beginning) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    let mut writes = beginning.writes.as_slice();
    if let (Preparation::Recreate(_), [MoveWrite::Record, rest @ ..]) =
        (&planned.preparation, writes)
    {
        steps.extend([Step::Recreate, Step::RecordRecreated]);
        writes = rest;
    }
    steps.extend(beginning.replacement.iter().map(Step::Replace));
    steps.extend(writes.iter().map(Step::Move));
    steps
}

/// The objects as the writes so far leave them.
struct Objects<'a> {
    user: &'a User,
    stored: BTreeMap<ObjectId, Value>,
    reviews: Vec<Value>,
}

impl Objects<'_> {
    fn take_in(&mut self, planned: &PlannedMove, beginning: &Beginning) {
        if !matches!(planned.preparation, Preparation::Recreate(_)) {
            let volume = &planned.stored;
            let key = volume_key(volume.moved.name.as_str());
            self.stored.insert(key, stored(ObjectKind::Volume, &volume.object));
        }
        for claim in beginning.holder.iter().chain(&beginning.target) {
            let object = stored(ObjectKind::Claim, &claim.object);
            self.stored.insert(id(&claim.claim.key), object);
        }
    }

    fn volume(&self, name: &VolumeName) -> Result<Option<StoredVolume>, Failure> {
        let object = self.stored.get(&volume_key(name.as_str()));
        Ok(object.map(StoredVolume::of).transpose()?)
    }

    fn make(
        &mut self,
        step: Step<'_>,
        planned: &PlannedMove,
        beginning: &Beginning,
    ) -> Result<(), Failure> {
        let (former_name, name) = (&planned.stored.moved.name, planned.volume());
        let (former, volume) = (self.volume(former_name)?, self.volume(&name)?);
        let journal = &planned.journal;
        let copy = former.as_ref().and_then(|former| copy_of(former, beginning.holder.as_ref()));
        let copy = copy.as_ref();
        let request = match (step, &planned.preparation) {
            (Step::Recreate, Preparation::Recreate(left)) => {
                let is_claim_there = planned.stored.moved.phase == VolumePhase::Bound;
                Some(WriteRequest::CreateVolume(name.clone(), left.manifest(is_claim_there)))
            }
            (Step::RecordRecreated, Preparation::Recreate(left)) => volume.map(|volume| {
                let copy = left.claim_copy().cloned();
                let copy = copy.unwrap_or_else(|| claim_of_volume(&volume.object));
                let patch = record_patch(&volume.moved, journal, Some(&copy));
                WriteRequest::PatchVolume(name.clone(), patch)
            }),
            (Step::Recreate | Step::RecordRecreated, Preparation::None | Preparation::Replace) => {
                None
            }
            (Step::Replace(write), _) => WriteRequest::of_replacement(
                write,
                former.as_ref(),
                (&name, volume.as_ref()),
                journal,
                copy,
            ),
            (Step::Move(write), _) => {
                volume.map(|volume| WriteRequest::of_move(write, &volume, journal, copy))
            }
        };
        // Every write follows from the one before; only a defect leads here.
        let request = request.ok_or_else(|| {
            impossible(format!("the writes on PV {:?} cannot be shown; report this", name.as_str()))
        })?;
        self.review(request);
        self.others_follow(step, former_name, &name);
        Ok(())
    }

    /// Adds the review of a request and stores its result.
    fn review(&mut self, request: WriteRequest) {
        let (key, new) = match request {
            WriteRequest::PatchVolume(name, patch) => {
                self.patched(volume_key(name.as_str()), &patch)
            }
            WriteRequest::PatchClaim(key, patch) => self.patched(id(&key), &patch),
            WriteRequest::CreateVolume(name, manifest) => {
                (volume_key(name.as_str()), Some(new_object(ObjectKind::Volume, &manifest, &name)))
            }
            WriteRequest::CreateClaim(key, manifest) => {
                let volume = manifest["spec"]["volumeName"].as_str().unwrap_or_default();
                let volume = VolumeName::new(volume);
                (id(&key), Some(new_object(ObjectKind::Claim, &manifest, &volume)))
            }
            WriteRequest::DeleteClaim(key, ..) => (id(&key), None),
        };
        let old = self.stored.remove(&key);
        if let Some(new) = &new {
            self.stored.insert(key.clone(), new.clone());
        }
        let change = ProposedChange { key, old, new, part: Part::Main, user: self.user.clone() };
        self.reviews.push(change.review());
    }

    fn patched(&self, key: ObjectId, patch: &Value) -> (ObjectId, Option<Value>) {
        let new = self.stored.get(&key).cloned().map(|mut object| {
            json_patch::merge(&mut object, patch);
            object
        });
        (key, new)
    }

    /// Does what the API server and the binder do after a write.
    fn others_follow(&mut self, step: Step<'_>, former: &VolumeName, name: &VolumeName) {
        match step {
            Step::Move(MoveWrite::DeleteClaim(..)) => self.set_phase(name, "Released"),
            Step::Replace(ReplacementWrite::DeleteClaim(..)) => {
                let _ = self.stored.remove(&volume_key(former.as_str()));
            }
            Step::Move(MoveWrite::Reserve(key, _)) => {
                self.set_phase(name, "Bound");
                if let Some(claim) = self.stored.get_mut(&id(key)) {
                    claim["metadata"]["annotations"][BIND_COMPLETED] = json!("yes");
                    claim["status"]["phase"] = json!("Bound");
                }
            }
            Step::Move(
                MoveWrite::Record
                | MoveWrite::CreateClaim(_)
                | MoveWrite::Fence(..)
                | MoveWrite::Finish,
            )
            | Step::Replace(
                ReplacementWrite::Retain | ReplacementWrite::Create | ReplacementWrite::Record,
            )
            | Step::Recreate
            | Step::RecordRecreated => {}
        }
    }

    fn set_phase(&mut self, name: &VolumeName, phase: &str) {
        if let Some(volume) = self.stored.get_mut(&volume_key(name.as_str())) {
            volume["status"]["phase"] = json!(phase);
        }
    }
}

/// An object that is created, as the API server hands it to a webhook. `volume` is the one that it is, or is created for.
fn new_object(kind: ObjectKind, manifest: &Value, volume: &VolumeName) -> Value {
    let mut object = created(kind, manifest, Apply::Server);
    object["metadata"]["uid"] = json!(created_uid(volume).to_string());
    object["metadata"]["resourceVersion"] = json!("0");
    object
}

fn id(key: &ClaimKey) -> ObjectId {
    claim_key(&key.namespace, &key.name)
}
