//! The two recorded reviews, made true on a plane.
//!
//! They name a claim by its uid, and a denial rests on that claim being alive: so it is created, and
//! the uid that it got takes the place of the recorded one. Same length, so the load stays the same.

use std::path::Path;

use hyper::Method;
use serde_json::json;

use crate::plane::folder::Folder;
use crate::plane::{Body, Plane, claim_path, persona};

const ALLOWED: &str = include_str!("../data/allowed.json");
const DENIED: &str = include_str!("../data/denied.json");

/// The uid of claim default/data in the recordings.
const RECORDED_UID: &str = "48538823-193d-4d7a-8914-d300ecc119bc";

/// The reviews.
#[derive(Debug)]
pub(crate) struct Reviews {
    /// Every rule allows it.
    pub(crate) allowed: String,
    /// `bound-volume-capacity` denies it.
    pub(crate) denied: String,
}

impl Reviews {
    /// Creates the claim that the recordings name, if it is not there.
    pub(crate) fn on(plane: &Plane) -> Result<Self, String> {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "volumeName": "pv-orders-0", "resources": {"requests": {"storage": "100Gi"}},
            },
        });
        let path = claim_path("default", "data");
        let collection = path.trim_end_matches("/data");
        let admin = persona::ADMIN;
        plane.try_request(admin, Method::POST, collection, Body::json(&claim))?;
        let stored = plane.try_request(admin, Method::GET, &path, Body::none())?;
        let uid = stored.json["metadata"]["uid"].as_str();
        let uid = uid.ok_or_else(|| format!("claim default/data was not created: {stored}"))?;
        let made = |recorded: &str| recorded.trim_end().replace(RECORDED_UID, uid);
        Ok(Self { allowed: made(ALLOWED), denied: made(DENIED) })
    }

    /// Writes the allowed one into `folder`, for a load generator.
    pub(crate) fn write_allowed(&self, folder: &Folder) -> Result<std::path::PathBuf, String> {
        folder.write("allowed.json", &self.allowed)
    }
}

/// The uid of the allowed review's request, which a constant answer has to repeat.
pub(crate) fn request_uid() -> Result<String, String> {
    let review: serde_json::Value =
        serde_json::from_str(ALLOWED).map_err(|error| error.to_string())?;
    let uid = review["request"]["uid"].as_str();
    uid.map(str::to_owned).ok_or_else(|| "the recorded review has no uid".to_owned())
}

/// The token in a persona's kubeconfig, as a file beside it.
pub(crate) fn token_file(kubeconfig: &Path) -> Result<std::path::PathBuf, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", kubeconfig.display());
    let text = std::fs::read_to_string(kubeconfig).map_err(|error| failed(&error))?;
    let config: serde_json::Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let token = config["users"][0]["user"]["token"].as_str();
    let token = token.ok_or_else(|| failed(&"it holds no token"))?;
    let path = kubeconfig.with_extension("token");
    std::fs::write(&path, token).map_err(|error| failed(&error))?;
    Ok(path)
}
