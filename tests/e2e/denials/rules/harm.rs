//! What happens where Bindery is not installed: the harm that each rule names, done by the real
//! binder and controllers.

use std::time::Duration;

use bindery::rules::{Example, RULES, Rule};

use super::routes::{natural, shot};
use super::stage::{Stage, persona};
use crate::eventually::poll;
use crate::plane::{Peers, Plane};

/// The binder acts on an event at once and on the rest after a second.
const SOON: Duration = Duration::from_secs(4);

/// On the cluster with its binder first. Some harm is a race that the binder wins while it is quick;
/// that is done once more on a cluster whose binder is away, as it is while its leader changes.
pub(crate) fn every_denied_change_does_harm_elsewhere() {
    let examples: Vec<(&Rule, &Example)> = RULES
        .iter()
        .flat_map(|rule| rule.denied.iter().map(move |example| (*rule, example)))
        .collect();
    let harmless = without_harm(Peers::WithBinder, &examples);
    let suspects: Vec<(&Rule, &Example)> = harmless.iter().map(|(suspect, _)| *suspect).collect();
    if suspects.is_empty() {
        return;
    }
    let wrong = without_harm(Peers::WithoutBinder, &suspects);
    let reported: Vec<String> =
        wrong.iter().map(|((rule, example), why)| describe(rule, example, why)).collect();
    assert!(reported.is_empty(), "{}", reported.join("\n"));
}

/// An example and what was there instead of its harm.
type Harmless<'a> = ((&'a Rule, &'a Example), String);

fn without_harm<'a>(peers: Peers, examples: &[(&'a Rule, &'a Example)]) -> Vec<Harmless<'a>> {
    let plane = Plane::start(peers).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let mut harmless = Vec::new();
    for suspect in examples {
        if let Err(why) = harms(&mut stage, suspect.1) {
            harmless.push((*suspect, why));
        }
    }
    harmless
}

fn harms(stage: &mut Stage<'_>, example: &Example) -> Result<(), String> {
    assert!(!example.then.is_empty(), "{} names no harm", example.title);
    stage.set(example.given);
    // A pair is made in several writes, and the binder may be in the middle of them.
    stage.settle();
    let shot = shot(stage, example.send, natural(example.send))?;
    let reply = stage.plane.request(persona(example.by), shot.method, &shot.path, shot.body);
    if reply.code >= 300 {
        return Err(format!("the API server itself rejects it: {reply}"));
    }
    for fact in example.then {
        // What the write itself did counts, also if a controller puts it right a moment later.
        let reported = stage.holds_in(*fact, &reply.json);
        reported.or_else(|_| poll(SOON, || stage.holds(*fact)))?;
    }
    Ok(())
}

fn describe(rule: &Rule, example: &Example, why: &str) -> String {
    format!("{}: {}: {why}", rule.id, example.title)
}
