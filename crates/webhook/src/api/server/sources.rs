//! The source of a volume: which there is, and what it needs.
//!
//! Kubernetes: `ValidatePersistentVolumeSpec` and the `validate…VolumeSource` that it calls.

use serde_json::Value;

use super::cause::{Cause, Causes};
use super::metadata::SUBDOMAIN;
use crate::model::name_syntax::is_dns_subdomain;

/// The sources, and the texts that each needs.
pub(super) const SOURCES: [(&str, &[&str]); 21] = [
    ("hostPath", &["path"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("glusterfs", &["endpoints", "path"]),
    ("flocker", &[]),
    ("nfs", &["server", "path"]),
    ("rbd", &["image"]),
    ("quobyte", &["registry", "volume"]),
    ("cephfs", &[]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("cinder", &["volumeID"]),
    ("fc", &[]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("local", &["path"]),
    ("storageos", &[]),
    ("csi", &["driver", "volumeHandle"]),
];

/// References to secrets of a CSI volume that the API server looks at; nodeStageSecretRef it does not.
const CSI_SECRETS: [&str; 4] = [
    "controllerPublishSecretRef",
    "nodePublishSecretRef",
    "controllerExpandSecretRef",
    "nodeExpandSecretRef",
];

/// The types of a hostPath.
const HOST_PATHS: [&str; 7] = [
    "DirectoryOrCreate",
    "Directory",
    "FileOrCreate",
    "File",
    "Socket",
    "CharDevice",
    "BlockDevice",
];

/// Looks at what of the spec of a volume is its source; `policy` is its reclaim policy.
pub(super) fn validate(found: &mut Causes, spec: &Value, policy: &str) {
    let named = SOURCES.iter().filter(|(source, _)| !spec[*source].is_null());
    let named: Vec<_> = named.collect();
    match named.as_slice() {
        [] => found.add(Cause::required("spec", "must specify a volume type")),
        [_] => {}
        [_, others @ ..] => {
            for (source, _) in others {
                let detail = "may not specify more than 1 volume type";
                found.add(Cause::forbidden(&format!("spec.{source}"), detail));
            }
        }
    }
    // Of several the API server looks into the first.
    let Some((source, needed)) = named.first() else { return };
    let field = format!("spec.{source}");
    let value = &spec[*source];
    if found.map(&field, value).is_none() {
        return;
    }
    for part in *needed {
        found.required(&format!("{field}.{part}"), &value[*part], "");
    }
    match *source {
        "hostPath" => host_path(found, value, policy),
        "nfs" => absolute(found, "spec.nfs.path", &value["path"]),
        "local" => local(found, spec),
        "csi" => csi(found, value),
        "rbd" | "cephfs" => {
            let field = format!("{field}.monitors");
            if found.list(&field, &value["monitors"]).is_empty() {
                found.add(Cause::required(&field, ""));
            }
        }
        _ => {}
    }
}

fn host_path(found: &mut Causes, source: &Value, policy: &str) {
    let path = within(found, "spec.hostPath.path", &source["path"]);
    let kind = found.text("spec.hostPath.type", &source["type"]);
    found.one_of("spec.hostPath.type", kind, &HOST_PATHS);
    let is_root = path.starts_with('/') && path.split('/').all(|part| matches!(part, "" | "."));
    if is_root && policy == "Recycle" {
        let detail = "may not be '/' for a hostPath mount of a volume that is recycled";
        found.add(
            Cause::forbidden("spec.persistentVolumeReclaimPolicy", detail).at("spec.hostPath.path"),
        );
    }
}

fn local(found: &mut Causes, spec: &Value) {
    within(found, "spec.local.path", &spec["local"]["path"]);
    if spec["nodeAffinity"]["required"].is_null() {
        found.add(Cause::required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
}

fn csi(found: &mut Causes, source: &Value) {
    let driver = source["driver"].as_str().unwrap_or_default();
    let is_driver = |name: &str| name.len() <= 63 && is_dns_subdomain(&name.to_ascii_lowercase());
    found.spelled("spec.csi.driver", driver, is_driver, SUBDOMAIN);
    for secret in CSI_SECRETS {
        let field = format!("spec.csi.{secret}");
        if found.map(&field, &source[secret]).is_some() {
            found.required(&format!("{field}.name"), &source[secret]["name"], "");
            found.required(&format!("{field}.namespace"), &source[secret]["namespace"], "");
        }
    }
}

/// A path without `..`.
fn within<'v>(found: &mut Causes, field: &str, value: &'v Value) -> &'v str {
    let path = value.as_str().unwrap_or_default();
    if path.split('/').any(|part| part == "..") {
        found.add(Cause::invalid(field, value, "must not contain '..'"));
    }
    path
}

fn absolute(found: &mut Causes, field: &str, value: &Value) {
    let path = value.as_str().unwrap_or_default();
    if !path.is_empty() && !path.starts_with('/') {
        found.add(Cause::invalid(field, value, "must be an absolute path"));
    }
}
