//! Live reads: what a decision wants to know, asked of the API server now.
//!
//! A read that fails is an answer too: nothing is known. Only 404 proves absence.

mod lists;
mod owners;
mod shares;
mod text;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::time::timeout;

use self::text::{Missing, fetch};
use crate::binding::{Answer, LiveReads, Read};
use crate::k8s::claim::claim;
use crate::k8s::class::class;
use crate::k8s::namespace::namespace;
use crate::k8s::node::node;
use crate::k8s::volume::{Wanted, volume};

/// Makes every read of `reads` at once, within `deadline`, and puts the answers into `live`. Returns how
/// many of them ended in a panic: that is a failed read, and says nothing about the others.
pub async fn read(
    client: &Client,
    reads: &[Read],
    deadline: Duration,
    live: &mut LiveReads,
) -> usize {
    let mut under_way = tokio::task::JoinSet::new();
    let mut asked = Vec::with_capacity(reads.len());
    for read in reads {
        let (client, wanted, read) = (client.clone(), read.clone(), read.clone());
        let task = under_way.spawn(async move {
            let answered = timeout(deadline, answer(&client, &read)).await;
            answered.unwrap_or_else(|_| {
                let mut late = LiveReads::default();
                late.fail_all(&[read]);
                late
            })
        });
        asked.push((task.id(), wanted));
    }
    let mut panics = 0;
    while let Some(done) = under_way.join_next_with_id().await {
        match done {
            Ok((_, answered)) => live.merge(answered),
            // Its message and place are in the log already.
            Err(ended) => {
                panics += usize::from(ended.is_panic());
                let failed = asked.iter().find(|(task, _)| *task == ended.id());
                live.fail_all(failed.map_or(&[], |(_, read)| std::slice::from_ref(read)));
            }
        }
    }
    panics
}

/// The answer to one read, and no other.
async fn answer(client: &Client, read: &Read) -> LiveReads {
    let mut live = LiveReads::default();
    match read {
        Read::Volume(name) => {
            let path = format!("/api/v1/persistentvolumes/{}", escaped(name.as_str()));
            let decode = |text: &str| volume(text, Wanted::Both).map(|read| read.volume);
            live.volumes.insert(name.clone(), get(client, "", &path, decode).await);
        }
        Read::Claim(key) => {
            let (space, name) = (escaped(&key.namespace), escaped(&key.name));
            let path = format!("/api/v1/namespaces/{space}/persistentvolumeclaims/{name}");
            let decode = |text: &str| claim(text, &key.namespace);
            live.claims.insert(key.clone(), get(client, &key.namespace, &path, decode).await);
        }
        Read::Class(name) => {
            let path = format!("/apis/storage.k8s.io/v1/storageclasses/{}", escaped(name.as_str()));
            live.classes.insert(name.clone(), get(client, "", &path, class).await);
        }
        Read::Node(name) => {
            let path = format!("/api/v1/nodes/{}", escaped(name));
            live.nodes.insert(name.clone(), get(client, "", &path, node).await);
        }
        Read::Namespace(name) => {
            let path = format!("/api/v1/namespaces/{}", escaped(name));
            live.namespaces.insert(name.clone(), get(client, name, &path, namespace).await);
        }
        Read::PodsUsing(key) => {
            live.pods.insert(key.clone(), lists::pod_use(client, key).await);
        }
        Read::LivePods(key) => {
            live.live_pods.insert(key.clone(), lists::live_pods(client, key).await);
        }
        Read::AnyNode(term) => {
            live.any_nodes.insert(term.clone(), lists::any_node(client, term).await);
        }
        Read::DefaultClass => live.default_class = Some(lists::default_class(client).await),
        Read::Lease(space, name) => {
            let (of, called) = (escaped(space), escaped(name));
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{of}/leases/{called}");
            let found = get(client, space, &path, |_| Ok(())).await;
            live.leases.insert((space.clone(), name.clone()), found);
        }
        Read::Owner(space, owner) => {
            let fate = owners::fate(client, space, owner).await;
            live.owners.insert((space.clone(), owner.clone()), fate);
        }
    }
    live
}

/// The object at `path`, as `decode` reads it; in this namespace, empty where there is none.
async fn get<T>(
    client: &Client,
    namespace: &str,
    path: &str,
    decode: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Answer<T> {
    match fetch(client, namespace, path).await {
        Ok(text) => decoded(decode(&text)),
        Err(missing) => missing.into(),
    }
}

fn decoded<T>(read: Result<T, serde_json::Error>) -> Answer<T> {
    match read {
        Ok(object) => Answer::Found(Arc::new(object)),
        Err(error) => {
            tracing::warn!(%error, "the API server sent an object that cannot be read");
            Answer::Unreadable
        }
    }
}

impl<T> From<Missing> for Answer<T> {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Absent => Self::NotFound,
            Missing::Forbidden | Missing::TooLong | Missing::Failed => Self::Failed,
        }
    }
}

/// A name as a path segment. claimRef is free text: what is no name must not become a path.
fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut out = String::with_capacity(name.len());
    for (index, byte) in name.bytes().enumerate() {
        if plain(byte) || (byte == b'.' && index > 0) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
