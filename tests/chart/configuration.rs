//! The configuration file that the chart renders is one that the program takes, and says what the values
//! say.

use std::fs;
use std::process::Command;
use std::time::Duration;

use bindery::config::{Configuration, read};
use bindery::model::TenantLabel;
use bindery::rules::{ExemptedBy, Mode, RULES, Switch, TENANT_LABEL, Unlisted};
use bindery::trash::ReturnTo;
use serde_json::{Value, json};

use super::helm::{Rendering, set, sets, sets_with_webhook, template};

pub(crate) fn file(rendering: &Rendering) -> &str {
    let maps = rendering.of_kind("ConfigMap");
    let mut files = maps.iter().filter_map(|map| map["data"]["config.yaml"].as_str());
    let file = files.next().expect("there is a configuration");
    assert_eq!(files.next(), None, "there is one configuration");
    file
}

#[track_caller]
fn configuration(set_name: &str) -> Configuration {
    read(file(set(set_name)), set_name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_program_takes_every_configuration() {
    for (name, rendering) in sets() {
        let read = read(file(rendering), name);
        assert!(read.is_ok(), "{}", read.err().map(|error| error.to_string()).unwrap_or_default());
    }
}

#[test]
fn the_command_line_takes_every_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n";
    fs::write(folder.path().join("claim.yaml"), claim).expect("a file");
    for (name, rendering) in sets() {
        fs::write(folder.path().join("config.yaml"), file(rendering)).expect("a file");
        let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
            .args(["check", "-f", "claim.yaml", "--config", "config.yaml"])
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {reported}");
    }
}

#[test]
fn defaults_are_those_of_the_program() {
    let chart = configuration("defaults");
    let own = Configuration::default();
    assert_eq!(chart.policy.modes, own.policy.modes);
    assert_eq!(chart.policy.overrides, own.policy.overrides);
    assert_eq!(chart.policy.parameters, own.policy.parameters);
    assert_eq!(chart.policy.exemptions, own.policy.exemptions);
    assert_eq!(chart.policy.longest_exemption, own.policy.longest_exemption);
    assert_eq!(chart.policy.trusted, own.policy.trusted);
    assert_eq!(chart.recycler, own.recycler);
    assert_eq!(chart.trash, own.trash);
}

#[test]
fn values_reach_the_configuration() {
    let policy = configuration("policy").policy;
    assert_eq!(policy.modes.get("duplicate-backend"), Some(&Mode::Warn));
    assert_eq!(policy.modes.get("missing-volume"), Some(&Mode::Off), "YAML reads it as false");
    assert_eq!(policy.modes.get("host-path-volume"), Some(&Mode::Deny), "the profile is strict");
    assert_eq!(
        (policy.parameters.max_waste.get(), policy.parameters.unlisted),
        (10, Unlisted::Deny)
    );
    assert_eq!(policy.overrides.len(), 1);
    assert_eq!(policy.longest_exemption.as_hours(), 24);
    assert_eq!(policy.exemptions.len(), 1);
    assert_eq!(policy.mutations.get("delayed-binding"), Some(&Switch::Off));
    assert_eq!(policy.mutations.get("tenant-selector"), Some(&Switch::On));
    assert_eq!(policy.parameters.tenant_label, TenantLabel::Auto);
    assert_eq!(policy.mutations.get(TENANT_LABEL), Some(&Switch::On));
    assert_eq!(policy.trusted.binders, ["system:serviceaccount:topolvm:binder"]);
    assert_eq!(policy.trusted.populators, ["system:serviceaccount:populators:mover"]);
    let trash = configuration("policy").trash;
    assert_eq!(trash.all.keep.as_hours(), 72);
    assert_eq!(trash.overrides[0].return_to, Some(ReturnTo::SameName));
    let recycler = configuration("full-sidecar").recycler;
    assert_eq!(recycler.nfs.minimum, Duration::from_mins(10));
    let image = &recycler.template.spec["containers"][0]["image"];
    assert_eq!(image, "registry.example.com/scrub:1.4.0");
    let template = configuration("full").recycler.template;
    assert_eq!(template.volume, "data");
    assert_eq!(template.spec["containers"][0]["image"], "registry.example.com/scrub:1.4.0");
}

/// Who is not judged is the account under which the controller runs, and one that exists.
#[test]
fn the_own_controller_is_the_account_of_its_pods() {
    for (name, rendering) in sets_with_webhook() {
        let deployments = rendering.of_kind("Deployment");
        let runs = |deployment: &&&Value| {
            let containers = deployment["spec"]["template"]["spec"]["containers"].as_array();
            containers.is_some_and(|all| all.iter().any(|one| one["name"] == "controller"))
        };
        let of_controller = deployments.iter().find(runs).or(deployments.first());
        let pod = &of_controller.expect("there are pods")["spec"]["template"]["spec"];
        let account = pod["serviceAccountName"].as_str().expect("an account");
        let exists = rendering
            .of_kind("ServiceAccount")
            .iter()
            .any(|object| object["metadata"]["name"] == account);
        assert!(exists, "{name}: {account}");
        let own = read(file(rendering), name).map(|read| read.own_controller);
        assert_eq!(
            own.ok().flatten(),
            Some(format!("system:serviceaccount:store:{account}")),
            "{name}"
        );
    }
}

/// A mounted file alone never changes; its folder does.
#[test]
fn a_change_of_the_configuration_arrives() {
    for (name, rendering) in sets() {
        for deployment in rendering.of_kind("Deployment") {
            let containers = &deployment["spec"]["template"]["spec"]["containers"];
            let containers = containers.as_array().expect("containers").iter();
            // All that the node cleanup is told are arguments.
            for container in containers.filter(|one| one["name"] != "local-node-cleanup") {
                let mounts = container["volumeMounts"].as_array().expect("mounts");
                let config = mounts.iter().find(|mount| mount["name"] == "config");
                let config = config.expect("the configuration is mounted");
                assert_eq!(config["mountPath"], "/etc/bindery/config", "{name}");
                assert_eq!(config.get("subPath"), None, "{name}");
            }
        }
    }
}

/// An entry for Namespaces exempts from no rule about objects without one: schema and program agree on which these are.
#[test]
fn an_exemption_for_namespaces_is_from_rules_of_namespaces() {
    let exempted = RULES.iter().filter(|rule| rule.exempted_by() != ExemptedBy::Nothing);
    let taken = |rules: &[&str], namespaces: &[&str]| {
        let entry = json!([{"rules": rules, "namespaces": namespaces, "until": "2030-01-31T18:00:00Z", "reason": "r"}]);
        template(&["--set-json", &format!("exemptions.list={entry}")]).is_ok()
    };
    let all: Vec<&str> = exempted.clone().map(|rule| rule.id).collect();
    assert!(taken(&all, &[]));
    for rule in exempted {
        let is_of_namespaces = rule.exempted_by() != ExemptedBy::Cluster;
        assert_eq!(taken(&[rule.id], &["db"]), is_of_namespaces, "{}", rule.id);
    }
}
