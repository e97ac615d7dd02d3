//! Live reads: what a decision wants to know, asked of the API server now.
//!
//! A read that fails is an answer too: nothing is known. Only 404 proves absence.

mod fair_semaphore;
mod lists;
mod owners;
mod reader;
mod text;

use std::time::Duration;

use tokio::time::timeout;

pub use self::reader::LiveReader;
use super::request::escaped;
use crate::api::attachment::node_state;
use crate::api::claim::claim;
use crate::api::class::class;
use crate::api::namespace::namespace;
use crate::api::node::node;
use crate::api::volume::{Wanted, volume};
use crate::binding::{LiveReads, Read};

impl LiveReader {
    /// Makes every read of `wanted` at once, within `deadline`, and puts the answers into `live`. Returns how
    /// many of them ended in a panic: that is a failed read, and says nothing about the others.
    pub async fn read(&self, wanted: &[Read], deadline: Duration, live: &mut LiveReads) -> usize {
        let mut in_flight = tokio::task::JoinSet::new();
        let mut asked = Vec::with_capacity(wanted.len());
        for read in wanted {
            let (reader, wanted, read) = (self.clone(), read.clone(), read.clone());
            let task = in_flight.spawn(async move {
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
        while let Some(done) = in_flight.join_next_with_id().await {
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
            live.volumes.insert(name.clone(), reader.get("", &path, decode).await);
        }
        Read::Claim(key) => {
            let (space, name) = (escaped(&key.namespace), escaped(&key.name));
            let path = format!("/api/v1/namespaces/{space}/persistentvolumeclaims/{name}");
            let decode = |text: &str| claim(text, &key.namespace);
            live.claims.insert(key.clone(), reader.get(&key.namespace, &path, decode).await);
        }
        Read::Class(name) => {
            let path = format!("/apis/storage.k8s.io/v1/storageclasses/{}", escaped(name.as_str()));
            live.classes.insert(name.clone(), reader.get("", &path, class).await);
        }
        Read::Node(name) => {
            let path = format!("/api/v1/nodes/{}", escaped(name));
            live.nodes.insert(name.clone(), reader.get("", &path, node).await);
        }
        Read::NodeState(name) => {
            let path = format!("/api/v1/nodes/{}", escaped(name));
            live.node_states.insert(name.clone(), reader.get("", &path, node_state).await);
        }
        Read::Namespace(name) => {
            let path = format!("/api/v1/namespaces/{}", escaped(name));
            live.namespaces.insert(name.clone(), reader.get(name, &path, namespace).await);
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
            let found = reader.get(space, &path, |_| Ok(())).await;
            live.leases.insert((space.clone(), name.clone()), found);
        }
        Read::Owner(space, owner) => {
            let state = owners::state(reader, space, owner).await;
            live.owners.insert((space.clone(), owner.clone()), state);
        }
    }
    live
}
