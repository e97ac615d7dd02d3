//! HTML reports in a real browser: how fast they open, what they load, what their filters do, and that no text of a
//! cluster runs. `make browser` obtains the browser.
//!
//! Not here: what is on a page (src/cli/html/tests.rs and beside each report), and how a browser is driven (`devtools`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod cluster;
mod devtools;
mod server;

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use devtools::{Browser, DRAWN};

/// Milliseconds in which a report on 10,000 objects is open.
const OPEN_MILLISECONDS_MAX: f64 = 2_000.0;
/// Milliseconds in which a filter has acted on 10,000 rows.
const FILTER_MILLISECONDS_MAX: f64 = 1_000.0;

/// The reports on a cluster, by name.
fn commands(stuck: &str) -> [(&'static str, Vec<String>); 4] {
    let of = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    [
        ("scan", of("scan")),
        ("plan", of("plan")),
        ("explain", of(&format!("explain pvc/stuck -n {stuck}"))),
        (TRASH, of(TRASH)),
    ]
}

/// The one that reads a cluster only.
const TRASH: &str = "trash";

/// Writes the report on `dump` beside it, and returns its path.
fn report(browser: &Browser, name: &str, arguments: &[String], dump: &str) -> PathBuf {
    let folder = browser.folder();
    let page = folder.join(format!("{name}.html"));
    let source = if name == TRASH {
        let kubeconfig = server::serve(&cluster::in_the_trash(dump));
        fs::write(folder.join("kubeconfig"), kubeconfig).expect("a kubeconfig");
        ["--kubeconfig", "kubeconfig"]
    } else {
        fs::write(folder.join("dump.json"), dump).expect("a dump");
        ["-f", "dump.json"]
    };
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(arguments)
        .args(source)
        .args(["-o", &format!("html={}", page.display())])
        .current_dir(folder)
        .output()
        .expect("the binary runs");
    let reason = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{name}: {reason}");
    page
}

#[test]
fn ten_thousand_objects_open_in_two_seconds() {
    let mut browser = Browser::start();
    let dump = cluster::large(10_000);
    for (name, arguments) in commands("team-00") {
        let page = report(&browser, name, &arguments, &dump);
        let bytes = fs::metadata(&page).expect("a page").len();
        // The best of three: another process may have had the processor.
        let times = [(); 3].map(|()| browser.open(&page));
        let time = times.into_iter().fold(f64::INFINITY, f64::min);
        let rows = browser.evaluate("document.querySelectorAll('tbody tr[data-values]').length");
        println!("{name}: {bytes} bytes, {rows} rows, open after {time:.0} ms");
        assert!(rows.as_u64().is_some_and(|rows| rows >= 10_000), "{name}: {rows} rows");
        assert!(time <= OPEN_MILLISECONDS_MAX, "{name}: open after {time} ms");
    }
}

#[test]
fn a_page_loads_nothing_and_its_policy_lets_it_load_nothing() {
    let mut browser = Browser::start();
    for (name, arguments) in commands("team-00") {
        let page = report(&browser, name, &arguments, &cluster::large(20));
        browser.open(&page);
        assert_eq!(browser.requests(), [format!("file://{}", page.display())], "{name}");
        assert!(
            browser.reported("Log.entryAdded").is_empty(),
            "{name}: {:?}",
            browser.reported("Log.entryAdded")
        );
    }
    // What a text could do if it were not escaped, and had become part of the page.
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("a socket");
    let address = format!("http://{}/x", server.local_addr().expect("an address"));
    let plant =
        "(() => { const add = (name, set) => { const one = document.createElement(name); set(one);
            document.body.append(one); };
        add('img', one => one.src = ADDRESS);
        add('iframe', one => one.src = ADDRESS);
        add('link', one => { one.rel = 'stylesheet'; one.href = ADDRESS; });
        add('script', one => one.src = ADDRESS);
        add('script', one => one.textContent = 'window.ran = true');
        add('a', one => one.setAttribute('onclick', 'window.ran = true'));
        document.body.lastChild.click();
        return fetch(ADDRESS).then(() => 'fetched', () => 'blocked'); })()";
    let fetched = browser.evaluate(&plant.replace("ADDRESS", &format!("'{address}'")));
    assert_eq!(fetched, "blocked");
    assert_eq!(browser.evaluate("window.ran === undefined"), true, "an inline script ran");
    assert!(server.accept().is_err(), "a request left the page");
    let failed = browser.reported("Network.loadingFailed");
    assert!(failed.len() >= 4, "what was not even asked for was not blocked: {failed:?}");
    for event in failed {
        // A frame has no reason of its own but an error.
        let is_blocked =
            event["blockedReason"] == "csp" || event["errorText"] == "net::ERR_BLOCKED_BY_CSP";
        assert!(is_blocked, "{event}");
    }
    let violations = browser.reported("Log.entryAdded");
    assert!(violations.len() >= 6, "each of them is a violation of the policy: {violations:?}");
}

/// How many rows are shown.
const SHOWN: &str = "Array.from(document.querySelectorAll('tbody tr[data-values]')).filter(row => row.offsetParent !== null).length";

