//! Claims: `PersistentVolumeClaim`. Not here: its defaults and validation (`bindery::api::server::claim`).

use bindery::api::server::Cause;
use bindery::api::server::claim::{self, Growth};
use bindery::api::server::fields::{at, copy, set, set_default};
use bindery::model::annotations::{CLAIM_PROTECTION, LEGACY_CLASS};
use serde_json::{Value, json};

use super::Strategy;
use crate::resource::CLASSES;
use crate::store::{Key, Store};

/// `PersistentVolumeClaim`.
#[derive(Debug)]
pub(crate) struct ClaimStrategy;

const LEGACY: [&str; 3] = ["metadata", "annotations", LEGACY_CLASS];

impl Strategy for ClaimStrategy {
    fn default(&self, object: &mut Value) {
        set_default(object, &["status", "phase"], json!("Pending"));
        claim::default(object);
    }

    fn finalizer(&self) -> Option<&'static str> {
        Some(CLAIM_PROTECTION)
    }

    fn admit_create(&self, object: &mut Value, store: &Store) {
        let classes = store.objects(&CLASSES, "");
        claim::default_class(object, classes.iter().map(|class| &**class));
    }

    fn prepare_create(&self, object: &mut Value, _now: &str) {
        set(object, &["status"], json!({}));
        claim::copy_source(object, None);
    }

    fn prepare_update(&self, object: &mut Value, existing: &Value) {
        copy(object, existing, &["status"]);
        claim::copy_source(object, Some(existing));
    }

    fn validate(&self, object: &Value) -> Vec<Cause> {
        claim::validate(object)
    }

    fn validate_update(&self, object: &Value, existing: &Value) -> Vec<Cause> {
        let mut causes = claim::validate(object);
        causes.extend(claim::validate_change(object, existing));
        causes
    }

    fn admit_update(&self, object: &Value, existing: &Value, store: &Store) -> Result<(), String> {
        let growth = |class: &str| match store.get(&Key::new(&CLASSES, "", class)) {
            Some(found) if found["allowVolumeExpansion"] == true => Growth::Allowed,
            Some(_) | None => Growth::Denied,
        };
        claim::deny_growth(object, existing, growth).map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn warnings(&self, object: &Value) -> Vec<String> {
        let text = format!(
            "metadata.annotations[{LEGACY_CLASS}]: deprecated since v1.8; use \
             \"storageClassName\" attribute instead"
        );
        if at(object, &LEGACY).is_some() { vec![text] } else { Vec::new() }
    }
}
