//! What a configuration means, and every sentence about a wrong one.

use std::time::Duration;

use jiff::SignedDuration;

use super::{Configuration, KEYS, read};
use crate::model::{ClassName, Deletion, Namespace, TenantLabel, VolumeClass};
use crate::rules::mutations::MUTATIONS;
use crate::rules::{self, Mode, RULES, Switch, TENANT_LABEL, Unlisted};
use crate::trash::{OwnKeep, Retention, ReturnTo};

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
    assert_eq!(good("profile: baseline\nrules:\nmutations:\n"), Configuration::default());
    // Policies need no installation: a tenant could create the account that a webhook's controller has by default.
    let default = good("");
    assert_eq!(
        default.controller_beside_webhook(),
        "system:serviceaccount:bindery:bindery-controller"
    );
    assert_eq!(default.controller_beside_policies(), "system:bindery:no-controller");
}

#[test]
fn every_key_has_its_effect() {
    let read = good(
        "profile: strict\n\
         rules: {modes: {prebind-class: warn, prebind-taken: off},\n\
         \x20 parameters: {maxWaste: 3, unlisted: deny}}\n\
         mutations: {legacy-class: false, delayed-binding: true}\n\
         trusted: {binders: [a], populators: [b, c], provisioners: [d]}\n\
         ownController: d\n\
         exemptions: {maxDuration: 24h}\n",
    );
    let policy = &read.policy;
    assert_eq!(policy.modes["prebind-class"], Mode::Warn);
    assert_eq!(policy.modes["prebind-taken"], Mode::Off);
    assert_eq!(policy.modes["host-path-volume"], Mode::Deny);
    let mutations = [("delayed-binding", Switch::On), ("legacy-class", Switch::Off)];
    assert_eq!(policy.mutations, mutations.map(|(id, switch)| (id.to_owned(), switch)).into());
    assert_eq!(policy.parameters.max_waste.get(), 3);
    assert_eq!(policy.parameters.unlisted, Unlisted::Deny);
    assert_eq!(policy.trusted.binders, ["a"]);
    assert_eq!(policy.trusted.populators, ["b", "c"]);
    assert_eq!(policy.trusted.provisioners, ["d"]);
    assert_eq!(policy.longest_exemption, SignedDuration::from_hours(24));
    assert_eq!(read.controller_beside_webhook(), "d");
    assert_eq!(read.controller_beside_policies(), "d");
}

#[test]
fn the_profile_audit_denies_and_changes_nothing() {
    let policy = good(
        "mutations: {legacy-class: true, tenant-selector: true}\n\
         tenancy: {label: auto}\n\
         trash: {keep: 1h, soft: true}\n\
         profile: audit\n",
    )
    .policy;
    for rule in RULES {
        assert_eq!(policy.mode(rule), Mode::Audit, "{}", rule.id);
    }
    for mutation in MUTATIONS {
        assert_eq!(policy.switch(mutation), Switch::Off, "{}", mutation.id);
    }
    assert_eq!(policy.parameters.tenant_label, TenantLabel::Manual);
    // A rule that is named is an exception from any profile.
    let one = good("profile: audit\nrules: {modes: {prebind-class: deny}}\n").policy;
    assert_eq!(one.modes["prebind-class"], Mode::Deny);
    assert_eq!(one.modes["bound-volume-delete"], Mode::Audit);
    assert_eq!(one.modes.len(), RULES.len());
}

#[test]
fn an_exemption_for_namespaces_is_not_from_a_rule_about_the_cluster() {
    let list = |rule: &str, more: &str| {
        format!(
            "exemptions: {{list: [{{rules: [{rule}], {more}until: 2030-01-31T18:00:00Z, reason: moving}}]}}\n"
        )
    };
    for (rule, more) in [
        ("node-delete-local-data", ""),
        ("namespace-delete-bound-claims", "namespaces: [db], "),
        ("bound-volume-delete", "namespaces: [db], "),
    ] {
        assert_eq!(good(&list(rule, more)).policy.exemptions.len(), 1, "{rule}");
    }
    let message = bad(&list("node-delete-local-data", "namespaces: [db], "));
    assert!(
        message.contains(":3:30: rule node-delete-local-data is about objects without a Namespace"),
        "{message}"
    );
}

