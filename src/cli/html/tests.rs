//! The page itself: it is well-formed, nothing in it comes from elsewhere, and no text becomes an element.

use std::panic::AssertUnwindSafe;

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use uppsala::{Document, NodeKind};

use super::bars::bytes;
use super::rows::ROWS_MAX;
use super::{BarChart, DrawnPair, FilteredTable, HtmlPage, Markup, PairLine, Tone};

/// Texts that would be something else than text if they were not escaped.
const HOSTILE: [&str; 12] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "<!-- ",
    "]]><![CDATA[",
    "&lt;b&gt;&#60;b&#62;",
    "a\u{0}b\u{1b}[31m\u{202e}c\u{fffe}d\u{ffff}\u{7f}",
    "one\ntwo\r\nthree\tfour",
    "</td></tr></table></main><iframe srcdoc='x'>",
];

/// Elements that a page may have.
const ELEMENTS: [&str; 49] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "script",
    "body",
    "a",
    "header",
    "h1",
    "h2",
    "h3",
    "p",
    "ul",
    "li",
    "strong",
    "small",
    "nav",
    "main",
    "section",
    "footer",
    "time",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "rect",
    "form",
    "label",
    "input",
    "select",
    "option",
    "output",
    "span",
    "b",
    "code",
    "pre",
    "div",
    "h4",
    "ol",
    "dl",
    "dt",
    "dd",
    "figure",
    "figcaption",
];

/// Fails unless every text that `page` is given arrives as that text, and as nothing else.
///
/// `page` puts the text into every field that holds text of a cluster.
#[track_caller]
pub(in crate::cli) fn expect_texts_stay_texts(page: impl Fn(&str) -> String) {
    let plain = shape(&page("plain text"));
    let law = |text: String| {
        let page = page(&text);
        prop_assert_eq!(shape(&page), plain.clone());
        let document = uppsala::parse(&page).expect("a well-formed page");
        let shown = document.text_content_deep(document.root());
        prop_assert!(shown.contains(&readable(&text)), "{text:?} is not on the page");
        Ok(())
    };
    for text in HOSTILE {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| law(text.to_owned())));
        assert!(matches!(outcome, Ok(Ok(()))), "{text:?}: {outcome:?}");
    }
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(20_261_128);
    }
    // A letter first: an amount, a name without a namespace and an empty text have a place of their own on a page.
    let values = "text [<>&\"'a-z/;=\\[\\]\\PC\\n\\r\\t\u{0}\u{202e}]{0,24}";
    if let Err(failure) = TestRunner::new(config).run(&values, law) {
        panic!("{failure}");
    }
}

/// A text as a reader sees it.
fn readable(text: &str) -> String {
    let text = crate::cli::output::readable(text);
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// The elements of a page with the names of their attributes, in order. Fails where a page is not well-formed, loads
/// anything, or holds a script that is not its own.
#[track_caller]
pub(in crate::cli) fn shape(page: &str) -> Vec<String> {
    let document = uppsala::parse(page).unwrap_or_else(|error| panic!("{error}\n{page}"));
    let nodes = document.descendants(document.root());
    let mut scripts = 0;
    let shape = nodes.into_iter().filter_map(|node| match document.node_kind(node) {
        Some(NodeKind::Element(element)) => {
            let name = &*element.name.local_name;
            assert!(ELEMENTS.contains(&name), "<{name}> has no place in a report");
            if name == "script" {
                scripts += 1;
                let text = document.text_content_deep(node);
                assert_eq!(text, include_str!("page.js"), "another script");
            }
            let attributes = element.attributes.iter().map(|attribute| {
                let (name, value) = (&*attribute.name.local_name, &*attribute.value);
                expect_inert(name, value);
                name.to_owned()
            });
            Some(format!("{name} {}", attributes.collect::<Vec<_>>().join(" ")))
        }
        Some(NodeKind::Comment(_) | NodeKind::ProcessingInstruction(_) | NodeKind::CData(_)) => {
            panic!("something else than elements and text is on the page")
        }
        Some(NodeKind::Document | NodeKind::Text(_) | NodeKind::Attribute(..)) | None => None,
    });
    let shape = shape.collect();
    assert_eq!(scripts, 1);
    expect_links(&document);
    shape
}

/// Fails where an attribute runs something or leads out of the page.
#[track_caller]
fn expect_inert(name: &str, value: &str) {
    assert!(!name.starts_with("on"), "{name} runs a script");
    assert!(!["src", "srcset", "srcdoc", "style", "action", "data"].contains(&name), "{name}");
    assert!(name != "href" || value.starts_with('#'), "{value} leads out of the page");
}

/// Fails where a link leads to nothing, or two elements have one id.
#[track_caller]
fn expect_links(document: &Document<'_>) {
    let nodes = document.descendants(document.root());
    let all = |name: &str| {
        let values = nodes.iter().filter_map(|node| document.get_attribute(*node, name));
        values.map(str::to_owned).collect::<Vec<String>>()
    };
    let mut ids = all("id");
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id is twice on the page: {ids:?}");
    for link in
        all("href").into_iter().chain(all("aria-labelledby").into_iter().map(|id| format!("#{id}")))
    {
        assert!(ids.iter().any(|id| link[1..] == **id), "{link} leads to nothing");
    }
    for table in all("data-table") {
        assert!(ids.contains(&table), "the filters of {table} have no table");
    }
}

fn text_of(markup: &Markup) -> String {
    markup.clone().into_string()
}

#[test]
fn a_page_keeps_texts_as_texts() {
    expect_texts_stay_texts(|text| {
        let mut page = HtmlPage::new("Test", text);
        page.tile(Tone::Error, text, text);
        let mut table = FilteredTable::new("claims", "rows", &["a"], &["Value"]);
        let pair =
            DrawnPair { claim: Some(text), volume: None, line: PairLine::Coming, state: text };
        table.row(&[text], &[pair.markup()]);
        table.row(&["other"], &[Markup::of(text)]);
        let mut chart = BarChart::new("chart", "group", &["amount"]);
        chart.add(text, 0, 10);
        page.section("rows", "Rows", &table.markup());
        page.section("chart", "Chart", &chart.markup());
        page.notes(&[text.to_owned()]);
        page.finish(Timestamp::UNIX_EPOCH)
    });
}

#[test]
fn the_policy_forbids_everything_but_the_style_and_the_script_of_the_page() {
    let page = HtmlPage::new("Test", "").finish(Timestamp::UNIX_EPOCH);
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).expect("a policy");
    let policy = policy.split('"').next().expect("a value");
    let rules: Vec<&str> = policy.split("; ").collect();
    assert_eq!(rules[0], "default-src &#39;none&#39;");
    for (rule, name) in [(rules[1], "style-src"), (rules[2], "script-src")] {
        let hash = rule.strip_prefix(&format!("{name} &#39;sha256-")).expect("a hash");
        assert_eq!(hash.len(), "&#39;".len() + 44, "{rule}");
    }
    assert_eq!(rules[3..], ["base-uri &#39;none&#39;", "form-action &#39;none&#39;"]);
}

