//! Alerts fire when they should and are silent otherwise: Prometheus' own engine evaluates them over made-up
//! series.
//!
//! Not here: whether the metrics exist (`alerts`).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::engine;
use super::firing_local;
use super::helm::{Rendering, set};

/// An installation that is well, with everything that alerts ask for. `HOOK` are the labels of a pod of the
/// webhook, `CONTROLLER` those of one of the controller, `REPORTER` those of the reporter; a step is 30 seconds.
const WELL: &[&str] = &[
    "bindery_cache_synced{HOOK,pod=\"a\"} 1x60",
    "bindery_cache_synced{HOOK,pod=\"b\"} 1x60",
    "bindery_admission_requests_total{HOOK} 0+100x60",
    "bindery_admission_duration_seconds_bucket{HOOK,le=\"0.001\"} 0+100x60",
    "bindery_admission_duration_seconds_bucket{HOOK,le=\"0.25\"} 0+100x60",
    "bindery_admission_duration_seconds_bucket{HOOK,le=\"+Inf\"} 0+100x60",
    "bindery_requests_rejected_total{HOOK,reason=\"not_found\"} 0+50x60",
    "bindery_connections_total{HOOK,pod=\"a\",port=\"reviews\",event=\"opened\",detail=\"\"} 0+9x60",
    "bindery_connections_total{HOOK,pod=\"a\",port=\"reviews\",event=\"rejected\",detail=\"total\"} 7x60",
    "bindery_connections_total{HOOK,pod=\"a\",port=\"health\",event=\"rejected\",detail=\"peer\"} 0+1x60",
    "bindery_panics_total{HOOK} 0x60",
    "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"a\"} 2592000x60",
    "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"b\"} 2592000x60",
    "bindery_configuration_last_reload_successful{HOOK} 1x60",
    "bindery_watch_age_seconds{HOOK,pod=\"a\",resource=\"pods\"} 60x60",
    "bindery_admission_probe_success{CONTROLLER,webhook=\"guard\"} 1x60",
    "bindery_controller_leading{CONTROLLER,pod=\"a\"} 1x60",
    "bindery_controller_leading{CONTROLLER,pod=\"b\"} 0x60",
    "bindery_controller_certificate_steps_total{CONTROLLER,step=\"publish\",outcome=\"done\"} 0+1x60",
    "bindery_controller_certificate_steps_total{CONTROLLER,step=\"publish\",outcome=\"outdated\"} 0+1x60",
    "bindery_controller_ca_expiry_timestamp_seconds{CONTROLLER,pod=\"a\"} 31536000x60",
    "bindery_controller_ca_expiry_timestamp_seconds{CONTROLLER,pod=\"b\"} 0x60",
    "bindery_controller_mode{CONTROLLER,mode=\"observe\"} 0x60",
    "bindery_controller_mode{CONTROLLER,mode=\"full\"} 1x60",
    "bindery_controller_queue_depth{CONTROLLER} 5x60",
    "bindery_controller_unreadable_objects{CONTROLLER,resource=\"pods\"} 0x60",
    "bindery_controller_writes_total{CONTROLLER,write=\"reserve\",outcome=\"stale\"} 0+1x60",
    // Two pods while one is replaced: the newer has not scanned yet.
    "bindery_scan_timestamp_seconds{REPORTER,pod=\"a\"} -7200x60",
    "bindery_scan_timestamp_seconds{REPORTER,pod=\"b\"} -999999x60",
    // The API server was away for one scan.
    "bindery_scans_total{REPORTER,outcome=\"failed\"} 0x2 1x58",
    "apiserver_admission_webhook_rejection_count{name=\"guard.bindery.dev\",error_type=\"no_error\"} 0+1x60",
    "apiserver_admission_webhook_rejection_count{name=\"a.example.com\",error_type=\"calling_webhook_error\"} 0+1x60",
    "apiserver_admission_webhook_fail_open_count{name=\"a.example.com\"} 0+1x60",
    "apiserver_admission_webhook_fail_open_count{name=\"unanswered.a.example.com\"} 0+1x60",
    // An API server that began long before Prometheus: what it counted then is no news.
    "apiserver_admission_webhook_fail_open_count{name=\"advise.bindery.dev\",job=\"apiserver\",instance=\"old\"} 7x60",
    "process_start_time_seconds{job=\"apiserver\",instance=\"old\"} -7200x60",
    "process_start_time_seconds{job=\"apiserver\",instance=\"new\"} 0x60",
    "process_start_time_seconds{CONTROLLER,instance=\"c\"} 0x60",
    "apiserver_validating_admission_policy_check_total{policy=\"other-break-glass\",enforcement_action=\"audit\",job=\"apiserver\",instance=\"new\"} _x20 1x40",
];

