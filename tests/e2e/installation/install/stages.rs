//! Each stage of a rollout is installed by its file of the chart: nothing reaches the webhook, then it only observes, then it
//! warns, then it denies.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::site::{CHART, NAME, Site, unclaimed_volume};
use super::{test, unknown};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(each_stage_does_what_its_values_promise)];

/// What a request of each kind gets in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It passes without a warning.
    Silence,
    /// It passes with a warning.
    Warning,
    /// It is denied.
    Denial,
}

/// A stage: its file, the policy of `guard`, the answer to a hazard, whether a request is repaired, and the checks of the
/// doctor that cannot be made.
type Stage = (&'static str, &'static str, Answer, bool, &'static [&'static str]);

const STAGES: [Stage; 4] = [
    ("scan", "Ignore", Answer::Silence, false, &["mutations", "denials"]),
    ("audit", "Ignore", Answer::Silence, false, &["mutations"]),
    ("warn", "Ignore", Answer::Warning, true, &[]),
    ("deny", "Fail", Answer::Denial, true, &[]),
];

fn each_stage_does_what_its_values_promise() {
    let site = Site::empty();
    for (index, (stage, guard, answer, is_repaired, untried)) in STAGES.into_iter().enumerate() {
        let command = if index == 0 { "install" } else { "upgrade" };
        let values = format!("{CHART}/values-{stage}.yaml");
        site.helm(&[command, NAME, CHART, "-n", NAME, "--values", &values]);
        site.await_ready();
        eventually("the stage is in force", Duration::from_mins(1), || {
            let found = (answer_to_a_hazard(&site), repairs(&site));
            let seen = audited(&site);
            if found == (answer, is_repaired) && (seen > 0 || !is_counted(stage)) {
                Ok(())
            } else {
                Err(format!("{stage}: {found:?}, {seen} audited\n{}", site.node.logs()))
            }
        });
        assert_eq!(policies(&site), [guard, "Ignore", "Ignore", guard, "Ignore", "Ignore"]);
        assert!(stage != "scan" || audited(&site) == 0, "nothing is asked");
        if stage == "audit" {
            expect_a_line_about_it(&site.node.logs());
        }
        if guard == "Fail" {
            site.await_closed();
        }
        let left: Vec<String> = unknown(&site, &[]);
        let is_expected = |check: &&str| left.iter().any(|line| line.contains(*check));
        assert!(untried.iter().all(is_expected), "{stage}: {left:?}");
        assert_eq!(left.len(), untried.len(), "{stage}: {left:?}");
        test(&site);
    }
}

/// Returns whether the pods of a stage have counted what would be denied. Those of deny are new: the controller probes guard from
/// then on.
fn is_counted(stage: &str) -> bool {
    ["audit", "warn"].contains(&stage)
}

#[track_caller]
fn expect_a_line_about_it(logs: &str) {
    let sentence = "spec.claimRef of PV \\\"unclaimed\\\" has no name";
    let mut line = logs.lines().filter(|line| line.contains("prebind-incomplete=would_deny"));
    let line = line.next().unwrap_or_else(|| panic!("no line about it: {logs}"));
    for part in ["\"operation\":\"CREATE\"", "\"user\":", sentence] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

/// Returns what a user is told who reserves a PV for a PVC without a name.
fn answer_to_a_hazard(site: &Site) -> Answer {
    let volume = unclaimed_volume().to_string();
    let output = site.plane.kubectl(ADMIN, &["create", "--dry-run=server", "-f", "-"], &volume);
    match (output.stderr.contains("[prebind-incomplete]"), output.code == 0) {
        (true, true) => Answer::Warning,
        (true, false) => Answer::Denial,
        (false, is_success) => {
            assert!(is_success, "{output:?}");
            Answer::Silence
        }
    }
}

/// Returns whether the annotation of a binder is taken off a new PVC.
fn repairs(site: &Site) -> bool {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "exported", "namespace": "default",
                     "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                 "resources": {"requests": {"storage": "1Gi"}}},
    });
    let arguments = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
    let output = site.plane.kubectl(ADMIN, &arguments, &claim.to_string());
    assert_eq!(output.code, 0, "{output:?}");
    !output.stdout.contains("bind-completed")
}

/// Violations that all pods counted as what would be denied.
fn audited(site: &Site) -> u64 {
    let mut all = String::new();
    for pod in site.node.running() {
        let _ = writeln!(
            all,
            "{}",
            pod.get(8081, "/metrics").map(|(_, text)| text).unwrap_or_default()
        );
    }
    let counts = all.lines().filter(|line| line.contains("result=\"would_deny\""));
    counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// The failure policy of each entry but those that stand for another, in the order of the registrations.
fn policies(site: &Site) -> Vec<String> {
    let kinds = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];
    let entries = kinds.into_iter().flat_map(|kind| {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}/{NAME}");
        let object = site.plane.get(ADMIN, &path).expect_ok();
        object["webhooks"].as_array().cloned().unwrap_or_default()
    });
    let is_unanswered =
        |entry: &Value| entry["name"].as_str().is_some_and(|it| it.starts_with("unanswered."));
    entries
        .filter(|entry| !is_unanswered(entry))
        .map(|entry: Value| entry["failurePolicy"].as_str().unwrap_or_default().to_owned())
        .collect()
}