#[test]
fn the_longest_bar_takes_the_whole_width_and_segments_add_up() {
    let mut chart = BarChart::new("chart", "group", &["one", "two", "three"]);
    for (segment, amount) in [(0, 1), (1, 1), (2, 1)] {
        chart.add("thirds", segment, amount);
    }
    chart.add("half", 1, 1);
    chart.add("nothing", 0, 0);
    chart.add("negative", 0, -5);
    let text = text_of(&chart.markup());
    let rects: Vec<&str> = text.split("<rect x=\"").skip(1).collect();
    let starts = ["0\" width=\"333\"", "333\" width=\"333\"", "666\" width=\"334\""];
    for (rect, start) in rects.iter().zip(starts) {
        assert!(rect.starts_with(start), "{rect}");
    }
    assert!(rects[3].starts_with("0\" width=\"333\""), "{text}");
    assert_eq!(rects.len(), 4);
    assert!(!text.contains("nothing") && !text.contains("negative"));
}

#[test]
fn amounts_near_the_end_of_the_range_have_bars_too() {
    let mut chart = BarChart::new("chart", "group", &["amount"]);
    for _ in 0..3 {
        chart.add("huge", 0, i128::MAX);
    }
    chart.add("large", 0, i128::MAX);
    let text = text_of(&chart.markup());
    assert!(text.contains("width=\"1000\"") && text.contains("width=\"500\""), "{text}");
}

#[test]
fn small_groups_of_a_chart_are_added_up() {
    let mut chart = BarChart::new("chart", "group", &["amount"]);
    for group in 0..25_i128 {
        chart.add(&format!("group-{group}"), 0, 100 + group);
    }
    let text = text_of(&chart.markup());
    assert!(text.contains("(5 others)") && text.contains(">group-5<"), "{text}");
    assert!(!text.contains(">group-4<"), "{text}");
    let rest: u128 = (100..105).sum();
    assert!(text.contains(&format!(">{}<", bytes(rest))), "{text}");
}

#[test]
fn a_table_says_how_many_rows_it_leaves_out() {
    let mut table = FilteredTable::new("claims", "rows", &["a"], &["Value"]);
    for row in 0..ROWS_MAX + 7 {
        table.row(&[if row % 2 == 0 { "even" } else { "odd" }], &[Markup::of("x")]);
    }
    let text = text_of(&table.markup());
    assert_eq!(text.matches("<tr data-values").count(), ROWS_MAX);
    assert!(text.contains(">7 more rows are left out"), "the sentence is missing");
}

#[test]
fn a_filter_with_one_value_is_left_out() {
    let mut table = FilteredTable::new("claims", "rows", &["a"], &["Same", "Other"]);
    table.row(&["one", ""], &[Markup::of("x")]);
    table.row(&["one", "two"], &[Markup::of("y")]);
    let text = text_of(&table.markup());
    assert!(!text.contains("Same <select"), "{text}");
    assert!(text.contains("Other <select data-place=\"1\">"), "{text}");
    assert!(text.contains("<option value=\"0\">(none)</option><option value=\"1\">two</option>"));
    assert!(text.contains("data-values=\"0 0\"") && text.contains("data-values=\"0 1\""));
}
