//! Wrong values are rejected with a sentence that names the value, and nothing is installed.
//!
//! A misspelt or wrong-typed value that was accepted would change nothing, unnoticed.

use std::collections::BTreeSet;

use bindery::cli::args::Bindery;
use bindery::rules::{Exemptable, RULES};
use clap::Parser as _;
use serde_json::{Value, json};

use super::helm::{set, template, text};

const LONG: &str = "nameOverride=\"a23456789012345678901234567890123456789012\"";
const EXEMPTION: &str =
    r#"exemptions.list=[{"rules": ["recycle-policy"], "until": "2030-01-31T18:00:00Z"}]"#;

/// A value as JSON, and what helm prints.
const WRONG: &[(&str, &str)] = &[
    // Keys that no template reads.
    ("replicas=2", "additional properties 'replicas' not allowed"),
    ("image.name=\"x\"", "'/image': additional properties 'name' not allowed"),
    ("webhook.failurePolicy=\"Fail\"", "'/webhook': additional properties 'failurePolicy'"),
    ("webhook.guard.matchPolicy=\"Exact\"", "'/webhook/guard': additional properties"),
    (
        "webhook.mutate.mutations.legacy-class=false",
        "'/webhook/mutate/mutations': additional properties",
    ),
    ("controller.replicas=3", "'/controller': additional properties 'replicas'"),
    ("certs.certManager.issuer={}", "'/certs/certManager': additional properties 'issuer'"),
    ("metrics.enabled=true", "'/metrics': additional properties 'enabled'"),
    (
        "pod.securityContext={\"privileged\": true}",
        "'/pod/securityContext': additional properties 'privileged'",
    ),
    ("pod.securityContext.runAsUser=0", "'/pod/securityContext/runAsUser': minimum"),
    ("rules.modes={\"duplicate-bakend\": \"warn\"}", "additional properties 'duplicate-bakend'"),
    ("rules.parameters={\"maxwaste\": 3}", "'/rules/parameters': additional properties"),
    ("trusted.binder=[\"x\"]", "'/trusted': additional properties 'binder' not allowed"),
    ("controller.recycler.timeouts={\"iscsi\": {}}", "additional properties 'iscsi' not allowed"),
    (
        "local.classes={\"a\": {\"hostdir\": \"/a\"}}",
        "'/local/classes/a': additional properties 'hostdir'",
    ),
    ("local.pools=[{\"name\": \"a\"}]", "'/local/pools/0': missing property 'classes'"),
    ("local.useAlphaAPI=true", "'/local': additional properties 'useAlphaAPI'"),
    (
        "local.updateStrategy.rollingUpdate.maxSurge=1",
        "additional properties 'maxSurge' not allowed",
    ),
    // Types.
    ("webhook.replicas=\"2\"", "'/webhook/replicas': got string, want integer"),
    ("webhook.replicas=1.5", "'/webhook/replicas': got number, want integer"),
    ("webhook=null", "at '': missing property 'webhook'"),
    ("image.tag=null", "at '/image': missing property 'tag'"),
    ("certs.provided=null", "at '/certs': missing property 'provided'"),
    ("controller.enabled=\"true\"", "'/controller/enabled': got string, want boolean"),
    ("imagePullSecrets=[\"registry\"]", "'/imagePullSecrets/0': got string, want object"),
    ("image.tag=1.2", "'/image/tag': got number, want string"),
    ("networkPolicy.apiServerCIDRs=\"192.0.2.10/32\"", "got string, want array"),
    ("commonLabels={\"cost\": 7}", "'/commonLabels/cost': got number, want string"),
    ("pod.nodeSelector={\"ssd\": true}", "'/pod/nodeSelector/ssd': got boolean, want string"),
    ("overrides={}", "'/overrides': got object, want array"),
    ("local.classes=[]", "'/local/classes': got array, want object"),
    ("local.setPVOwnerRef=\"true\"", "'/local/setPVOwnerRef': got string, want boolean"),
    // Values.
    (
        "local.pools=[{\"name\": \"a\", \"classes\": {}}]",
        "'/local/pools/0/classes': minProperties: got 0, want 1",
    ),
    (
        "local.pools=[{\"name\": \"A\", \"classes\": {\"a\": {\"hostDir\": \"/a\"}}}]",
        "'/local/pools/0/name': 'A' does not match",
    ),
    ("local.classes={\"a\": {}}", "'/local/classes/a': missing property 'hostDir'"),
    (
        "local.classes={\"a\": {\"hostDir\": \"mnt\"}}",
        "'/local/classes/a/hostDir': 'mnt' does not match",
    ),
    (
        "local.classes={\"a\": {\"hostDir\": \"/\"}}",
        "'/local/classes/a/hostDir': '/' does not match",
    ),
    (
        "local.classes={\"a\": {\"hostDir\": \"/mnt/\"}}",
        "'/local/classes/a/hostDir': '/mnt/' does not match",
    ),
    ("local.classes={\"a\": {\"hostDir\": \"/mnt/../b\"}}", "'/local/classes/a/hostDir'"),
    (
        "local.classes={\"A\": {\"hostDir\": \"/a\"}}",
        "'/local/classes': additional properties 'A' not allowed",
    ),
    (
        "local.classes={\"a\": {\"hostDir\": \"/a\", \"volumeMode\": \"block\"}}",
        "must be one of 'Filesystem', 'Block'",
    ),
    (
        "local.classes={\"a\": {\"hostDir\": \"/a\", \"onContent\": \"clean\"}}",
        "must be one of 'hold', 'offer'",
    ),
    (
        "local.labelsForPV={\"bindery.dev/local-node\": \"a\"}",
        "'/local/labelsForPV/bindery.dev~1local-node'",
    ),
    ("local.nodeLabelsForPV=[\"bindery.dev/local-node\"]", "'/local/nodeLabelsForPV/0'"),
    (
        "local.updateStrategy.rollingUpdate.maxUnavailable=0",
        "'/local/updateStrategy/rollingUpdate/maxUnavailable'",
    ),
    ("local.machineIdFile=\"machine-id\"", "'/local/machineIdFile'"),
    ("webhook.replicas=0", "'/webhook/replicas': minimum: got 0, want 1"),
    ("webhook.port=443", "'/webhook/port': minimum: got 443, want 1,024"),
    ("webhook.port=8081", "'/webhook/port'"),
    ("pod.hostNetwork=true,webhook.port=10250", "'/webhook/port'"),
    (
        "webhook.guard.timeoutSeconds=30",
        "'/webhook/guard/timeoutSeconds': maximum: got 30, want 10",
    ),
    ("webhook.guard.failurePolicy=\"fail\"", "must be one of 'Fail', 'Ignore'"),
    ("webhook.drainDelay=\"1m\"", "'/webhook/drainDelay': '1m' does not match"),
    ("webhook.extraMatchConditions=[{\"name\": \"a\"}]", "missing property 'expression'"),
    (
        "webhook.extraMatchConditions=[{\"name\": \"a condition\", \"expression\": \"true\"}]",
        "'/webhook/extraMatchConditions/0/name'",
    ),
    ("tenancy.label=\"on\"", "'/tenancy/label': value must be one of 'manual', 'auto'"),
    ("tenancy.tenant=\"auto\"", "'/tenancy': additional properties 'tenant' not allowed"),
    ("controller.mode=\"off\"", "must be one of 'observe', 'prebind', 'full'"),
    ("controller.placement=\"daemonset\"", "must be one of 'sidecar', 'deployment'"),
    ("certs.mode=\"selfsigned\"", "must be one of 'selfSigned', 'certManager', 'provided'"),
    ("rules.profile=\"default\"", "must be one of 'audit', 'warn', 'baseline', 'strict'"),
    ("rules.modes={\"recycle-policy\": \"block\"}", "'/rules/modes/recycle-policy': value must be"),
    ("rules.modes={\"recycle-policy\": true}", "'/rules/modes/recycle-policy': value must be"),
    ("rules.parameters={\"maxWaste\": 0}", "'/rules/parameters/maxWaste': minimum"),
    ("rules.parameters={\"unlisted\": \"warn\"}", "must be one of 'allow', 'deny'"),
    ("overrides=[{\"rules\": {}}]", "'/overrides/0': missing property 'namespaceSelector'"),
    ("overrides=[{\"namespaceSelector\": {}, \"rules\": {}}]", "minProperties: got 0, want 1"),
    (
        "overrides=[{\"namespaceSelector\": {\"matchLabels\": {\"a'b\": \"c\"}}, \"rules\": {}}]",
        "does not match pattern '^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?",
    ),
    (
        "overrides=[{\"namespaceSelector\": {\"matchExpressions\": [{\"key\": \"a'b\", \"operator\": \"Exists\"}]}, \"rules\": {}}]",
        "matchExpressions/0/key",
    ),
    (EXEMPTION, "'/exemptions/list/0': missing property 'reason'"),
    ("exemptions.maxDuration=\"a week\"", "'/exemptions/maxDuration'"),
    ("image.digest=\"sha256:12\"", "'/image/digest'"),
    ("image.repository=\"bindery:1.0\"", "'/image/repository'"),
    ("image.repository=\"\"", "'/image/repository'"),
    ("image.pullPolicy=\"Sometimes\"", "must be one of 'Always', 'IfNotPresent', 'Never'"),
    ("networkPolicy.apiServerCIDRs=[\"192.0.2.10\"]", "'/networkPolicy/apiServerCIDRs/0'"),
    ("certs.provided.caBundle=\"bm90IGE=\"", "'/certs/provided/caBundle'"),
    ("certs.certManager.issuerRef={\"kind\": \"Issuer\"}", "'/certs/certManager/issuerRef'"),
    ("commonLabels={\"app.kubernetes.io/name\": \"x\"}", "'/commonLabels/app.kubernetes.io~1name'"),
    ("pod.labels={\"app.kubernetes.io/component\": \"x\"}", "'/pod/labels/app.kubernetes.io"),
    ("logging.format=\"logfmt\"", "must be one of 'json', 'text'"),
    ("nameOverride=\"Bindery\"", "'/nameOverride': 'Bindery' does not match"),
    (LONG, "'/nameOverride': maxLength: got 42, want 40"),
    // Values that do not go together.
    ("controller.enabled=false", "'/certs/mode': value must be one of 'certManager', 'provided'"),
    ("controller.mode=\"full\"", "'/controller/acknowledgeBinderReplacement': value must be true"),
    ("certs.mode=\"provided\"", "'/certs/provided/secretName': minLength: got 0, want 1"),
    (
        "local.removeNodeNotReadyTaint=true",
        "'/local/provisionerNotReadyNodeTaintKey': minLength: got 0, want 1",
    ),
    ("pod.resourceQuota=true", "'/pod/priorityClassName': minLength: got 0, want 1"),
];

