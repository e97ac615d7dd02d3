//! A cluster that commands read from.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::binding::{Collection, LiveReads, Read};
use crate::cli::args::ClusterArgs;
use crate::cli::exit::Failure;
use crate::client::connect::{Address, connect};
use crate::client::reads::LiveReader;
use crate::client::resource::ResourceKind;
use crate::telemetry::logging;

/// A client that reads from a cluster, one request at a time.
pub struct ClusterClient {
    runtime: Runtime,
    client: Client,
    timeout: Duration,
}

impl std::fmt::Debug for ClusterClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterClient").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl ClusterClient {
    /// A client for the cluster at this address; no request is sent yet.
    pub(in crate::cli) fn connect(arguments: &ClusterArgs) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::unreachable(format!(
                "no thread can be started: {}; try again",
                logging::cause(&error)
            ))
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let address = address(arguments);
        let client = runtime.block_on(async { connect(&address).await }).map_err(Failure::from)?;
        Ok(Self { runtime, client, timeout: arguments.request_timeout })
    }

    /// The namespace of the context.
    pub(in crate::cli) fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// Runs `work` with the client until it is done.
    pub(in crate::cli) fn run<T>(&self, work: impl AsyncFnOnce(Client) -> T) -> T {
        self.runtime.block_on(work(self.client.clone()))
    }

    /// Returns what is at `path`, as JSON text.
    pub(in crate::cli) fn get(&self, path: &str) -> Result<String, ReadError> {
        self.runtime.block_on(get(&self.client, path, self.timeout))
    }

    /// Creates an object and returns the answer, which may be a denial.
    pub(in crate::cli) fn create(
        &self,
        path: &str,
        object: &Value,
    ) -> Result<CreateResponse, Failure> {
        self.runtime.block_on(create(&self.client, path, object, self.timeout))
    }

    /// Its volumes, claims and classes, a list each, as JSON texts.
    pub(in crate::cli) fn lists(&self) -> Result<Vec<String>, ReadError> {
        ResourceKind::STORAGE.iter().map(|watched| self.get(watched.path())).collect()
    }

    /// The same, as far as the account may list them.
    pub(in crate::cli) fn readable_lists(&self) -> Result<ReadableLists, Failure> {
        let mut lists = ReadableLists::default();
        for (resource, collection) in [
            (ResourceKind::Volumes, Collection::Volumes),
            (ResourceKind::Claims, Collection::Claims),
            (ResourceKind::Classes, Collection::Classes),
        ] {
            match self.get(resource.path()) {
                Ok(text) => {
                    lists.texts.push(text);
                    lists.readable.push(collection);
                }
                Err(ReadError::Forbidden(failure)) => {
                    lists.forbidden.insert(collection, failure.message);
                }
                Err(error @ (ReadError::NotFound(_) | ReadError::Failed(_))) => {
                    return Err(error.into());
                }
            }
        }
        Ok(lists)
    }

    /// Makes `reads` and puts the answers into `live`.
    pub fn read(&self, reads: &[Read], live: &mut LiveReads) {
        let reader = LiveReader::new(self.client.clone());
        self.runtime.block_on(reader.read(reads, self.timeout, live));
    }
}

/// The address of the cluster that the arguments name.
pub(in crate::cli) fn address(arguments: &ClusterArgs) -> Address {
    Address {
        kubeconfig: arguments.kubeconfig.clone(),
        context: arguments.context.clone(),
        as_user: arguments.as_user.clone(),
        as_groups: arguments.as_group.clone(),
    }
}

/// Volumes, claims and classes, as far as an account may list them.
#[derive(Debug, Default)]
pub(in crate::cli) struct ReadableLists {
    /// The lists that it may read, as JSON texts.
    pub texts: Vec<String>,
    /// What they list.
    pub readable: Vec<Collection>,
    /// What it may not list, each with the answer of the API server.
    pub forbidden: BTreeMap<Collection, String>,
}

/// Why a read from a cluster failed.
#[derive(Debug)]
pub(in crate::cli) enum ReadError {
    /// The account lacks the permission.
    Forbidden(Failure),
    /// It does not exist.
    NotFound(Failure),
    /// The cluster cannot be reached, or fails.
    Failed(Failure),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Forbidden(failure)
            | ReadError::NotFound(failure)
            | ReadError::Failed(failure) => failure,
        }
    }
}

/// The answer to a write.
#[derive(Debug)]
pub(in crate::cli) struct CreateResponse {
    /// Its status code.
    pub code: u16,
    /// The object as it would be stored, or the status that says why not.
    pub object: Value,
    /// The warnings that came with it.
    pub warnings: Vec<String>,
}

impl CreateResponse {
    /// Returns why it was denied.
    pub(in crate::cli) fn message(&self) -> String {
        self.object["message"].as_str().unwrap_or_default().to_owned()
    }
}

async fn create(
    client: &Client,
    path: &str,
    object: &Value,
    timeout: Duration,
) -> Result<CreateResponse, Failure> {
    let body = Body::from(object.to_string().into_bytes());
    let request = Request::post(path).header("content-type", "application/json").body(body);
    let request = request.map_err(|error| Failure::unreachable(error.to_string()))?;
    let exchange = async {
        let response = client.send(request).await.map_err(|error| logging::cause(&error))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| logging::cause(&error))?.to_bytes();
        Ok::<_, String>((head, body))
    };
    let late = || format!("no answer within {} s", timeout.as_secs());
    let sent = tokio::time::timeout(timeout, exchange).await.map_err(|_| late());
    let (head, body) = sent.and_then(|sent| sent).map_err(|reason| {
        Failure::unreachable(format!(
            "the cluster cannot be reached: {reason}; check --kubeconfig and --context"
        ))
    })?;
    // Kubernetes: `299 - "TEXT"`, RFC 7234.
    let warning = |value: &http::HeaderValue| {
        let text = value.to_str().ok()?.split_once('"')?.1.rsplit_once('"')?.0;
        Some(text.replace("\\\"", "\""))
    };
    Ok(CreateResponse {
        code: head.status.as_u16(),
        object: serde_json::from_slice(&body).unwrap_or_default(),
        warnings: head.headers.get_all("warning").iter().filter_map(warning).collect(),
    })
}

async fn get(client: &Client, path: &str, timeout: Duration) -> Result<String, ReadError> {
    let request = Request::builder().method(Method::GET).uri(path).body(Vec::new());
    let request =
        request.map_err(|error| ReadError::Failed(Failure::unreachable(error.to_string())))?;
    match tokio::time::timeout(timeout, client.request_text(request)).await {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(kube::Error::Api(status))) => {
            let message = status.message.trim_end_matches('.');
            let failure = Failure::unreachable(match status.code {
                401 | 403 => format!(
                    "the cluster denies access to {path}: {message}; use an account with the permission, or a dump"
                ),
                code => format!(
                    "the API server answered {code} for {path}: {message}; try again, or use a dump"
                ),
            });
            Err(match status.code {
                403 => ReadError::Forbidden(failure),
                404 => ReadError::NotFound(failure),
                _ => ReadError::Failed(failure),
            })
        }
        Ok(Err(error)) => Err(ReadError::Failed(Failure::unreachable(format!(
            "the cluster cannot be reached: {}; check --kubeconfig and --context",
            logging::cause(&error)
        )))),
        Err(_) => Err(ReadError::Failed(Failure::unreachable(format!(
            "the cluster did not answer within {} s; raise --request-timeout or try again",
            timeout.as_secs()
        )))),
    }
}
