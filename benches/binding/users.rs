//! The clients of a race: as many at once as our controller has writes in flight, through the client that
//! it uses.
//!
//! Not here: what they create (`pairs`), and what else the bare load sends (`bare`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bindery::client::connect::{Address, connect};
use http_body_util::BodyExt as _;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Clients at once.
pub(crate) const CLIENTS: usize = 64;

/// An object as it was stored.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// Its uid.
    pub(crate) uid: String,
    /// Its resourceVersion.
    pub(crate) version: String,
    /// When the reply was there.
    pub(crate) at: Instant,
}

#[derive(Deserialize)]
struct StoredWire {
    metadata: MetadataWire,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataWire {
    uid: String,
    resource_version: String,
}

/// A client of the API server as the user of a kubeconfig, with the settings of the controller's own.
pub(crate) async fn client(kubeconfig: PathBuf) -> Result<Client, String> {
    let address = Address { kubeconfig: Some(kubeconfig), ..Address::default() };
    connect(&address).await.map_err(|error| error.to_string())
}

/// Creates `object`.
pub(crate) async fn create(
    client: &Client,
    collection: &str,
    object: &Value,
) -> Result<Stored, String> {
    send(client, Method::POST, collection, "application/json", object).await
}

/// Sends one request. An error if it was not accepted.
pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Result<Stored, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{path}: {error}");
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, content_type)
        .body(Body::from(body.to_string().into_bytes()))
        .map_err(|error| failed(&error))?;
    let response = client.send(request).await.map_err(|error| failed(&error))?;
    let status = response.status();
    let bytes = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
    if !status.is_success() {
        return Err(failed(&format!("{status} {}", String::from_utf8_lossy(&bytes))));
    }
    let at = Instant::now();
    let StoredWire { metadata } = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
    Ok(Stored { uid: metadata.uid, version: metadata.resource_version, at })
}

/// Does `work` for the numbers below `count`, in order, [`CLIENTS`] at once; the results in order.
pub(crate) async fn each<T, F>(
    count: usize,
    work: impl Fn(usize) -> F + Send + Sync + 'static,
) -> Result<Vec<T>, String>
where
    T: Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let (next, work) = (Arc::new(AtomicUsize::new(0)), Arc::new(work));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS.min(count) {
        let (next, work) = (Arc::clone(&next), Arc::clone(&work));
        clients.spawn(async move {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<_, String>(done);
                }
                done.push((number, work(number).await?));
            }
        });
    }
    let mut all = Vec::with_capacity(count);
    while let Some(done) = clients.join_next().await {
        all.extend(done.map_err(|error| error.to_string())??);
    }
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}
