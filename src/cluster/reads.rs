//! Live reads: what a decision wants to know, asked of the API server now.
//!
//! A read that fails is an answer too: nothing is known. Only 404 proves absence.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use tokio::time::timeout;

use crate::binding::{Answer, LiveReads, PodUse, Read};
use crate::k8s::bounded::LabelUse;
use crate::k8s::claim::claim;
use crate::k8s::class::class;
use crate::k8s::pods::{PodPage, pod_page};
use crate::k8s::volume::volume;
use crate::model::ClaimKey;

/// Pods on one page of a list: a pod has some 10 KiB, and a namespace may hold thousands.
const PODS_COUNT_MAX: usize = 200;

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
        answered.extend(done);
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
    NotFound,
    Failed,
}

async fn fetch_for(client: &Client, read: &Read) -> Fetched {
    match read {
        Read::Volume(_) | Read::Class(_) | Read::Claim(_) => fetch(client, path(read)).await,
        Read::PodsUsing(key) => fetch_pods(client, key, &path(read)).await,
    }
}

/// Pages through the pods of the claim's namespace until one uses it.
async fn fetch_pods(client: &Client, key: &ClaimKey, path: &str) -> Fetched {
    let mut token = String::new();
    loop {
        let page = fetch(client, format!("{path}?limit={PODS_COUNT_MAX}&continue={token}")).await;
        let Fetched::Found(text) = page else { return page };
        match pod_page(&text, key) {
            Ok(PodPage::Used) => return Fetched::Pods(PodUse::Used),
            Ok(PodPage::End) => return Fetched::Pods(PodUse::Unused),
            Ok(PodPage::More(next)) => token = next,
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
        Err(kube::Error::Api(status)) if status.code == 404 => Fetched::NotFound,
        Err(error) => {
            tracing::debug!(%error, "a live read failed");
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
        Read::PodsUsing(key) => format!("/api/v1/namespaces/{}/pods", escaped(&key.namespace)),
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
                Fetched::NotFound | Fetched::Failed | Fetched::Found(_) => Answer::Failed,
            };
            live.pods.insert(key.clone(), answer);
        }
    }
}

fn answer<T>(
    fetched: &Fetched,
    decode: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Answer<T> {
    match fetched {
        Fetched::NotFound => Answer::NotFound,
        Fetched::Failed | Fetched::Pods(_) => Answer::Failed,
        Fetched::Found(text) => match decode(text) {
            Ok(object) => Answer::Found(Arc::new(object)),
            Err(error) => {
                tracing::warn!(%error, "the API server sent an object that cannot be read");
                Answer::Failed
            }
        },
    }
}
