//! These tests as a user runs them who is not root: in a user namespace, or with a sentence where that is not
//! allowed either.

use std::env;
use std::process::{Command, Output, Stdio};

use crate::network::{AS_MAPPED_ROOT, MAPPED_ROOT, MARK, expect_own};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] =
    &[case!(a_user_namespace_is_enough), case!(where_nothing_is_allowed_a_case_says_so)];

fn a_user_namespace_is_enough() {
    expect_own();
    let is_allowed =
        Command::new("unshare").args(MAPPED_ROOT).arg("true").stderr(Stdio::null()).status();
    if !is_allowed.is_ok_and(|status| status.success()) {
        println!("no user namespace is allowed here: not shown");
        return;
    }
    let output = again(MAPPED_ROOT, AS_MAPPED_ROOT);
    assert!(output.status.success(), "{}", reported(&output));
    assert!(reported(&output).contains("test result: ok. 1 passed"), "{}", reported(&output));
}

fn where_nothing_is_allowed_a_case_says_so() {
    expect_own();
    let output = again(&["--net"], "neither");
    assert!(!output.status.success(), "{}", reported(&output));
    assert!(reported(&output).contains("no network can be made"), "{}", reported(&output));
}

/// Runs the installation once more, in namespaces of these kinds and with what the tests would make of them.
fn again(namespaces: &[&str], mark: &str) -> Output {
    Command::new("unshare")
        .args(namespaces)
        .arg("--")
        .arg(env::current_exe().expect("the system knows its programs"))
        .args(["--strict", "--exact", "installation::install::helm_installs_what_denies"])
        .env(MARK, mark)
        .output()
        .expect("unshare is there: with it this network was made")
}

fn reported(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}
