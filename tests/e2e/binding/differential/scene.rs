//! The state of a scenario on one server, and the same without what differs between servers:
//! uids, versions, times, and which of several equal volumes it was.

use std::collections::BTreeMap;

use bindery::binding::{FitCheck, Mismatch, View, fit};
use bindery::client::resource::ResourceKind;
use bindery::model::{
    BindingMode, Claim, Deletion, Labels, Node, NonEmpty, Quantity, Reservation, Stage, Volume,
    VolumeClass, VolumePhase,
};
use serde_json::{Value, json};

use super::step::Act;

/// Everything of one scenario on one server, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    pub(super) tag: String,
    pub(super) classes: BTreeMap<String, Value>,
    pub(super) volumes: BTreeMap<String, Value>,
    pub(super) claims: BTreeMap<String, Value>,
    /// Volumes that are gone, as they were seen last.
    pub(super) gone: BTreeMap<String, Value>,
}

/// A scene as it is compared: claims by name, volumes by what distinguishes them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reported {
    pub(super) claims: BTreeMap<String, Value>,
    /// Sorted; equal ones stand beside each other. Each with its name, which is not compared.
    pub(super) volumes: Vec<(String, String)>,
}

impl Scene {
    /// It as the binding core sees it.
    pub(super) fn view(&self) -> View {
        let mut view = View::default();
        for (watched, objects) in [
            (ResourceKind::Classes, &self.classes),
            (ResourceKind::Volumes, &self.volumes),
            (ResourceKind::Claims, &self.claims),
        ] {
            for object in objects.values() {
                view.apply(watched.observed(&object.to_string()).unwrap());
            }
        }
        view
    }

    /// Returns how it would stand right after `acts`, before any controller reacts.
    pub(super) fn after(&self, acts: &[Act]) -> Self {
        let mut after = self.clone();
        for act in acts {
            match act {
                Act::Create(object) => {
                    let name = name_of(object).to_owned();
                    let objects = match object["kind"].as_str() {
                        Some("PersistentVolume") => &mut after.volumes,
                        _ => &mut after.claims,
                    };
                    objects.insert(name, object.clone());
                }
                Act::Patch(path, patch) => {
                    let name = path.rsplit('/').next().unwrap_or_default();
                    if path.contains("/persistentvolumes/")
                        && let Some(volume) = after.volumes.get_mut(name)
                    {
                        json_patch::merge(volume, patch);
                    }
                }
                Act::Delete(path) => {
                    let name = path.rsplit('/').next().unwrap_or_default();
                    if path.contains("/storageclasses/") {
                        after.classes.remove(name);
                    }
                }
                Act::Gone(_) => {}
            }
        }
        after
    }

    /// Returns whether a free volume could be given to several claims that wait: which of them gets it,
    /// Kubernetes leaves to chance.
    pub(super) fn is_left_to_chance(&self) -> bool {
        let view = self.view();
        view.volumes().any(|volume| {
            let is_free =
                volume.reservation == Reservation::Free && volume.deletion == Deletion::NotAsked;
            let free = Volume { phase: VolumePhase::Available, ..Volume::clone(volume) };
            let waits = |claim: &&std::sync::Arc<Claim>| {
                claim.stage() == Stage::Unbound && claim.volume.is_none()
            };
            let takers = view.claims().filter(waits);
            let takers =
                takers.filter(|claim| fit(&free, claim, None, asker(&view, claim)).is_ok());
            is_free && takers.count() > 1
        })
    }

    /// Every reason against every volume for every claim that has none, and that of the scheduler for a
    /// pod on some node.
    pub(super) fn mismatches(&self) -> Vec<Vec<Mismatch>> {
        let view = self.view();
        let pending = view.claims().filter(|claim| claim.stage() == Stage::Unbound);
        let node = Node { name: "node-a".into(), labels: Labels::default() };
        let of = |claim: &std::sync::Arc<Claim>| {
            let asker = asker(&view, claim);
            let against = |volume: &std::sync::Arc<Volume>| {
                let mut found: Vec<Mismatch> =
                    fit(volume, claim, None, asker).err()?.iter().cloned().collect();
                let on_node = fit(volume, claim, None, FitCheck::Scheduler(&node)).err();
                let on_node = on_node.iter().flat_map(NonEmpty::iter);
                found.extend(on_node.filter(|found| **found == Mismatch::NodeAffinity).cloned());
                Some(found)
            };
            view.volumes().filter_map(against).collect::<Vec<Vec<Mismatch>>>()
        };
        pending.flat_map(of).collect()
    }

