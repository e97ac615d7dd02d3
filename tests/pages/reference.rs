//! The reference pages of the command line and of rules are what the program prints.

use std::collections::BTreeSet;
use std::fs;

use bindery::rules::RULES;
use bindery::rules::mutations::MUTATIONS;

use super::shell::output;
use super::{expect_current, root};

/// The folder with a page for each rule and mutation, and a table of them.
pub(crate) const RULE_PAGES: &str = "docs/reference/rules";

fn ids() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.id).chain(MUTATIONS.iter().map(|mutation| mutation.id))
}

#[test]
fn reference_pages_are_current() {
    expect_current("docs/reference/cli.md", &output("bindery generate cli"));
    expect_current(&format!("{RULE_PAGES}/README.md"), &output("bindery generate rules"));
    expect_current("docs/reference/metrics.md", &output("bindery generate metrics"));
    for id in ids() {
        expect_current(&format!("{RULE_PAGES}/{id}.md"), &output(&format!("bindery rule {id}")));
    }
}

/// A rule that was renamed leaves no page behind.
#[test]
fn each_page_is_of_a_rule_or_mutation() {
    let expected: BTreeSet<String> =
        ids().chain(["README"]).map(|name| format!("{name}.md")).collect();
    let folder = fs::read_dir(root().join(RULE_PAGES)).expect("the folder can be listed");
    let found: BTreeSet<String> = folder
        .map(|entry| entry.expect("the folder can be listed").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, expected, "delete the page of a rule that is gone; make generate makes one");
}
