//! Alerts and dashboard ask for metrics that there are, and say what to do.
//!
//! Not here: whether an expression becomes true when it should (`firing`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::helm::{Rendering, rendered, set, sets, text};

/// Where the program names its metrics.
const SOURCES: [&str; 13] = [
    "crates/webhook/src/telemetry/connections.rs",
    "crates/webhook/src/telemetry/configuration.rs",
    "crates/webhook/src/telemetry/metrics.rs",
    "crates/webhook/src/telemetry/process.rs",
    "src/controller/metrics.rs",
    "src/controller/operation_metrics.rs",
    "src/controller/certificates/metrics.rs",
    "src/controller/guard/metrics.rs",
    "src/controller/moves/metrics.rs",
    "src/controller/trash/metrics.rs",
    "src/local/metrics.rs",
    "src/local/node_cleanup/metrics.rs",
    "src/cli/reporter/metrics.rs",
];

/// What the API server counts of webhooks (Kubernetes: `apiserver/pkg/admission/metrics`).
const OF_THE_API_SERVER: [&str; 3] = [
    "apiserver_admission_webhook_fail_open_count",
    "apiserver_admission_webhook_rejection_count",
    "apiserver_validating_admission_policy_check_total",
];

/// What the names of metrics begin with: ours, those that the local static provisioner has in common with that of
/// sig-storage, and the API server's.
const BEGINNINGS: [&str; 3] = ["bindery_", "local_volume_provisioner_", "apiserver_"];

fn is_metric(word: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
}

/// What Prometheus makes of one histogram.
const OF_A_HISTOGRAM: [&str; 3] = ["_bucket", "_count", "_sum"];

fn known() -> BTreeSet<String> {
    let sources = SOURCES.map(text).concat();
    let literals = sources.split('"').skip(1).step_by(2);
    let names = literals.filter(|word| is_metric(word) && !word.contains(' '));
    names.map(str::to_owned).chain(OF_THE_API_SERVER.map(str::to_owned)).collect()
}

/// The metrics that an expression asks for.
fn asked(expression: &str) -> BTreeSet<String> {
    let code: Vec<&str> = expression.split('"').step_by(2).collect();
    let code = code.join(" ");
    let words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| is_metric(word)).map(str::to_owned).collect()
}

#[track_caller]
fn check(expression: &str, known: &BTreeSet<String>) {
    let asked = asked(expression);
    assert!(!asked.is_empty(), "asks for nothing: {expression}");
    for metric in asked {
        let plain = OF_A_HISTOGRAM.iter().find_map(|ending| metric.strip_suffix(ending));
        let is_known = known.contains(&metric) || plain.is_some_and(|plain| known.contains(plain));
        assert!(is_known, "no code makes {metric}: {expression}");
    }
    for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
        let count = |sign| expression.matches(sign).count();
        assert_eq!(count(open), count(close), "{expression}");
    }
}

fn alerts(rendering: &Rendering) -> Vec<Value> {
    let rules = rendering.of_kind("PrometheusRule");
    assert_eq!(rules.len(), 1);
    let groups = rules[0]["spec"]["groups"].as_array().expect("groups");
    let of_group = |group: &Value| group["rules"].as_array().expect("rules").clone();
    groups.iter().flat_map(of_group).collect()
}

#[test]
fn alerts_ask_for_metrics_that_there_are() {
    let known = known();
    assert!(known.len() > 20, "few metrics are found: {known:?}");
    for name in ["monitoring", "monitoring-full"] {
        for alert in alerts(set(name)) {
            check(alert["expr"].as_str().expect("an expression"), &known);
        }
    }
}

#[test]
fn a_metric_that_there_is_not_is_found() {
    let words = asked("sum(rate(bindery_a_total{job=\"bindery_b\"}[5m])) / apiserver_c");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words, ["apiserver_c", "bindery_a_total"]);
    assert!(!known().contains("bindery_a_total"));
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let known = known();
    let map = set("monitoring").object("ConfigMap", "rel-bindery-dashboard");
    assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
    let board = map["data"]["rel-bindery.json"].as_str().expect("a dashboard");
    assert!(!board.contains('@'), "a placeholder is left");
    let board: Value = serde_json::from_str(board).expect("it is JSON");
    let panels = board["panels"].as_array().expect("panels");
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].to_string()), "{}", panel["title"]);
        assert!(panel["description"].is_string(), "{}", panel["title"]);
        for target in panel["targets"].as_array().expect("targets") {
            check(target["expr"].as_str().expect("an expression"), &known);
        }
    }
    assert!(panels.len() > 5);
}

