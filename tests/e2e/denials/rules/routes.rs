//! The routes by which one change can reach the API server, and the request for each.

use bindery::rules::{Operation, Send};
use hyper::Method;
use serde_json::{Map, Value, json};

use super::stage::{Stage, items, path};
use crate::plane::Body;

/// A way to make a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Route {
    Create,
    Put,
    PutUnversioned,
    JsonPatch,
    MergePatch,
    StrategicPatch,
    Apply,
    Status,
    Delete,
    DeleteCollection,
    LastFinalizer,
}

/// A request, ready to be sent.
pub(crate) struct Shot {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Body,
}

impl Route {
    pub(crate) const ALL: [Self; 11] = [
        Self::Create,
        Self::Put,
        Self::PutUnversioned,
        Self::JsonPatch,
        Self::MergePatch,
        Self::StrategicPatch,
        Self::Apply,
        Self::Status,
        Self::Delete,
        Self::DeleteCollection,
        Self::LastFinalizer,
    ];

    /// The heading of its column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Put => "PUT",
            Self::PutUnversioned => "PUT without resourceVersion",
            Self::JsonPatch => "JSON patch",
            Self::MergePatch => "merge patch",
            Self::StrategicPatch => "strategic patch",
            Self::Apply => "server-side apply",
            Self::Status => "/status",
            Self::Delete => "DELETE",
            Self::DeleteCollection => "collection delete",
            Self::LastFinalizer => "last finalizer",
        }
    }

    /// The operation that the webhook sees.
    pub(crate) fn operation(self) -> Operation {
        match self {
            Self::Create => Operation::Create,
            Self::Put
            | Self::PutUnversioned
            | Self::JsonPatch
            | Self::MergePatch
            | Self::StrategicPatch
            | Self::Apply
            | Self::LastFinalizer => Operation::Update,
            Self::Status => Operation::UpdateStatus,
            Self::Delete | Self::DeleteCollection => Operation::Delete,
        }
    }
}

