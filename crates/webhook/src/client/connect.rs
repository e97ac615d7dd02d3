//! A client of the API server, with the retries of its library off.
//!
//! Every caller has a deadline of its own; a library that retries behind it would let a write land
//! long after its reason has gone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::{ClientBuilder, ConfigExt};
use kube::config::{Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tower::{BoxError, ServiceBuilder};

use super::kubeconfig::{reason, unusable, unusable_bytes, unusable_values, usual_files};
use crate::telemetry::logging::cause;

/// Where the cluster is and as whom to speak to it.
#[derive(Clone, Debug, Default)]
pub struct Address {
    /// A kubeconfig file; else `KUBECONFIG`, `~/.kube/config`, or the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig other than its current one.
    pub context: Option<String>,
    /// A user to impersonate.
    pub as_user: Option<String>,
    /// Groups to impersonate.
    pub as_groups: Vec<String>,
}

/// Why there is no client.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The named kubeconfig cannot be used.
    #[error("kubeconfig {path} cannot be used: {reason}; give a usable one with --kubeconfig")]
    Kubeconfig {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// There is neither a kubeconfig nor a service account.
    #[error("no cluster is configured: {0}; give a kubeconfig with --kubeconfig")]
    Nowhere(String),
    /// The configuration names credentials or certificates that cannot be used.
    #[error("the credentials for the cluster cannot be used: {0}; check the kubeconfig")]
    Unusable(String),
}

/// How long a connection may take. The kernel retries after one and after three seconds; giving up in between and starting
/// over loses nothing, and is connected sooner once a broken network is back.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(2_500);

/// The TCP keepalive: its first probe after so long without data, then one every second. A network that breaks silently
/// leaves a watch that waits for ever: within four seconds it is noticed, at the cost of a packet in two seconds on each
/// idle connection.
const SILENT: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A connection is dead when data or a probe is unconfirmed for so long: two packets may be lost before. A longer
/// time would leave a request, sent when the network just broke, to the kernel's own pauses once it is back.
const UNCONFIRMED: Duration = Duration::from_secs(4);

/// Idle connections in the pool: as many as live reads may be in flight. The library has no limit, and those
/// of a burst would stay for a minute and a half.
const IDLE_COUNT_MAX: usize = 64;

/// Bytes of an answer that are read before they are wanted. 64 KiB: two usual answers; the library's 400 would be kept
/// by each connection that once had a large one.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// How long a command may take that gives credentials. A minute: it may open a browser and wait for a person.
const PLUGIN_TIMEOUT: Duration = Duration::from_mins(1);

/// A client for the cluster at `address`. Nothing is sent yet.
pub async fn connect(address: &Address) -> Result<Client, ConnectError> {
    let mut config = configuration(address).await?;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Watches are silent for minutes; each request has a deadline of its own.
    config.read_timeout = None;
    config.write_timeout = None;
    config.auth_info.impersonate = address.as_user.clone().or(config.auth_info.impersonate);
    if !address.as_groups.is_empty() {
        config.auth_info.impersonate_groups = Some(address.as_groups.clone());
    }
    if let Some(reason) = unusable_values(&config) {
        return Err(match &address.kubeconfig {
            Some(path) => ConnectError::Kubeconfig { path: path.display().to_string(), reason },
            None => ConnectError::Unusable(reason),
        });
    }
    let made = if config.auth_info.exec.is_some() {
        made_beside(config).await?
    } else if config.proxy_url.is_some() {
        Client::try_from(config)
    } else {
        with_keepalive(&config)
    };
    made.map_err(|error| ConnectError::Unusable(unusable(&error)))
}

/// The names of the contexts in `kubeconfig`, else in the usual files; of a file that cannot be read, none.
pub fn contexts(kubeconfig: Option<&Path>) -> Vec<String> {
    let files = kubeconfig.map_or_else(usual_files, |path| vec![path.to_owned()]);
    let readable = files.iter().filter(|path| unusable_bytes(path).is_none());
    let read = readable.filter_map(|path| Kubeconfig::read_from(path).ok());
    let mut names: Vec<String> =
        read.flat_map(|file| file.contexts).map(|context| context.name).collect();
    names.dedup();
    names
}

/// A client with TCP keepalive, so that a dead API server is noticed. The library has no setting for it: kube-client,
/// `client/builder.rs`.
fn with_keepalive(config: &Config) -> Result<Client, kube::Error> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    // Else the end of a request that takes two packets waits for the first to be acknowledged, up to 40 ms.
    connector.set_nodelay(true);
    connector.set_keepalive(Some(SILENT));
    connector.set_keepalive_interval(Some(ASK_AGAIN));
    connector.set_tcp_user_timeout(Some(UNCONFIRMED));
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(
            legacy::Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(IDLE_COUNT_MAX)
                .http1_max_buf_size(BUFFER_BYTES_MAX)
                .build(connector),
        );
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}

