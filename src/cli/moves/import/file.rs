//! The file of an export, and the pairs that it asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::moves::{
    ExportMark, MappedKind, Mappings, export_mark, imported_claim, imported_volume, volume_class,
};
use crate::api::volume::{Wanted, volume};
use crate::cli::exit::Failure;
use crate::cli::input::text::{error_reason, name_of, read_text};
use crate::document;
use crate::model::{ClaimKey, ClassName, ReclaimPolicy, Volume};
use crate::move_runner::ImportOrder;

/// The objects of an export.
#[derive(Debug, Default)]
pub(super) struct ExportFile {
    /// How messages call it.
    name: String,
    volumes: Vec<Value>,
    claims: BTreeMap<ClaimKey, Value>,
    /// The names of its StorageClasses and CSIDrivers.
    classes: BTreeSet<String>,
    drivers: BTreeSet<String>,
}

/// Reads an export.
///
/// # Errors
///
/// The file cannot be read, or holds no volume.
pub(super) fn read(path: &Path) -> Result<ExportFile, Failure> {
    let (name, text) = (name_of(path), read_text(path)?);
    let documents = document::read(&text)
        .map_err(|error| Failure::usage(format!("{name}:{}: {}", error.at, error.reason)))?;
    let mut file = ExportFile { name, ..ExportFile::default() };
    for document in documents {
        file.take(document.to_json())?;
    }
    if file.volumes.is_empty() {
        return Err(file.wrong("has no PersistentVolume; give the file that bindery export wrote"));
    }
    Ok(file)
}

impl ExportFile {
    /// Takes an object, or the objects of a list.
    fn take(&mut self, mut object: Value) -> Result<(), Failure> {
        if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
            return std::mem::take(items).into_iter().try_for_each(|item| self.take(item));
        }
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        match object["kind"].as_str().unwrap_or_default() {
            "PersistentVolume" => self.volumes.push(object),
            "PersistentVolumeClaim" => {
                let key = ClaimKey::new(metadata["namespace"].as_str().unwrap_or_default(), &*name);
                if self.claims.insert(key.clone(), object).is_some() {
                    return Err(self.wrong(&format!("has PVC \"{key}\" twice; leave out one")));
                }
            }
            "StorageClass" => drop(self.classes.insert(name)),
            "CSIDriver" => drop(self.drivers.insert(name)),
            kind => {
                return Err(self.wrong(&format!("has an object of kind {kind:?}; leave it out")));
            }
        }
        Ok(())
    }

    fn wrong(&self, what: &str) -> Failure {
        Failure::usage(format!("{}: {what}", self.name))
    }

    /// Returns the pairs that are to be created, with the names that they have in this cluster.
    ///
    /// # Errors
    ///
    /// An object is not as an export has it, or a mapping is used nowhere.
    pub(super) fn orders(self, choices: &ImportChoices<'_>) -> Result<Vec<ImportOrder>, Failure> {
        let mut used = BTreeSet::new();
        let mut orders = Vec::new();
        for volume in &self.volumes {
            orders.push(self.order(volume, choices, &mut used)?);
        }
        if self.claims.len() > orders.len() {
            return Err(self.wrong("has PVCs without a PV; export them again"));
        }
        let all_used = choices.mappings.all_used(&used);
        all_used.map_err(|error| Failure::usage(error.to_string()))?;
        Ok(orders)
    }

    fn order(
        &self,
        exported: &Value,
        choices: &ImportChoices<'_>,
        used: &mut BTreeSet<(MappedKind, String)>,
    ) -> Result<ImportOrder, Failure> {
        let mark = self.mark(exported)?;
        let claim = self.claim_of(exported)?;
        let classes = self.classes([exported, claim], choices.mappings);
        let driver = exported["spec"]["csi"]["driver"].as_str();
        let needs_driver = driver.is_some_and(|driver| {
            let is_mapped = choices.mappings.new_name(MappedKind::Driver, driver).is_some();
            is_mapped || self.drivers.contains(driver)
        });
        let policy = if choices.retain { ReclaimPolicy::Retain } else { mark.policy };
        let source = mark.volume_uid.to_string();
        let (mut exported, mut claim) = (exported.clone(), claim.clone());
        choices.mappings.apply(&mut exported, used);
        choices.mappings.apply(&mut claim, used);
        let volume_manifest = imported_volume(&exported, &source, &policy);
        let volume = self.volume(&volume_manifest)?;
        let key = key_of(&claim["metadata"]);
        let age = choices.now.duration_since(mark.exported);
        Ok(ImportOrder {
            claim_manifest: imported_claim(&claim, &key, &volume.name),
            volume_manifest,
            volume,
            key,
            source: source.into(),
            policy,
            classes,
            needs_driver,
            is_handed_over: mark.is_handed_over,
            // A clock that is behind makes no export older.
            age: Duration::try_from(age).unwrap_or_default(),
        })
    }

    /// The mark of a volume.
    fn mark(&self, exported: &Value) -> Result<ExportMark, Failure> {
        let mark = export_mark(exported).map_err(|error| {
            let reason = error_reason(&error);
            let what = format!(
                "has an annotation bindery.dev/export that cannot be read: {reason}; use the version of bindery that wrote it"
            );
            self.wrong_volume(exported, &what)
        })?;
        mark.ok_or_else(|| {
            let what =
                "has no annotation bindery.dev/export; give the file that bindery export wrote";
            self.wrong_volume(exported, what)
        })
    }

    /// The claim that a volume is reserved for.
    fn claim_of(&self, volume: &Value) -> Result<&Value, Failure> {
        let claim = self.claims.get(&key_of(&volume["spec"]["claimRef"]));
        claim.ok_or_else(|| {
            self.wrong_volume(
                volume,
                "has no PVC in the file that spec.claimRef names; export it again",
            )
        })
    }

    /// The StorageClasses that have to exist: those that existed in the other cluster, and those that a mapping names.
    fn classes(&self, pair: [&Value; 2], mappings: &Mappings) -> BTreeSet<ClassName> {
        let old = pair.into_iter().map(volume_class);
        let names = old.filter_map(|old| {
            let new = mappings.new_name(MappedKind::Class, old);
            new.or_else(|| self.classes.contains(old).then_some(old))
        });
        names.map(ClassName::new).collect()
    }

    /// A manifest as decisions read it.
    fn volume(&self, manifest: &Value) -> Result<Volume, Failure> {
        let text = manifest.to_string();
        let volume = volume(&text, Wanted::Both).map(|read| read.volume);
        volume.map_err(|error| {
            let what = format!("cannot be read: {}; export it again", error_reason(&error));
            self.wrong_volume(manifest, &what)
        })
    }

    fn wrong_volume(&self, volume: &Value, what: &str) -> Failure {
        let name = volume["metadata"]["name"].as_str().unwrap_or_default();
        self.wrong(&format!("PV {name:?} {what}"))
    }
}

/// What the command line chooses.
pub(super) struct ImportChoices<'a> {
    /// The names that differ.
    pub mappings: &'a Mappings,
    /// Whether each volume keeps the reclaim policy Retain.
    pub retain: bool,
    /// The time of the import.
    pub now: Timestamp,
}

/// The claim that metadata or a reference names.
fn key_of(reference: &Value) -> ClaimKey {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    ClaimKey::new(text("namespace"), text("name"))
}
