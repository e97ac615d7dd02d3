//! `bindery generate`: registrations, reference pages, man pages and completions, made from the code.

use std::fmt::Write as _;

use clap::CommandFactory;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use serde_json::{Value, json};

use super::args::{
    Bindery, ChartArgs, Generate, GenerateArgs, Notation, PoliciesArgs, WebhooksArgs,
};
use super::exit::{Exit, Failure};
use super::output::eprint_line;
use super::{completion, files, manual, reference, render};
use crate::api::admission_policy::{
    admission_policies, break_glass_policy, mutating_policies, policy_parts,
};
use crate::api::policy_parameters::volume_policies;
use crate::api::registration::{Registration, WebhookTarget, fail_open};
use crate::config;
use crate::rules::Trusted;
use crate::rules::judging::parameters::guarded_labels;
use crate::rules::judging::volume_parameters::VOLUMES_MAX;

/// Runs the command.
pub fn run(arguments: &GenerateArgs) -> Result<Exit, Failure> {
    let text = match &arguments.what {
        Generate::Webhooks(arguments) => webhooks(arguments)?,
        Generate::Policies(arguments) => policies(arguments)?,
        Generate::Chart(arguments) => chart(arguments)?,
        Generate::Rules => reference::index(),
        Generate::Cli => command_line(),
        Generate::Metrics => reference::metrics(),
        Generate::Configuration => reference::configuration(),
        Generate::Completion { shell } => completion::script(*shell)?,
        Generate::Man { dir } => {
            manual::write(dir)?;
            return Ok(Exit::Clean);
        }
    };
    super::output::print(&text)?;
    Ok(Exit::Clean)
}

fn webhooks(arguments: &WebhooksArgs) -> Result<String, Failure> {
    let configuration = files::configuration(arguments.config.as_deref())?;
    let registration = Registration {
        target: target(arguments)?,
        ca_pem: ca_pem(arguments)?,
        own_controller: configuration.controller_beside_webhook().to_owned(),
        namespace_labels: configuration.policy.parameters.namespace_labels,
        tenant_label: configuration.policy.parameters.tenant_label.as_str().to_owned(),
    };
    let (mut validating, mut mutating) = (registration.validating(), registration.mutating());
    if configuration.observes_only {
        fail_open(&mut validating, &mut mutating);
    }
    printed(&validating, &mutating, arguments.output)
}

/// The policies and their bindings, under the modes of the configuration.
fn policies(arguments: &PoliciesArgs) -> Result<String, Failure> {
    let configuration = files::configuration(arguments.config.as_deref())?;
    let (decisions, controller) =
        (&configuration.policy, configuration.controller_beside_policies());
    let mut made = admission_policies(decisions, controller);
    if arguments.volumes_as_parameters {
        made.extend(volume_policies(decisions, controller));
        eprint_line(&format!(
            "each creation of a PVC now waits for each PV of the cluster, about 0.1 ms; apply this in a cluster of at most \
             {VOLUMES_MAX} PVs"
        ));
    }
    made.push(break_glass_policy());
    let mut items: Vec<Value> =
        made.iter().flat_map(|one| [json!(one.policy), json!(one.binding)]).collect();
    if let Some(api) = arguments.mutations {
        let made = mutating_policies(decisions, controller);
        let made = made.iter().flat_map(|one| [json!(one.policy), json!(one.binding)]);
        items.extend(made.map(|mut item| {
            item["apiVersion"] = json!(api.version());
            item
        }));
    }
    match arguments.output {
        Notation::Json => {
            render::json(&json!({"apiVersion": "v1", "kind": "List", "items": items}))
        }
        Notation::Yaml => {
            let documents: Result<Vec<String>, Failure> = items.iter().map(render::yaml).collect();
            Ok(documents?.join("---\n"))
        }
    }
}

