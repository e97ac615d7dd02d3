//! A client of the API server, with the retries of its library off.
//!
//! Every caller has a deadline of its own; a library that retries behind it would let a write land
//! long after its reason has gone.

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use kube::config::{
    Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError, LoadDataError,
};
use thiserror::Error;

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

/// How long a connection may take. The API server is near; a longer wait only hides that it is not.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

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
    Client::try_from(config).map_err(|error| {
        let told = error.source().and_then(|source| source.downcast_ref()).map(reason);
        ConnectError::Unusable(told.unwrap_or_else(|| cause(&error)))
    })
}

async fn configuration(address: &Address) -> Result<Config, ConnectError> {
    let options = KubeConfigOptions { context: address.context.clone(), ..Default::default() };
    let Some(path) = &address.kubeconfig else {
        let made = Config::from_kubeconfig(&options).await;
        return made.or_else(|error| match address.context {
            Some(_) => Err(ConnectError::Nowhere(format!("kubeconfig {}", reason(&error)))),
            None => of_the_pod(&error),
        });
    };
    let refused = |error: &KubeconfigError| ConnectError::Kubeconfig {
        path: path.display().to_string(),
        reason: if let KubeconfigError::ReadConfig(error, _) = error {
            cause(error)
        } else {
            reason(error)
        },
    };
    let file = Kubeconfig::read_from(path).map_err(|error| refused(&error))?;
    Config::from_custom_kubeconfig(file, &options).await.map_err(|error| refused(&error))
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

/// What is wrong with a kubeconfig, on one line; with line and column where it cannot be parsed.
fn reason(error: &KubeconfigError) -> String {
    let unread = |what: &str, error: &LoadDataError| {
        if let LoadDataError::ReadFile(error, path) = error {
            format!("{what} {}: {}", path.display(), cause(error))
        } else {
            format!("{what}: {}", cause(error))
        }
    };
    match error {
        KubeconfigError::ReadConfig(error, path) => format!("{}: {}", path.display(), cause(error)),
        KubeconfigError::Parse(error) => cause(error),
        KubeconfigError::CurrentContextNotSet => "has no current context".to_owned(),
        KubeconfigError::LoadContext(name) => format!("has no context \"{name}\""),
        KubeconfigError::LoadClusterOfContext(name) => format!("has no cluster \"{name}\""),
        KubeconfigError::LoadCertificateAuthority(error) => unread("certificate authority", error),
        KubeconfigError::LoadClientCertificate(error) => unread("client certificate", error),
        KubeconfigError::LoadClientKey(error) => unread("client key", error),
        KubeconfigError::KindMismatch
        | KubeconfigError::ApiVersionMismatch
        | KubeconfigError::FindPath
        | KubeconfigError::MissingClusterUrl
        | KubeconfigError::ParseClusterUrl(_)
        | KubeconfigError::ParseProxyUrl(_)
        | KubeconfigError::ParseCertificates(_) => {
            error.to_string().lines().next().unwrap_or_default().to_owned()
        }
    }
}
