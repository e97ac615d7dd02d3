//! What policy reports say of findings, and how much.

use jiff::Timestamp;
use serde_json::Value;

use super::policy_report::{PolicyReport, policy_reports};
use crate::cli::report::{AtStake, Finding, FindingResult, ReportedObject};

fn finding(result: FindingResult, namespace: Option<&str>, name: &str) -> Finding {
    let kind = if namespace.is_some() { "PersistentVolumeClaim" } else { "PersistentVolume" };
    let (age, bytes, class, partner, phase) = (Some(7), None, None, None, None);
    Finding {
        result,
        rule: Some("duplicate-backend".to_owned()),
        object: ReportedObject {
            kind,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        },
        operation: "SCAN",
        message: format!("{name} is wrong; correct it"),
        field: Some("spec".to_owned()),
        file: None,
        line: None,
        column: None,
        rendered: None,
        fix: Some("correct it".to_owned()),
        enforced_by: Vec::new(),
        exempt: None,
        standing: Some(AtStake { severity: "high", age, bytes, class, partner, phase }),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// The report on one Namespace, or on the cluster.
fn report(findings: &[Finding], namespace: Option<&str>, now: Timestamp) -> PolicyReport {
    policy_reports(findings, now).remove(&namespace.map(str::to_owned)).unwrap()
}

fn json(report: &PolicyReport) -> Value {
    serde_json::to_value(report).unwrap()
}

#[test]
fn each_namespace_has_a_report_and_volumes_have_one() {
    let findings = [
        finding(FindingResult::Denied, None, "pv-a"),
        finding(FindingResult::Warned, Some("db"), "data"),
        finding(FindingResult::Denied, Some("db"), "logs"),
        finding(FindingResult::Exempted, Some("web"), "files"),
        finding(FindingResult::Unverified, Some("web"), "cache"),
    ];
    let reports = policy_reports(&findings, at(5));
    let names: Vec<_> = reports.keys().map(Option::as_deref).collect();
    assert_eq!(names, [None, Some("db"), Some("web")]);
    let db = json(&report(&findings, Some("db"), at(5)));
    assert_eq!(db["summary"]["fail"], 1);
    assert_eq!(db["summary"]["warn"], 1);
    let severest = &db["results"][0];
    assert_eq!(severest["resources"][0]["name"], "logs");
    assert_eq!(severest["resources"][0]["apiVersion"], "v1");
    assert_eq!((&severest["result"], &severest["severity"]), (&"fail".into(), &"high".into()));
    assert_eq!(
        (&severest["policy"], &severest["source"]),
        (&"duplicate-backend".into(), &"bindery".into())
    );
    assert_eq!(severest["properties"]["finding"], "denied");
    assert_eq!(severest["timestamp"]["seconds"], 5);
    let web = json(&report(&findings, Some("web"), at(5)));
    assert_eq!((&web["summary"]["error"], &web["summary"]["skip"]), (&1.into(), &1.into()));
    assert_eq!(web["results"][0]["result"], "error");
}

#[test]
fn a_report_stays_within_its_bounds_and_keeps_the_severest() {
    let many = |count: usize, length: usize| {
        let mut findings: Vec<Finding> = (0..count)
            .map(|number| {
                let mut one = finding(FindingResult::Warned, Some("db"), &format!("c-{number}"));
                one.message = "é".repeat(length);
                one
            })
            .collect();
        findings.push(finding(FindingResult::Denied, Some("db"), "worst"));
        report(&findings, Some("db"), at(0))
    };
    let full = many(2_500, 10);
    assert_eq!((full.results.len(), full.left_out), (1_000, 1_502));
    let full = json(&full);
    assert_eq!((&full["summary"]["warn"], &full["summary"]["fail"]), (&2_500.into(), &1.into()));
    assert_eq!(full["results"][0]["resources"][0]["name"], "worst");
    assert_eq!(full["results"][999]["properties"]["leftOut"], "1502");
    // Longer messages: the bytes are what is full, to within two of them.
    for length in [400, 5_000, 100_000] {
        let long = many(2_500, length);
        let results = serde_json::to_string(&long.results).unwrap();
        let (bytes, one) = (results.len(), 2 * length + 1_000);
        assert!((512 * 1024 - 2 * one..=512 * 1024 + 1).contains(&bytes), "{length}: {bytes}");
        assert_eq!(long.left_out, 2_501 - (long.results.len() - 1));
    }
    // None that has room is left out, and a report that is full says nothing of others.
    let exact = many(999, 10);
    assert_eq!((exact.results.len(), exact.left_out), (1_000, 0));
}

#[test]
fn a_result_keeps_the_time_at_which_it_was_found() {
    let first = finding(FindingResult::Denied, None, "pv-a");
    let stored = report(std::slice::from_ref(&first), None, at(1));
    let stored: PolicyReport = serde_json::from_value(json(&stored)).unwrap();
    // An hour later it is older, which no report shows.
    let mut later = first;
    later.standing.as_mut().unwrap().age = Some(3_607);
    let mut now = report(&[later.clone()], None, at(3_601));
    assert_ne!(now.results, stored.results);
    now.keep_times(&stored);
    assert_eq!(now.results, stored.results);
    let mut both = report(&[later, finding(FindingResult::Denied, None, "pv-b")], None, at(9));
    both.keep_times(&stored);
    let both = json(&both);
    assert_eq!(both["results"][0]["timestamp"]["seconds"], 1);
    assert_eq!(both["results"][1]["timestamp"]["seconds"], 9);
}