/// Fact; consequence; what to do.
#[test]
fn every_alert_says_what_to_do() {
    let mut names = BTreeSet::new();
    for alert in alerts(set("monitoring-full")) {
        let name = alert["alert"].as_str().expect("a name");
        assert!(names.insert(name.to_owned()), "{name} is there twice");
        let severity = alert["labels"]["severity"].as_str();
        assert!(matches!(severity, Some("warning" | "critical")), "{name}: {severity:?}");
        let reported = alert["annotations"]["description"].as_str().expect("a description");
        assert!(
            reported.matches("; ").count() >= 2,
            "{name}: fact; consequence; what to do: {reported}"
        );
        assert!(reported.ends_with('.') && !reported.contains('\n'), "{name}: {reported}");
        assert!(alert["annotations"]["summary"].is_string(), "{name}");
        let runbook = format!("docs/how-to/troubleshoot.md#{}", name.to_lowercase());
        assert_eq!(alert["annotations"]["runbook_url"], runbook.as_str(), "{name}");
    }
    assert!(names.len() >= 14, "{names:?}");
}

/// Who is paged by severity is paged where the page says "At once".
#[test]
fn severities_are_those_of_the_page() {
    let page = text("docs/how-to/troubleshoot.md");
    for (set_name, is_full) in [("monitoring", false), ("monitoring-full", true)] {
        for alert in alerts(set(set_name)) {
            let name = alert["alert"].as_str().expect("a name");
            let (_, section) = page.split_once(&format!("### {name}\n\n")).expect("a section");
            let is_at_once = section.starts_with("**At once.**")
                || (is_full && section.starts_with("**At once in `full`"));
            let severity = if is_at_once { "critical" } else { "warning" };
            assert_eq!(alert["labels"]["severity"], severity, "{set_name}: {name}");
        }
    }
}

/// The selectors name the job that Prometheus makes of our services; else an alert is silent for ever, and
/// those on absence never end.
#[test]
fn alerts_look_where_the_service_monitor_reads() {
    for name in ["monitoring", "monitoring-full"] {
        let rendering = set(name);
        let monitor = rendering.object("ServiceMonitor", "rel-bindery");
        let selected = monitor["spec"]["selector"]["matchLabels"].as_object().expect("labels");
        let matches = |service: &&&Value| {
            let labels = &service["metadata"]["labels"];
            selected.iter().all(|(key, value)| labels[key] == *value)
        };
        let services = rendering.of_kind("Service");
        let services: Vec<&&Value> = services.iter().filter(matches).collect();
        let jobs: Vec<&str> =
            services.iter().filter_map(|service| service["metadata"]["name"].as_str()).collect();
        let expected: &[&str] = if name == "monitoring" {
            &["rel-bindery-metrics"]
        } else {
            &[
                "rel-bindery-controller-metrics",
                "rel-bindery-local-metrics",
                "rel-bindery-local-node-cleanup-metrics",
                "rel-bindery-metrics",
                "rel-bindery-reporter-metrics",
            ]
        };
        let mut jobs = jobs;
        jobs.sort_unstable();
        assert_eq!(jobs, expected, "{name}");
        let open: BTreeSet<&str> = services
            .iter()
            .flat_map(|service| service["spec"]["ports"].as_array().into_iter().flatten())
            .filter_map(|port| port["name"].as_str())
            .collect();
        for endpoint in monitor["spec"]["endpoints"].as_array().expect("endpoints") {
            assert!(open.contains(endpoint["port"].as_str().unwrap_or_default()), "{name}");
        }
        for alert in alerts(rendering) {
            let expression = alert["expr"].as_str().unwrap_or_default();
            let is_ours = !expression.contains("apiserver_") || expression.contains("bindery_");
            let jobs = if expression.contains("bindery_local_node_cleanup_") {
                &["=\"rel-bindery-local-node-cleanup-metrics\""][..]
            } else if expression.contains("bindery_local_")
                || expression.contains("local_volume_")
                || alert["alert"] == "BinderyLocalConfigurationInvalid"
            {
                &["=\"rel-bindery-local-metrics\""][..]
            } else if expression.contains("bindery_scan") {
                &["=\"rel-bindery-reporter-metrics\""][..]
            } else if expression.contains("bindery_configuration_") {
                &["=~\"rel-bindery(-controller|-reporter)?-metrics\""][..]
            } else {
                &["=\"rel-bindery-metrics\"", "=~\"rel-bindery(-controller)?-metrics\""]
            };
            let selects =
                |job: &&str| expression.contains(&format!("namespace=\"store\",job{job}"));
            assert_eq!(jobs.iter().any(selects), is_ours, "{name}: {expression}");
        }
    }
}

