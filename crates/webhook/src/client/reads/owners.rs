//! Live reads of owners, which may be of any kind.
//!
//! Kubernetes: `garbagecollector.go`, `getObject`: by the kind's resource, in the namespace of what is owned
//! unless the kind has none.

use std::sync::Arc;

use serde::Deserialize;

use super::reader::{LiveReader, decoded};
use super::text::Missing;
use crate::api::list::{items, resource_of};
use crate::binding::{OwnerState, ReadResult};
use crate::client::request::escaped;
use crate::model::{Owner, Uid};

/// Kinds that own claims and volumes every day, and where they are: no question about them needs two requests.
const USUAL: [(&str, &str, &str, Scope); 12] = [
    ("v1", "Pod", "pods", Scope::Namespaced),
    ("v1", "ConfigMap", "configmaps", Scope::Namespaced),
    ("v1", "Secret", "secrets", Scope::Namespaced),
    ("v1", "Service", "services", Scope::Namespaced),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims", Scope::Namespaced),
    ("v1", "PersistentVolume", "persistentvolumes", Scope::Cluster),
    ("v1", "Namespace", "namespaces", Scope::Cluster),
    ("v1", "Node", "nodes", Scope::Cluster),
    ("apps/v1", "StatefulSet", "statefulsets", Scope::Namespaced),
    ("apps/v1", "Deployment", "deployments", Scope::Namespaced),
    ("apps/v1", "ReplicaSet", "replicasets", Scope::Namespaced),
    ("batch/v1", "Job", "jobs", Scope::Namespaced),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Namespaced,
    Cluster,
}

#[derive(Deserialize)]
struct Owned {
    metadata: OwnedMetadata,
}

#[derive(Deserialize)]
struct OwnedMetadata {
    uid: Box<str>,
}

/// Returns what became of the owner of an object in this namespace; the name is empty where there is none.
pub(super) async fn state(
    reader: &LiveReader,
    namespace: &str,
    owner: &Owner,
) -> ReadResult<OwnerState> {
    let hidden = || ReadResult::Found(Arc::new(OwnerState::Hidden));
    if namespace.is_empty() && is_node(owner) {
        return node_state(reader, owner).await;
    }
    let path = match path(reader, namespace, owner).await {
        Ok(Some(path)) => path,
        Ok(None) | Err(Missing::Forbidden(_)) => return hidden(),
        Err(missing) => return missing.failed(),
    };
    match reader.fetch(namespace, &path).await {
        Ok(text) => state_of(&text, owner),
        Err(Missing::Forbidden(_)) => hidden(),
        Err(missing) => missing.into(),
    }
}

fn is_node(owner: &Owner) -> bool {
    &*owner.api_version == "v1" && &*owner.kind == "Node"
}

/// The same of a node that owns a volume: by a list of one, because the webhook may list nodes and not get them.
/// The owners of claims are looked for by GET alone, so that no tenant learns from them which nodes there are.
async fn node_state(reader: &LiveReader, owner: &Owner) -> ReadResult<OwnerState> {
    let path = format!("/api/v1/nodes?fieldSelector=metadata.name%3D{}", escaped(&owner.name));
    let text = match reader.fetch("", &path).await {
        Ok(text) => text,
        Err(Missing::Forbidden(_)) => return ReadResult::Found(Arc::new(OwnerState::Hidden)),
        // A list is never absent: that it is not found says nothing.
        Err(missing) => return missing.failed(),
    };
    match items(&text).map(|nodes| nodes.first().copied()) {
        Ok(Some(node)) => state_of(node, owner),
        Ok(None) => ReadResult::NotFound,
        Err(error) => decoded(Err(error)),
    }
}

fn state_of(text: &str, owner: &Owner) -> ReadResult<OwnerState> {
    decoded(serde_json::from_str::<Owned>(text).map(|found| {
        let is_same = Uid::new(&*found.metadata.uid) == owner.uid;
        if is_same { OwnerState::Alive } else { OwnerState::Replaced }
    }))
}

/// Returns where the owner is; nothing where the garbage collector does not know either, and keeps what is owned.
async fn path(
    reader: &LiveReader,
    namespace: &str,
    owner: &Owner,
) -> Result<Option<String>, Missing> {
    let base = match owner.api_version.split_once('/') {
        None => format!("/api/{}", escaped(&owner.api_version)),
        Some((group, version)) => format!("/apis/{}/{}", escaped(group), escaped(version)),
    };
    let Some((resource, scope)) = place(reader, &base, owner).await? else { return Ok(None) };
    let name = escaped(&owner.name);
    Ok(match scope {
        Scope::Cluster => Some(format!("{base}/{resource}/{name}")),
        // What has no namespace cannot have such an owner.
        Scope::Namespaced if namespace.is_empty() => None,
        Scope::Namespaced => {
            Some(format!("{base}/namespaces/{}/{resource}/{name}", escaped(namespace)))
        }
    })
}

/// The resource of the owner's kind; nothing if the group below `base` does not serve it.
async fn place(
    reader: &LiveReader,
    base: &str,
    owner: &Owner,
) -> Result<Option<(String, Scope)>, Missing> {
    let is_it = |(version, kind)| version == &*owner.api_version && kind == &*owner.kind;
    let usual = USUAL.iter().find(|(version, kind, ..)| is_it((*version, *kind)));
    if let Some((_, _, resource, scope)) = usual {
        return Ok(Some(((*resource).to_owned(), *scope)));
    }
    let text = match reader.fetch("", base).await {
        Err(Missing::Absent) => return Ok(None),
        fetched => fetched?,
    };
    let found = resource_of(&text, &owner.kind).map_err(|error| {
        tracing::warn!(%error, "the API server sent resources that cannot be read");
        Missing::Failed
    })?;
    Ok(found.map(|(resource, is_namespaced)| {
        (resource, if is_namespaced { Scope::Namespaced } else { Scope::Cluster })
    }))
}
