//! Carrying out a `PATCH` body on a stored object.
//!
//! JSON merge patches and JSON patches; of strategic merge patches those whose only list is that of
//! finalizers, as how other lists merge is in a schema that the simulated server does not keep.
//! Server-side apply needs managed fields: it makes what is absent, and changes nothing where everything is as
//! it asks for; whatever differs is taken to be another manager's, which is a conflict. The rest is answered with 415.

use bindery::api::server::apply::{Style, merge, server_side};
use serde_json::Value;

use super::request::{Call, Method};
use super::status::StatusError;

/// Returns whether the call is a server-side apply.
pub(super) fn is_apply(call: &Call) -> bool {
    call.method == Method::Patch && kind(call) == APPLY
}

const APPLY: &str = "application/apply-patch+yaml";

fn kind(call: &Call) -> &str {
    call.content_type.split(';').next().unwrap_or_default().trim()
}

/// The object that the patch makes of `existing`.
pub(super) fn patched(call: &Call, existing: &Value) -> Result<Value, StatusError> {
    let mut object = existing.clone();
    match kind(call) {
        "application/merge-patch+json" => json_patch::merge(&mut object, &call.body),
        "application/json-patch+json" => {
            let patch: json_patch::Patch = serde_json::from_value(call.body.clone())
                .map_err(|error| undecodable(call, &error))?;
            json_patch::patch(&mut object, &patch).map_err(|_| StatusError::unprocessable())?;
        }
        kind @ "application/strategic-merge-patch+json" => {
            merge_strategically(&mut object, &call.body).map_err(|()| unserved(kind))?;
        }
        APPLY if server_side(existing, &call.body, None) == *existing => {}
        APPLY => {
            let why = "Apply failed: who owns the fields that differ is not known here";
            return Err(StatusError::conflict(call.resource, &call.name, why));
        }
        _ => return Err(StatusError::unsupported_media_type("415: Unsupported Media Type")),
    }
    if object.is_object() {
        Ok(object)
    } else {
        Err(StatusError::bad_request("the patch leaves no object"))
    }
}

/// What deletes single finalizers in a strategic merge patch.
const WITHOUT_FINALIZERS: &str = "$deleteFromPrimitiveList/finalizers";

/// Merges a strategic merge patch. Error: it has another list, or another directive, which are in a schema.
fn merge_strategically(target: &mut Value, patch: &Value) -> Result<(), ()> {
    if !is_served(patch) {
        return Err(());
    }
    let mut patch = patch.clone();
    if let Some(Value::Array(removed)) = take(&mut patch, WITHOUT_FINALIZERS)
        && let Some(Value::Array(left)) = target.pointer_mut("/metadata/finalizers")
    {
        left.retain(|name| !removed.contains(name));
    }
    merge(target, &patch, Style::Strategic);
    Ok(())
}

/// The directive in the metadata, taken out.
fn take(patch: &mut Value, directive: &str) -> Option<Value> {
    patch.get_mut("metadata")?.as_object_mut()?.remove(directive)
}

/// Returns whether the patch has no list but that of finalizers, and no directive but that which deletes some.
fn is_served(patch: &Value) -> bool {
    let Value::Object(fields) = patch else { return false };
    fields.iter().all(|(key, value)| match (key.as_str(), value) {
        (WITHOUT_FINALIZERS | "finalizers", Value::Array(_)) => true,
        (directive, _) if directive.starts_with('$') => false,
        (_, Value::Array(_)) => false,
        (_, Value::Object(_)) => is_served(value),
        (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => true,
    })
}

fn unserved(kind: &str) -> StatusError {
    StatusError::unsupported_media_type(format!(
        "the simulated API server does not serve this {kind}; send application/merge-patch+json or \
         application/json-patch+json"
    ))
}

fn undecodable(call: &Call, error: &serde_json::Error) -> StatusError {
    if call.body.is_array() {
        return StatusError::bad_request(format!("error decoding patch: {error}"));
    }
    let found = if call.body.is_object() { "object" } else { "value" };
    StatusError::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {found} into Go value of type \
         []handlers.jsonPatchOp"
    ))
}
