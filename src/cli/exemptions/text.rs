//! The exemptions and the requests for them, for people.

use super::grant::Grant;
use super::report::{ExemptionEntry, ExemptionsReport, IneffectiveEntry, RequestEntry};
use crate::cli::output::one_line;
use crate::cli::table::headed;

/// The report as text; each line is one thought.
pub(super) fn lines(report: &ExemptionsReport) -> String {
    let mut out = String::new();
    if report.in_force.is_empty() {
        out.push_str("no exemption is in force\n");
    }
    let rows: Vec<_> = report.in_force.iter().map(in_force).collect();
    out.push_str(&headed(["UNTIL", "RULE", "OF", "REASON"], &rows));
    if report.requests.is_empty() {
        out.push_str("no request waits\n");
    }
    for request in &report.requests {
        out.push_str(&waiting(request));
    }
    for entry in &report.without_effect {
        let IneffectiveEntry { persistent_volume, annotation, problem } = entry;
        out.push_str(&one_line(&format!(
            "PV {persistent_volume:?}: annotation {annotation} has no effect: {problem}; remove it or write it again"
        )));
        out.push('\n');
    }
    out
}

fn in_force(entry: &ExemptionEntry) -> [Option<String>; 4] {
    let of = entry.persistent_volume.as_ref().map(|name| format!("PV {name}"));
    let of = of.unwrap_or_else(|| of_configuration(entry));
    [
        Some(format!("{:.0}", entry.until)),
        Some(entry.rule.clone()),
        Some(one_line(&of)),
        Some(one_line(&entry.reason)),
    ]
}

/// What an exemption of the configuration is for.
fn of_configuration(entry: &ExemptionEntry) -> String {
    let named = |kind: &str, names: &[String]| {
        (!names.is_empty()).then(|| format!("{kind} {}", names.join(", ")))
    };
    let parts = [named("Namespaces", &entry.namespaces), named("users", &entry.users)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "all changes".to_owned() } else { parts.join(" and ") }
}

fn waiting(request: &RequestEntry) -> String {
    let RequestEntry { rule, namespace, name, reason, grant, problem, persistent_volume: _ } =
        request;
    let asked = one_line(&format!(
        "PVC \"{namespace}/{name}\" requests an exemption from {rule}: {reason}"
    ));
    let how = match grant {
        Some(Grant::Command(command)) => format!("  to grant it:\n  {command}\n"),
        Some(Grant::ConfigurationEntry(entry)) => format!(
            "  no PV can carry it, so only the configuration can grant it, for all of its Namespace; add:\n  {entry}\n"
        ),
        None => {
            let problem = problem.as_deref().unwrap_or_default();
            format!("  it cannot be granted: {problem}; ask its owner to correct it\n")
        }
    };
    format!("{asked}\n{how}")
}
