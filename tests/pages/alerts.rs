//! Every alert of the chart has an entry among the runbooks, under its own name.

use super::page::{Page, page};

const RUNBOOKS: &str = "docs/how-to/troubleshoot.md";

/// Where the alerts are.
const TEMPLATES: [&str; 2] =
    ["charts/bindery/templates/alerts.yaml", "charts/bindery/templates/_local-alerts.tpl"];

/// The names of the alerts.
fn alerts(templates: &Page) -> Vec<&str> {
    let names = templates.text.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.collect()
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let runbooks = page(RUNBOOKS);
    let templates = TEMPLATES.map(page);
    let alerts: Vec<&str> = templates.iter().flat_map(alerts).collect();
    assert!(alerts.len() > 18, "only {} alerts were found", alerts.len());
    let headings = runbooks.text.lines().filter_map(|line| line.strip_prefix("### "));
    let headings: Vec<&str> = headings.filter(|heading| heading.starts_with("Bindery")).collect();
    for alert in &alerts {
        assert!(headings.contains(alert), "{RUNBOOKS} has no entry {alert}");
    }
    for heading in headings {
        assert!(alerts.contains(&heading), "{heading} in {RUNBOOKS} is no alert");
    }
}
