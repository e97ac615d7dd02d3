//! The parts of an explanation, each on its own.

use super::limited::is_failure;
use crate::api::claim::claim;
use crate::binding::{ClaimOutcome, Loss, Mismatch, Settlement, View, claim_event};
use crate::cli::input::dump::PodCoverage;
use crate::cli::preview::outcome::Planner;
use crate::cli::shell::quoted;
use crate::model::{ClassName, NonEmpty, VolumeName};

/// Returns what a POSIX shell makes of a word.
fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, is_quoted) {
            ('\'', _) => is_quoted = !is_quoted,
            ('\\', false) => out.extend(characters.next()),
            (other, _) => out.push(other),
        }
    }
    assert!(!is_quoted, "a quote is open: {text}");
    out
}

#[test]
fn a_quoted_word_is_read_back_whole() {
    for word in
        ["", "plain-1.x", "two words", "it's", "$HOME;`id`", "{\"a\":\"it's\"}", "\\", "tier=a b"]
    {
        let quoted = quoted(word);
        assert_eq!(unquoted(&quoted), word, "{quoted}");
        let is_safe = quoted.starts_with('\'') || !quoted.contains(['$', '`', ' ', '"', ';', '\\']);
        assert!(is_safe && !quoted.is_empty(), "{quoted}");
    }
}

/// An account that may not list volumes learns of the same problem from the controller's event.
#[test]
fn an_event_says_that_a_claim_is_stuck_where_the_plan_says_so() {
    let text = r#"{"metadata": {"namespace": "db", "name": "data", "uid": "u"}}"#;
    let claim = claim(text, "").unwrap();
    let (pv, class) = (VolumeName::new("pv"), ClassName::new("fast"));
    let misfit = || NonEmpty::from_vec(vec![Mismatch::Terminating]).unwrap();
    let outcomes = [
        ClaimOutcome::NoMatchingVolume,
        ClaimOutcome::NoClass(class),
        ClaimOutcome::NoVolume(pv.clone()),
        ClaimOutcome::Unfit(pv.clone(), misfit()),
        ClaimOutcome::Taken(pv.clone()),
        ClaimOutcome::Lost(Loss::Reference),
        ClaimOutcome::Lost(Loss::Volume(pv.clone())),
        ClaimOutcome::Lost(Loss::Misbound(pv.clone())),
        ClaimOutcome::Lost(Loss::Unfit(pv.clone(), misfit())),
        ClaimOutcome::BoundDespite(pv, misfit()),
        ClaimOutcome::WaitsForConsumer,
        ClaimOutcome::WaitsForPods(NonEmpty::from_vec(vec!["web".into()]).unwrap()),
        ClaimOutcome::WaitsForProvisioner("csi.example".into()),
    ];
    let (view, settlement) = (View::default(), Settlement::default());
    for outcome in outcomes {
        let event = claim_event(&view, &claim, &outcome).unwrap();
        let planned =
            Planner::new(&view, &settlement, &PodCoverage::Complete).claim(&claim, &outcome);
        assert_eq!(is_failure(event.reason), planned.outcome.is_stuck(), "{outcome:?}");
    }
}
