//! `bindery doctor`: verifies an installation.
//!
//! It looks at what is registered, served and stored, and makes two writes as a dry run that a working webhook does
//! not let pass as they are. Nothing is changed. Not here: what is wrong with volumes and claims (`scan`).

mod account_policies;
mod answering;
mod canary;
mod check_result;
mod installation;
mod parts;
mod policies;
mod registrations;
mod trust;

use serde::Serialize;

use self::check_result::{CheckOutcome, CheckResult};
use self::installation::InspectedInstallation;
use super::args::{DoctorArgs, Notation};
use super::exit::{Exit, Failure};
use super::input::cluster::ClusterClient;
use super::output::print;
use super::render::{self, API_VERSION};

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let installation = arguments.installation.clone();
    let serving_secret = arguments.serving_secret.clone();
    let serving_secret = serving_secret.unwrap_or_else(|| installation.serving_secret());
    let has_no_controller = arguments.without_controller;
    let (policies, configuration_file) = (arguments.policies, arguments.config.clone());
    let subject = InspectedInstallation {
        cluster,
        installation,
        serving_secret,
        has_no_controller,
        policies,
        configuration_file,
    };
    let findings = findings(&subject)?;
    let is_well = findings.iter().all(|check| check.outcome != CheckOutcome::Bad);
    let diagnosis = Diagnosis { api_version: API_VERSION, kind: "Diagnosis", findings };
    print(&match arguments.output {
        None => diagnosis.findings.iter().map(CheckResult::line).collect(),
        Some(Notation::Json) => render::json(&diagnosis)?,
        Some(Notation::Yaml) => render::yaml(&diagnosis)?,
    })?;
    Ok(if is_well { Exit::Clean } else { Exit::Denied })
}

fn findings(subject: &InspectedInstallation) -> Result<Vec<CheckResult>, Failure> {
    // The first request: an API server that does not answer it answers none.
    let mut findings = vec![parts::version(subject)?];
    findings.extend(subject.configuration_problem()?);
    if subject.has_webhook() {
        findings.extend(registrations::findings(subject)?);
    }
    findings.extend(policies::findings(subject)?);
    if subject.has_webhook() {
        findings.extend(trust::findings(subject)?);
        findings.push(parts::replicas(subject)?);
        findings.extend(answering::finding(subject)?);
        findings.extend(account_policies::finding(subject)?);
    }
    findings.extend(parts::leaders(subject)?);
    findings.extend(canary::findings(subject)?);
    Ok(findings)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Diagnosis {
    api_version: &'static str,
    kind: &'static str,
    findings: Vec<CheckResult>,
}
