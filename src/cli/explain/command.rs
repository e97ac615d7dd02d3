//! Repairs as shell commands, and their effects in words.

use serde_json::{Value, json};

use super::repair::{ClaimChange, ClaimDifference, ClaimRepair, VolumeChange};
use super::report::Fix;
use crate::cli::shell::quoted;
use crate::model::annotations::LEGACY_CLASS;
use crate::model::{Claim, ClassName, VolumeName};

/// The command that makes `repair` for `claim`.
pub(super) fn fix(repair: &ClaimRepair, claim: &Claim) -> Fix {
    let mut commands = Vec::new();
    let mut effects = Vec::new();
    if let Some((name, change)) = &repair.volume {
        commands.push(on_volume(name, change));
        effects.push(volume_effect(name, change));
    }
    match &repair.claim {
        ClaimChange::None => {}
        ClaimChange::SetClass(class) => {
            let patch = json!({"spec": {"storageClassName": class.as_str()}});
            commands.push(format!(
                "kubectl -n {} patch pvc {} --type=merge -p {}",
                quoted(&claim.key.namespace),
                quoted(&claim.key.name),
                quoted(&patch.to_string())
            ));
            effects.push(format!("gives the PVC the StorageClass \"{class}\""));
        }
        ClaimChange::Recreate(differences) => {
            commands.push(recreate(claim, differences));
            let words: Vec<String> = differences.iter().map(|one| words(one, claim)).collect();
            effects.push(format!("deletes and re-creates the PVC, {}", words.join(", ")));
        }
    }
    let harm = repair.harm(claim);
    Fix { command: commands.join(" && "), effect: effects.join(", and "), harm }
}

fn on_volume(name: &VolumeName, change: &VolumeChange) -> String {
    let name = quoted(name.as_str());
    if change.class.is_none() && change.reserve_for.is_none() {
        let labels = change.labels.iter().map(|(key, value)| match value {
            Some(value) => quoted(&format!("{key}={value}")).into_owned(),
            None => quoted(&format!("{key}-")).into_owned(),
        });
        let labels: Vec<String> = labels.collect();
        return format!("kubectl label pv {name} {} --overwrite", labels.join(" "));
    }
    let mut patch = Value::Null;
    for (key, value) in &change.labels {
        patch["metadata"]["labels"][key] = json!(value);
    }
    if let Some(annotation) = change.without {
        patch["metadata"]["annotations"][annotation] = Value::Null;
    }
    if let Some(class) = &change.class {
        patch["spec"]["storageClassName"] = json!(class.wanted().name().map(ClassName::as_str));
    }
    if let Some(key) = &change.reserve_for {
        // A merge keeps what it does not name: the uid of the claim that is gone must go.
        patch["spec"]["claimRef"] = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": &*key.namespace,
            "name": &*key.name, "uid": null, "resourceVersion": null, "fieldPath": null,
        });
    }
    format!("kubectl patch pv {name} --type=merge -p {}", quoted(&patch.to_string()))
}

fn volume_effect(name: &VolumeName, change: &VolumeChange) -> String {
    let mut effects = Vec::new();
    if !change.labels.is_empty() {
        effects.push("gets the labels that the PVC selects".to_owned());
    }
    effects.extend(change.class.as_ref().map(|class| match class.wanted().name() {
        Some(class) => format!("gets the StorageClass \"{class}\""),
        None => "loses its StorageClass".to_owned(),
    }));
    if let Some(key) = &change.reserve_for {
        effects.push(format!(
            "is reserved for PVC \"{key}\", which gets the data of its previous PVC"
        ));
    }
    format!("PV \"{name}\" {}", effects.join(" and "))
}

/// kubectl changes the claim on its own side, deletes the stored one and creates it as changed.
fn recreate(claim: &Claim, differences: &[ClaimDifference]) -> String {
    let mut operations: Vec<Value> = differences.iter().map(operation).collect();
    let changes_class =
        differences.iter().any(|difference| matches!(difference, ClaimDifference::Class(_)));
    if changes_class && claim.annotations.has(LEGACY_CLASS) {
        let path = format!("/metadata/annotations/{}", LEGACY_CLASS.replace('/', "~1"));
        operations.push(json!({"op": "remove", "path": path}));
    }
    let (namespace, name) = (quoted(&claim.key.namespace), quoted(&claim.key.name));
    let patch = Value::Array(operations).to_string();
    format!(
        "kubectl -n {namespace} get pvc {name} -o json | kubectl patch --local -f - --type=json -p {} \
         -o json | kubectl replace --force -f -",
        quoted(&patch)
    )
}

fn operation(difference: &ClaimDifference) -> Value {
    let remove = |path: &str| json!({"op": "remove", "path": path});
    let set = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    match difference {
        ClaimDifference::NoVolume => remove("/spec/volumeName"),
        ClaimDifference::NoSelector => remove("/spec/selector"),
        ClaimDifference::Request(size) => {
            set("/spec/resources/requests/storage", json!(size.to_string()))
        }
        ClaimDifference::AccessModes(modes) => {
            set("/spec/accessModes", json!(modes.names().collect::<Vec<_>>()))
        }
        ClaimDifference::VolumeMode(mode) => set("/spec/volumeMode", json!(mode.to_string())),
        // The empty text: with none at all the claim would get the default class.
        ClaimDifference::Class(class) => {
            set("/spec/storageClassName", json!(class.as_ref().map_or("", |class| class.as_str())))
        }
        ClaimDifference::AttributesClass(None) => remove("/spec/volumeAttributesClassName"),
        ClaimDifference::AttributesClass(Some(class)) => {
            set("/spec/volumeAttributesClassName", json!(class.as_str()))
        }
    }
}

fn words(difference: &ClaimDifference, claim: &Claim) -> String {
    match difference {
        ClaimDifference::NoVolume => "without spec.volumeName".to_owned(),
        ClaimDifference::NoSelector => "without a selector".to_owned(),
        ClaimDifference::Request(size) => format!("asking for {size} instead of {}", claim.request),
        ClaimDifference::AccessModes(modes) => {
            format!("with access modes {modes} instead of {}", claim.access_modes)
        }
        ClaimDifference::VolumeMode(mode) => {
            format!("with volume mode {mode} instead of {}", claim.mode)
        }
        ClaimDifference::Class(Some(class)) => format!("with StorageClass \"{class}\""),
        ClaimDifference::Class(None) => "without a StorageClass".to_owned(),
        ClaimDifference::AttributesClass(Some(class)) => {
            format!("with attributes class \"{class}\"")
        }
        ClaimDifference::AttributesClass(None) => "without an attributes class".to_owned(),
    }
}
