//! How a run of `make bench` is judged: its floors are read and kept to as they say.
//!
//! A bench has no harness that would run a test, so the part that measures nothing is taken in here.

#[path = "../../benches/shared/floors.rs"]
mod floors;

use super::tree::{self, Kind};
use floors::{Floors, Row, median};

const LEAST: &str = "[x.a]\nat-least = 0.5\nwhy = 'half'\n";
const MOST: &str = "[x.b]\nat-most = 2.0\nwhy = 'twice'\n";

fn row(id: &'static str, figure: f64) -> Row {
    let (what, ours, other) = (String::new(), String::new(), String::new());
    Row { id, what, ours, other, figure }
}

fn floors() -> Floors {
    Floors::parse(&format!("{LEAST}{MOST}"), "x").expect("two floors")
}

#[test]
fn a_floor_has_one_bound_and_an_argument() {
    for (text, part) in [
        ("[x.a]\nwhy = 'x'\n", "a needs either at-least or at-most"),
        ("[x.a]\nat-least = 1.0\nat-most = 2.0\nwhy = 'x'\n", "a needs either"),
        ("[x.a]\nat-least = 1.0\nwhy = ' '\n", "a needs an argument"),
        ("[x.a]\nat-least = 1.0\n", "missing field `why`"),
        ("[x.a]\nat-lest = 1.0\nwhy = 'x'\n", "unknown field `at-lest`"),
        ("[x.a]\nat-least = 'x'\nwhy = 'x'\n", "expected f64"),
    ] {
        let error = Floors::parse(text, "x").expect_err(text);
        assert!(error.contains(part), "{error} instead of {part}");
    }
}

#[test]
fn a_figure_on_the_floor_keeps_it_and_what_is_no_number_keeps_none() {
    for (least, most, missed) in [
        (0.5, 2.0, 0),
        (9.0, 0.0, 0),
        (0.49, 2.0, 1),
        (0.5, 2.01, 1),
        (0.0, 9.0, 2),
        (f64::NAN, f64::NAN, 2),
    ] {
        let rows = [row("a", least), row("b", most)];
        assert_eq!(floors().print(&rows), Ok(missed), "{least} and {most}");
    }
}

#[test]
fn a_row_without_a_floor_and_a_floor_without_a_row_are_errors() {
    let error = floors().print(&[row("c", 1.0)]);
    assert_eq!(error, Err("row c has no floor".to_owned()));
    assert_eq!(floors().check_complete(&[row("b", 1.0), row("a", 1.0)]), Ok(()));
    let error = floors().check_complete(&[row("a", 1.0)]);
    assert_eq!(error, Err("floor b was not measured; measure it or remove it".to_owned()));
}

/// A row that has no floor is found when the run prints it; the other way round it would take the
/// whole run, which needs peers and a control plane.
#[test]
fn the_file_can_be_read_and_each_of_its_floors_is_named_by_a_measurement() {
    for bench in ["webhook", "binding", "cli", "growth", "instructions"] {
        let floors = Floors::read(bench).expect("benches/floors.toml");
        assert!(floors.check_complete(&[]).is_err(), "there are no floors");
        let folder = format!("benches/{bench}/");
        let sources = tree::files().into_iter().filter(|file| file.path.starts_with(&folder));
        let mut rows = Vec::new();
        for source in sources.filter(|file| file.is(Kind::Rust)) {
            let literals = source.text.lines().flat_map(|line| line.split('"').skip(1).step_by(2));
            rows.extend(literals.map(|literal| row(Box::leak(literal.into()), 0.0)));
        }
        assert_eq!(floors.check_complete(&rows), Ok(()), "{bench}");
    }
}

/// A floor that was raised shows on the page at once, also if nothing was measured since.
#[test]
fn the_page_shows_the_floors_as_they_are() {
    let page = tree::file("docs/performance.md").text;
    let (mut floors, mut rows) = (None, 0);
    for line in page.lines() {
        if let Some((_, rest)) = line.split_once("BENCHES=") {
            let bench = rest.split(' ').next().unwrap_or_default();
            floors = Some(Floors::read(bench).expect("benches/floors.toml"));
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", id, _, _, _, _, floor, ""] = cells[..] else { continue };
        if matches!(id, "row" | "---") {
            continue;
        }
        let bound = floor.trim_end_matches(", **missed**");
        let judged = floors.as_ref().expect("a section").judge(&row(Box::leak(id.into()), 0.0));
        assert_eq!(judged.expect("a row with a floor").bound, bound, "{id}");
        rows += 1;
    }
    assert!(rows > 0, "no row was found on the page");
}

#[test]
fn the_median_is_in_the_middle() {
    let near = |figures: &[f64], middle: f64| {
        (median(figures.iter().copied()) - middle).abs() < f64::EPSILON
    };
    assert!(near(&[3.0, 1.0, 2.0], 2.0));
    assert!(near(&[4.0, 1.0, 3.0, 2.0], 2.5));
    assert!(near(&[7.0], 7.0));
    assert!(median([]).is_nan());
}
