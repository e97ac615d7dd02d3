//! A change by break-glass passes whatever Bindery would answer, and the API server itself warns of it and counts it.

use std::time::Duration;

use super::site::{NAME, Site, unclaimed_volume};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(the_use_of_break_glass_is_seen)];

fn the_use_of_break_glass_is_seen() {
    let site = Site::install(&[]);
    let volume = unclaimed_volume().to_string();
    let create = |groups: &[&str]| {
        let arguments = ["create", "--dry-run=server", "-f", "-", "--as=jane"];
        site.plane.kubectl(ADMIN, &[&arguments[..], groups].concat(), &volume)
    };
    let masters = "--as-group=system:masters";
    let denied = create(&[masters]);
    assert!(denied.code != 0 && denied.stderr.contains("[prebind-incomplete]"), "{denied:?}");
    assert_eq!(uses(&site), 0);
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
}

/// How often the API server counted it.
fn uses(site: &Site) -> u64 {
    let metrics = site.plane.get(ADMIN, "/metrics").text;
    let name = "apiserver_validating_admission_policy_check_total{";
    let policy = format!("policy=\"{NAME}-break-glass\"");
    let lines = metrics.lines().filter(|line| line.starts_with(name) && line.contains(&policy));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}
