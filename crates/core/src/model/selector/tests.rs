//! Selectors by Kubernetes' table of operators, and the spellings that make no term.

use proptest::prelude::*;

use super::{Labels, Selector, Term, TermError};

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

fn term(key: &str, operator: &str, values: &[&str]) -> Term {
    Term::new(key, operator, values.iter().copied()).unwrap()
}

#[test]
fn each_operator_asks_its_question() {
    let fast = labels(&[("tier", "fast")]);
    let slow = labels(&[("tier", "slow")]);
    let empty = labels(&[("tier", "")]);
    let none = labels(&[("tiers", "fast")]);
    for (term, on_fast, on_slow, on_empty, on_none) in [
        (term("tier", "In", &["fast"]), true, false, false, false),
        (term("tier", "In", &["slow", "fast"]), true, true, false, false),
        (term("tier", "In", &[""]), false, false, true, false),
        (term("tier", "NotIn", &["fast"]), false, true, true, true),
        (term("tier", "NotIn", &["fast", "", "slow"]), false, false, false, true),
        (term("tier", "Exists", &[]), true, true, true, false),
        (term("tier", "DoesNotExist", &[]), false, false, false, true),
        (Term::equals("tier", "fast").unwrap(), true, false, false, false),
    ] {
        let answers = [&fast, &slow, &empty, &none].map(|labels| term.matches(labels));
        assert_eq!(answers, [on_fast, on_slow, on_empty, on_none], "{term}");
    }
}

#[test]
fn a_selector_without_terms_matches_everything() {
    assert!(Selector::default().matches(&Labels::default()));
    assert!(Selector::default().matches(&labels(&[("tier", "fast")])));
}

#[test]
fn names_the_first_term_that_fails() {
    let terms = vec![
        term("tier", "In", &["fast"]),
        term("zone", "In", &["a", "b"]),
        term("retired", "DoesNotExist", &[]),
    ];
    let selector = Selector::new(terms.clone());
    for (labels, unmatched) in [
        (labels(&[("tier", "fast"), ("zone", "b")]), None),
        (labels(&[("tier", "fast"), ("zone", "c"), ("retired", "")]), Some(&terms[1])),
        (labels(&[("tier", "fast"), ("zone", "a"), ("retired", "")]), Some(&terms[2])),
        (labels(&[]), Some(&terms[0])),
    ] {
        assert_eq!(selector.first_unmatched(&labels), unmatched);
        assert_eq!(selector.matches(&labels), unmatched.is_none());
    }
    assert_eq!(selector.terms(), terms);
}

#[test]
fn displays_as_kubectl_takes_it() {
    for (term, text) in [
        (term("tier", "In", &["fast"]), "tier=fast"),
        (term("tier", "In", &["slow", "fast", "slow"]), "tier in (fast,slow)"),
        (term("tier", "NotIn", &["slow"]), "tier!=slow"),
        (term("tier", "NotIn", &["slow", "cold"]), "tier notin (cold,slow)"),
        (term("example.com/tier", "Exists", &[]), "example.com/tier"),
        (term("tier", "DoesNotExist", &[]), "!tier"),
    ] {
        assert_eq!(term.to_string(), text);
    }
}

#[test]
fn rejects_what_kubernetes_rejects() {
    let rejected = |operator: &str, values: &[&str]| {
        Term::new("tier", operator, values.iter().copied()).unwrap_err()
    };
    let no_values =
        |operator: &str| TermError::NoValues { key: "tier".into(), operator: operator.into() };
    assert_eq!(rejected("In", &[]), no_values("In"));
    assert_eq!(rejected("NotIn", &[]), no_values("NotIn"));
    for operator in ["Exists", "DoesNotExist"] {
        let (key, operator_name) = ("tier".into(), operator.into());
        let error = TermError::UnexpectedValues { key, operator: operator_name };
        assert_eq!(rejected(operator, &["a"]), error);
    }
    for operator in ["", "in", "Gt", "Equals"] {
        let error = rejected(operator, &["1"]);
        assert!(matches!(error, TermError::UnknownOperator { .. }), "{operator}: {error}");
    }
    insta::assert_snapshot!(
        rejected("in", &["fast"]),
        @r#""in" is not an operator of the term on "tier"; use one of In, NotIn, Exists, DoesNotExist"#
    );
}

#[test]
fn knows_which_keys_and_values_labels_can_have() {
    let long = |length: usize| "a".repeat(length);
    for (key, valid) in [
        ("tier", true),
        ("Tier_1.x-y", true),
        ("1", true),
        (&*long(63), true),
        (&*long(64), false),
        ("", false),
        ("-tier", false),
        ("tier.", false),
        ("ti er", false),
        ("tiér", false),
        ("example.com/tier", true),
        (&*format!("{}/tier", long(253)), true),
        (&*format!("{}/tier", long(254)), false),
        ("Example.com/tier", false),
        ("example..com/tier", false),
        ("-example.com/tier", false),
        ("example.com-/tier", false),
        ("/tier", false),
        ("example.com/", false),
        ("example.com/a/b", false),
    ] {
        let expected = if valid { Ok(()) } else { Err(TermError::InvalidKey(key.into())) };
        assert_eq!(Term::new(key, "Exists", [""; 0]).map(|_| ()), expected);
    }
    for (value, valid) in
        [("", true), ("a", true), ("A_b-c.9", true), ("-5", false), ("a b", false), ("a/b", false)]
    {
        let (key, bad) = ("tier".into(), value.into());
        let expected =
            if valid { Ok(()) } else { Err(TermError::InvalidValue { key, value: bad }) };
        assert_eq!(Term::equals("tier", value).map(|_| ()), expected);
    }
    assert!(Term::equals("tier", &long(63)).is_ok() && Term::equals("tier", &long(64)).is_err());
}

#[test]
fn labels_are_found_by_key_and_listed_in_order() {
    let labels = labels(&[("zone", "a"), ("tier", "")]);
    assert_eq!(labels.get("tier"), Some(""));
    assert_eq!(labels.get("Tier"), None);
    assert_eq!(labels.iter().collect::<Vec<_>>(), [("tier", ""), ("zone", "a")]);
}

proptest! {
    #[test]
    fn opposite_operators_give_opposite_answers(
        values in proptest::collection::vec("[a-d]", 1..4),
        value in proptest::option::of("[a-d]"),
    ) {
        let labels: Labels = value.iter().map(|value| ("tier", value.as_str())).collect();
        let ask = |operator, values: &[String]| {
            Term::new("tier", operator, values.iter().map(String::as_str)).unwrap().matches(&labels)
        };
        prop_assert_eq!(ask("In", &values), value.is_some_and(|value| values.contains(&value)));
        prop_assert_ne!(ask("In", &values), ask("NotIn", &values));
        prop_assert_ne!(ask("Exists", &[]), ask("DoesNotExist", &[]));
    }
}
