//! The installation that is verified, and what its cluster stores.

use std::path::PathBuf;

use super::check_result::CheckResult;
use serde_json::Value;

use crate::api::installation::Installation;
use crate::cli::args::InstalledPolicies;
use crate::cli::exit::Failure;
use crate::cli::files;
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
    /// How its policies are installed; nothing if that is not known.
    pub(super) policies: Option<InstalledPolicies>,
    /// The configuration with which the policies were generated, where that is not the installation's.
    pub(super) configuration_file: Option<PathBuf>,
}

/// An object of the cluster, or why there is none.
pub(super) enum Found {
    Object(Value),
    Missing,
    Hidden,
}

impl InspectedInstallation {
    /// Returns whether it has a webhook.
    pub(super) fn has_webhook(&self) -> bool {
        self.policies != Some(InstalledPolicies::Instead)
    }

    /// Returns what the installation is configured to do; none if that may not be seen.
    pub(super) fn configuration(&self) -> Result<Option<Configuration>, Failure> {
        Ok(self.read_configuration()?.and_then(Result::ok))
    }

    /// Returns what is wrong with the configuration.
    pub(super) fn configuration_problem(&self) -> Result<Option<CheckResult>, Failure> {
        let problem = self.read_configuration()?.and_then(Result::err);
        Ok(problem.map(|problem| {
            let text = format!(
                "{problem}; replicas keep the last configuration that was good, and one that starts uses it or, where \
                 there is none, the defaults under its profile; correct the ConfigMap"
            );
            CheckResult::bad("configuration", text)
        }))
    }

    fn read_configuration(&self) -> Result<Option<Result<Configuration, String>>, Failure> {
        let from_file =
            || files::configuration(self.configuration_file.as_deref()).map(|read| Some(Ok(read)));
        if self.configuration_file.is_some() {
            return from_file();
        }
        let (namespace, name) = (self.installation.namespace(), self.installation.configuration());
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        Ok(match self.get(&path)? {
            Found::Object(object) => Some(stored_configuration(&object, &name)),
            // Policies that are not the chart's have the defaults of the program.
            Found::Missing if self.policies.is_some() => return from_file(),
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

/// Returns what the `ConfigMap` of this name holds, or what is wrong with it, with its place.
fn stored_configuration(object: &Value, name: &str) -> Result<Configuration, String> {
    let text = object["data"]["config.yaml"].as_str();
    let text = text.ok_or_else(|| format!("ConfigMap \"{name}\" has no key config.yaml"))?;
    config::read(text, name).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_configuration_that_cannot_be_read_is_no_default() {
        let read = |data: Value| stored_configuration(&json!({"data": data}), "config");
        let good =
            "apiVersion: bindery.dev/v1\nkind: Config\nrules: {modes: {recycle-policy: off}}\n";
        assert!(read(json!({"config.yaml": good})).is_ok());
        let wrong = good.replace("recycle-policy", "recycled");
        let problem = read(json!({"config.yaml": wrong})).unwrap_err();
        assert!(problem.starts_with("config:3:"), "{problem}");
        let problem = read(json!({"config.yml": good})).unwrap_err();
        assert_eq!(problem, "ConfigMap \"config\" has no key config.yaml");
    }
}
