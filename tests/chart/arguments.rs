//! What containers are started with is what the program takes, and the names that it makes of the
//! installation are those of the objects.
//!
//! Not here: what the arguments do.

use std::collections::BTreeSet;
use std::time::Duration;

use bindery::api::installation::Installation;
use bindery::cli::args::{Bindery, Command, LocalArgs, LocalCommand};
use clap::Parser;
use serde_json::{Value, json};

use super::helm::{set, sets};
use super::objects::pods;

fn parsed(container: &Value) -> Bindery {
    let arguments = container["args"].as_array().expect("arguments");
    let arguments = arguments.iter().map(|one| one.as_str().expect("an argument is text"));
    // Its value is of the node.
    let variables = container["env"].as_array().into_iter().flatten();
    let is_of_node = variables.into_iter().any(|one| one["name"] == "MY_NODE_NAME");
    let node = is_of_node.then_some("--node-name=node-1");
    let command = Bindery::try_parse_from(["bindery"].into_iter().chain(arguments).chain(node));
    command.unwrap_or_else(|error| panic!("{}: {error}", container["args"]))
}

/// The folders that `bindery local` is given are those that its container has.
#[track_caller]
fn expect_mounted(name: &str, container: &Value, arguments: &LocalArgs) {
    let mounts = container["volumeMounts"].as_array().expect("mounts");
    for folder in [&arguments.config_dir, &arguments.ledger_dir, &arguments.kubelet_dir] {
        let folder = folder.display().to_string();
        assert!(mounts.iter().any(|mount| mount["mountPath"] == folder), "{name}: {folder}");
    }
}

#[test]
fn the_program_takes_the_arguments_of_every_container() {
    for (name, rendering) in sets() {
        for (owner, pod) in pods(rendering) {
            for container in pod["containers"].as_array().expect("containers") {
                let command = parsed(container).command;
                if let Command::Local(arguments) = &command {
                    if let Some(LocalCommand::NodeCleanup(arguments)) = &arguments.command {
                        let lease = rendering.object("Lease", &arguments.lease_name);
                        assert_eq!(lease["metadata"]["namespace"], *arguments.lease_namespace);
                    } else {
                        expect_mounted(name, container, arguments);
                    }
                    continue;
                }
                if let Command::Reporter(arguments) = &command {
                    assert!(!arguments.once, "{name}: {owner}");
                    assert_eq!(
                        arguments.interval,
                        Duration::from_mins(if name == "reports" { 30 } else { 60 })
                    );
                    continue;
                }
                let installation = if let Command::Webhook(arguments) = &command {
                    let by_secret = arguments.tls_cert_file.is_none();
                    assert!(arguments.installation.is_some(), "{name}: {owner}");
                    arguments.installation.clone().filter(|_| by_secret)
                } else if let Command::Controller(arguments) = &command {
                    assert_eq!(arguments.lease_namespace, "store", "{name}: {owner}");
                    let lease = rendering.object("Lease", &arguments.lease_name);
                    assert_eq!(lease["metadata"]["namespace"], "store", "{name}");
                    // It patches what must be there.
                    let kept = arguments.config_last_good_map.as_deref().expect("a ConfigMap");
                    rendering.object("ConfigMap", kept);
                    arguments.installation.clone()
                } else {
                    assert!(matches!(command, Command::Doctor(_)), "{name}: {command:?}");
                    continue;
                };
                let is_self_signed = !rendering.of_kind("Secret").is_empty();
                assert_eq!(installation.is_some(), is_self_signed, "{name}: {owner}");
            }
        }
    }
}

/// A process that starts while the configuration is wrong uses the last good one, whichever of them it is.
#[test]
fn every_container_with_a_configuration_has_the_last_good_one_too() {
    let mut found = BTreeSet::new();
    for (name, rendering) in sets() {
        let is_kept = rendering.of_kind("ConfigMap").iter().any(|map| {
            map["metadata"]["name"].as_str().is_some_and(|name| name.ends_with("-config-last-good"))
        });
        for (owner, pod) in pods(rendering) {
            for container in pod["containers"].as_array().expect("containers") {
                let arguments = container["args"].as_array().expect("arguments");
                if !arguments.contains(&json!("--config")) {
                    continue;
                }
                let after = arguments.iter().skip_while(|one| **one != "--config-last-good").nth(1);
                let file = json!("/etc/bindery/config-last-good/config.yaml");
                assert_eq!(after, Some(&file), "{name}: {owner}");
                let mounts = container["volumeMounts"].as_array().expect("mounts");
                let is_mounted = mounts
                    .iter()
                    .any(|mount| mount["mountPath"] == "/etc/bindery/config-last-good");
                assert_eq!(is_mounted, is_kept, "{name}: {owner}");
                found.insert(container["name"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(found.iter().eq(["controller", "reporter", "webhook"]), "{found:?}");
}

#[test]
fn the_program_and_the_chart_call_everything_alike() {
    for (name, full) in [("defaults", "rel-bindery"), ("named", "rel-pairs")] {
        let rendering = set(name);
        let installation: Installation = format!("store/{full}").parse().expect("a name");
        for secret in [installation.serving_secret(), installation.ca_secret()] {
            assert_eq!(rendering.object("Secret", &secret)["type"], "Opaque", "{name}");
        }
        rendering.object("Lease", &installation.lease());
        let service = rendering.object("Service", installation.name());
        assert_eq!(service["metadata"]["namespace"], installation.namespace());
        for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
            rendering.object(kind, installation.name());
        }
    }
    let certificate = set("cert-manager").object("Certificate", "rel-bindery-tls");
    let installation: Installation = "store/rel-bindery".parse().expect("a name");
    assert_eq!(certificate["spec"]["dnsNames"][0], installation.host().as_str());
}