#[test]
fn every_wrong_value_is_rejected_by_name() {
    assert!(WRONG.len() >= 25);
    for (value, expected) in WRONG {
        let Err(reported) = template(&["--set-json", value]) else { panic!("{value} is accepted") };
        assert!(
            reported.contains("values don't meet the specifications of the schema"),
            "{reported}"
        );
        assert!(reported.contains(expected), "{value}: expected {expected}: {reported}");
    }
}

/// A schema cannot check what depends on the release.
#[test]
fn a_secret_that_the_chart_may_make_is_not_taken_for_one_of_others() {
    for name in ["rel-bindery-tls", "rel-bindery-ca"] {
        let values = format!("certs.mode=\"provided\",certs.provided.secretName=\"{name}\"");
        let reported = template(&["--set-json", &values]).err().expect("it is rejected");
        let expected =
            format!("certs.provided.secretName: \"{name}\" is a Secret of the chart's own");
        assert!(reported.contains(&expected), "{reported}");
    }
    let other = "certs.mode=\"provided\",certs.provided.secretName=\"other-bindery-tls\"";
    assert!(template(&["--set-json", other]).is_ok());
}

/// Values of more conditions, at the path of the webhook that they are for, or of all.
fn conditions(path: &str, names: &[&str]) -> String {
    let all: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "expression": "true"})).collect();
    format!("webhook{path}.extraMatchConditions={}", json!(all))
}