#[test]
fn filters_narrow_the_rows_by_text_and_by_value() {
    let mut browser = Browser::start();
    let [_, (name, arguments), ..] = commands("team-00");
    let page = report(&browser, name, &arguments, &cluster::large(10_000));
    browser.open(&page);
    let output = "document.querySelector('#claims').previousElementSibling.querySelector('output').textContent";
    assert_eq!(browser.evaluate(output), "10001 of 10001 rows");

    browser.evaluate("document.querySelector('input[type=search]').focus()");
    browser.evaluate("window.began = performance.now()");
    browser.type_text("DATA-0123");
    let time = format!("{DRAWN}.then(() => performance.now() - window.began)");
    let time = browser.evaluate(&time).as_f64().expect("a number");
    println!("a filter has acted on 10,001 rows after {time:.0} ms");
    assert!(time <= FILTER_MILLISECONDS_MAX, "a filter acts after {time} ms");
    assert_eq!(browser.evaluate(output), "10 of 10001 rows");
    assert_eq!(browser.evaluate(SHOWN), 10);

    // One of the ten is in this namespace.
    let choose = "(() => { const select = document.querySelector('select[data-place=\"1\"]');
        select.value = Array.from(select.options).find(one => one.text === 'team-31').value;
        select.dispatchEvent(new Event('input', {bubbles: true})); })()";
    browser.evaluate(choose);
    assert_eq!(browser.evaluate(output), "1 of 10001 rows");
    assert_eq!(browser.evaluate("document.querySelector('#claims tbody:not([hidden]) tr:not([hidden])').textContent.includes('data-01231')"), true);

    // The keyboard alone: from the text on to the first selection, and one value down.
    browser.evaluate("document.querySelector('input[type=search]').value = ''");
    browser.evaluate("document.querySelector('select[data-place=\"1\"]').value = ''");
    browser.press("Tab", 9);
    let focus = browser.evaluate("document.activeElement.closest('label').textContent");
    assert!(focus.as_str().is_some_and(|text| text.starts_with("Outcome")), "{focus}");
    browser.press("ArrowDown", 40);
    assert_eq!(browser.evaluate(output), "10000 of 10001 rows", "those that are bound");
    browser.press("ArrowDown", 40);
    assert_eq!(browser.evaluate(output), "1 of 10001 rows", "the one that is unmatched");
}

#[test]
fn no_text_of_a_cluster_runs_or_becomes_an_element() {
    let mut browser = Browser::start();
    let texts = [
        "<script>window.ran = true</script>",
        "</script><script>window.ran = true</script>",
        "\"><img src=x onerror='window.ran = true'>",
        "' autofocus onfocus='window.ran = true",
        "</style><svg onload='window.ran = true'>",
        "</title></head><body onload='window.ran = true'>",
    ];
    for text in texts {
        for (name, arguments) in commands("shop") {
            let page = report(&browser, name, &arguments, &cluster::hostile(text));
            browser.open(&page);
            assert_eq!(browser.evaluate("window.ran === undefined"), true, "{name}: {text} ran");
            let others = "document.querySelectorAll('script:not(:last-child), img, iframe, object, embed, link, [onerror], \
                          [onload], [onfocus], [src], [style]').length";
            assert_eq!(browser.evaluate(others), 0, "{name}: {text} is an element");
            // Nothing was even tried: the policy had nothing to block.
            assert!(browser.reported("Log.entryAdded").is_empty(), "{name}: {text}");
            let shown = browser.evaluate("document.querySelector('main').textContent");
            assert!(
                shown.as_str().is_some_and(|shown| shown.contains(text)),
                "{name}: {text} is not shown"
            );
        }
    }
}

/// The nodes of the tree that a screen reader reads, as `role name`.
fn spoken(browser: &mut Browser) -> Vec<String> {
    // Only here: a tree that is kept while rows change makes each change slow.
    browser.call("Accessibility.enable", &json!({}));
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array().expect("nodes").iter();
    let nodes = nodes.filter(|node| node["ignored"] == false);
    let word = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
    nodes.map(|node| format!("{} {}", word(&node["role"]), word(&node["name"]))).collect()
}

#[test]
fn a_screen_reader_finds_headings_tables_and_labels() {
    let mut browser = Browser::start();
    let [_, (name, arguments), ..] = commands("team-00");
    let page = report(&browser, name, &arguments, &cluster::large(3));
    browser.open(&page);
    let spoken = spoken(&mut browser);
    let expected = [
        "heading Storage plan",
        "heading Pairs",
        "navigation Sections",
        "main ",
        "table Every PVC and the PV that it has or gets; those that need a fix first",
        "table Waste by StorageClass",
        "columnheader StorageClass",
        "rowheader class-0",
        "form Filters",
        "searchbox Text",
        "combobox Outcome",
        "status ",
    ];
    for expected in expected {
        assert!(spoken.iter().any(|one| one == expected), "{expected}: {spoken:#?}");
    }
    let count =
        |role: &str| spoken.iter().filter(|one| one.starts_with(&format!("{role} "))).count();
    assert!(count("row") >= 4, "the rows of a table are rows: {spoken:#?}");
    for role in ["searchbox", "combobox", "table", "link", "heading"] {
        assert!(!spoken.iter().any(|one| *one == format!("{role} ")), "a {role} has no name");
    }
}

#[test]
fn a_page_is_whole_without_scripts_in_the_dark_and_on_paper() {
    let mut browser = Browser::start();
    let [_, (name, arguments), ..] = commands("team-00");
    let page = report(&browser, name, &arguments, &cluster::large(200));
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.load(&page);
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
    let form = "document.querySelector('form').offsetParent === null";
    assert_eq!(browser.evaluate(form), true, "filters that do nothing are shown");
    assert_eq!(browser.evaluate(SHOWN), 201);

    let paper = "getComputedStyle(document.body).backgroundColor";
    let mut papers = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        browser.call("Emulation.setEmulatedMedia", &json!({"features": features}));
        papers.push(browser.evaluate(paper));
    }
    assert_ne!(papers[0], papers[1]);

    browser.call("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    let laid_out = "getComputedStyle(document.querySelector('#claims tbody')).contentVisibility";
    assert_eq!(browser.evaluate(laid_out), "visible", "rows out of view are not printed");
}
