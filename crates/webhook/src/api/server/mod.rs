//! What kube-apiserver makes of a write of a volume or claim, without I/O: defaults, how patches and manifests are
//! merged, validation, what cannot change.
//!
//! `bindery check` predicts with it what an API server denies, and the simulated API server of the tests answers by
//! it; both are compared with a real one (`tests/e2e/{api_server,predictions}`).
//!
//! Not here: the requests and answers of the API, versions, watches and other kinds (the simulated server's), and
//! decoding: objects stay JSON, and a field of the wrong type is a [`Cause`].

pub mod apply;
mod cause;
pub mod claim;
mod expressions;
pub mod fields;
pub mod metadata;
mod sources;
#[cfg(test)]
mod tests;
pub mod volume;

use serde_json::Value;

use self::cause::Causes;
pub use self::cause::{Cause, Problem};
use self::fields::{at, remove};
use self::metadata::SUBDOMAIN;
use crate::model::Quantity;
use crate::model::name_syntax::is_dns_subdomain;

/// Access modes that exist, in the order in which the server lists them.
const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// Volume modes that exist.
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

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

/// Looks at the access modes; `detail` is the text when there are none.
fn access_modes(found: &mut Causes, spec: &Value, detail: &str) {
    let field = "spec.accessModes";
    let value = &spec["accessModes"];
    let modes = found.list(field, value);
    if modes.is_empty() && matches!(value, Value::Null | Value::Array(_)) {
        found.add(Cause::required(field, detail));
    }
    let is_known = |mode: &&Value| mode.as_str().is_some_and(|mode| ACCESS_MODES.contains(&mode));
    for mode in modes.iter().filter(|mode| !is_known(mode)) {
        found.add(Cause::not_supported(field, mode, &ACCESS_MODES));
    }
    let is_alone = |mode: &&Value| **mode == "ReadWriteOncePod";
    let mut known = modes.iter().filter(is_known);
    if known.clone().any(|mode| is_alone(&mode)) && known.any(|mode| !is_alone(&mode)) {
        let detail = "may not use ReadWriteOncePod with other access modes";
        found.add(Cause::forbidden(field, detail));
    }
}

/// Looks at the volume mode.
fn volume_mode(found: &mut Causes, spec: &Value) {
    let mode = &spec["volumeMode"];
    let text = found.text("spec.volumeMode", mode);
    if mode.is_string() && !VOLUME_MODES.contains(&text) {
        found.add(Cause::not_supported("spec.volumeMode", mode, &VOLUME_MODES));
    }
}

/// Looks at the names of classes.
fn classes(found: &mut Causes, spec: &Value) {
    for name in ["storageClassName", "volumeAttributesClassName"] {
        let field = format!("spec.{name}");
        let class = found.text(&field, &spec[name]);
        found.spelled(&field, class, is_dns_subdomain, SUBDOMAIN);
    }
}

/// Looks at an amount, which must be above zero.
fn size(found: &mut Causes, field: &str, path: &str, value: &Value) {
    let amount = match value {
        Value::Number(number) => Quantity::parse(&number.to_string()),
        Value::String(text) => Quantity::parse(text),
        Value::Null => Ok(Quantity::default()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Quantity::parse(""),
    };
    match amount {
        Ok(amount) if amount.is_positive() => {}
        Ok(_) => found.add(Cause::invalid(field, value, "must be greater than zero").at(path)),
        Err(_) => found.add(Cause::wrong_type(field, "a quantity such as 10Gi").at(path)),
    }
}
