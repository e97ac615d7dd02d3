//! The bounds of what is parsed of one object: what is whole, what is cut, what is an error.

use super::collections::{ATTACHERS_COUNT_MAX, FAMILY_BYTES, NEWER_MODES_COUNT_MAX};
use super::*;
use crate::model::annotations::{
    ATTACHER_PREFIX, CLAIM_PROTECTION, LAST_APPLIED, PROVISIONED_BY, SELECTED_NODE,
    VOLUME_PROTECTION,
};
use crate::model::{AccessMode, AccessModes, Annotations, Finalizers};

/// Entries of one letter that fit into an allowance.
const MAX: usize = ALLOWANCE_BYTES / (ENTRY_BYTES + 1);

wire! {
    #[derive(Debug)]
    struct Sample<'a> {
        list: List<Text<'a>> = "list",
        section: Section<List<Text<'a>>> = "section",
        modes: AccessModes = "modes",
        nested: List<Sample<'a>> = "nested",
        finalizers: Finalizers = "finalizers",
        annotations: Annotations = "annotations",
        labels: ReadLabels = "labels",
        terms: MatchLabels = "terms",
    }
}

fn sample(text: &str) -> Bounded<Sample<'static>> {
    parse(text.to_owned().leak(), LabelUse::Skip).unwrap()
}

fn error(text: &str) -> String {
    parse::<Sample<'_>>(text, LabelUse::Collect).unwrap_err().to_string()
}

fn list(count: usize) -> String {
    format!("[{}]", vec!["\"a\""; count].join(","))
}

/// A map of `count` entries whose keys begin with `prefix`.
fn map(count: usize, prefix: &str) -> String {
    let entries: Vec<String> =
        (0..count).map(|number| format!("\"{prefix}{number}\":\"v\"")).collect();
    format!("{{{}}}", entries.join(","))
}

