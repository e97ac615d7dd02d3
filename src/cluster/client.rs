//! A client of the API server, with the retries of its library off.
//!
//! Every caller has a deadline of its own; a library that retries behind it would let a write land
//! long after its reason has gone.

use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use thiserror::Error;

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
    #[error("kubeconfig {path} cannot be used: {reason}; give a readable one with --kubeconfig")]
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
    #[error("the cluster's address or credentials cannot be used: {0}; check the kubeconfig")]
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
    Client::try_from(config).map_err(|error| ConnectError::Unusable(error.to_string()))
}

async fn configuration(address: &Address) -> Result<Config, ConnectError> {
    let options = KubeConfigOptions { context: address.context.clone(), ..Default::default() };
    match &address.kubeconfig {
        Some(path) => {
            let refused = |reason: String| ConnectError::Kubeconfig {
                path: path.display().to_string(),
                reason,
            };
            let file = Kubeconfig::read_from(path).map_err(|error| refused(error.to_string()))?;
            let made = Config::from_custom_kubeconfig(file, &options).await;
            made.map_err(|error| refused(error.to_string()))
        }
        None if address.context.is_some() => {
            let made = Config::from_kubeconfig(&options).await;
            made.map_err(|error| ConnectError::Nowhere(error.to_string()))
        }
        None => Config::infer().await.map_err(|error| ConnectError::Nowhere(error.to_string())),
    }
}
