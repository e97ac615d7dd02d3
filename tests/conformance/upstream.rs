//! Which cases there are: the list of Kubernetes' own tests, against which the data files are held.
//!
//! `upstream.txt` is what `upstream.py` prints from Kubernetes' sources: a test function, then the
//! number or the name of one of its cases; of tables that are not about binding, how many.

use std::collections::{BTreeMap, BTreeSet};

use crate::cases::Source;

const LIST: &str = include_str!("upstream.txt");

/// The cases that a data file has, as the list names them: `*` and what follows it is a case of a function
/// that names none.
pub(crate) fn listed(source: &Source) -> Vec<String> {
    let of = |test: &str, case: &str| {
        format!("{test} {}", if case.starts_with('*') { "*" } else { case })
    };
    let cases = source.listed().map(|case| of(case.test, case.number));
    let elsewhere = source.elsewhere.iter();
    let elsewhere = elsewhere.map(|table| format!("{}: {} cases", table.test, table.cases));
    cases.chain(elsewhere).collect()
}

/// Returns what is on one list more often than on the other.
pub(crate) fn missing(listed: &[String]) -> Vec<String> {
    let (expected, found) = (counted(LIST.lines()), counted(listed.iter().map(String::as_str)));
    let cases: BTreeSet<&str> = expected.keys().chain(found.keys()).copied().collect();
    let count = |of: &BTreeMap<&str, usize>, case: &str| of.get(case).copied().unwrap_or_default();
    let differing = cases.into_iter().filter(|case| count(&expected, case) != count(&found, case));
    let reported = differing.map(|case| {
        let (expected, found) = (count(&expected, case), count(&found, case));
        format!("{case}: {expected} in Kubernetes, {found} in the data")
    });
    reported.collect()
}

/// Returns how often each case is listed. A function that names no case may have any number of them.
fn counted<'a>(cases: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for case in cases {
        let count: &mut usize = counts.entry(case).or_default();
        *count = if case.ends_with(" *") { 1 } else { *count + 1 };
    }
    counts
}
