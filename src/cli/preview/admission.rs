//! Admission of manifests in a dump: what the API server and the webhook make of objects that are still to be applied.
//!
//! An object without a uid is a manifest. Each is judged as `check` judges its creation, or the update of what is
//! stored under its name, in the order of the input, with everything else as evidence. A creation that is denied
//! leaves the view, so that nothing binds to it; after an update that is denied, what is stored stays.
//! Not here: how a denied one is reported (`outcome`, `explain`).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::volume::Wanted;
use crate::api::{claim, volume};
use crate::binding::{ObjectKey, Observed, View};
use crate::cli::args::Apply;
use crate::cli::exit::Failure;
use crate::cli::input::dump::StorageState;
use crate::cli::input::dump::batch::ReadPurpose;
use crate::cli::input::dump::new_object::{NewObject, is_stored, stored};
use crate::cli::input::object_id::ObjectId;
use crate::cli::input::text::error_reason;
use crate::cli::judge::proposed::{self, created, updated};
use crate::cli::judge::write::{WriteResult, write};
use crate::cli::judge::{JudgeContext, KnownObjects};
use crate::config::Configuration;
use crate::model::{Claim, ClaimKey, ClassRequest, Volume, VolumeName};

/// The manifests that `check` denies, with its reasons.
#[derive(Debug, Default)]
pub(in crate::cli) struct Denied {
    /// Claims that are not stored.
    pub(in crate::cli) claims: BTreeMap<ClaimKey, (Arc<Claim>, String)>,
    /// Volumes that are not stored.
    pub(in crate::cli) volumes: BTreeMap<VolumeName, String>,
    /// Volumes and claims that stay as they are stored.
    updates: BTreeMap<ObjectKey, String>,
}

impl Denied {
    /// Returns whether there are none.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.volumes.is_empty() && self.updates.is_empty()
    }

    /// Returns what is said of each volume that is denied, and of each object that stays as it is.
    pub(in crate::cli) fn notes(&self) -> impl Iterator<Item = String> {
        let of_volume = |(name, reason)| format!("PV \"{name}\" is not stored: {reason}");
        let updates = self.updates.keys().filter_map(|key| self.note_on(key));
        self.volumes.iter().map(of_volume).chain(updates)
    }

    /// Returns what is said of an object that stays as it is.
    pub(in crate::cli) fn note_on(&self, key: &ObjectKey) -> Option<String> {
        let reason = self.updates.get(key)?;
        Some(format!("{} stays as it is stored: {reason}", named(key)))
    }
}

fn named(key: &ObjectKey) -> String {
    match key {
        ObjectKey::Volume(name) => format!("PV \"{name}\""),
        ObjectKey::Claim(key) => format!("PVC \"{key}\""),
    }
}

/// Judges each manifest of `state`, and changes its view by what is stored. `texts` are the input, each with its
/// name.
pub(super) fn judge_manifests(
    state: &mut StorageState,
    texts: &[(String, String)],
) -> Result<Denied, Failure> {
    let manifests = state.take_manifests();
    if manifests.is_empty() {
        return Ok(Denied::default());
    }
    let mut known = evidence(texts, &manifests)?;
    let mut admission = Admission { view: &mut state.view, denied: Denied::default() };
    let (configuration, now) = (Configuration::default(), Timestamp::now());
    for NewObject { key, text } in &manifests {
        let name = ObjectId::from(key);
        let old = known.object(&name)?.map(|old| proposed::stored(name.kind, old));
        let new = admission.sent(key, text, old.as_ref()).map_err(|error| unreadable(&error))?;
        let terms = JudgeContext::of(&known, &configuration, now);
        let is_update = old.is_some();
        match write(&name, old, new, terms)? {
            WriteResult::Denied(reason) => admission.deny(key, &reason, is_update),
            WriteResult::Stored { object, is_mutated } => {
                let is_other = is_mutated || is_update;
                let taken = if is_other { admission.mutation(key, &object) } else { Ok(()) };
                taken
                    .and_then(|()| known.change(&name, object))
                    .map_err(|error| unreadable(&error))?;
            }
        }
    }
    Ok(admission.denied)
}

/// What is stored once manifests were applied, and what is denied.
struct Admission<'a> {
    view: &'a mut View,
    denied: Denied,
}

impl Admission<'_> {
    /// The object as the API server shows it to the webhook once the manifest is applied, over `old` if that is
    /// stored.
    fn sent(
        &self,
        key: &ObjectKey,
        text: &str,
        old: Option<&Value>,
    ) -> Result<Value, serde_json::Error> {
        let mut object: Value = serde_json::from_str(text)?;
        let kind = ObjectId::from(key).kind;
        if let ObjectKey::Claim(key) = key {
            object["metadata"]["namespace"] = json!(key.namespace.as_str());
        }
        if let Some(old) = old {
            return Ok(updated(kind, old, &object, None, Apply::Server));
        }
        if let ObjectKey::Claim(key) = key
            && let Some(ClassRequest::Named(class)) =
                self.view.claim(key).map(|claim| &claim.class_field)
        {
            object["spec"]["storageClassName"] = json!(class.as_str());
        }
        Ok(created(kind, &object, Apply::Server))
    }

    fn deny(&mut self, key: &ObjectKey, reason: &str, is_update: bool) {
        if is_update {
            let reason = format!("check denies its manifest: {reason}");
            self.denied.updates.insert(key.clone(), reason);
            return;
        }
        let reason = format!("check denies it: {reason}");
        match key {
            ObjectKey::Volume(name) => {
                self.view.apply(Observed::VolumeGone(name.clone()));
                self.denied.volumes.insert(name.clone(), reason);
            }
            ObjectKey::Claim(key) => {
                let Some(claim) = self.view.claim(key).cloned() else { return };
                self.view.apply(Observed::ClaimGone(key.clone()));
                self.denied.claims.insert(key.clone(), (claim, reason));
            }
        }
    }

    /// Takes an object as it is written. Its place in the order stays.
    fn mutation(&mut self, key: &ObjectKey, object: &Value) -> Result<(), serde_json::Error> {
        let text = object.to_string();
        match key {
            ObjectKey::Volume(name) => {
                let created = self.view.volume(name).and_then(|volume| volume.created);
                let volume = Volume { created, ..volume::volume(&text, Wanted::Labels)?.volume };
                self.view.apply(Observed::Volume(Arc::new(volume)));
            }
            ObjectKey::Claim(key) => {
                let created = self.view.claim(key).and_then(|claim| claim.created);
                let claim = Claim { created, ..claim::claim(&text, &key.namespace)? };
                self.view.apply(Observed::Claim(stored(Arc::new(claim))));
            }
        }
        Ok(())
    }
}

/// Everything that the input shows as stored, as verdicts look at it, and what is stored under the names of the
/// manifests.
fn evidence(texts: &[(String, String)], manifests: &[NewObject]) -> Result<KnownObjects, Failure> {
    let ids = manifests.iter().map(|one| (&one.key).into()).collect();
    let mut state = StorageState::default();
    "the input".clone_into(&mut state.source);
    for (name, text) in texts {
        state.text(text, name, ReadPurpose::Manifests(&ids))?;
    }
    for NewObject { key, .. } in manifests {
        if !is_stored(&state.view, key) {
            state.view.apply(match key {
                ObjectKey::Volume(name) => Observed::VolumeGone(name.clone()),
                ObjectKey::Claim(key) => Observed::ClaimGone(key.clone()),
            });
        }
    }
    KnownObjects::of(state)
}

fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::usage(format!("an object cannot be read: {}; make a new dump", error_reason(error)))
}
