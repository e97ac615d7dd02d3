//! Every value does something: for each leaf of values.yaml there is a probe, another value with which the
//! chart renders something else.
//!
//! Not here: what it renders then (`golden`, and the tests of each part).

use std::fs;
use std::path::Path;

use bindery::cli::args::Bindery;
use bindery::document::{self, TreeNode};
use clap::Parser as _;
use serde_json::Value;

use super::helm::{NAMESPACE, RELEASE, helm, rendered, root, text};

/// A leaf, another value for it (JSON), and what has to be set besides for it to count.
type Probe = (&'static str, &'static str, &'static [&'static str]);

const FULL: &str = "controller.mode=full,controller.acknowledgeBinderReplacement=true";

/// As JSON, so that what comes after it wins: helm takes `--set` last, wherever it stands.
const PROVIDED: &[&str] =
    &["--set-json", r#"certs={"mode": "provided", "provided": {"secretName": "other"}}"#];

const MONITORED: &[&str] =
    &["--set", "metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true"];

const TRASH: &[&str] = &["--set", "trash.enabled=true"];

const REPORTS: &[&str] = &["--set", "reports.enabled=true"];

const LOCAL: &[&str] = &["--set", "local.enabled=true,local.classes.a.hostDir=/mnt"];

/// Pools that the probe replaces.
const POOLS: &[&str] = &[
    "--set-json",
    r#"local={"enabled": true, "pools": [{"name": "o", "classes": {"a": {"hostDir": "/mnt"}}}]}"#,
];

const NEVER: &str = r#"[{"name": "never", "expression": "false"}]"#;

const PROBES: &[Probe] = &[
    ("image.repository", "\"registry.example.com/bindery\"", &[]),
    ("image.tag", "\"dev\"", &[]),
    (
        "image.digest",
        "\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"",
        &[],
    ),
    ("image.pullPolicy", "\"Never\"", &[]),
    ("imagePullSecrets", r#"[{"name": "registry"}]"#, &[]),
    ("rules.profile", "\"audit\"", &[]),
    ("rules.modes", r#"{"duplicate-backend": "warn"}"#, &[]),
    ("rules.parameters", r#"{"maxWaste": 3}"#, &[]),
    (
        "overrides",
        r#"[{"namespaceSelector": {"matchLabels": {"a": "b"}}, "rules": {"orphan-owner": "warn"}}]"#,
        &[],
    ),
    ("tenancy.label", "\"auto\"", &[]),
    ("exemptions.maxDuration", "\"1h30m\"", &[]),
    (
        "exemptions.list",
        r#"[{"rules": ["orphan-owner"], "until": "2030-01-31T18:00:00Z", "reason": "r"}]"#,
        &[],
    ),
    ("policies", "\"beside\"", &[]),
    ("mutationPolicies", "\"v1\"", &[]),
    ("webhook.replicas", "3", &[]),
    ("webhook.port", "10250", &[]),
    ("webhook.guard.failurePolicy", "\"Ignore\"", &[]),
    ("webhook.guard.timeoutSeconds", "4", &[]),
    ("webhook.guard.extraMatchConditions", NEVER, &[]),
    ("webhook.advise.failurePolicy", "\"Fail\"", &[]),
    ("webhook.advise.timeoutSeconds", "4", &[]),
    ("webhook.advise.extraMatchConditions", NEVER, &[]),
    ("webhook.tenancy.failurePolicy", "\"Ignore\"", &[]),
    ("webhook.tenancy.timeoutSeconds", "4", &[]),
    ("webhook.tenancy.extraMatchConditions", NEVER, &[]),
    ("webhook.mutate.failurePolicy", "\"Fail\"", &[]),
    ("webhook.mutate.timeoutSeconds", "4", &[]),
    ("webhook.mutate.extraMatchConditions", NEVER, &[]),
    ("webhook.mutate.mutations.delayed-binding", "false", &[]),
    ("webhook.mutate.mutations.tenant-selector", "true", &[]),
    ("webhook.extraMatchConditions", NEVER, &[]),
    ("webhook.clientCA.configMap", "\"callers\"", &[]),
    (
        "webhook.clientCA.names",
        r#"["kube-apiserver"]"#,
        &["--set", "webhook.clientCA.configMap=callers"],
    ),
    ("webhook.extraArgs", r#"["--threads=2"]"#, &[]),
    ("webhook.drainDelay", "\"15s\"", &[]),
    ("controller.enabled", "false", &["--set", "certs.mode=certManager"]),
    ("controller.placement", "\"deployment\"", &[]),
    ("controller.mode", "\"prebind\"", &[]),
    ("controller.events", "false", &[]),
    ("controller.extraArgs", r#"["--leader-elect-retry-period=3s"]"#, &[]),
    ("trusted.binders", r#"["system:serviceaccount:topolvm:binder"]"#, &[]),
    ("trusted.provisioners", r#"["system:serviceaccount:disks:provisioner"]"#, &[]),
    ("trusted.populators", r#"["system:serviceaccount:populators:mover"]"#, &[]),
    ("controller.recycler.namespace", "\"scrub\"", &["--set", FULL]),
    ("controller.recycler.image", "\"registry.example.com/scrub:1.4.0\"", &["--set", FULL]),
    (
        "controller.recycler.timeouts",
        r#"{"nfs": {"minimum": "10m", "perGi": "1m"}}"#,
        &["--set", FULL],
    ),
    (
        "controller.recycler.podTemplate",
        r#"{"spec": {"containers": [{"name": "a"}], "volumes": [{"name": "b"}]}}"#,
        &["--set", FULL],
    ),
    ("trash.enabled", "true", &[]),
    ("trash.keep", "\"24h\"", TRASH),
    ("trash.soft", "true", TRASH),
    ("trash.overrides", r#"[{"namespaces": ["db"], "keep": "720h", "soft": true}]"#, TRASH),
    ("moves.resumeAfter", "\"5m\"", &[]),
    ("reports.enabled", "true", &[]),
    ("reports.interval", "\"10m\"", REPORTS),
    ("reports.resources.requests.cpu", "\"1\"", REPORTS),
    ("reports.resources.requests.memory", "\"1Gi\"", REPORTS),
    ("reports.resources.limits.memory", "\"2Gi\"", REPORTS),
    ("local.enabled", "true", &["--set", "local.classes.a.hostDir=/mnt"]),
    ("local.classes", r#"{"b": {"hostDir": "/b"}}"#, LOCAL),
    ("local.pools", r#"[{"name": "p", "classes": {"a": {"hostDir": "/mnt"}}}]"#, POOLS),
    ("local.createStorageClasses", "true", LOCAL),
    ("local.nodeLabelsForPV", r#"["a"]"#, LOCAL),
    ("local.labelsForPV", r#"{"a": "b"}"#, LOCAL),
    ("local.setPVOwnerRef", "true", LOCAL),
    ("local.useNodeNameOnly", "true", LOCAL),
    (
        "local.removeNodeNotReadyTaint",
        "true",
        &[
            "--set",
            "local.enabled=true,local.classes.a.hostDir=/mnt,local.provisionerNotReadyNodeTaintKey=a",
        ],
    ),
    ("local.provisionerNotReadyNodeTaintKey", "\"a\"", LOCAL),
    ("local.onNodeLoss", r#"{"a": "keep"}"#, LOCAL),
    (
        "local.pvcDeletionDelay",
        "\"5m\"",
        &["--set", "local.enabled=true,local.classes.a.hostDir=/mnt,local.onNodeLoss.a=keep"],
    ),
    ("local.useJobForCleaning", "true", LOCAL),
    (
        "local.jobTolerations",
        r#"[{"operator": "Exists"}]"#,
        &["--set", "local.enabled=true,local.classes.a.hostDir=/mnt,local.useJobForCleaning=true"],
    ),
    ("local.privileged", "true", LOCAL),
    ("local.kubeletDir", "\"/kubelet\"", LOCAL),
    ("local.ledgerDir", "\"/ledger\"", LOCAL),
    ("local.machineIdFile", "\"\"", LOCAL),
    ("local.resources.requests.cpu", "\"1\"", LOCAL),
    ("local.resources.requests.memory", "\"1Gi\"", LOCAL),
    ("local.resources.limits.memory", "\"1Gi\"", LOCAL),
    ("local.updateStrategy.type", "\"OnDelete\"", LOCAL),
    ("local.updateStrategy.rollingUpdate.maxUnavailable", "1", LOCAL),
    ("local.priorityClassName", "\"high\"", LOCAL),
    ("local.nodeSelector", r#"{"a": "b"}"#, LOCAL),
    ("local.tolerations", r#"[{"operator": "Exists"}]"#, LOCAL),
    ("local.affinity", r#"{"nodeAffinity": {}}"#, LOCAL),
    ("certs.mode", "\"certManager\"", &[]),
    ("certs.provided.secretName", "\"serving\"", PROVIDED),
    ("certs.provided.caBundle", "\"-----BEGIN CERTIFICATE-----\"", PROVIDED),
    ("certs.certManager.issuerRef", r#"{"name": "storage"}"#, &["--set", "certs.mode=certManager"]),
    ("serviceAccount.annotations", r#"{"a": "b"}"#, &[]),
    ("rbac.create", "false", &[]),
    ("metrics.service.enabled", "true", &[]),
    ("metrics.service.annotations", r#"{"a": "b"}"#, &["--set", "metrics.service.enabled=true"]),
    ("metrics.serviceMonitor.enabled", "true", &[]),
    ("metrics.serviceMonitor.labels", r#"{"a": "b"}"#, MONITORED),
    ("metrics.serviceMonitor.interval", "\"30s\"", MONITORED),
    ("metrics.prometheusRule.enabled", "true", &[]),
    ("metrics.prometheusRule.runbooks", "\"https://docs.example.com/bindery\"", MONITORED),
    ("metrics.prometheusRule.labels", r#"{"a": "b"}"#, MONITORED),
    ("metrics.dashboard.enabled", "true", &[]),
    ("networkPolicy.enabled", "true", &[]),
    (
        "networkPolicy.apiServerCIDRs",
        "[\"192.0.2.10/32\"]",
        &["--set", "networkPolicy.enabled=true"],
    ),
    ("pod.resources.requests.cpu", "\"1\"", &[]),
    ("pod.resources.requests.memory", "\"1Gi\"", &[]),
    ("pod.resources.limits.memory", "\"1Gi\"", &[]),
    ("pod.priorityClassName", "\"high\"", &[]),
    ("pod.resourceQuota", "true", &["--set", "pod.priorityClassName=high"]),
    ("pod.hostNetwork", "true", &[]),
    ("pod.securityContext.runAsUser", "1000", &[]),
    ("pod.securityContext.runAsGroup", "null", &[]),
    ("pod.securityContext.fsGroup", "null", &[]),
    ("pod.extraVolumes", r#"[{"name": "scratch", "emptyDir": {}}]"#, &[]),
    ("pod.extraVolumeMounts", r#"[{"name": "scratch", "mountPath": "/scratch"}]"#, &[]),
    ("pod.nodeSelector", r#"{"a": "b"}"#, &[]),
    ("pod.tolerations", r#"[{"operator": "Exists"}]"#, &[]),
    ("pod.affinity", r#"{"nodeAffinity": {}}"#, &[]),
    ("pod.topologySpreadConstraints", r#"[{"maxSkew": 2}]"#, &[]),
    ("pod.annotations", r#"{"a": "b"}"#, &[]),
    ("pod.labels", r#"{"a": "b"}"#, &[]),
    ("logging.level", "\"debug\"", &[]),
    ("logging.format", "\"text\"", &[]),
    ("nameOverride", "\"other\"", &[]),
    ("commonLabels", r#"{"a": "b"}"#, &[]),
];

/// Values that render nothing by themselves, each with its own test below.
const SILENT: [&str; 2] = ["controller.acknowledgeBinderReplacement", "global"];

/// The paths of all leaves: an empty map or list is one.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, inner) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(inner, &path, found);
            }
        }
        Value::Object(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_) => found.push(path.to_owned()),
    }
}

#[test]
fn every_value_has_its_probe() {
    let values = document::read(&text("charts/bindery/values.yaml")).expect("values are YAML");
    let mut found = Vec::new();
    leaves(&values.first().map(TreeNode::to_json).expect("there are values"), "", &mut found);
    assert!(found.len() > 40, "the walk finds few values: {found:?}");
    for leaf in &found {
        let is_probed = PROBES.iter().any(|(path, ..)| path == leaf);
        assert!(
            is_probed != SILENT.contains(&leaf.as_str()),
            "{leaf}: nothing tries whether it does anything; give it a probe, or remove the value"
        );
    }
    for (path, ..) in PROBES {
        assert!(found.iter().any(|leaf| leaf == path), "{path} is no value; remove its probe");
    }
}

/// The head of values.yaml says what cannot be configured. What it excepts is a value, and no other value is of that kind.
#[test]
fn what_is_called_not_configurable_is_no_value() {
    let values = text("charts/bindery/values.yaml");
    let (head, _) = values.split_once("\n\n").expect("a head");
    let excepted: Vec<&str> = head.split('`').skip(1).step_by(2).collect();
    let documents = document::read(&values).expect("values are YAML");
    let mut found = Vec::new();
    leaves(&documents.first().map(TreeNode::to_json).expect("there are values"), "", &mut found);
    let is_in = |leaf: &str, path: &str| leaf == path || leaf.starts_with(&format!("{path}."));
    for path in &excepted {
        assert!(found.iter().any(|leaf| is_in(leaf, path)), "{path} is no value");
    }
    let is_of_security = |leaf: &&String| {
        ["securityContext", "privileged"].iter().any(|word| leaf.split('.').any(|key| key == *word))
    };
    for leaf in found.iter().filter(is_of_security) {
        assert!(excepted.iter().any(|path| is_in(leaf, path)), "{leaf} can be configured");
    }
    assert!(excepted.contains(&"controller.extraArgs"), "Lease durations can be configured");
    let duration = "--leader-elect-lease-duration=20s";
    assert!(Bindery::try_parse_from(["bindery", "controller", duration]).is_ok());
    let page = text("charts/bindery/README.md");
    let (_, page) = page.split_once("Not configurable on purpose: ").expect("the page says it too");
    let (page, _) = page.split_once("\n\n").expect("its end");
    for path in excepted {
        assert!(page.contains(&format!("`{path}`")), "{path}: the README says otherwise");
    }
}

#[test]
fn every_value_changes_what_is_rendered() {
    for (path, value, besides) in PROBES {
        let before = rendered(besides).text;
        let other = format!("{path}={value}");
        let after = rendered(&[besides, ["--set-json", &other].as_slice()].concat()).text;
        assert!(before != after, "{other} changes nothing");
    }
}

#[test]
fn the_acknowledgement_opens_the_mode_full() {
    let acknowledged = helm(&["template", "charts/bindery", "--set", FULL]);
    assert!(acknowledged.is_ok_and(|text| text.contains("--in-tree-binder-disabled")));
    let denied = helm(&["template", "charts/bindery", "--set", "controller.mode=full"]);
    assert!(denied.is_err_and(|reported| reported.contains("acknowledgeBinderReplacement")));
}

/// As a part of another chart it is given values that are that one's own, and its own under its name.
#[test]
fn it_can_be_a_part_of_another_chart() {
    let folder = tempfile::tempdir().expect("a folder");
    let parent = folder.path();
    let chart = "apiVersion: v2\nname: platform\nversion: 1.0.0\n\
        dependencies: [{name: bindery, version: VERSION, condition: bindery.enabled}]\n";
    let chart = chart.replace("VERSION", env!("CARGO_PKG_VERSION"));
    fs::write(parent.join("Chart.yaml"), chart).expect("a file");
    let values = "global: {imageRegistry: registry.example.com}\nbindery: {enabled: true, webhook: {replicas: 5}}\n";
    fs::write(parent.join("values.yaml"), values).expect("a file");
    copy(&root("charts/bindery"), &parent.join("charts/bindery"));
    let parent = parent.display().to_string();
    let text = helm(&["template", RELEASE, &parent, "-n", NAMESPACE]).expect("it renders");
    let own =
        ["template", RELEASE, "charts/bindery", "-n", NAMESPACE, "--set", "webhook.replicas=5"];
    let own = helm(&own).expect("it renders");
    let objects = |text: &str| text.matches("\nkind: ").count();
    assert_eq!(objects(&text), objects(&own));
    assert_eq!(text.replace("platform/charts/bindery/", "bindery/"), own, "global is not read");
    let misspelt = helm(&["template", &parent, "--set", "bindery.replicas=5"]);
    assert!(
        misspelt.is_err_and(
            |reported| reported.contains("additional properties 'replicas' not allowed")
        )
    );
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("it can be copied");
        }
    }
}

#[test]
fn global_values_are_not_read() {
    let fixed = ["template", RELEASE, "charts/bindery", "-n", NAMESPACE];
    let set = ["--set-json", r#"global={"imageRegistry": "registry.example.com", "a": [1]}"#];
    assert_eq!(helm(&[fixed.as_slice(), &set].concat()), helm(&fixed));
}
