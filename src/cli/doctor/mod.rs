//! `bindery doctor`: verifies an installation.
//!
//! It looks at what is registered, served and stored, and makes two writes as a dry run that a working webhook does
//! not let pass as they are. Nothing is changed. Not here: what is wrong with volumes and claims (`scan`).

mod canary;
mod parts;
mod registrations;
mod trust;

use serde::Serialize;
use serde_json::Value;

use super::args::{DoctorArgs, Notation};
use super::exit::{Exit, Failure};
use super::input::cluster::{ClusterClient, ReadError};
use super::output::{one_line, print};
use super::render::{self, API_VERSION};
use crate::api::installation::Installation;
use crate::config::{self, Configuration};

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let installation = arguments.installation.clone();
    let serving_secret = arguments.serving_secret.clone();
    let serving_secret = serving_secret.unwrap_or_else(|| installation.serving_secret());
    let has_no_controller = arguments.without_controller;
    let subject =
        InspectedInstallation { cluster, installation, serving_secret, has_no_controller };
    // The first request: an API server that does not answer it answers none.
    let mut findings = vec![parts::version(&subject)?];
    findings.extend(registrations::findings(&subject)?);
    findings.extend(trust::findings(&subject)?);
    findings.push(parts::replicas(&subject)?);
    findings.extend(parts::leaders(&subject)?);
    findings.extend(canary::findings(&subject)?);
    let is_well = findings.iter().all(|check| check.outcome != CheckOutcome::Bad);
    let diagnosis = Diagnosis { api_version: API_VERSION, kind: "Diagnosis", findings };
    print(&match arguments.output {
        None => diagnosis.findings.iter().map(CheckResult::line).collect(),
        Some(Notation::Json) => render::json(&diagnosis)?,
        Some(Notation::Yaml) => render::yaml(&diagnosis)?,
    })?;
    Ok(if is_well { Exit::Clean } else { Exit::Denied })
}

/// The installation that is verified.
struct InspectedInstallation {
    cluster: ClusterClient,
    installation: Installation,
    /// The Secret that replicas serve from.
    serving_secret: String,
    /// Whether it is installed without a controller.
    has_no_controller: bool,
}

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckOutcome {
    /// It is as it should be.
    Good,
    /// It needs a fix.
    Bad,
    /// It could not be checked.
    Unknown,
}

/// One check.
#[derive(Debug, Serialize)]
struct CheckResult {
    check: &'static str,
    outcome: CheckOutcome,
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Diagnosis {
    api_version: &'static str,
    kind: &'static str,
    findings: Vec<CheckResult>,
}

impl CheckResult {
    fn good(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Good, text: text.into() }
    }

    fn bad(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Bad, text: text.into() }
    }

    fn unknown(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Unknown, text: text.into() }
    }

    fn line(&self) -> String {
        let mark = match self.outcome {
            CheckOutcome::Good => "ok     ",
            CheckOutcome::Bad => "BAD    ",
            CheckOutcome::Unknown => "unknown",
        };
        one_line(&format!("{mark} {}: {}", self.check, self.text)) + "\n"
    }
}

/// An object of the cluster, or why there is none.
enum Found {
    Object(Value),
    Missing,
    Hidden,
}

impl InspectedInstallation {
    /// What the installation is configured to do; none if that may not be seen or cannot be read.
    fn configuration(&self) -> Result<Option<Configuration>, Failure> {
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

    fn get(&self, path: &str) -> Result<Found, Failure> {
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