/// The two configurations of a registration.
fn printed(
    validating: &ValidatingWebhookConfiguration,
    mutating: &MutatingWebhookConfiguration,
    notation: Notation,
) -> Result<String, Failure> {
    match notation {
        Notation::Json => render::json(&json!({
            "apiVersion": "v1", "kind": "List", "items": [validating, mutating],
        })),
        Notation::Yaml => Ok(render::yaml(validating)? + "---\n" + &render::yaml(mutating)?),
    }
}

/// What the chart's templates read.
fn chart(arguments: &ChartArgs) -> Result<String, Failure> {
    if !arguments.policies {
        let registration = for_chart();
        return printed(&registration.validating(), &registration.mutating(), Notation::Json);
    }
    let mut profiles = Vec::new();
    for name in PROFILES {
        let text = format!("apiVersion: bindery.dev/v1\nkind: Config\nprofile: {name}\n");
        let read = config::read(&text, name);
        let read = read.map_err(|error| Failure::usage(error.to_string()))?;
        profiles.push((name, read.policy));
    }
    let trusted = Trusted {
        binders: vec!["@binders@".to_owned()],
        populators: vec!["@populators@".to_owned()],
        provisioners: vec!["@provisioners@".to_owned()],
    };
    render::json(&policy_parts(&profiles, &trusted, CONTROLLER))
}

/// The profiles of a configuration.
const PROFILES: [&str; 4] = ["audit", "warn", "baseline", "strict"];

/// The placeholder of the controller's account.
const CONTROLLER: &str = "@controller@";

/// The registrations with a placeholder for each name that only an installation knows. The chart's
/// template puts the names in; `caBundle` is filled in inside the cluster.
fn for_chart() -> Registration {
    Registration {
        target: WebhookTarget::Service {
            namespace: "@namespace@".to_owned(),
            name: "@name@".to_owned(),
        },
        ca_pem: String::new(),
        own_controller: CONTROLLER.to_owned(),
        namespace_labels: guarded_labels(["@labels@"].into_iter()).into(),
        tenant_label: "@tenantLabel@".to_owned(),
    }
}

fn target(arguments: &WebhooksArgs) -> Result<WebhookTarget, Failure> {
    match (&arguments.url, &arguments.service) {
        (Some(url), _) if url.starts_with("https://") && url.len() > "https://".len() => {
            Ok(WebhookTarget::Url(url.clone()))
        }
        (Some(url), _) => Err(Failure::usage(format!(
            "--url {url}: the API server calls https only; write https://HOST:PORT"
        ))),
        (None, service) => {
            let service = service.as_deref().unwrap_or_default();
            let parts = service.split_once('/');
            let whole = |(namespace, name): &(&str, &str)| {
                !namespace.is_empty() && !name.is_empty() && !name.contains('/')
            };
            let (namespace, name) = parts.filter(whole).ok_or_else(|| {
                Failure::usage(format!(
                    "--service {service}: is not a Service; write NAMESPACE/NAME"
                ))
            })?;
            Ok(WebhookTarget::Service { namespace: namespace.to_owned(), name: name.to_owned() })
        }
    }
}

fn ca_pem(arguments: &WebhooksArgs) -> Result<String, Failure> {
    let Some(path) = &arguments.ca_file else { return Ok(String::new()) };
    let text = files::read(path)?;
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(Failure::usage(format!(
            "{}: holds no certificate; give the CA certificate in PEM",
            path.display()
        )));
    }
    Ok(text)
}

/// The reference of the command line: the help of every command.
fn command_line() -> String {
    let mut out = String::from(
        "# The command line\n\n\
         Generated by `bindery generate cli`; a test compares the two.\n\n\
         | exit code | means |\n|---|---|\n",
    );
    for exit in Exit::ALL {
        let _ = writeln!(out, "| {} | {} |", exit.code(), exit.meaning());
    }
    let mut root = Bindery::command().term_width(100);
    root.build();
    describe(&mut root, &mut out);
    out
}

fn describe(command: &mut clap::Command, out: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let _ = write!(out, "\n## {name}\n\n```\n{}\n```\n", lines.join("\n"));
    for inner in command.get_subcommands_mut() {
        describe(inner, out);
    }
}
