//! Live reads: what a decision wants to know, asked of the API server now.
//!
//! A read that fails is an answer too: nothing is known. Only 404 proves absence.

use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::request::is_absent;
use crate::binding::{Answer, LiveReads, PodUse, Read};
use crate::k8s::bounded::LabelUse;
use crate::k8s::claim::claim;
use crate::k8s::class::class;
use crate::k8s::node::node;
use crate::k8s::pods::{PodPage, pod_page, users_page};
use crate::k8s::volume::volume;
use crate::model::Pod;

/// Pods on one page of a list: a pod has some 10 KiB, and a namespace may hold thousands.
const PODS_COUNT_MAX: usize = 50;

/// Lists of pods under way at once: tenants choose how large their pods are.
static POD_LISTS: Semaphore = Semaphore::const_new(4);

/// Makes every read of `reads` at once, within `deadline`, and puts the answers into `live`.
pub async fn read(client: &Client, reads: &[Read], deadline: Duration, live: &mut LiveReads) {
    let mut under_way = tokio::task::JoinSet::new();
    for read in reads {
        let (client, read) = (client.clone(), read.clone());
        under_way.spawn(async move {
            let fetched = timeout(deadline, fetch_for(&client, &read)).await;
            (read, fetched.unwrap_or(Fetched::Failed))
        });
    }
    let mut answered = Vec::new();
    while let Some(done) = under_way.join_next().await {
        match done {
            Ok(done) => answered.push(done),
            // A panic is no answer: it ends whoever asked, as it would without a task.
            Err(ended) => {
                if let Ok(panic) = ended.try_into_panic() {
                    resume_unwind(panic);
                }
            }
        }
    }
    for read in reads {
        let found = answered.iter().find(|(answered, _)| answered == read);
        put(live, read, found.map_or(&Fetched::Failed, |(_, fetched)| fetched));
    }
}

/// What became of one request.
enum Fetched {
    Found(String),
    Pods(PodUse),
    LivePods(Vec<Pod>),
    NotFound,
    Failed,
}

async fn fetch_for(client: &Client, read: &Read) -> Fetched {
    match read {
        Read::Volume(_) | Read::Class(_) | Read::Claim(_) | Read::Node(_) => {
            fetch(client, path(read)).await
        }
        Read::PodsUsing(key) => {
            let until_used = |page: &str| {
                Ok(match pod_page(page, key)? {
                    PodPage::Used => Turn::Done(Fetched::Pods(PodUse::Used)),
                    PodPage::End => Turn::Done(Fetched::Pods(PodUse::Unused)),
                    PodPage::More(next) => Turn::More(next),
                })
            };
            fetch_pods(client, &path(read), until_used).await
        }
        Read::LivePods(key) => {
            let mut users = Vec::new();
            let all = |page: &str| {
                let page = users_page(page, key)?;
                users.extend(page.users);
                let done = |users: &mut Vec<Pod>| Fetched::LivePods(std::mem::take(users));
                Ok(page.next.map_or_else(|| Turn::Done(done(&mut users)), Turn::More))
            };
            fetch_pods(client, &path(read), all).await
        }
    }
}

/// What a page of a list leaves to do.
enum Turn {
    Done(Fetched),
    More(String),
}

/// Pages through the pods of a namespace until `take` has what it wants.
async fn fetch_pods(
    client: &Client,
    path: &str,
    mut take: impl FnMut(&str) -> Result<Turn, serde_json::Error>,
) -> Fetched {
    // It is never closed.
    let _turn = POD_LISTS.acquire().await;
    let mut token = String::new();
    loop {
        let page = fetch(client, format!("{path}?limit={PODS_COUNT_MAX}&continue={token}")).await;
        let Fetched::Found(text) = page else { return page };
        match take(&text) {
            Ok(Turn::Done(fetched)) => return fetched,
            Ok(Turn::More(next)) => token = next,
            Err(error) => {
                tracing::warn!(%error, "the API server sent pods that cannot be read");
                return Fetched::Failed;
            }
        }
    }
}

async fn fetch(client: &Client, path: String) -> Fetched {
    let request = Request::builder().method(Method::GET).uri(path).body(Vec::new());
    let Ok(request) = request else { return Fetched::Failed };
    match client.request_text(request).await {
        Ok(body) => Fetched::Found(body),
        Err(kube::Error::Api(status)) if is_absent(&status) => Fetched::NotFound,
        Err(error) => {
            tracing::warn!(%error, "a live read failed");
            Fetched::Failed
        }
    }
}

fn path(read: &Read) -> String {
    match read {
        Read::Volume(name) => format!("/api/v1/persistentvolumes/{}", escaped(name.as_str())),
        Read::Class(name) => {
            format!("/apis/storage.k8s.io/v1/storageclasses/{}", escaped(name.as_str()))
        }
        Read::Claim(key) => format!(
            "/api/v1/namespaces/{}/persistentvolumeclaims/{}",
            escaped(&key.namespace),
            escaped(&key.name)
        ),
        Read::PodsUsing(key) | Read::LivePods(key) => {
            format!("/api/v1/namespaces/{}/pods", escaped(&key.namespace))
        }
        Read::Node(name) => format!("/api/v1/nodes/{}", escaped(name)),
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

fn put(live: &mut LiveReads, read: &Read, fetched: &Fetched) {
    match read {
        Read::Volume(name) => {
            let answer = answer(fetched, |text| {
                volume(text, LabelUse::Collect).map(|read| read.value.volume)
            });
            live.volumes.insert(name.clone(), answer);
        }
        Read::Claim(key) => {
            let answer = answer(fetched, |text| claim(text, &key.namespace).map(|c| c.value));
            live.claims.insert(key.clone(), answer);
        }
        Read::Class(name) => {
            live.classes.insert(name.clone(), answer(fetched, class));
        }
        Read::PodsUsing(key) => {
            let answer = match fetched {
                Fetched::Pods(pods) => Answer::Found(Arc::new(*pods)),
                Fetched::NotFound | Fetched::Failed | Fetched::Found(_) | Fetched::LivePods(_) => {
                    Answer::Failed
                }
            };
            live.pods.insert(key.clone(), answer);
        }
        Read::LivePods(key) => {
            let answer = match fetched {
                Fetched::LivePods(pods) => Answer::Found(Arc::new(pods.clone())),
                Fetched::NotFound | Fetched::Failed | Fetched::Found(_) | Fetched::Pods(_) => {
                    Answer::Failed
                }
            };
            live.live_pods.insert(key.clone(), answer);
        }
        Read::Node(name) => {
            live.nodes.insert(name.clone(), answer(fetched, node));
        }
    }
}

fn answer<T>(
    fetched: &Fetched,
    decode: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Answer<T> {
    match fetched {
        Fetched::NotFound => Answer::NotFound,
        Fetched::Failed | Fetched::Pods(_) | Fetched::LivePods(_) => Answer::Failed,
        Fetched::Found(text) => match decode(text) {
            Ok(object) => Answer::Found(Arc::new(object)),
            Err(error) => {
                tracing::warn!(%error, "the API server sent an object that cannot be read");
                Answer::Unreadable
            }
        },
    }
}