/// Each port of the Services for metrics is scraped, and where there is none, nothing asks for one: the operator's
/// `CustomResourceDefinition` requires endpoints.
#[test]
fn the_service_monitor_reads_each_port_of_metrics_that_there_is() {
    const INSTEAD: &str = "policies=instead,controller.enabled=false";
    const LOCAL: &str = "local.enabled=true,local.classes.a.hostDir=/mnt";
    let instead = |more: &str| format!("{INSTEAD},{more}");
    for (values, expected) in [
        (String::new(), &["ctrl-metrics", "metrics"][..]),
        ("controller.placement=deployment".to_owned(), &["ctrl-metrics", "metrics"]),
        ("controller.enabled=false,certs.mode=certManager".to_owned(), &["metrics"]),
        ("policies=instead,controller.placement=deployment".to_owned(), &["ctrl-metrics"]),
        (INSTEAD.to_owned(), &[]),
        (instead("reports.enabled=true"), &["metrics"]),
        (instead(LOCAL), &["local-metrics"]),
        (
            instead(&format!("{LOCAL},local.onNodeLoss.a=wait,reports.enabled=true")),
            &["cleanup-metrics", "local-metrics", "metrics"],
        ),
    ] {
        let rendering =
            rendered(&["--set", &values, "--set", "metrics.serviceMonitor.enabled=true"]);
        let services = rendering.of_kind("Service").into_iter().filter(|service| {
            service["metadata"]["labels"]["app.kubernetes.io/component"] == "metrics"
        });
        let ports =
            services.flat_map(|service| service["spec"]["ports"].as_array().expect("ports"));
        let ports: BTreeSet<&str> = ports.filter_map(|port| port["name"].as_str()).collect();
        assert!(ports.iter().eq(expected), "{values}: {ports:?}");
        let monitors = rendering.of_kind("ServiceMonitor");
        assert_eq!(monitors.is_empty(), expected.is_empty(), "{values}");
        for monitor in monitors {
            let endpoints = monitor["spec"]["endpoints"].as_array().expect("endpoints");
            let mut scraped: Vec<&str> =
                endpoints.iter().filter_map(|endpoint| endpoint["port"].as_str()).collect();
            scraped.sort_unstable();
            assert_eq!(scraped, expected, "{values}");
        }
    }
}

