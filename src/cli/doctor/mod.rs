//! `bindery doctor`: whether an installation in a cluster does what it is there for.
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
use super::input::cluster::{Cluster, Refusal};
use super::output::{print, readable};
use super::{API_VERSION, notation};
use crate::api::installation::Installation;
use crate::config::{self, Configuration};

/// The kind of a report.
const KIND: &str = "Diagnosis";

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<Exit, Failure> {
    let cluster = Cluster::connect(&arguments.cluster)?;
    let installation = arguments.installation.clone();
    let serving_secret = arguments.serving_secret.clone();
    let serving_secret = serving_secret.unwrap_or_else(|| installation.serving_secret());
    let has_no_controller = arguments.without_controller;
    let patient = Patient { cluster, installation, serving_secret, has_no_controller };
    // The first question: whoever does not answer it answers none.
    let mut findings = vec![parts::version(&patient)?];
    findings.extend(registrations::findings(&patient)?);
    findings.extend(trust::findings(&patient)?);
    findings.push(parts::replicas(&patient)?);
    findings.extend(parts::leaders(&patient)?);
    findings.extend(canary::findings(&patient)?);
    let is_well = findings.iter().all(|finding| finding.outcome != Outcome::Bad);
    match arguments.output {
        None => findings.iter().try_for_each(|finding| print(&readable(&finding.line())))?,
        Some(notation) => {
            let report = Report { api_version: API_VERSION, kind: KIND, findings };
            print(&written(&report, notation)?)?;
        }
    }
    Ok(if is_well { Exit::Clean } else { Exit::Refused })
}

/// The installation that is looked at.
struct Patient {
    cluster: Cluster,
    installation: Installation,
    /// The Secret that replicas serve from.
    serving_secret: String,
    /// Whether none is meant to be there.
    has_no_controller: bool,
}

/// What came of one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// It is as it should be.
    Good,
    /// Somebody has to do something.
    Bad,
    /// It could not be found out.
    Unknown,
}

/// The answer to one question.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    outcome: Outcome,
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    api_version: &'static str,
    kind: &'static str,
    findings: Vec<Finding>,
}

impl Finding {
    fn good(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Good, text: text.into() }
    }

    fn bad(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Bad, text: text.into() }
    }

    fn unknown(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Unknown, text: text.into() }
    }

    fn line(&self) -> String {
        let mark = match self.outcome {
            Outcome::Good => "ok     ",
            Outcome::Bad => "BAD    ",
            Outcome::Unknown => "unknown",
        };
        super::plain(&format!("{mark} {}: {}", self.check, self.text)) + "\n"
    }
}

/// An object of the cluster, or why it is not told.
enum Found {
    Object(Value),
    Missing,
    Hidden,
}

impl Patient {
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
            Err(Refusal::Missing(_)) => Ok(Found::Missing),
            Err(Refusal::Forbidden(_)) => Ok(Found::Hidden),
            Err(refusal @ Refusal::Failed(_)) => Err(refusal.into()),
        }
    }
}

fn written(report: &Report, form: Notation) -> Result<String, Failure> {
    match form {
        Notation::Json => notation::json(report),
        Notation::Yaml => notation::yaml(report),
    }
}
