//! The controller with a trash, beside the in-tree binder or as the only one, and what it has recorded on volumes.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::scene::PATIENCE;
use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, BINDERY_CONTROLLER};
use crate::plane::{Plane, volume_path};

/// The record of a volume.
const RECORD: &str = "/metadata/annotations/bindery.dev~1trash";

/// Who binds claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binder {
    /// Kubernetes' own binder.
    InTree,
    /// Bindery's controller alone.
    Own,
}

/// A plane whose controller has a trash.
pub(super) struct Trash<'a> {
    plane: &'a Plane,
    binder: Binder,
    folder: tempfile::TempDir,
}

impl<'a> Trash<'a> {
    pub(super) fn on(plane: &'a Plane, binder: Binder, configuration: &str) -> Self {
        let trash = Self { plane, binder, folder: tempfile::tempdir().unwrap() };
        std::fs::write(trash.file(), configuration).unwrap();
        trash
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    pub(super) fn start(&self) -> Controller {
        match self.binder {
            Binder::Own => {
                let file = self.file();
                Controller::start_with(self.plane, &more(&file))
            }
            Binder::InTree => {
                self.start_by(&self.plane.kubeconfig(BINDERY_CONTROLLER), Election::None)
            }
        }
    }

    /// Starts one beside the in-tree binder with a kubeconfig of the caller's own.
    pub(super) fn start_by(&self, kubeconfig: &Path, election: Election) -> Controller {
        let file = self.file();
        Controller::keeping(kubeconfig, election, &more(&file))
    }

    /// Waits until it is so for a volume. Returns the volume.
    pub(super) fn until(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        // A volume does not go before the controller has run for the time that the volume is kept.
        eventually(&format!("{name}: {what}"), PATIENCE * 3, || {
            let volume = self.plane.get(ADMIN, &volume_path(name)).expect_ok();
            if is_so(&volume) { Ok(volume) } else { Err(volume.to_string()) }
        })
    }

    /// Waits until a claim has the volume, and it is held for the time after.
    pub(super) fn until_held(&self, name: &str) {
        self.until(name, "it is held", |volume| {
            record(volume).is_some_and(|record| record["release"].is_null())
                && record(volume).unwrap()["volumeUid"] == volume["metadata"]["uid"]
                && volume["status"]["phase"] == "Bound"
                && volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        });
    }

    /// Waits until the volume is in the trash. Returns it as it is then.
    pub(super) fn until_in_trash(&self, name: &str) -> Value {
        self.until(name, "it is in the trash", |volume| {
            record(volume).is_some_and(|record| !record["release"].is_null())
        })
    }
}

/// Its arguments; among them the namespace of what it records about deleted volumes.
fn more(configuration: &Path) -> [&str; 4] {
    ["--config", configuration.to_str().unwrap(), "--lease-namespace", "default"]
}

/// Waits until the time that is recorded on a volume is over.
pub(super) fn until_over(volume: &Value) {
    let record = record(volume).unwrap();
    let until: Timestamp = record["release"]["until"].as_str().unwrap().parse().unwrap();
    eventually("its time is over", PATIENCE * 2, || {
        if until < Timestamp::now() { Ok(()) } else { Err(until.to_string()) }
    });
}

/// What is recorded on a volume.
pub(super) fn record(volume: &Value) -> Option<Value> {
    volume.pointer(RECORD)?.as_str().and_then(|text| serde_json::from_str(text).ok())
}
