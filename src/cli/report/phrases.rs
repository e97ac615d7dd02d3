//! Phrases that a report as text and as a page have in common.

use super::Finding;

/// The problem of a finding with its consequence; then the fix and how to override a denial, a line each.
pub(super) fn parts(finding: &Finding) -> (&str, Vec<String>) {
    let fix = finding.fix.as_deref().unwrap_or_default();
    match finding.message.split_once(&format!("; {fix}")) {
        Some((problem, rest)) if !fix.is_empty() => {
            let others = rest.trim_start_matches("; ").lines().filter(|line| !line.is_empty());
            let fix = std::iter::once(format!("fix: {fix}"));
            (problem, fix.chain(others.map(str::to_owned)).collect())
        }
        Some(_) | None => (&finding.message, Vec::new()),
    }
}