#[test]
fn the_profile_warn_denies_nothing_and_the_profile_strict_warns_of_nothing() {
    let [warn, strict] = ["warn", "strict"].map(|name| good(&format!("profile: {name}\n")).policy);
    for rule in RULES {
        let (own, loud) = (rule.mode, [Mode::Deny, Mode::Warn].contains(&rule.mode));
        assert_eq!(warn.mode(rule), if loud { Mode::Warn } else { own }, "{}", rule.id);
        assert_eq!(strict.mode(rule), if loud { Mode::Deny } else { own }, "{}", rule.id);
    }
}

/// A document in which nothing but the key at `path` is set.
fn nested(path: &str, value: &str) -> String {
    path.rsplit('.').fold(value.to_owned(), |value, part| match part.strip_suffix("[]") {
        Some(list) => format!("{{{list}: [{value}]}}"),
        None => format!("{{{part}: {value}}}"),
    })
}

/// A key that the table has and the parser does not read would be ignored.
#[test]
fn every_key_of_the_table_is_read() {
    for key in KEYS {
        let text = nested(key.path, "[[1]]");
        let problems = read(&text, "c.yaml").expect_err("the value is of no key").to_string();
        let name = key.path.rsplit('.').next().unwrap_or_default();
        assert!(problems.contains(&format!("{name} must be ")), "{}: {problems}", key.path);
    }
}

/// Those that stand on the page as a value, not in words.
#[test]
fn every_default_of_the_table_is_the_default() {
    let mut count = 0;
    for key in KEYS.iter().filter(|key| !key.path.contains("[]")) {
        let Some(value) = key.default.and_then(|text| text.strip_prefix('`')?.strip_suffix('`'))
        else {
            continue;
        };
        let text = nested(key.path, value);
        let entries = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        assert_eq!(good(entries.expect("a map")), Configuration::default(), "{}", key.path);
        count += 1;
    }
    assert_eq!(count, 11, "the page has other values");
}

