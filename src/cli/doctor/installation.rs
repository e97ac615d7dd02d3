//! The installation that is verified, and what its cluster stores.

use super::check_result::CheckResult;
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
    /// What the installation is configured to do; none if that may not be seen.
    pub(super) fn configuration(&self) -> Result<Option<Configuration>, Failure> {
        Ok(self.read_configuration()?.and_then(Result::ok))
    }

    /// What is wrong with the configuration.
    pub(super) fn configuration_problem(&self) -> Result<Option<CheckResult>, Failure> {
        let problem = self.read_configuration()?.and_then(Result::err);
        Ok(problem.map(|problem| {
            let text = format!(
                "{problem}; replicas keep the last configuration that was good, and one that starts does not \
                 serve; correct the ConfigMap"
            );
            CheckResult::bad("configuration", text)
        }))
    }

    fn read_configuration(&self) -> Result<Option<Result<Configuration, String>>, Failure> {
        let (namespace, name) = (self.installation.namespace(), self.installation.configuration());
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        Ok(match self.get(&path)? {
            Found::Object(object) => {
                let read = match object["data"]["config.yaml"].as_str() {
                    Some(text) => config::read(text, &name).map_err(|error| error.to_string()),
                    None => Err(format!("ConfigMap \"{namespace}/{name}\" has no key config.yaml")),
                };
                Some(read)
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