/// What is otherwise than well, the alert that it raises, and the minutes until then. Series replace those
/// of the same metric; a metric alone takes them away.
const CASES: &[(&str, &[&str], u32)] = &[
    ("BinderyWebhookDown", &["bindery_cache_synced"], 2),
    ("BinderyWebhookDown", &["bindery_cache_synced{HOOK,pod=\"a\"} 0x60"], 2),
    // Of two pods that know the cluster none has a certificate yet, or one alone has.
    (
        "BinderyWebhookDown",
        &[
            "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"a\"} 0x60",
            "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"b\"} 0x60",
        ],
        2,
    ),
    (
        "BinderyWebhookDegraded",
        &[
            "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"a\"} 2592000x60",
            "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"b\"} 0x60",
        ],
        10,
    ),
    (
        "BinderyWebhookDegraded",
        &["bindery_cache_synced{HOOK,pod=\"a\"} 1x60", "bindery_cache_synced{HOOK,pod=\"b\"} 0x60"],
        10,
    ),
    (
        "BinderyGuardUnreachable",
        &[
            "apiserver_admission_webhook_rejection_count{name=\"guard.bindery.dev\",error_type=\"calling_webhook_error\"} 0+1x60",
        ],
        1,
    ),
    (
        "BinderyGuardUnanswered",
        &["bindery_admission_probe_success{CONTROLLER,webhook=\"guard\"} 0x60"],
        2,
    ),
    (
        "BinderyFailingOpen",
        &["apiserver_admission_webhook_fail_open_count{name=\"advise.bindery.dev\"} 0+1x60"],
        1,
    ),
    (
        "BinderyFailingOpen",
        &["apiserver_admission_webhook_fail_open_count{name=\"restore.bindery.dev\"} 0+1x60"],
        1,
    ),
    // What fails closed is called by an entry that fails open until the webhook was found to answer.
    (
        "BinderyFailingOpen",
        &[
            "apiserver_admission_webhook_fail_open_count{name=\"unanswered.guard.bindery.dev\"} 0+1x60",
        ],
        1,
    ),
    (
        "BinderyFailingOpen",
        &[
            "apiserver_admission_webhook_fail_open_count{name=\"unanswered.tenancy.bindery.dev\"} 0+1x60",
        ],
        1,
    ),
    // Once a day: a counter that moves once, and one that begins with its first event.
    (
        "BinderyGuardUnreachable",
        &[
            "apiserver_admission_webhook_rejection_count{name=\"guard.bindery.dev\",error_type=\"calling_webhook_error\"} 3x20 4x40",
        ],
        11,
    ),
    (
        "BinderyGuardUnreachable",
        &[
            "apiserver_admission_webhook_rejection_count{name=\"tenancy.bindery.dev\",error_type=\"calling_webhook_error\",job=\"apiserver\",instance=\"new\"} _x20 1x40",
        ],
        10,
    ),
    (
        "BinderyFailingOpen",
        &[
            "apiserver_admission_webhook_fail_open_count{name=\"mutate.bindery.dev\",job=\"apiserver\",instance=\"new\"} _x20 1x40",
        ],
        10,
    ),
    (
        "BinderyBreakGlassUsed",
        &[
            "apiserver_validating_admission_policy_check_total{policy=\"rel-bindery-break-glass\",enforcement_action=\"audit\",job=\"apiserver\",instance=\"new\"} _x20 1x40",
        ],
        10,
    ),
    (
        "BinderyBreakGlassUsed",
        &[
            "apiserver_validating_admission_policy_check_total{policy=\"rel-bindery-break-glass\",enforcement_action=\"warn\",job=\"apiserver\",instance=\"old\"} 8x20 9x40",
        ],
        11,
    ),
    (
        "BinderyWritesRejected",
        &[
            "bindery_controller_writes_total{CONTROLLER,instance=\"c\",write=\"reserve\",outcome=\"rejected\"} _x20 1x40",
        ],
        10,
    ),
    (
        "BinderyWebhookSlow",
        &[
            "bindery_admission_duration_seconds_bucket{HOOK,le=\"0.001\"} 0+90x60",
            "bindery_admission_duration_seconds_bucket{HOOK,le=\"0.25\"} 0+100x60",
            "bindery_admission_duration_seconds_bucket{HOOK,le=\"+Inf\"} 0+100x60",
        ],
        10,
    ),
    (
        "BinderyWebhookOverloaded",
        &["bindery_requests_rejected_total{HOOK,reason=\"reviews_full\"} 0+1x60"],
        5,
    ),
    (
        "BinderyWebhookOverloaded",
        &["bindery_requests_rejected_total{HOOK,reason=\"bodies_full\"} 0+1x60"],
        5,
    ),
    (
        "BinderyConnectionsRejected",
        &[
            "bindery_connections_total{HOOK,pod=\"a\",port=\"reviews\",event=\"rejected\",detail=\"total\"} 0+1x60",
        ],
        5,
    ),
    (
        "BinderyConnectionsRejected",
        &[
            "bindery_connections_total{HOOK,pod=\"b\",port=\"reviews\",event=\"rejected\",detail=\"peer\"} 0+1x60",
        ],
        5,
    ),
    (
        "BinderyConnectionsRejected",
        &[
            "bindery_connections_total{HOOK,pod=\"a\",port=\"reviews\",event=\"accept_failed\",detail=\"\"} 0+1x60",
        ],
        5,
    ),
    ("BinderyWebhookPanicked", &["bindery_panics_total{HOOK} 0 0+1x58"], 1),
    (
        "BinderyCertificateExpiresSoon",
        &[
            "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"a\"} 432000x60",
            "bindery_certificate_expiry_timestamp_seconds{HOOK,pod=\"b\"} 432000x60",
        ],
        10,
    ),
    (
        "BinderyConfigurationInvalid",
        &["bindery_configuration_last_reload_successful{HOOK} 0x60"],
        5,
    ),
    (
        "BinderyWatchStale",
        &["bindery_watch_age_seconds{HOOK,pod=\"a\",resource=\"pods\"} 400x60"],
        5,
    ),
    (
        "BinderyNoCertificateLeader",
        &["bindery_controller_ca_expiry_timestamp_seconds{CONTROLLER,pod=\"a\"} 0x60"],
        5,
    ),
    (
        "BinderyCertificateRenewalFails",
        &[
            "bindery_controller_certificate_steps_total{CONTROLLER,step=\"publish\",outcome=\"failed\"} 0+1x60",
        ],
        12,
    ),
    (
        "BinderyCAExpiresSoon",
        &["bindery_controller_ca_expiry_timestamp_seconds{CONTROLLER} 4320000x60"],
        10,
    ),
    (
        "BinderyConfigurationInvalid",
        &["bindery_configuration_last_reload_successful{CONTROLLER} 0x60"],
        5,
    ),
    ("BinderyNoLeader", &["bindery_controller_leading{CONTROLLER,pod=\"a\"} 0x60"], 2),
    ("BinderyNoLeader", &["bindery_controller_leading"], 2),
    (
        "BinderyTwoLeaders",
        &[
            "bindery_controller_leading{CONTROLLER,pod=\"a\"} 1x60",
            "bindery_controller_leading{CONTROLLER,pod=\"b\"} 1x60",
        ],
        1,
    ),
    ("BinderyQueueGrows", &["bindery_controller_queue_depth{CONTROLLER} 5x5 2000x55"], 17),
    ("BinderyMoveUnfinished", &["bindery_moves_unfinished{CONTROLLER,state=\"left\"} 1x60"], 20),
    (
        "BinderyObjectsUnreadable",
        &["bindery_controller_unreadable_objects{CONTROLLER,resource=\"pods\"} 1x60"],
        10,
    ),
    (
        "BinderyWritesRejected",
        &[
            "bindery_controller_writes_total{CONTROLLER,write=\"reserve\",outcome=\"rejected\"} 0+1x60",
        ],
        1,
    ),
    // The reporter is down; it has not scanned yet; its last scan becomes older than three hours and ten minutes.
    ("BinderyScanOutdated", &["bindery_scan_timestamp_seconds"], 15),
    ("BinderyScanOutdated", &["bindery_scan_timestamp_seconds{REPORTER} -999999x60"], 15),
    ("BinderyScanOutdated", &["bindery_scan_timestamp_seconds{REPORTER} -11000x60"], 22),
    // Tried again each minute.
    ("BinderyScanFailing", &["bindery_scans_total{REPORTER,outcome=\"failed\"} 0+0.5x60"], 21),
    (
        "BinderyFellBack",
        &[
            "bindery_controller_mode{CONTROLLER,mode=\"observe\"} 1x60",
            "bindery_controller_mode{CONTROLLER,mode=\"full\"} 0x60",
        ],
        1,
    ),
];