#[test]
fn an_object_that_uses_up_its_allowance_is_whole_and_what_comes_then_is_left_out() {
    let exactly = sample(&format!(r#"{{"list":{}}}"#, list(MAX)));
    assert_eq!((exactly.value.list.0.len(), exactly.is_cut), (MAX, false));
    let more = sample(&format!(r#"{{"list":{}}}"#, list(MAX + 1)));
    assert!(more.is_cut && more.value.list.0.len() <= MAX);
}

/// Neither takes anything from the other, in whatever order they stand.
#[test]
fn a_section_is_bounded_by_itself() {
    for (count, is_cut) in [(300, false), (40_000, true)] {
        let section = format!(r#""section":{}"#, list(count));
        let rest = format!(r#""list":{}"#, list(MAX));
        for text in [format!("{{{section},{rest}}}"), format!("{{{rest},{section}}}")] {
            let read = sample(&text);
            let Section { value: List(kept), is_cut: section_is_cut } = &read.value.section;
            assert_eq!((*section_is_cut, kept.len() < count), (is_cut, is_cut));
            assert!(kept.len() >= 300);
            assert_eq!((read.value.list.0.len(), read.is_cut), (MAX, false));
        }
    }
}

/// Long texts are paid for by what is collected after them.
#[test]
fn no_list_of_long_texts_takes_more_than_the_allowance() {
    let text = format!("\"{}\"", "a".repeat(1_000));
    let read = sample(&format!(r#"{{"list":[{}]}}"#, vec![text; 2_000].join(",")));
    let kept: usize = read.value.list.0.iter().map(|text| text.0.len()).sum();
    assert!(read.is_cut && (ALLOWANCE_BYTES / 2..=ALLOWANCE_BYTES).contains(&kept), "{kept}");
}

/// As many others as the API server accepts, and more: 256 KiB of the shortest keys of a family.
#[test]
fn annotations_are_read_by_their_key_however_many_others_there_are() {
    for count in [9_999, 40_000] {
        let others: Vec<String> =
            (0..count).map(|number| format!("\"pv.kubernetes.io/{number:05}\":\"1234\"")).collect();
        let text = format!(
            r#"{{"list":{},"annotations":{{{},"{SELECTED_NODE}":"a","{PROVISIONED_BY}":"b"}}}}"#,
            list(MAX),
            others.join(",")
        );
        let read = sample(&text);
        let annotations = &read.value.annotations;
        assert_eq!(annotations.get(SELECTED_NODE), Some("a"));
        assert_eq!(annotations.get(PROVISIONED_BY), Some("b"));
        let kept: usize =
            annotations.with_prefix("").map(|(key, value)| key.len() + value.len()).sum();
        assert!((FAMILY_BYTES / 4..=FAMILY_BYTES).contains(&kept), "{kept}");
        assert_eq!((read.value.list.0.len(), read.is_cut), (MAX, false));
    }
}

#[test]
fn plain_finalizers_are_kept_however_many_others_there_are() {
    let attachers: Vec<String> =
        (0..=MAX).map(|number| format!("\"external-attacher/{number}\"")).collect();
    let attachers = attachers.join(",");
    let text = format!(
        r#"{{"list":{},"finalizers":["x",{attachers},"{VOLUME_PROTECTION}","{CLAIM_PROTECTION}"]}}"#,
        list(MAX + 1)
    );
    let read = sample(&text);
    let plain = |name: &&str| !name.starts_with(ATTACHER_PREFIX);
    let kept: Vec<&str> = read.value.finalizers.iter().filter(plain).collect();
    assert_eq!(kept, [VOLUME_PROTECTION, CLAIM_PROTECTION]);
    assert_eq!(read.value.finalizers.iter().count(), 2 + ATTACHERS_COUNT_MAX);
}

#[test]
fn access_modes_are_kept_once_each() {
    let text = format!(
        r#"{{"modes":[{}"ReadWriteOnce",{}]}}"#,
        "\"ReadOnlyMany\",".repeat(40_000),
        (0..100).map(|number| format!("\"Newer{number}\"")).collect::<Vec<_>>().join(",")
    );
    let read = sample(&text);
    let modes = &read.value.modes;
    assert!(modes.has(AccessMode::ReadOnlyMany) && modes.has(AccessMode::ReadWriteOnce));
    assert!(modes.count() <= 2 + NEWER_MODES_COUNT_MAX);
}

#[test]
fn what_nothing_reads_costs_no_allowance() {
    let text = format!(
        r#"{{"labels":{},"annotations":{},"finalizers":{},"list":{}}}"#,
        map(30_000, "l"),
        map(30_000, "a"),
        list(30_000),
        list(MAX)
    );
    let read = sample(&text);
    assert_eq!((read.value.list.0.len(), read.is_cut), (MAX, false));
    assert_eq!(read.value.labels.0.iter().count(), 0);
}

#[test]
fn text_is_cut_between_letters_and_keeps_its_length() {
    let text = |text: &str| read_text(&serde_json::to_string(text).unwrap());
    assert_eq!(text(&"a".repeat(1_024)), "a".repeat(1_024));
    assert_eq!(text(&"a".repeat(1_025)), format!("{}… (1025 bytes)", "a".repeat(1_024)));
    assert_eq!(text(&"é".repeat(513)), format!("{}… (1026 bytes)", "é".repeat(512)));
    assert_eq!(
        text(&format!("a{}", "é".repeat(512))),
        format!("a{}… (1025 bytes)", "é".repeat(511))
    );
}

fn read_text(json: &str) -> String {
    let list = format!(r#"{{"list":[{json}]}}"#);
    parse::<Sample<'_>>(&list, LabelUse::Skip).unwrap().value.list.0.remove(0).0.into_owned()
}

#[test]
fn keys_that_are_read_may_not_be_there_twice() {
    let key = "pv.kubernetes.io/bound-by-controller";
    let text = format!(r#"{{"annotations":{{"{key}":"a","b":"1","b":"2","{key}":"a"}}}}"#);
    assert!(error(&text).starts_with(&format!("duplicate key `{key}` at line 1 column ")));
    assert!(error(r#"{"labels":{"a":"1","a":"1"}}"#).starts_with("duplicate key `a` at "));
    assert!(error(r#"{"terms":{"a":"1","a":"1"}}"#).starts_with("duplicate key `a` at "));
    assert!(error(r#"{"list":[],"list":[]}"#).starts_with("duplicate field `list` at "));
    let unread = r#"{"labels":{"a":"1","a":"1"},"annotations":{"a":1,"a":2},"x":1,"x":2}"#;
    assert!(!sample(unread).is_cut);
}

#[test]
fn a_list_in_place_of_a_map_is_an_error() {
    assert!(error("[[]]").starts_with("invalid type: sequence, expected a map at "));
    assert!(error(r#"{"nested":[[]]}"#).starts_with("invalid type: sequence, expected a map at "));
}

#[test]
fn of_the_last_applied_manifest_only_its_presence_is_kept() {
    let read = sample(&format!(r#"{{"annotations":{{"{LAST_APPLIED}":"{{}}"}}}}"#));
    assert_eq!(read.value.annotations.get(LAST_APPLIED), Some(""));
}

/// The longest reason names what was expected; a key is on one line.
#[test]
fn a_reason_does_not_repeat_a_long_value() {
    let long = "b\\n".repeat(100_000);
    let message = error(&format!(r#"{{"nested":["{long}"]}}"#));
    assert!(message.starts_with(r#"invalid type: string "b\nb\n"#), "{message}");
    assert!(message.ends_with(r#"b\n", expected a map at line 1 column 300013"#), "{message}");
    assert!(message.chars().count() < 300, "{message}");
    let key = r"a\n\u001b[31m";
    let message = error(&format!(r#"{{"terms":{{"{key}":"1","{key}":"1"}}}}"#));
    assert!(message.starts_with(r"duplicate key `a\n\u{1b}[31m` at "), "{message}");
}