/// In a webhook, the API server takes the name of a condition once.
#[test]
fn a_condition_has_a_name_of_its_own() {
    let kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
    let rendering = set("defaults");
    let objects = kinds.into_iter().flat_map(|kind| rendering.of_kind(kind));
    let webhooks = objects.flat_map(|object| object["webhooks"].as_array().expect("webhooks"));
    let built_in = webhooks.flat_map(|one| one["matchConditions"].as_array().expect("conditions"));
    let built_in: BTreeSet<&str> = built_in.filter_map(|one| one["name"].as_str()).collect();
    for name in ["not-break-glass", "looked-at-by-a-rule", "is-answered", "is-unanswered"] {
        assert!(built_in.contains(name), "{built_in:?}");
    }
    let everywhere = built_in.iter().map(|name| ("", *name));
    let of_one = [".guard", ".advise", ".tenancy", ".mutate"].map(|path| (path, "is-answered"));
    for (path, name) in everywhere.chain(of_one) {
        let reported = template(&["--set-json", &conditions(path, &[name])]).err();
        let expected = format!(
            "webhook{path}.extraMatchConditions: the chart has a condition \"{name}\" of its own"
        );
        assert!(reported.is_some_and(|reported| reported.contains(&expected)), "{path} {name}");
    }
    let twice = template(&["--set-json", &conditions("", &["a", "b", "a"])]).err();
    let expected = "webhook.extraMatchConditions: the condition \"a\" is there twice";
    assert!(twice.is_some_and(|reported| reported.contains(expected)));
    let all = conditions("", &["a"]);
    for path in [".guard", ".advise", ".tenancy", ".mutate"] {
        let both = ["--set-json", &all, "--set-json", &conditions(path, &["b", "a"])];
        let expected = format!(
            "webhook{path}.extraMatchConditions: the condition \"a\" is in webhook.extraMatchConditions too"
        );
        assert!(template(&both).is_err_and(|reported| reported.contains(&expected)), "{path}");
    }
    // Two webhooks have names of their own.
    let apart = [".guard", ".mutate"].map(|path| conditions(path, &["a", "b"]));
    assert!(template(&["--set-json", &apart[0], "--set-json", &apart[1]]).is_ok());
}

