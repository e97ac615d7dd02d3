//! What a configuration means, and every sentence about a wrong one.

use jiff::SignedDuration;

use super::{Configuration, read};
use crate::rules::{Mode, RULES};

const HEAD: &str = "apiVersion: bindery.dev/v1\nkind: Config\n";

fn good(rest: &str) -> Configuration {
    read(&format!("{HEAD}{rest}"), "c.yaml").expect("it reads")
}

fn bad(rest: &str) -> String {
    read(&format!("{HEAD}{rest}"), "c.yaml").expect_err("it does not read").to_string()
}

#[test]
fn an_empty_configuration_is_the_default() {
    assert_eq!(good(""), Configuration::default());
    assert_eq!(good("profile: baseline\nrules:\nedits:\n"), Configuration::default());
}

#[test]
fn every_key_has_its_effect() {
    let read = good(
        "profile: audit\n\
         rules: {modes: {prebind-class: deny, prebind-taken: off}}\n\
         edits: {legacy-class: false, delayed-binding: true}\n\
         trusted: {binders: [a], populators: [b, c]}\n\
         ownController: d\n\
         exemptions: {maxDuration: 24h}\n",
    );
    let policy = &read.policy;
    assert_eq!(policy.modes["prebind-class"], Mode::Deny);
    assert_eq!(policy.modes["prebind-taken"], Mode::Off);
    assert_eq!(policy.modes["bound-volume-delete"], Mode::Audit);
    assert_eq!(policy.modes.len(), RULES.len());
    assert_eq!(policy.edits_off.iter().collect::<Vec<_>>(), ["legacy-class"]);
    assert_eq!(policy.trusted_binders, ["a"]);
    assert_eq!(policy.trusted_populators, ["b", "c"]);
    assert_eq!(policy.longest_exemption, SignedDuration::from_hours(24));
    assert_eq!(read.own_controller, "d");
}

#[test]
fn strict_turns_warnings_into_denials() {
    let policy = good("profile: strict\n").policy;
    for rule in RULES {
        let expected = if rule.mode == Mode::Warn { Mode::Deny } else { rule.mode };
        assert_eq!(policy.mode(rule), expected, "{}", rule.id);
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let told = bad("profile: loose\n\
         rules:\n  modes:\n    no-such-rule: deny\n    prebind-class: maybe\n  mode: {}\n\
         edits: {no-such-edit: 1}\n\
         trusted: {binders: x, others: []}\n\
         ownController: [1]\n\
         exemptions: {maxDuration: -1h}\n\
         rulez: {}\n");
    insta::assert_snapshot!(told, @r#"
    c.yaml:3:10: profile must be audit, baseline or strict
    c.yaml:6:5: unknown rule "no-such-rule"; `bindery rule` lists them
    c.yaml:7:20: mode of prebind-class must be deny, warn, audit or off
    c.yaml:8:3: unknown key "mode"; known are modes
    c.yaml:9:9: unknown edit "no-such-edit"; known are strip-binder-annotations, legacy-class, delayed-binding, restore-binding
    c.yaml:9:23: edit no-such-edit must be true or false
    c.yaml:10:20: trusted.binders must be a list of user names, not text
    c.yaml:10:23: unknown key "others"; known are binders, populators
    c.yaml:11:16: ownController must be text, not a list
    c.yaml:12:27: exemptions.maxDuration must be a time like 168h or 30m
    c.yaml:13:1: unknown key "rulez"; known are apiVersion, kind, profile, rules, edits, trusted, ownController, exemptions, recycler
    "#);
}

#[test]
fn another_kind_or_none_or_two_are_refused() {
    let told = |text| read(text, "c.yaml").expect_err("it does not read").to_string();
    assert_eq!(
        told("kind: Pod\n"),
        "c.yaml:1:1: apiVersion must be bindery.dev/v1\nc.yaml:1:1: kind must be Config"
    );
    assert_eq!(told(""), "c.yaml:1:1: 0 documents instead of one; keep one");
    assert_eq!(told("a: 1\n---\nb: 1\n"), "c.yaml:3:1: 2 documents instead of one; keep one");
    assert_eq!(
        told("- 1\n").lines().last(),
        Some("c.yaml:1:1: the configuration must be a map, not a list")
    );
    assert!(told("a: [\n").starts_with("c.yaml:"));
}