/// A client whose credentials come from a command. The library waits for it without a limit, so that it is run
/// on a thread of its own, which is left behind if it does not come back.
async fn made_beside(config: Config) -> Result<Result<Client, kube::Error>, ConnectError> {
    let (sender, made) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let _runtime = runtime.enter();
        // The receiver is gone if the time is up.
        let _ = sender.send(Client::try_from(config));
    });
    let unusable = |what: &str| ConnectError::Unusable(format!("the credential plugin {what}"));
    match timeout(PLUGIN_TIMEOUT, made).await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(_)) => Err(unusable("failed")),
        Err(_) => Err(unusable(&format!("has not answered within {} s", PLUGIN_TIMEOUT.as_secs()))),
    }
}

async fn configuration(address: &Address) -> Result<Config, ConnectError> {
    let options = KubeConfigOptions { context: address.context.clone(), ..Default::default() };
    let Some(path) = &address.kubeconfig else {
        for path in usual_files() {
            if let Some(problem) = unusable_bytes(&path) {
                return Err(ConnectError::Nowhere(format!(
                    "kubeconfig {} {problem}",
                    path.display()
                )));
            }
        }
        let made = Config::from_kubeconfig(&options).await;
        return made.or_else(|error| match address.context {
            Some(_) => Err(ConnectError::Nowhere(format!("kubeconfig {}", reason(&error)))),
            None => of_the_pod(&error),
        });
    };
    let failed = |reason| ConnectError::Kubeconfig { path: path.display().to_string(), reason };
    let unusable = |error: &KubeconfigError| {
        failed(if let KubeconfigError::ReadConfig(error, _) = error {
            cause(error)
        } else {
            reason(error)
        })
    };
    if let Some(reason) = unusable_bytes(path) {
        return Err(failed(reason));
    }
    let file = Kubeconfig::read_from(path).map_err(|error| unusable(&error))?;
    Config::from_custom_kubeconfig(file, &options).await.map_err(|error| unusable(&error))
}

/// The service account of the pod, which counts only where there is no kubeconfig.
fn of_the_pod(without: &KubeconfigError) -> Result<Config, ConnectError> {
    Config::incluster().map_err(|error| {
        let account = if let InClusterError::ReadEnvironmentVariable(_) = error {
            "this is no pod".to_owned()
        } else {
            format!("service account: {}", cause(&error))
        };
        ConnectError::Nowhere(format!("kubeconfig {}, and {account}", reason(without)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\n\
        clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n\
        users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, \
        command: sleep, args: ['3'], interactiveMode: Never}}}]\n";

    /// In virtual time, which goes on while the command sleeps.
    #[tokio::test(start_paused = true)]
    async fn a_credential_plugin_that_hangs_is_left_behind() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, SILENT).unwrap();
        let address = Address { kubeconfig: Some(file.path().into()), ..Address::default() };
        let started = std::time::Instant::now();
        let Err(error) = connect(&address).await else { panic!("a client without credentials") };
        assert_eq!(
            error.to_string(),
            "the credentials for the cluster cannot be used: the credential plugin has not answered \
             within 60 s; check the kubeconfig"
        );
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    }
}
