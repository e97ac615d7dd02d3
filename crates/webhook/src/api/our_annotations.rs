//! The annotations of an object that a watch has shown.

use serde::Deserialize;
use serde_json::Value;

use crate::model::annotations::OUR_PREFIX;

/// Returns the annotations of an object, of which `text` is the JSON, if it may have one of Bindery's; else null: most objects
/// are not read again.
///
/// # Errors
///
/// It is no object.
pub fn our_annotations(text: &str) -> Result<Value, serde_json::Error> {
    #[derive(Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        annotations: Value,
    }
    if !text.contains(OUR_PREFIX) {
        return Ok(Value::Null);
    }
    Ok(serde_json::from_str::<Object>(text)?.metadata.annotations)
}