/// Later than any alert takes. A step is half a minute: series have as many as this takes.
const MINUTES: u32 = 29;

fn cases() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str], u32)> {
    CASES.iter().chain(firing_local::CASES)
}

fn metric(series: &str) -> &str {
    series.split(['{', ' ']).next().unwrap_or_default()
}

/// Returns what Prometheus is given: all is well but for `other`.
fn question(other: &[&str], minutes: u32) -> Value {
    let hook = "namespace=\"store\",job=\"rel-bindery-metrics\"";
    let controller = "namespace=\"store\",job=\"rel-bindery-controller-metrics\"";
    let reporter = "namespace=\"store\",job=\"rel-bindery-reporter-metrics\"";
    let is_well = |series: &&&str| other.iter().all(|other| metric(other) != metric(series));
    let values = other.iter().filter(|series| series.contains('{'));
    let mut text = String::from("load 30s\n");
    let well = WELL.iter().chain(firing_local::WELL);
    for series in well.filter(is_well).chain(values) {
        let series = series.replace("HOOK", hook).replace("CONTROLLER", controller);
        let series = series
            .replace("REPORTER", reporter)
            .replace("CLEANUP", firing_local::CLEANUP_LABELS)
            .replace("LOCAL", firing_local::LABELS);
        let _ = writeln!(text, "  {series}");
    }
    json!({"series": text, "minutes": minutes})
}