/// The value switches the mutation, the registrations and the controller.
#[test]
fn volumes_are_labelled_where_the_file_says_so() {
    let policy = good("tenancy: {label: auto}\n").policy;
    assert_eq!(policy.parameters.tenant_label, TenantLabel::Auto);
    assert_eq!(policy.mutations, [(TENANT_LABEL.to_owned(), Switch::On)].into());
    for by_hand in ["tenancy: {label: manual}\n", "tenancy: {}\n", "tenancy:\n"] {
        assert_eq!(good(by_hand), Configuration::default(), "{by_hand}");
    }
    let message = bad("tenancy: {label: on, labels: auto}\nmutations: {tenant-label: true}\n");
    insta::assert_snapshot!(message, @r#"
    c.yaml:3:18: tenancy.label must be manual or auto
    c.yaml:3:22: unknown key "labels"; known are label
    c.yaml:4:13: tenant-label is no switch of its own; write tenancy.label: auto
    "#);
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
fn all_problems_are_reported_at_once() {
    let message = bad("profile: loose\n\
         rules:\n  modes:\n    no-such-rule: deny\n    prebind-class: maybe\n  mode: {}\n\
         mutations: {no-such-mutation: 1}\n\
         trusted: {binders: x, others: []}\n\
         ownController: [1]\n\
         exemptions: {maxDuration: -1h}\n\
         rulez: {}\n");
    insta::assert_snapshot!(message, @r#"
    c.yaml:3:10: profile must be audit, warn, baseline or strict
    c.yaml:6:5: unknown rule "no-such-rule"; `bindery rule` lists them
    c.yaml:7:20: mode of prebind-class must be deny, warn, audit or off
    c.yaml:8:3: unknown key "mode"; known are modes, parameters
    c.yaml:9:13: unknown mutation "no-such-mutation"; known are strip-binder-annotations, legacy-class, return-from-trash, tenant-selector, delayed-binding, restore-binding, repair-stale-claim-ref
    c.yaml:9:31: mutation no-such-mutation must be true or false
    c.yaml:10:20: trusted.binders must be a list, not text
    c.yaml:10:23: unknown key "others"; known are binders, populators, provisioners
    c.yaml:11:16: ownController must be text, not a list
    c.yaml:12:27: exemptions.maxDuration must be a time like 168h or 30m
    c.yaml:13:1: unknown key "rulez"; known are apiVersion, kind, profile, rules, mutations, tenancy, overrides, trusted, ownController, exemptions, recycler, trash, moves
    "#);
}

#[test]
fn the_last_settings_of_the_trash_that_match_count_and_those_of_the_volume_most() {
    let trash = good(
        "trash:\n\
         \x20 keep: 72h\n\
         \x20 overrides:\n\
         \x20 - {storageClasses: [scratch], keep: 0s}\n\
         \x20 - {namespaces: [db], soft: true}\n\
         \x20 - {storageClasses: [scratch], namespaces: [db], keep: 1h}\n",
    )
    .trash;
    let retention = |class: &str, namespace, own| {
        trash.retention(VolumeClass::Named(&ClassName::new(class)), namespace, own)
    };
    let hours = SignedDuration::from_hours;
    let (rescue, same_name) = (ReturnTo::Rescue, ReturnTo::SameName);
    let unset = OwnKeep::Unset;
    assert_eq!(retention("fast", "shop", unset), Retention::For(hours(72), rescue));
    assert_eq!(retention("fast", "db", unset), Retention::For(hours(72), same_name));
    assert_eq!(retention("scratch", "shop", unset), Retention::None);
    assert_eq!(retention("scratch", "db", unset), Retention::For(hours(1), same_name));
    let own = OwnKeep::For(hours(2));
    assert_eq!(retention("scratch", "shop", own), Retention::For(hours(2), rescue));
    assert_eq!(retention("fast", "shop", OwnKeep::For(hours(0))), Retention::None);
    assert_eq!(retention("fast", "shop", OwnKeep::Unreadable), Retention::Unreadable);
    insta::assert_snapshot!(bad("trash: {keep: -1h, overrides: [{keep: 3, soft: 1}]}\n"), @r#"
    c.yaml:3:15: keep must be a time like 72h, or 0s
    c.yaml:3:39: keep must be a time like 72h, or 0s
    c.yaml:3:48: soft must be true or false
    "#);
}

#[test]
fn claims_are_given_volumes_of_a_soft_trash_unless_that_is_switched_off() {
    let switch = |rest: &str| good(rest).policy.mutations.get("return-from-trash").copied();
    assert_eq!(switch("trash: {keep: 72h}\n"), None);
    assert_eq!(switch("trash: {keep: 72h, soft: true}\n"), Some(Switch::On));
    let some = "trash: {overrides: [{namespaces: [db], keep: 1h, soft: true}]}\n";
    assert_eq!(switch(some), Some(Switch::On));
    let off = format!("{some}mutations: {{return-from-trash: false}}\n");
    assert_eq!(switch(&off), Some(Switch::Off));
}

#[test]
fn moves_are_resumed_only_after_a_time_that_is_said() {
    assert_eq!(good("").resume_moves_after, None);
    assert_eq!(good("moves: {}\n").resume_moves_after, None);
    let after = good("moves: {resumeAfter: 5m}\n").resume_moves_after;
    assert_eq!(after, Some(Duration::from_mins(5)));
    insta::assert_snapshot!(bad("moves: {resumeAfter: -1m, resume: true}\n"), @r#"
    c.yaml:3:22: resumeAfter must be a time like 5m
    c.yaml:3:27: unknown key "resume"; known are resumeAfter
    "#);
}

#[test]
fn overrides_and_exemptions_are_read_in_order() {
    let policy = good(
        "overrides:\n\
         - {namespaceSelector: {matchLabels: {team: qa}}, rules: {prebind-class: off}}\n\
         - namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [qa, db]}]}\n\
         \x20 rules: {prebind-class: warn, prebind-taken: audit}\n\
         exemptions:\n\
         \x20 list:\n\
         \x20 - {rules: [prebind-class], users: [jane], until: \"2030-01-31T18:00:00Z\", reason: why}\n",
    )
    .policy;
    let namespace = |team: &str| Namespace {
        name: "a".into(),
        labels: [("team", team)].into_iter().collect(),
        deletion: Deletion::NotAsked,
    };
    let mode =
        |team: &str, id: &str| policy.mode_in(&namespace(team), rules::find(id).expect("a rule"));
    assert_eq!(mode("qa", "prebind-class"), Mode::Warn, "the last that matches counts");
    assert_eq!(mode("db", "prebind-taken"), Mode::Audit);
    assert_eq!(mode("x", "prebind-class"), Mode::Deny);
    let [exemption] = policy.exemptions.as_slice() else { panic!("one exemption") };
    assert_eq!(
        (&*exemption.rules, &*exemption.users),
        (&["prebind-class".into()][..], &["jane".into()][..])
    );
    assert_eq!(
        (exemption.until.to_string(), &*exemption.reason),
        ("2030-01-31T18:00:00Z".to_owned(), "why")
    );
}

#[test]
fn a_wrong_override_or_exemption_is_reported_with_its_place() {
    let message = bad("overrides:\n\
         - {rules: {no-such-rule: deny}}\n\
         - {namespaceSelector: {}, rules: {prebind-class: maybe}}\n\
         - namespaceSelector: {matchLabels: {team: 1}, matchExpressions: [{key: a, operator: Near}, {}]}\n\
         \x20 rules: {}\n\
         - x\n\
         exemptions:\n\
         \x20 list:\n\
         \x20 - {rules: [protection-finalizer, none], until: tomorrow, who: me}\n\
         rules: {parameters: {maxWaste: 0, unlisted: maybe, more: 1}}\n");
    insta::assert_snapshot!(message, @r#"
    c.yaml:4:3: an entry of overrides needs namespaceSelector
    c.yaml:4:12: unknown rule "no-such-rule"; `bindery rule` lists them
    c.yaml:5:23: namespaceSelector selects every namespace; name a label, or use rules.modes
    c.yaml:5:50: mode of prebind-class must be deny, warn, audit or off
    c.yaml:6:43: the value of a label must be text, not a number; quote it
    c.yaml:6:66: "Near" is not an operator of the term on "a"; use one of In, NotIn, Exists, DoesNotExist
    c.yaml:6:92: an entry of matchExpressions needs key and operator
    c.yaml:8:3: an entry of overrides must be a map, not text
    c.yaml:11:5: an entry of exemptions.list needs reason
    c.yaml:11:14: rule protection-finalizer knows no exemption; leave it out
    c.yaml:11:36: unknown rule "none"; `bindery rule` lists them
    c.yaml:11:50: until must be a time like 2030-01-31T18:00:00Z
    c.yaml:11:60: unknown key "who"; known are rules, namespaces, users, until, reason
    c.yaml:12:32: rules.parameters.maxWaste must be a whole number above 0: how many times as large as its claim a volume may be
    c.yaml:12:45: rules.parameters.unlisted must be allow or deny
    c.yaml:12:52: unknown key "more"; known are maxWaste, unlisted
    "#);
}

#[test]
fn a_sentence_is_one_line_whatever_of_the_file_it_repeats() {
    let key = format!("a\\n{}", "b".repeat(800));
    let message = bad(&format!(
        "rules: {{modes: {{\"{key}\": deny}}}}\nmutations: {{\"{key}\": 1}}\n\"{key}\": 1\n"
    ));
    assert_eq!(message.lines().count(), 4, "{message}");
    assert!(message.lines().all(|line| line.chars().count() < 550), "{message}");
    assert!(message.contains("b…\"; known are apiVersion, "), "{message}");
}

#[test]
fn another_kind_or_none_or_two_are_rejected() {
    let message = |text| read(text, "c.yaml").expect_err("it does not read").to_string();
    assert_eq!(
        message("kind: Pod\n"),
        "c.yaml:1:1: apiVersion must be bindery.dev/v1\nc.yaml:1:1: kind must be Config"
    );
    assert_eq!(message(""), "c.yaml:1:1: 0 documents instead of one; keep one");
    assert_eq!(message("a: 1\n---\nb: 1\n"), "c.yaml:3:1: 2 documents instead of one; keep one");
    assert_eq!(
        message("- 1\n").lines().last(),
        Some("c.yaml:1:1: the configuration must be a map, not a list")
    );
    assert!(message("a: [\n").starts_with("c.yaml:"));
}