/// The API server takes 64 conditions in a webhook, and those of advise are the most by themselves.
#[test]
fn conditions_are_as_many_as_the_api_server_takes() {
    let names: Vec<String> = (0..59).map(|number| format!("own-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (all, most) = names.split_at(1);
    let of_advise = conditions(".advise", most);
    assert!(template(&["--set-json", &of_advise]).is_ok());
    let both = ["--set-json", &of_advise, "--set-json", &conditions("", all)];
    let expected = "advise.bindery.dev would have 65 conditions with its own";
    assert!(template(&both).is_err_and(|reported| reported.contains(expected)));
}

/// The neighbours of what is rejected above, so that no pattern rejects too much.
#[test]
fn good_values_beside_wrong_ones_are_taken() {
    for value in [
        "image.repository=\"registry.example.com:5000/a/b_c\"",
        "image.repository=\"localhost/bindery\"",
        "image.tag=\"1.2\"",
        "webhook.drainDelay=\"1s\"",
        "webhook.drainDelay=\"99s\"",
        "exemptions.maxDuration=\"1h30m\"",
        "exemptions.maxDuration=\"45m\"",
        "rules.modes={\"recycle-policy\": false}",
        "networkPolicy.apiServerCIDRs=[\"2001:db8::/32\", \"10.0.0.0/8\"]",
        "certs.certManager.issuerRef={}",
        "pod.resources={}",
        "pod.resources={\"limits\": {\"memory\": 1073741824}}",
        "commonLabels={\"a\": \"\"}",
        "nameOverride=\"a-1\"",
        "overrides=[{\"namespaceSelector\": {\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"Exists\"}]}, \"rules\": {\"orphan-owner\": \"off\"}}]",
    ] {
        let denied = template(&["--set-json", value]).err();
        assert_eq!(denied, None, "{value}");
    }
}

/// The schema names the rules, so that a misspelt one is rejected: all that there are, and no other.
#[test]
fn the_schema_knows_every_rule() {
    let schema: Value =
        serde_json::from_str(&text("charts/bindery/values.schema.json")).expect("it is JSON");
    let definitions = &schema["definitions"];
    let known = definitions["modes"]["properties"].as_object().expect("modes by rule");
    let mut known: Vec<&str> = known.keys().map(String::as_str).collect();
    known.sort_unstable();
    let mut rules: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    rules.sort_unstable();
    assert_eq!(known, rules, "definitions.modes of values.schema.json");
    let exemptable = definitions["rule"]["enum"].as_array().expect("a list of rules");
    let mut exemptable: Vec<&str> = exemptable.iter().filter_map(Value::as_str).collect();
    exemptable.sort_unstable();
    let expected = RULES.iter().filter(|rule| rule.options.exemption != Exemptable::No);
    let mut expected: Vec<&str> = expected.map(|rule| rule.id).collect();
    expected.sort_unstable();
    assert_eq!(exemptable, expected, "definitions.rule of values.schema.json");
}

/// What only the program would reject: a pod that starts with it would have to use an older configuration.
#[test]
fn times_dates_and_labels_that_the_program_rejects_are_rejected_before() {
    let exemption = |until: &str| {
        format!(
            r#"exemptions.list=[{{"rules": ["recycle-policy"], "until": "{until}", "reason": "r"}}]"#
        )
    };
    let selector = |selector: &str| {
        format!(
            r#"overrides=[{{"namespaceSelector": {selector}, "rules": {{"recycle-policy": "warn"}}}}]"#
        )
    };
    let wrong_dates = [
        "2030-13-01T00:00:00Z",
        "2030-00-01T00:00:00Z",
        "2030-02-30T00:00:00Z",
        "2030-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2030-04-31T00:00:00Z",
        "2030-01-32T00:00:00Z",
        "2030-01-31T24:00:00Z",
        "2030-01-31T18:60:00Z",
        "2030-01-31",
        "tomorrow",
    ];
    let mut wrong: Vec<String> = wrong_dates.map(exemption).into();
    wrong.extend(
        ["0h", "0h0m", "168", "1d", "-1h", "99999999h", ""]
            .map(|time| format!("exemptions.maxDuration=\"{time}\"")),
    );
    wrong.extend(
        [
            r#"{"matchLabels": {"team": "q a"}}"#,
            r#"{"matchLabels": {"-team": "qa"}}"#,
            r#"{"matchExpressions": [{"key": "team", "operator": "In"}]}"#,
            r#"{"matchExpressions": [{"key": "team", "operator": "In", "values": []}]}"#,
            r#"{"matchExpressions": [{"key": "team", "operator": "Exists", "values": ["qa"]}]}"#,
        ]
        .map(selector),
    );
    wrong.push(r#"exemptions.list=[{"rules": ["recycle-polic"], "until": "2030-01-31T18:00:00Z", "reason": "r"}]"#.to_owned());
    for value in &wrong {
        assert!(template(&["--set-json", value]).is_err(), "{value} is rendered");
    }
    let right = [
        exemption("2030-01-31T18:00:00Z"),
        exemption("2032-02-29T23:59:59+02:00"),
        "exemptions.maxDuration=\"1h30m\"".to_owned(),
        selector(r#"{"matchLabels": {"example.com/team": "qa"}}"#),
        selector(
            r#"{"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["qa", ""]}]}"#,
        ),
        selector(r#"{"matchExpressions": [{"key": "team", "operator": "Exists"}]}"#),
    ];
    for value in &right {
        let rendering = template(&["--set-json", value]).unwrap_or_else(|error| panic!("{error}"));
        let read = bindery::config::read(super::configuration::file(&rendering), "config.yaml");
        assert!(read.is_ok(), "{value}: {read:?}");
    }
}

/// How the program reads a time; `@` stands for it.
#[derive(Debug)]
enum TimeReader {
    /// As a part of a configuration.
    Configuration(&'static str),
    /// As an argument of a command.
    Arguments(&'static [&'static str]),
}

impl TimeReader {
    /// Whether the program takes `time`.
    fn takes(&self, time: &str) -> bool {
        match self {
            Self::Configuration(part) => {
                let head = "apiVersion: bindery.dev/v1\nkind: Config\n";
                let text = format!("{head}{}\n", part.replace('@', time));
                bindery::config::read(&text, "config.yaml").is_ok()
            }
            Self::Arguments(all) => {
                let all = all.iter().map(|one| one.replace('@', time));
                Bindery::try_parse_from(["bindery".to_owned()].into_iter().chain(all)).is_ok()
            }
        }
    }
}

/// Values that are times, the program's own reading of each, and whether it may be zero.
const TIMES: &[(&str, TimeReader, bool)] = &[
    ("trash.keep=\"@\"", TimeReader::Configuration("trash: {keep: \"@\"}"), true),
    (
        "trash.overrides=[{\"keep\": \"@\"}]",
        TimeReader::Configuration("trash: {overrides: [{keep: \"@\"}]}"),
        true,
    ),
    ("moves.resumeAfter=\"@\"", TimeReader::Configuration("moves: {resumeAfter: \"@\"}"), true),
    (
        "exemptions.maxDuration=\"@\"",
        TimeReader::Configuration("exemptions: {maxDuration: \"@\"}"),
        false,
    ),
    (
        "controller.recycler.timeouts={\"nfs\": {\"minimum\": \"@\"}}",
        TimeReader::Configuration("recycler: {timeouts: {nfs: {minimum: \"@\"}}}"),
        false,
    ),
    (
        "controller.recycler.timeouts={\"hostPath\": {\"perGi\": \"@\"}}",
        TimeReader::Configuration("recycler: {timeouts: {hostPath: {perGi: \"@\"}}}"),
        true,
    ),
    ("reports.interval=\"@\"", TimeReader::Arguments(&["reporter", "--interval=@"]), false),
    (
        "local.pvcDeletionDelay=\"@\"",
        TimeReader::Arguments(&[
            "local",
            "node-cleanup",
            "--on-node-loss=a=wait",
            "--pvc-deletion-delay=@",
        ]),
        false,
    ),
];

/// A time that the schema takes and the program does not is a pod that never starts, or starts with an older configuration.
#[test]
fn the_schema_and_the_program_take_the_same_times() {
    let good = ["1s", "90s", "08m", "1h30m", "999999h999999m999999s"];
    let zeros = ["0s", "0h0m"];
    let bad = ["", "h", "-5m", "1d", "5x", "5m1h", "1h1h"];
    for (value, program, is_zero_taken) in TIMES {
        let good = good.iter().map(|time| (*time, true));
        let zeros = zeros.iter().map(|time| (*time, *is_zero_taken));
        let bad = bad.iter().map(|time| (*time, false));
        for (time, is_taken) in good.chain(zeros).chain(bad) {
            // The chart leaves that key out: nothing is resumed.
            let is_taken_by_chart = is_taken || (time.is_empty() && value.starts_with("moves."));
            let rendering = template(&["--set-json", &value.replace('@', time)]);
            assert_eq!(rendering.is_ok(), is_taken_by_chart, "the schema, {value}: {time:?}");
            assert_eq!(program.takes(time), is_taken, "the program, {program:?}: {time:?}");
        }
    }
}

/// Only these are open: what they hold is Kubernetes' to check, or not ours at all.
#[test]
fn no_other_value_takes_what_it_does_not_know() {
    const OPEN: [&str; 9] = [
        "/properties/controller/properties/recycler/properties/podTemplate",
        "/definitions/resources/properties/requests",
        "/definitions/resources/properties/limits",
        "/definitions/tolerations/items",
        "/definitions/affinity",
        "/properties/pod/properties/topologySpreadConstraints/items",
        "/properties/pod/properties/extraVolumes/items",
        "/properties/pod/properties/extraVolumeMounts/items",
        "/properties/global",
    ];
    let schema: Value =
        serde_json::from_str(&text("charts/bindery/values.schema.json")).expect("it is JSON");
    let mut open = Vec::new();
    walk(&schema, "", &mut open);
    open.retain(|path| !path.contains("/if") && !path.contains("/then"));
    let expected: Vec<String> = OPEN.iter().map(ToString::to_string).collect();
    open.sort();
    let mut expected = expected;
    expected.sort();
    assert_eq!(open, expected);
}

/// The paths of objects in a schema that take keys they do not name.
fn walk(schema: &Value, path: &str, open: &mut Vec<String>) {
    if schema["type"] == "object" && schema.get("additionalProperties").is_none() {
        let is_empty_map = schema["maxProperties"] == 0;
        if !is_empty_map {
            open.push(path.to_owned());
        }
    }
    if let Value::Object(map) = schema {
        for (key, inner) in map {
            walk(inner, &format!("{path}/{key}"), open);
        }
    }
}