#[test]
fn alerts_are_about_what_is_installed() {
    let names = |rendering: &Rendering| {
        let all = alerts(rendering);
        all.iter()
            .filter_map(|alert| alert["alert"].as_str())
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let observe = names(set("monitoring"));
    assert!(observe.contains("BinderyNoLeader") && !observe.contains("BinderyFellBack"));
    let full = names(set("monitoring-full"));
    assert!(full.contains("BinderyFellBack") && full.contains("BinderyWritesRejected"));
    assert!(full.contains("BinderyDiskReplaced") && !observe.contains("BinderyDiskReplaced"));
    assert!(full.contains("BinderyScanOutdated") && !observe.contains("BinderyScanOutdated"));
    let reported = "policies=instead,controller.enabled=false,reports.enabled=true";
    let reported = rendered(&["--set", reported, "--set", "metrics.prometheusRule.enabled=true"]);
    assert!(names(&reported).contains("BinderyScanOutdated"));
    let alone = rendered(&[
        "--values",
        "tests/chart/sets/webhook-only.yaml",
        "--set",
        "metrics.prometheusRule.enabled=true",
    ]);
    let alone = names(&alone);
    assert!(alone.contains("BinderyWebhookDown") && !alone.contains("BinderyNoLeader"));
    let silent = sets().iter().filter(|(name, _)| !name.starts_with("monitoring"));
    for (name, rendering) in silent {
        for kind in ["PrometheusRule", "ServiceMonitor"] {
            assert!(rendering.of_kind(kind).is_empty(), "{name}: {kind}");
        }
    }
}

/// Every name by which the API server counts that a webhook of ours failed open.
#[test]
fn the_alert_on_failing_open_knows_every_webhook_that_can() {
    let rendering = rendered(&[
        "--values",
        "tests/chart/sets/monitoring.yaml",
        "--set",
        "webhook.advise.failurePolicy=Fail,webhook.mutate.failurePolicy=Fail",
    ]);
    let all = alerts(&rendering);
    let alert = all.iter().find(|alert| alert["alert"] == "BinderyFailingOpen").expect("it exists");
    let expression = alert["expr"].as_str().expect("an expression");
    let (_, rest) = expression.split_once("name=~\"").expect("a pattern");
    let (pattern, _) = rest.split_once('"').expect("its end");
    // What the pattern means, spelled out: Prometheus' engine is asked about some names (`firing`).
    let (optional, names) = pattern.split_once(")?(").expect("an optional part, then names");
    assert_eq!(optional, "(unanswered[.]");
    let (names, domain) = names.split_once(')').expect("the end of the names");
    assert_eq!(domain, "[.]bindery[.]dev");
    let names: BTreeSet<&str> = names.split('|').collect();
    let mut called = BTreeSet::new();
    let mut unanswered = 0;
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let entries = &rendering.object(kind, "rel-bindery")["webhooks"];
        for entry in entries.as_array().expect("entries") {
            let name = entry["name"].as_str().and_then(|name| name.strip_suffix(".bindery.dev"));
            let name = name.expect("a name of ours");
            unanswered += usize::from(name.starts_with("unanswered."));
            called.insert(name.strip_prefix("unanswered.").unwrap_or(name));
        }
    }
    assert_eq!(unanswered, 6);
    assert_eq!(called, names);
}

/// What is denied while no pod serves depends on whether guard is probed: the condition of a webhook that fails closed.
#[test]
fn the_alert_on_a_webhook_that_is_down_says_what_is_denied() {
    let reported = |values: &str| {
        let monitored = format!("metrics.prometheusRule.enabled=true,{values}");
        let all = alerts(&rendered(&["--set", &monitored]));
        let alert = all.iter().find(|alert| alert["alert"] == "BinderyWebhookDown");
        let alert = alert.expect("it exists");
        alert["annotations"]["description"].as_str().unwrap_or_default().to_owned()
    };
    let depends = "denied while a pod exists that has answered, and otherwise not evaluated";
    for (values, guard, advise) in [
        ("webhook.guard.failurePolicy=Fail", depends, "not evaluated"),
        ("webhook.advise.failurePolicy=Fail", depends, depends),
        ("controller.enabled=false,certs.mode=certManager", "denied", "not evaluated"),
        ("rbac.create=false,webhook.advise.failurePolicy=Fail", "denied", "denied"),
        ("webhook.guard.failurePolicy=Ignore", "not evaluated", "not evaluated"),
        ("rules.profile=audit", "not evaluated", "not evaluated"),
    ] {
        let reported = reported(values);
        let changes = format!("changes of bound PersistentVolumes are {guard} (guard: ");
        assert!(reported.contains(&changes), "{values}: {reported}");
        let others = format!("other changes are {advise} (advise: ");
        assert!(reported.contains(&others), "{values}: {reported}");
    }
}

/// Three intervals and ten minutes, however the interval is written.
#[test]
fn a_scan_is_outdated_after_three_intervals() {
    for (interval, seconds) in [
        ("1h", 11_400),
        ("30m", 6_000),
        ("90s", 870),
        ("1h30m", 16_800),
        ("2h0m5s", 22_215),
        // Not octal.
        ("08m", 2_040),
        ("168h", 1_815_000),
    ] {
        let values = format!(
            "metrics.prometheusRule.enabled=true,reports.enabled=true,reports.interval={interval}"
        );
        let all = alerts(&rendered(&["--set", &values]));
        let alert = all.iter().find(|alert| alert["alert"] == "BinderyScanOutdated");
        let alert = alert.expect("it exists");
        let expression = alert["expr"].as_str().unwrap_or_default();
        assert!(
            expression.ends_with(&format!(" > time() - {seconds})")),
            "{interval}: {expression}"
        );
        let reported = alert["annotations"]["description"].as_str().unwrap_or_default();
        assert!(reported.contains(&format!("its interval of {interval}, or")), "{reported}");
    }
}
