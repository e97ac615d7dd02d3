//! Carrying out a `PATCH` body on a stored object.
//!
//! JSON merge patches and JSON patches only: strategic merge and server-side apply need the schema
//! and the managed fields that the simulated server does not keep, and say so with 415.

use serde_json::Value;

use super::request::Call;
use super::status::Refusal;

/// The object that the patch makes of `existing`.
pub(super) fn patched(call: &Call, existing: &Value) -> Result<Value, Refusal> {
    let mut object = existing.clone();
    match call.content_type.split(';').next().unwrap_or_default().trim() {
        "application/merge-patch+json" => json_patch::merge(&mut object, &call.body),
        "application/json-patch+json" => {
            let patch: json_patch::Patch = serde_json::from_value(call.body.clone())
                .map_err(|error| undecodable(call, &error))?;
            json_patch::patch(&mut object, &patch).map_err(|_| Refusal::unprocessable())?;
        }
        kind @ ("application/strategic-merge-patch+json" | "application/apply-patch+yaml") => {
            return Err(Refusal::unsupported_media_type(format!(
                "the simulated API server does not serve {kind}; send application/merge-patch+json \
                 or application/json-patch+json"
            )));
        }
        _ => return Err(Refusal::unsupported_media_type("415: Unsupported Media Type")),
    }
    if object.is_object() {
        Ok(object)
    } else {
        Err(Refusal::bad_request("the patch leaves no object"))
    }
}

fn undecodable(call: &Call, error: &serde_json::Error) -> Refusal {
    if call.body.is_array() {
        return Refusal::bad_request(format!("error decoding patch: {error}"));
    }
    let found = if call.body.is_object() { "object" } else { "value" };
    Refusal::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {found} into Go value of type \
         []handlers.jsonPatchOp"
    ))
}
