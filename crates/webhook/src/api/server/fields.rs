//! Reading and writing fields of untyped objects by path.
//!
//! What an API server does to an object is done to JSON, as it travels, so that unknown fields survive. Here
//! are the few accessors that spare every caller the chain of `get`s. No knowledge of any kind.

use serde_json::{Map, Value};

/// The value at `path`; `None` when a step is missing or the value is `null`.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| value.get(step)).filter(|value| !value.is_null())
}

/// The text at `path`; empty when it is missing or no text.
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of the list at `path`, in order; other elements are left out.
pub fn texts<'a>(object: &'a Value, path: &[&str]) -> Vec<&'a str> {
    let list = at(object, path).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Puts `value` at `path` and makes the objects on the way, replacing what is no object.
pub fn set(object: &mut Value, path: &[&str], value: Value) {
    let mut place = object;
    for step in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[*step];
    }
    *place = value;
}

/// Puts `value` at `path` only if nothing is there.
pub fn set_default(object: &mut Value, path: &[&str], value: Value) {
    if at(object, path).is_none() {
        set(object, path, value);
    }
}

/// Removes what is at `path`.
pub fn remove(object: &mut Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut place = Some(object);
    for step in parents {
        place = place.and_then(|value| value.get_mut(step));
    }
    if let Some(map) = place.and_then(Value::as_object_mut) {
        map.remove(*last);
    }
}

/// Makes `target` hold at `path` what `source` holds there, absence included.
pub fn copy(target: &mut Value, source: &Value, path: &[&str]) {
    match at(source, path) {
        Some(value) => set(target, path, value.clone()),
        None => remove(target, path),
    }
}

/// Drops what a typed server would not write back: `null` fields, and empty lists and maps of the
/// metadata.
pub fn tidy(object: &mut Value) {
    drop_nulls(object);
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, value| !is_empty(value));
        metadata.remove("managedFields");
        metadata.remove("selfLink");
    }
}

fn drop_nulls(value: &mut Value) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, field| !field.is_null());
        map.values_mut().for_each(drop_nulls);
    } else if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(drop_nulls);
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_str().is_some_and(str::is_empty)
}
