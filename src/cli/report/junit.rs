//! A report as `JUnit` XML, as build servers read it: a test case for every object that was judged.
//!
//! A denial is a failure; an unverified object is skipped; other findings are in the output of the case. Times are left
//! out, so that the same input gives the same bytes.

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{Finding, FindingResult, JudgedObject, Report};
use crate::cli::exit::Failure;
use crate::cli::render::unprintable;

/// The report as XML.
pub(super) fn junit(report: &Report) -> Result<String, Failure> {
    let mut suite = TestSuite::new("bindery");
    suite.add_test_cases(report.objects.iter().map(|object| case(object, report)));
    let mut suites = quick_junit::Report::new("bindery");
    suites.add_test_suite(suite);
    let text = suites.to_string().map_err(|error| unprintable(&error))?;
    Ok(text.trim_end().to_owned() + "\n")
}

fn case(object: &JudgedObject, report: &Report) -> TestCase {
    let findings = report.findings.get(object.findings.clone()).unwrap_or_default();
    let gravest =
        findings.iter().map(|finding| finding.result).max().unwrap_or(FindingResult::Clean);
    let mut status = if gravest.is_denial() {
        TestCaseStatus::non_success(NonSuccessKind::Failure)
    } else if gravest == FindingResult::Unverified {
        TestCaseStatus::skipped()
    } else {
        TestCaseStatus::success()
    };
    let is_success = matches!(status, TestCaseStatus::Success { .. });
    let first = findings.iter().find(|finding| finding.result == gravest);
    if let Some(first) = first.filter(|_| !is_success) {
        status.set_message(first.message.clone());
        status.set_type(first.rule.clone().unwrap_or_else(|| gravest.to_string()));
    }
    if gravest.is_denial() {
        status.set_description(lines(findings));
    }
    let mut case = TestCase::new(format!("{} {}", object.operation, object.object), status);
    // Build servers group by class, and some reject a report without one.
    case.set_classname(object.file.as_deref().unwrap_or("bindery"));
    if is_success && !findings.is_empty() {
        case.set_system_out(lines(findings));
    }
    case
}

/// All findings, a line each.
fn lines(findings: &[Finding]) -> String {
    let line =
        |finding: &Finding| format!("{}: {}: {}", finding.place(), finding.result, finding.message);
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}
