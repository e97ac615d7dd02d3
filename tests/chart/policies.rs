//! The policies that the chart renders are those that the command line prints, but for the name of the installation.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::helm::{NAME, RELEASE, Rendering, helm, rendered, set, template};

const KINDS: [&str; 2] = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];

/// Returns what `bindery generate policies` prints under the configuration of a rendering, by kind, name and spec, under the
/// names of the chart.
fn generated(rendering: &Rendering) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = super::configuration::file(rendering);
    fs::write(folder.path().join("config.yaml"), file).expect("a file");
    let mutates = rendering.of_kind("MutatingAdmissionPolicy").first().copied();
    let version = mutates.and_then(|policy| policy["apiVersion"].as_str()?.rsplit('/').next());
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["generate", "policies", "-o", "json", "--config", "config.yaml"])
        .args(version.iter().flat_map(|version| ["--mutations", *version]))
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let text = text.replace("\"bindery-", &format!("\"{NAME}-"));
    let list: Value = serde_json::from_str(&text).expect("it prints JSON");
    let items = list["items"].as_array().expect("items").iter().cloned();
    let (of_rules, others): (Vec<_>, Vec<_>) = items.partition(is_of_rules);
    assert_eq!(parts(&others), break_glass(rendering));
    parts(&of_rules)
}

fn is_of_rules(object: &Value) -> bool {
    object["metadata"]["labels"]["app.kubernetes.io/component"] == "rules"
}

/// The policy of a rendering that notes the use of break-glass, and its binding.
fn break_glass(rendering: &Rendering) -> Vec<Value> {
    parts(&KINDS.map(|kind| rendering.object(kind, &format!("{NAME}-break-glass")).clone()))
}

/// The policies of the rules in a rendering.
fn of_rules(rendering: &Rendering) -> Vec<Value> {
    let objects = rendering.objects.iter().filter(|object| is_of_rules(object));
    parts(&objects.cloned().collect::<Vec<_>>())
}

fn parts(objects: &[Value]) -> Vec<Value> {
    let part = |object: &Value| {
        json!([object["apiVersion"], object["kind"], object["metadata"]["name"], object["spec"]])
    };
    let mut parts: Vec<Value> = objects.iter().map(part).collect();
    parts.sort_by_key(ToString::to_string);
    parts
}

#[test]
fn they_are_those_of_the_command_line() {
    let others = [
        "policies=beside",
        "policies=beside,rules.profile=audit",
        "policies=beside,rules.profile=warn,rules.modes.prebind-incomplete=deny",
        "policies=beside,controller.placement=deployment,rules.profile=strict",
        "policies=beside,mutationPolicies=v1beta1,trusted.binders={a},trusted.provisioners={b}",
    ];
    let others = others.map(|values| rendered(&["--set", values]));
    let sets = ["policies-beside", "policies-instead"].map(set);
    for rendering in others.iter().chain(sets) {
        let made = of_rules(rendering);
        assert!(made.len() >= 10, "{}", made.len());
        assert_eq!(made, generated(rendering));
    }
    assert_eq!(of_rules(set("defaults")), Vec::<Value>::new());
}

/// A rule that is off is in no policy, however YAML writes that; names of accounts stay text.
#[test]
fn values_are_in_their_expressions() {
    let text = json!(of_rules(set("policies-beside"))).to_string();
    assert!(!text.contains("[host-path-volume]"));
    assert!(json!(of_rules(set("policies-instead"))).to_string().contains("[host-path-volume]"));
    assert!(text.contains(r"'system:serviceaccount:populators:mover', 'o\\'neill\\\\'"), "{text}");
    let unquoted = rendered(&["--set-json", "policies=false"]);
    assert_eq!(of_rules(&unquoted), Vec::<Value>::new());
}

#[test]
fn mutations_have_the_version_of_the_api_that_is_set() {
    let versions = |values: &str| -> Vec<Value> {
        let rendering = rendered(&["--set", values]);
        let kinds = ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"];
        let made = kinds.into_iter().flat_map(|kind| rendering.of_kind(kind));
        made.map(|object| object["apiVersion"].clone()).collect()
    };
    assert_eq!(versions("policies=beside"), Vec::<Value>::new());
    for version in ["v1", "v1beta1"] {
        let made = versions(&format!("mutationPolicies={version}"));
        assert!(made.len() >= 6, "{made:?}");
        let wanted = format!("admissionregistration.k8s.io/{version}");
        assert!(made.iter().all(|one| *one == wanted), "{made:?}");
    }
    assert_eq!(versions("mutationPolicies=v1,rules.profile=audit"), Vec::<Value>::new());
    // No denial comes with them.
    let alone = rendered(&["--set", "mutationPolicies=v1"]);
    assert!(!alone.text.contains(&format!("{NAME}-guard-persistentvolumes-deny")));
}

