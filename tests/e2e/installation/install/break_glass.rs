//! A change by break-glass passes whatever Bindery would answer, and the API server itself warns of it, counts it and notes it in
//! its audit log.

use std::time::Duration;

use serde_json::Value;

use super::site::{NAME, Site, unclaimed_volume};
use crate::eventually::eventually;
use crate::plane::Peers;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(the_use_of_break_glass_is_seen)];

fn the_use_of_break_glass_is_seen() {
    let site = Site::on(Peers::AuditedCluster, "restricted").with(&[]);
    let volume = unclaimed_volume().to_string();
    let create = |groups: &[&str]| {
        let arguments = ["create", "--dry-run=server", "-f", "-", "--as=jane"];
        site.plane.kubectl(ADMIN, &[&arguments[..], groups].concat(), &volume)
    };
    let masters = "--as-group=system:masters";
    let denied = create(&[masters]);
    assert!(denied.code != 0 && denied.stderr.contains("[prebind-incomplete]"), "{denied:?}");
    assert_eq!(uses(&site), 0);
    assert_eq!(noted(&site), [""; 0]);
    eventually("the policy is in force", Duration::from_secs(30), || {
        let passed = create(&[masters, "--as-group=bindery.dev:break-glass"]);
        assert_eq!(passed.code, 0, "{passed:?}");
        if passed.stderr.contains("no rule of Bindery was evaluated") {
            Ok(())
        } else {
            Err(format!("{passed:?}"))
        }
    });
    assert!(uses(&site) > 0);
    let noted = noted(&site);
    assert!(!noted.is_empty(), "the audit log has no annotation of the policy");
    let expected = "jane: CREATE persistentvolumes unclaimed";
    assert!(noted.iter().all(|text| text == expected), "{noted:?}");
}

/// What the policy noted in the audit log of the API server.
fn noted(site: &Site) -> Vec<String> {
    let key = format!("{NAME}-break-glass/request");
    let log = site.plane.audit_log();
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of = |event: Value| event["annotations"][&key].as_str().map(str::to_owned);
    events.filter_map(of).collect()
}

/// How often the API server counted it.
fn uses(site: &Site) -> u64 {
    let metrics = site.plane.get(ADMIN, "/metrics").text;
    let name = "apiserver_validating_admission_policy_check_total{";
    let policy = format!("policy=\"{NAME}-break-glass\"");
    let lines = metrics.lines().filter(|line| line.starts_with(name) && line.contains(&policy));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}