/// The request that makes the change of `send` by `route`, or why the route cannot carry it.
pub(crate) fn shot(stage: &Stage<'_>, send: Send, route: Route) -> Result<Shot, &'static str> {
    match (send, route) {
        (Send::Create(line), Route::Create) => Ok(create(stage, line)),
        (Send::Create(line), Route::Apply) => Ok(apply_new(stage, line)),
        (Send::Delete(target), Route::Delete) => {
            let path = path(&stage.fill(target));
            Ok(Shot { method: Method::DELETE, path, body: Body::none() })
        }
        (Send::Delete(target), Route::DeleteCollection) if target.starts_with("ns/") => {
            Err("the API server deletes no collection of namespaces")
        }
        (Send::Delete(target), Route::DeleteCollection) => {
            let path = path(&stage.fill(target));
            let (collection, name) = path.rsplit_once('/').unwrap();
            let path = format!("{collection}?fieldSelector=metadata.name%3D{name}");
            Ok(Shot { method: Method::DELETE, path, body: Body::none() })
        }
        (Send::Merge { target, .. }, Route::PutUnversioned)
            if target.starts_with("volumeattachment/")
                || target.starts_with("volumesnapshotcontent/") =>
        {
            Err("the API server takes no update of this kind without a resourceVersion")
        }
        (Send::Merge { target, .. }, Route::StrategicPatch)
            if target.starts_with("volumesnapshotcontent/") =>
        {
            Err("the API server takes no strategic patch of a custom resource")
        }
        (Send::Merge { target, patch }, route) => merge(stage, target, patch, route),
        (Send::MergeStatus { target, patch }, Route::Status) => {
            let path = format!("{}/status", path(&stage.fill(target)));
            Ok(patch_shot(path, &json(stage, patch)))
        }
        (Send::Create(_), _) => Err("the example is a creation"),
        (Send::Delete(_), _) => Err("the example is a deletion"),
        (Send::MergeStatus { .. }, _) => {
            Err("the API server resets status with every other request type")
        }
    }
}

/// The routes that an example takes where every route would do: the one that it is written for.
pub(crate) fn natural(send: Send) -> Route {
    match send {
        Send::Create(_) => Route::Create,
        Send::Merge { .. } => Route::MergePatch,
        Send::MergeStatus { .. } => Route::Status,
        Send::Delete(_) => Route::Delete,
    }
}

fn json(stage: &Stage<'_>, text: &str) -> Value {
    serde_json::from_str(&stage.fill(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The object of one line, as a user writes it: without status and protection.
pub(crate) fn written(stage: &Stage<'_>, line: &str) -> (String, Value) {
    let made = items(line);
    let [item] = made.as_slice() else { panic!("one object a creation: {line}") };
    let mut object: Value = serde_json::from_str(&stage.fill(&item.object.to_string())).unwrap();
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("finalizers");
    }
    (item.target.clone(), object)
}

fn create(stage: &Stage<'_>, line: &str) -> Shot {
    let (target, object) = written(stage, line);
    let path = path(&target);
    let (collection, _) = path.rsplit_once('/').unwrap();
    Shot { method: Method::POST, path: collection.to_owned(), body: Body::json(&object) }
}

fn apply_new(stage: &Stage<'_>, line: &str) -> Shot {
    let (target, object) = written(stage, line);
    applied(&path(&target), &object)
}

fn applied(path: &str, object: &Value) -> Shot {
    Shot {
        method: Method::PATCH,
        path: format!("{path}?fieldManager=e2e&force=true"),
        body: Body::raw("application/apply-patch+yaml", object.to_string()),
    }
}

fn merge(stage: &Stage<'_>, target: &str, patch: &str, route: Route) -> Result<Shot, &'static str> {
    let path = path(&stage.fill(target));
    let patch = json(stage, patch);
    let stored = stage.get(target).expect("the target of an example exists");
    match route {
        Route::MergePatch => Ok(patch_shot(path, &patch)),
        Route::Put | Route::PutUnversioned => {
            let mut object = stored;
            json_patch::merge(&mut object, &patch);
            if route == Route::PutUnversioned
                && let Some(metadata) = object["metadata"].as_object_mut()
            {
                metadata.remove("resourceVersion");
            }
            Ok(Shot { method: Method::PUT, path, body: Body::json(&object) })
        }
        Route::JsonPatch => {
            let mut operations = Vec::new();
            operations_of("", &stored, &patch, &mut operations);
            let body = Body::raw("application/json-patch+json", json!(operations).to_string());
            Ok(Shot { method: Method::PATCH, path, body })
        }
        Route::StrategicPatch => {
            let text = strategic(&stored, patch).to_string();
            let body = Body::raw("application/strategic-merge-patch+json", text);
            Ok(Shot { method: Method::PATCH, path, body })
        }
        Route::Apply if removes(&patch) => {
            Err("server-side apply cannot remove what another manager has set")
        }
        Route::Apply => {
            let mut object = patch;
            object["apiVersion"] = stored["apiVersion"].clone();
            object["kind"] = stored["kind"].clone();
            object["metadata"]["name"] = stored["metadata"]["name"].clone();
            Ok(applied(&path, &object))
        }
        Route::Status if patch.get("spec").is_some() => {
            Err("the API server resets spec with this request type")
        }
        Route::Status => Ok(patch_shot(format!("{path}/status"), &patch)),
        Route::LastFinalizer => {
            let empties = patch["metadata"]
                .get("finalizers")
                .is_some_and(|list| list.as_array().is_none_or(Vec::is_empty));
            if stored["metadata"].get("deletionTimestamp").is_some() && empties {
                Ok(patch_shot(path, &patch))
            } else {
                Err("the example does not empty the finalizers of an object that is being deleted")
            }
        }
        Route::Create | Route::Delete | Route::DeleteCollection => Err("the example is an update"),
    }
}

fn patch_shot(path: String, patch: &Value) -> Shot {
    Shot { method: Method::PATCH, path, body: Body::merge_patch(patch) }
}

fn removes(patch: &Value) -> bool {
    match patch {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().any(removes),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A merge patch as JSON Patch operations against `stored`.
fn operations_of(at: &str, stored: &Value, patch: &Value, out: &mut Vec<Value>) {
    let nothing = Map::new();
    for (key, value) in patch.as_object().unwrap_or(&nothing) {
        let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (stored.get(key), value) {
            (None, Value::Null) => {}
            (Some(_), Value::Null) => out.push(json!({"op": "remove", "path": path})),
            (Some(inner @ Value::Object(_)), Value::Object(_)) => {
                operations_of(&path, inner, value, out);
            }
            (_, value) => out.push(json!({"op": "add", "path": path, "value": value})),
        }
    }
}

/// A merge patch as a strategic one, in which lists of finalizers merge and are emptied by name.
fn strategic(stored: &Value, mut patch: Value) -> Value {
    let listed = stored["metadata"]["finalizers"].clone();
    if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut)
        && metadata.remove("finalizers").is_some()
    {
        metadata.insert("$deleteFromPrimitiveList/finalizers".to_owned(), listed);
    }
    patch
}