/// Returns what fires in each case.
fn ask(rendering: &Rendering, questions: &[Value]) -> Vec<Vec<Value>> {
    let rules = &rendering.of_kind("PrometheusRule")[0]["spec"];
    // JSON is YAML.
    let answers = engine::answers(&rules.to_string(), questions);
    serde_json::from_value(Value::Array(answers)).expect("a list for each question")
}

fn names(firing: &[Value]) -> BTreeSet<&str> {
    firing.iter().filter_map(|alert| alert["alert"].as_str()).collect()
}

#[test]
fn each_alert_fires_when_it_should_and_no_other() {
    let rendering = set("monitoring-full");
    let mut questions = vec![question(&[], MINUTES)];
    for (_, other, minutes) in cases() {
        questions.push(question(other, MINUTES));
        // Half a minute before its time: one scrape that went wrong raises no alert.
        questions.push(question(other, minutes.saturating_sub(1)));
    }
    let answers = ask(rendering, &questions);
    let (well, answers) = answers.split_first().expect("an answer each");
    assert_eq!(names(well), BTreeSet::new(), "nothing fires where all is well");
    for ((alert, other, minutes), pair) in cases().zip(answers.chunks(2)) {
        assert_eq!(names(&pair[0]), BTreeSet::from([*alert]), "{other:?}");
        assert_eq!(names(&pair[1]), BTreeSet::new(), "{other:?} before {minutes} minutes");
        for firing in &pair[0] {
            let reported = firing["annotations"]["description"].as_str().unwrap_or_default();
            let is_expanded = !reported.contains("{{")
                && !reported.contains("<error")
                && !reported.contains("no value");
            assert!(is_expanded, "{alert}: {reported}");
        }
    }
}