#[test]
fn instead_of_the_webhook_nothing_is_called_and_nothing_runs() {
    let rendering = set("policies-instead");
    for kind in [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "Deployment",
        "Service",
        "Secret",
        "Lease",
        "PodDisruptionBudget",
    ] {
        assert_eq!(rendering.of_kind(kind).len(), 0, "{kind}");
    }
    // The test's, which exists for as long as the test.
    for kind in ["ServiceAccount", "ClusterRoleBinding", "RoleBinding", "Pod"] {
        assert_eq!(rendering.of_kind(kind).len(), 1, "{kind}");
    }
    for kind in KINDS {
        rendering.object(kind, &format!("{NAME}-guard-persistentvolumes-deny"));
    }
    // No one is exempt as a controller that does not exist.
    assert!(json!(of_rules(rendering)).to_string().contains("!= 'system:bindery:no-controller'"));
    let with = rendered(&["--set", "policies=instead,controller.placement=deployment"]);
    let deployments = with.of_kind("Deployment");
    assert_eq!(deployments.len(), 1);
    assert_eq!(deployments[0]["metadata"]["name"], "rel-bindery-controller");
    let arguments = deployments[0]["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(!arguments.contains("--installation"), "it makes no certificates: {arguments}");
    assert_eq!(with.of_kind("Secret").len(), 0);
    let monitored = "policies=instead,controller.enabled=false,metrics.prometheusRule.enabled=true,\
        metrics.serviceMonitor.enabled=true,networkPolicy.enabled=true";
    let monitored = rendered(&["--set", monitored]);
    assert!(!monitored.text.contains("BinderyWebhookDown"), "no alert about what is not there");
    assert!(monitored.text.contains("BinderyBreakGlassUsed"));
    assert_eq!(monitored.of_kind("NetworkPolicy").len(), 0);
}

#[test]
fn values_that_contradict_a_chart_without_webhook_are_rejected() {
    let override_ = r#"overrides=[{"namespaceSelector": {"matchLabels": {"a": "b"}}, "rules": {"orphan-owner": "warn"}}]"#;
    let exemption = r#"exemptions.list=[{"rules": ["recycle-policy"], "until": "2030-01-31T18:00:00Z", "reason": "r"}]"#;
    for (value, sentence) in [
        (
            "controller.enabled=true",
            "set controller.placement to deployment, or controller.enabled to false",
        ),
        (override_, "policies: instead has no overrides"),
        (exemption, "policies: instead has no exemptions"),
        ("tenancy.label=\"auto\"", "policies: instead without a controller labels no PV"),
        ("trash.soft=true", "which trash.soft asks for"),
        (
            r#"trash.overrides=[{"namespaces": ["a"]}, {"namespaces": ["db"], "soft": true}]"#,
            "which an entry of trash.overrides asks for with soft",
        ),
    ] {
        let fixed = ["--values", "tests/chart/sets/policies-instead.yaml", "--set-json", value];
        let reported = template(&fixed).err().unwrap_or_default();
        assert!(reported.contains(sentence), "{value}: {reported}");
        // It is no contradiction where the webhook is.
        assert!(template(&["--set", "policies=beside", "--set-json", value]).is_ok(), "{value}");
    }
    // Only `rescue` gives these back, which needs no webhook.
    let rescued = r#"trash.overrides=[{"namespaces": ["db"], "keep": "720h", "soft": false}]"#;
    let values = "policies=instead,controller.placement=deployment,trash.enabled=true";
    assert!(template(&["--set", values, "--set-json", rescued]).is_ok());
    let wrong = template(&["--set", "policies=only"]).err().unwrap_or_default();
    assert!(
        wrong.contains("'/policies': value must be one of 'off', 'beside', 'instead'"),
        "{wrong}"
    );
}

#[test]
fn notes_say_what_is_protected_and_what_is_not() {
    let notes = |values: &str| {
        let fixed = ["install", RELEASE, "charts/bindery", "--namespace", "store"];
        let more = ["--dry-run=client", "--values", values];
        let reported = helm(&[fixed.as_slice(), &more].concat()).expect("a dry run installs");
        reported.split_once("NOTES:").expect("there are notes").1.to_owned()
    };
    let instead = notes("tests/chart/sets/policies-instead.yaml");
    for line in [
        "webhook       none\n",
        "policies      instead of the webhook\n",
        "Not protected are: what\ncompares a PV with a PVC",
        "docs/reference/policies.md",
        "kubectl delete validatingadmissionpolicybinding -l app.kubernetes.io/name=bindery,",
    ] {
        assert!(instead.contains(line), "{line}: {instead}");
    }
    assert!(
        !instead.contains("kubectl delete validatingwebhook") && !instead.contains("certificates")
    );
    let beside = notes("tests/chart/sets/policies-beside.yaml");
    for line in [
        "guard: Ignore",
        "policies      beside the webhook\n",
        "needs break-glass, whatever exemption or override it has",
        "kubectl delete validatingwebhook",
    ] {
        assert!(beside.contains(line), "{line}: {beside}");
    }
    assert!(!notes("tests/chart/sets/defaults.yaml").contains("policies "));
}