    /// It without what differs between servers.
    pub(super) fn reported(&self) -> Reported {
        let claims =
            self.claims.iter().map(|(name, claim)| (name.clone(), self.shown_claim(claim)));
        let mut volumes: Vec<(String, String)> = self
            .volumes
            .iter()
            .map(|(name, volume)| (self.shown_volume(volume).to_string(), name.clone()))
            .collect();
        volumes.sort();
        Reported { claims: claims.collect(), volumes }
    }

    fn shown_claim(&self, claim: &Value) -> Value {
        let (metadata, spec, status) = (&claim["metadata"], &claim["spec"], &claim["status"]);
        let volume = spec["volumeName"].as_str().map(|name| self.shown_name(name));
        json!({
            "volume": volume, "class": spec["storageClassName"], "phase": status["phase"],
            "terminating": metadata["deletionTimestamp"].is_string(),
            "annotations": ours(&metadata["annotations"]), "finalizers": sorted(&metadata["finalizers"]),
            "modes": status["accessModes"], "capacity": bytes(&status["capacity"]["storage"]),
            "attributes": status["currentVolumeAttributesClassName"],
        })
    }

    /// The volume of this name by what it is, or was: of equal ones each server may have given another.
    fn shown_name(&self, name: &str) -> Value {
        match (self.volumes.get(name), self.gone.get(name)) {
            (Some(volume), _) => json!({"there": identity(volume)}),
            (None, Some(volume)) => json!({"gone": identity(volume)}),
            // A person wrote it: no binder names what it has not seen.
            (None, None) => json!({"never there": name}),
        }
    }

    fn shown_volume(&self, volume: &Value) -> Value {
        let (metadata, spec, status) = (&volume["metadata"], &volume["spec"], &volume["status"]);
        json!({
            "is": identity(volume), "policy": spec["persistentVolumeReclaimPolicy"],
            "phase": status["phase"], "message": without(&status["message"], name_of(volume)),
            "claim": self.shown_reference(&spec["claimRef"]),
            "terminating": metadata["deletionTimestamp"].is_string(),
            "annotations": ours(&metadata["annotations"]), "finalizers": sorted(&metadata["finalizers"]),
        })
    }

    fn shown_reference(&self, reference: &Value) -> Value {
        if reference.is_null() {
            return Value::Null;
        }
        let name = reference["name"].as_str().unwrap_or_default();
        let uid = match (&reference["uid"], self.claims.get(name)) {
            (Value::Null, _) => "none",
            (uid, Some(claim)) if *uid == claim["metadata"]["uid"] => "of the claim",
            (_, _) => "of another",
        };
        json!({"kind": reference["kind"], "namespace": reference["namespace"], "name": name, "uid": uid})
    }
}

impl Reported {
    /// The volumes without their names.
    pub(super) fn unnamed(&self) -> Vec<&str> {
        self.volumes.iter().map(|(reported, _)| reported.as_str()).collect()
    }

    /// Returns whether two servers stand alike.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.claims == other.claims && self.unnamed() == other.unnamed()
    }
}

/// As what the binder looks at a claim.
pub(super) fn asker(view: &View, claim: &Claim) -> FitCheck<'static> {
    let request = claim.class();
    let mode = match request.wanted() {
        VolumeClass::Classless => None,
        VolumeClass::Named(name) => view.class(name).map(|class| class.binding_mode),
    };
    FitCheck::Controller(mode.unwrap_or(BindingMode::Immediate))
}

pub(super) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Returns what distinguishes a volume from others for a binder: class, volume mode, access modes, attributes class,
/// size as an amount, and the label that claims select by. Volumes of which all of these are equal count as the same:
/// which of them a claim gets, Kubernetes leaves to chance.
fn identity(volume: &Value) -> Value {
    let spec = &volume["spec"];
    json!([
        spec["storageClassName"],
        spec["volumeMode"],
        spec["accessModes"],
        spec["volumeAttributesClassName"],
        bytes(&spec["capacity"]["storage"]),
        volume["metadata"]["labels"]["tier"],
    ])
}

/// An amount as a number, however the server spells it.
fn bytes(amount: &Value) -> Value {
    let Some(text) = amount.as_str() else { return Value::Null };
    json!(Quantity::parse(text).unwrap().rounded_up_units().to_string())
}

/// The annotations that binders and schedulers write.
fn ours(annotations: &Value) -> Value {
    let all = annotations.as_object().into_iter().flatten();
    let kept = all.filter(|(key, _)| {
        ["pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"]
            .iter()
            .any(|prefix| key.starts_with(prefix))
    });
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn sorted(finalizers: &Value) -> Value {
    let mut names: Vec<String> =
        finalizers.as_array().into_iter().flatten().map(ToString::to_string).collect();
    names.sort();
    json!(names)
}

fn without(message: &Value, name: &str) -> Value {
    json!(message.as_str().unwrap_or_default().replace(name, "it"))
}