#[test]
fn every_alert_has_its_case() {
    let rules = &set("monitoring-full").of_kind("PrometheusRule")[0]["spec"]["groups"];
    let all = rules.as_array().into_iter().flatten();
    let all = all.flat_map(|group| group["rules"].as_array().into_iter().flatten());
    let named: BTreeSet<&str> = all.filter_map(|rule| rule["alert"].as_str()).collect();
    let tried: BTreeSet<&str> = cases().map(|(alert, ..)| *alert).collect();
    assert_eq!(named, tried);
}

/// A counter that an API server has and that was not there an hour ago, with what Prometheus knows of that API server then, and
/// whether it counts as an event. A step is 30 seconds, and it is asked after 75 minutes: an hour before is in the 31st sample.
const BEGINNINGS: &[(&[&str], bool)] = &[
    // The scrape of then succeeded and did not have it: it began with an event.
    (&["up{API} 1x160", "process_start_time_seconds{API} 0x160", "COUNTER _x140 1x20"], true),
    // The scrapes of then failed: what was counted before is no news.
    (
        &[
            "up{API} 1x20 0x19 1x120",
            "process_start_time_seconds{API} 0x20 stale _x19 0x120",
            "COUNTER 7x20 stale _x19 7x120",
        ],
        false,
    ),
    // The scrapes of then failed, as the process was not there yet.
    (
        &[
            "up{API} 1x20 0x59 1x80",
            "process_start_time_seconds{API} 0x20 stale _x59 2400x80",
            "COUNTER _x140 1x20",
        ],
        true,
    ),
    // Prometheus began after that, and the process before.
    (
        &["up{API} _x60 1x100", "process_start_time_seconds{API} _x60 0x100", "COUNTER _x60 7x100"],
        false,
    ),
];

#[test]
fn a_counter_begins_with_an_event_only_where_a_scrape_an_hour_ago_did_not_have_it() {
    let counter = "apiserver_admission_webhook_fail_open_count{name=\"advise.bindery.dev\",API}";
    let api = "job=\"apiserver\",instance=\"a\"";
    let question = |series: &&[&str]| {
        let mut text = String::from("load 30s\n");
        for line in *series {
            let _ = writeln!(text, "  {}", line.replace("COUNTER", counter).replace("API", api));
        }
        json!({"series": text, "minutes": 75})
    };
    let questions: Vec<Value> = BEGINNINGS.iter().map(|(series, _)| question(series)).collect();
    let answers = ask(set("monitoring-full"), &questions);
    for ((series, is_event), firing) in BEGINNINGS.iter().zip(answers) {
        // No series of the installation itself is there: other alerts fire.
        assert_eq!(names(&firing).contains("BinderyFailingOpen"), *is_event, "{series:?}");
    }
}
