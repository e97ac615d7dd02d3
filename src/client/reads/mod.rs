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

use self::shares::Shares;
use self::text::{Missing, fetch};
use crate::api::claim::claim;
use crate::api::class::class;
use crate::api::namespace::namespace;
use crate::api::node::node;
use crate::api::volume::{Wanted, volume};
use crate::binding::{LiveReads, Read, ReadResult};

/// Live reads through one client. Clones share its places, so that all who read through one of them together keep
/// within the bounds.
#[derive(Clone)]
pub struct LiveReader {
    client: Client,
    places: Arc<Places>,
}

/// How much is under way at once, of all namespaces and of each.
#[derive(Debug)]
struct Places {
    /// Requests. 64: each has a connection to the API server, of some 100 KiB, which would be hundreds of MiB if every
    /// read of 1,024 reviews had one; and it does not answer more of them at a time than it has cores.
    requests: Shares,
    /// Large answers: one is 10 MiB. It is requested again once it has a permit, so that a read which waits for one holds neither
    /// a connection nor the permit of a usual read.
    large: Shares,
    /// Pages of pods: tenants choose how many pods they have, and how large those are. Two pages take 4 MiB; a
    /// namespace of thousands waits for its own lists, and others for a page of it.
    lists: Shares,
}

impl std::fmt::Debug for LiveReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveReader").field("places", &self.places).finish_non_exhaustive()
    }
}

impl LiveReader {
    /// Reads through `client`.
    pub fn new(client: Client) -> Self {
        let places = Places {
            requests: Shares::new(64, 32),
            large: Shares::new(1, 1),
            lists: Shares::new(2, 1),
        };
        Self { client, places: Arc::new(places) }
    }

    /// Makes every read of `wanted` at once, within `deadline`, and puts the answers into `live`. Returns how
    /// many of them ended in a panic: that is a failed read, and says nothing about the others.
    pub async fn read(&self, wanted: &[Read], deadline: Duration, live: &mut LiveReads) -> usize {
        let mut under_way = tokio::task::JoinSet::new();
        let mut asked = Vec::with_capacity(wanted.len());
        for read in wanted {
            let (reader, wanted, read) = (self.clone(), read.clone(), read.clone());
            let task = under_way.spawn(async move {
                let answered = timeout(deadline, answer(&reader, &read)).await;
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
}

/// The answer to one read, and no other.
async fn answer(reader: &LiveReader, read: &Read) -> LiveReads {
    let mut live = LiveReads::default();
    match read {
        Read::Volume(name) => {
            let path = format!("/api/v1/persistentvolumes/{}", escaped(name.as_str()));
            let decode = |text: &str| volume(text, Wanted::Both).map(|read| read.volume);
            live.volumes.insert(name.clone(), get(reader, "", &path, decode).await);
        }
        Read::Claim(key) => {
            let (space, name) = (escaped(&key.namespace), escaped(&key.name));
            let path = format!("/api/v1/namespaces/{space}/persistentvolumeclaims/{name}");
            let decode = |text: &str| claim(text, &key.namespace);
            live.claims.insert(key.clone(), get(reader, &key.namespace, &path, decode).await);
        }
        Read::Class(name) => {
            let path = format!("/apis/storage.k8s.io/v1/storageclasses/{}", escaped(name.as_str()));
            live.classes.insert(name.clone(), get(reader, "", &path, class).await);
        }
        Read::Node(name) => {
            let path = format!("/api/v1/nodes/{}", escaped(name));
            live.nodes.insert(name.clone(), get(reader, "", &path, node).await);
        }
        Read::Namespace(name) => {
            let path = format!("/api/v1/namespaces/{}", escaped(name));
            live.namespaces.insert(name.clone(), get(reader, name, &path, namespace).await);
        }
        Read::PodsUsing(key) => {
            live.pods.insert(key.clone(), lists::pod_use(reader, key).await);
        }
        Read::LivePods(key) => {
            live.live_pods.insert(key.clone(), lists::live_pods(reader, key).await);
        }
        Read::AnyNode(term) => {
            live.any_nodes.insert(term.clone(), lists::any_node(reader, term).await);
        }
        Read::DefaultClass => live.default_class = Some(lists::default_class(reader).await),
        Read::Lease(space, name) => {
            let (of, called) = (escaped(space), escaped(name));
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{of}/leases/{called}");
            let found = get(reader, space, &path, |_| Ok(())).await;
            live.leases.insert((space.clone(), name.clone()), found);
        }
        Read::Owner(space, owner) => {
            let fate = owners::fate(reader, space, owner).await;
            live.owners.insert((space.clone(), owner.clone()), fate);
        }
    }
    live
}

/// The object at `path`, as `decode` reads it; in this namespace, empty where there is none.
async fn get<T>(
    reader: &LiveReader,
    namespace: &str,
    path: &str,
    decode: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> ReadResult<T> {
    match fetch(reader, namespace, path).await {
        Ok(text) => decoded(decode(&text)),
        Err(missing) => missing.into(),
    }
}

fn decoded<T>(read: Result<T, serde_json::Error>) -> ReadResult<T> {
    match read {
        Ok(object) => ReadResult::Found(Arc::new(object)),
        Err(error) => {
            tracing::warn!(%error, "the API server sent an object that cannot be read");
            ReadResult::Unreadable
        }
    }
}

impl<T> From<Missing> for ReadResult<T> {
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
