//! `bindery rule`: one page of the reference in the terminal, or the list of all; for programs as JSON or YAML.

use serde::Serialize;

use super::args::{Notation, RuleArgs};
use super::exit::{Exit, Failure};
use super::render::{self, API_VERSION};
use super::{reference, table};
use crate::api::registration::name;
use crate::config;
use crate::rules::mutations::{self, MUTATIONS};
use crate::rules::{
    self, Exemptable, Mutation, Policy, RULES, RequestTypes, Rule, ScanCheck, Switch, TENANT_LABEL,
    Terminating, WarningMode, spelling,
};

/// The profiles of the configuration.
const PROFILES: [&str; 4] = ["audit", "warn", "baseline", "strict"];

/// Runs the command.
pub fn run(arguments: &RuleArgs) -> Result<Exit, Failure> {
    let found = arguments.id.as_deref().map(find).transpose()?;
    let text = match (arguments.output, &found) {
        (None, None) => list(),
        (None, Some(found)) => page(found)?,
        (Some(notation), found) => {
            let list = rule_list(found.as_ref())?;
            match notation {
                Notation::Json => render::json(&list)?,
                Notation::Yaml => render::yaml(&list)?,
            }
        }
    };
    super::output::print(&text)?;
    Ok(Exit::Clean)
}

/// What an id names.
enum Found {
    Rule(&'static Rule),
    Mutation(&'static Mutation),
}

fn find(id: &str) -> Result<Found, Failure> {
    if let Some(rule) = rules::find(id) {
        return Ok(Found::Rule(rule));
    }
    mutations::find(id).map(Found::Mutation).ok_or_else(|| {
        let similar = rules::most_similar(id);
        let similar = similar.map(|id| format!("did you mean {id:?}? ")).unwrap_or_default();
        Failure::usage(format!(
            "there is no rule or mutation {id:?}; {similar}`bindery rule` lists them"
        ))
    })
}

fn list() -> String {
    let rules = RULES.iter().map(|rule| (rule.id, rule.mode.as_str(), rule.page.hazard));
    let mutations =
        MUTATIONS.iter().map(|mutation| (mutation.id, "mutation", mutation.page.hazard));
    let rows = rules.chain(mutations);
    let rows =
        rows.map(|(id, mode, hazard)| vec![id.to_owned(), format!("{mode:5}"), hazard.to_owned()]);
    table::aligned(&rows.collect::<Vec<_>>())
}

fn page(found: &Found) -> Result<String, Failure> {
    let (id, made) = match found {
        Found::Rule(rule) => (rule.id, reference::of_rule(rule)),
        Found::Mutation(mutation) => (mutation.id, reference::of_mutation(mutation)),
    };
    made.map_err(|error| Failure::usage(format!("the page of {id} cannot be made: {error}")))
}

/// What programs get: `docs/schemas/rules.json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleList {
    api_version: &'static str,
    kind: &'static str,
    rules: Vec<RuleItem>,
    mutations: Vec<MutationItem>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleItem {
    id: &'static str,
    modes: Profiles,
    hazard: &'static str,
    consequence: &'static str,
    instead: &'static str,
    requests: Vec<RequestItem>,
    can_be_exempted: bool,
    applies_to_terminating: bool,
    found_by_scan: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_as: Option<&'static str>,
}

/// The mode of a rule in each profile.
#[derive(Serialize)]
struct Profiles {
    audit: &'static str,
    warn: &'static str,
    baseline: &'static str,
    strict: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MutationItem {
    id: &'static str,
    enabled: bool,
    hazard: &'static str,
    consequence: &'static str,
    instead: &'static str,
    requests: Vec<RequestItem>,
    warns: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestItem {
    webhook: &'static str,
    operation: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'static str,
    resource: String,
}

/// The list with what was found only, or with everything.
fn rule_list(found: Option<&Found>) -> Result<RuleList, Failure> {
    let [audit, warn, baseline, strict] = PROFILES;
    let policies = [policy_of(audit)?, policy_of(warn)?, policy_of(baseline)?, policy_of(strict)?];
    let (rules, mutations) = match found {
        None => (RULES.to_vec(), MUTATIONS.to_vec()),
        Some(Found::Rule(rule)) => (vec![*rule], Vec::new()),
        Some(Found::Mutation(mutation)) => (Vec::new(), vec![*mutation]),
    };
    Ok(RuleList {
        api_version: API_VERSION,
        kind: "RuleList",
        rules: rules.into_iter().map(|rule| rule_item(rule, &policies)).collect(),
        mutations: mutations.into_iter().map(mutation_item).collect(),
    })
}

/// The policy of a configuration that sets nothing but its profile.
fn policy_of(profile: &str) -> Result<Policy, Failure> {
    let text = format!("apiVersion: {API_VERSION}\nkind: Config\nprofile: {profile}\n");
    let read = config::read(&text, profile).map_err(|error| render::unprintable(&error))?;
    Ok(read.policy)
}

fn rule_item(rule: &'static Rule, [audit, warn, baseline, strict]: &[Policy; 4]) -> RuleItem {
    let mode = |policy: &Policy| policy.mode(rule).as_str();
    RuleItem {
        id: rule.id,
        modes: Profiles {
            audit: mode(audit),
            warn: mode(warn),
            baseline: mode(baseline),
            strict: mode(strict),
        },
        hazard: rule.page.hazard,
        consequence: rule.page.consequence,
        instead: rule.page.instead,
        requests: requests(rule.request_types),
        can_be_exempted: rule.options.exemption == Exemptable::Yes,
        applies_to_terminating: rule.options.terminating == Terminating::Judged,
        found_by_scan: !matches!(rule.options.scan, ScanCheck::Unseen),
        reported_as: rule.options.reported_as,
    }
}

fn mutation_item(mutation: &'static Mutation) -> MutationItem {
    MutationItem {
        id: mutation.id,
        enabled: mutation.switch == Switch::On && mutation.id != TENANT_LABEL,
        hazard: mutation.page.hazard,
        consequence: mutation.page.consequence,
        instead: mutation.page.instead,
        requests: requests(mutation.request_types),
        warns: mutation.warning == WarningMode::Warned,
    }
}

fn requests(types: RequestTypes) -> Vec<RequestItem> {
    let item = |request: &rules::RequestType| {
        let (resource, operation) = spelling(request.resource, request.operation);
        let (webhook, group) = (name(request.endpoint), request.resource.group());
        RequestItem { webhook, operation, group, resource }
    };
    types.iter().map(item).collect()
}
