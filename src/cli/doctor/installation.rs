//! The installation that is verified, and what its cluster stores.

use serde_json::Value;

use crate::api::installation::Installation;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadError};
use crate::config::{self, Configuration};

/// The installation that is verified.
pub(super) struct InspectedInstallation {
    pub(super) cluster: ClusterClient,
    pub(super) installation: Installation,
    /// The Secret that replicas serve from.
    pub(super) serving_secret: String,
    /// Whether it is installed without a controller.
    pub(super) has_no_controller: bool,
}

/// An object of the cluster, or why there is none.
pub(super) enum Found {
    Object(Value),
    Missing,
    Hidden,
}

impl InspectedInstallation {
    /// What the installation is configured to do; none if that may not be seen or cannot be read.
    pub(super) fn configuration(&self) -> Result<Option<Configuration>, Failure> {
        let (namespace, name) = (self.installation.namespace(), self.installation.configuration());
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        Ok(match self.get(&path)? {
            Found::Object(object) => {
                let text = object["data"]["config.yaml"].as_str().unwrap_or_default();
                config::read(text, &name).ok()
            }
            Found::Missing | Found::Hidden => None,
        })
    }

    pub(super) fn get(&self, path: &str) -> Result<Found, Failure> {
        match self.cluster.get(path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Found::Object)
                .map_err(|_| Failure::unreachable(format!("{path} cannot be read; try again"))),
            Err(ReadError::NotFound(_)) => Ok(Found::Missing),
            Err(ReadError::Forbidden(_)) => Ok(Found::Hidden),
            Err(error @ ReadError::Failed(_)) => Err(error.into()),
        }
    }
}
