//! What is particular to a kind: defaults, what a client may not set, and validation.
//!
//! Source: the strategies in `k8s.io/kubernetes/pkg/registry` and the validation in
//! `pkg/apis/*/validation` of Kubernetes 1.36, as far as bindings depend on them.

mod claim;
mod event;
mod lease;
mod place;
mod pod;
mod storage;
mod volume;

use std::fmt::Debug;

use serde_json::Value;

use super::json::{at, copy, remove, text, texts};
use super::metadata::name_causes;
use super::status::Cause;
use super::store::Store;

pub(super) use claim::Claim;
pub(super) use event::Event;
pub(super) use lease::Lease;
pub(super) use place::{Namespace, Node};
pub(super) use pod::{Pod, place};
pub(super) use storage::{Attachment, Class};
pub(super) use volume::Volume;

/// The hooks of one kind. The defaults fit a kind without a status or rules of its own.
pub(super) trait Strategy: Debug + Sync {
    /// Fills in what an absent field means; runs on every object that is decoded or stored.
    fn default(&self, _object: &mut Value) {}

    /// The protection finalizer that admission adds at creation.
    fn finalizer(&self) -> Option<&'static str> {
        None
    }

    /// What built-in mutating admission does to a new object.
    fn admit_create(&self, _object: &mut Value, _store: &Store) {}

    /// Resets what a client may not set at creation; `now` is the time of the request.
    fn prepare_create(&self, _object: &mut Value, _now: &str) {}

    /// Resets what a client may not change through the main path.
    fn prepare_update(&self, object: &mut Value, existing: &Value) {
        copy(object, existing, &["status"]);
    }

    /// Resets what a client may not change through `/status`. Metadata is left as sent.
    fn prepare_status(&self, object: &mut Value, existing: &Value, _now: &str) {
        copy(object, existing, &["spec"]);
    }

    /// Resets what a client may not change through `/finalize`.
    fn prepare_finalize(&self, _object: &mut Value, _existing: &Value) {}

    /// What is wrong with a new object.
    fn validate(&self, _object: &Value) -> Vec<Cause> {
        Vec::new()
    }

    /// What is wrong with a change.
    fn validate_update(&self, object: &Value, _existing: &Value) -> Vec<Cause> {
        self.validate(object)
    }

    /// Why built-in validating admission refuses a change.
    fn admit_update(
        &self,
        _object: &Value,
        _existing: &Value,
        _store: &Store,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Warnings about an object that is accepted.
    fn warnings(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Every field that a field selector may name; `None`: name and namespace, as for kinds that
    /// say nothing about it.
    fn selectable(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The value of a selectable field, as a field selector compares it.
    fn selected<'a>(&self, object: &'a Value, field: &str) -> &'a str {
        text(object, &field.split('.').collect::<Vec<_>>())
    }

    /// Whether a `PUT` of an object that does not exist creates it.
    fn is_made_by_put(&self) -> bool {
        false
    }

    /// Whether an update without a version overwrites whatever is stored.
    fn takes_blind_updates(&self) -> bool {
        true
    }

    /// Whether the real validation of an update looks at the metadata once more than that of all
    /// kinds, so that its causes come twice.
    fn repeats_metadata(&self, _subresource: &str) -> bool {
        true
    }

    /// What is wrong with a name.
    fn name_causes(&self, name: &str) -> Vec<Cause> {
        name_causes(name)
    }

    /// Seconds that a deleted object has to end in peace: `asked` by the client or its own. `None`
    /// for kinds without that.
    fn grace(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Whether the reply to a final delete is the object; a `Status` otherwise.
    fn returns_deleted(&self) -> bool {
        true
    }

    /// Whether nothing but `metadata.finalizers` can hold a terminating object.
    fn may_vanish(&self, _object: &Value) -> bool {
        true
    }
}

/// A kind with nothing particular.
#[derive(Debug)]
pub(super) struct Plain;

impl Strategy for Plain {
    fn prepare_update(&self, _object: &mut Value, _existing: &Value) {}

    fn returns_deleted(&self) -> bool {
        false
    }
}

/// Access modes that exist, in the order in which the server lists them.
const ACCESS_MODES: &[&str] =
    &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// Volume modes that exist.
const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];

const LEGACY_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// A typed server does not write an empty list back.
fn drop_empty_access_modes(object: &mut Value) {
    let field = ["spec", "accessModes"];
    if at(object, &field).and_then(Value::as_array).is_some_and(Vec::is_empty) {
        remove(object, &field);
    }
}

/// Nor an empty text of an optional field.
fn drop_empty_text(object: &mut Value, path: &[&str]) {
    if at(object, path).and_then(Value::as_str) == Some("") {
        remove(object, path);
    }
}

/// Checks `spec.accessModes`; `detail` is the text when there are none.
fn access_mode_causes(object: &Value, detail: &str) -> Vec<Cause> {
    let field = "spec.accessModes";
    let modes = texts(object, &["spec", "accessModes"]);
    let mut causes = Vec::new();
    if modes.is_empty() {
        causes.push(Cause::required(field, detail));
    }
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(mode)) {
        causes.push(Cause::not_supported(field, &Value::from(*mode), ACCESS_MODES));
    }
    let is_other = |mode: &&str| *mode != "ReadWriteOncePod" && ACCESS_MODES.contains(mode);
    if modes.contains(&"ReadWriteOncePod") && modes.iter().any(is_other) {
        let detail = "may not use ReadWriteOncePod with other access modes";
        causes.push(Cause::forbidden(field, detail));
    }
    causes
}

/// Checks `spec.volumeMode`.
fn volume_mode_causes(object: &Value) -> Vec<Cause> {
    let mode = text(object, &["spec", "volumeMode"]);
    if mode.is_empty() || VOLUME_MODES.contains(&mode) {
        return Vec::new();
    }
    vec![Cause::not_supported("spec.volumeMode", &Value::from(mode), VOLUME_MODES)]
}

/// A quantity as a whole number of thousandths, so that sizes compare; `None` for no quantity.
/// Kubernetes: `k8s.io/apimachinery/pkg/api/resource`; exponents are left out.
fn amount(text: &str) -> Option<i128> {
    const SUFFIXES: [(&str, i128); 15] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("Ei", 1 << 60),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("E", 1_000_000_000_000_000_000),
        ("m", 0),
        ("u", -1),
        ("n", -1),
    ];
    let found = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| text.strip_suffix(suffix).map(|number| (number, *factor)));
    let (number, factor) = found.unwrap_or((text, 1));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // Three digits are enough for the sizes that disks have; further ones are cut.
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let sign = if whole.starts_with('-') { -1 } else { 1 };
    let whole: i128 = whole.trim_start_matches(['+', '-']).parse().ok()?;
    let thousandths = sign * (whole.checked_mul(1000)? + digits.parse::<i128>().ok()?);
    match factor {
        0 => Some(thousandths / 1000),
        -1 => Some(0),
        _ => thousandths.checked_mul(factor),
    }
}

/// Checks that a size is a quantity above zero.
fn size_causes(value: &Value, field: &str) -> Vec<Cause> {
    let size = value.as_str().and_then(amount).or_else(|| value.as_i64().map(i128::from));
    if size.is_some_and(|size| size > 0) {
        return Vec::new();
    }
    vec![Cause::invalid(field, value, "must be greater than zero")]
}
