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

/// Some harm is a race that a controller wins at times; to lose it once is enough.
const ATTEMPTS_MAX: usize = 5;

pub(crate) fn every_refused_change_does_harm_elsewhere() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let mut wrong = Vec::new();
    for rule in RULES {
        assert!(!rule.refuses.is_empty(), "{} refuses nothing", rule.id);
        for example in rule.refuses {
            let mut outcome = harms(&mut stage, example);
            for _ in 1..ATTEMPTS_MAX {
                if outcome.is_err() {
                    outcome = harms(&mut stage, example);
                }
            }
            if let Err(why) = outcome {
                wrong.push(describe(rule, example, &why));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn harms(stage: &mut Stage<'_>, example: &Example) -> Result<(), String> {
    assert!(!example.then.is_empty(), "{} names no harm", example.title);
    stage.set(example.given);
    // A pair is made in several writes, and the binder may be in the middle of them.
    stage.settle();
    let shot = shot(stage, example.send, natural(example.send))?;
    let reply = stage.plane.request(persona(example.by), shot.method, &shot.path, shot.body);
    if reply.code >= 300 {
        return Err(format!("the API server itself refuses it: {reply}"));
    }
    for fact in example.then {
        // What the write itself did counts, also if a controller puts it right a moment later.
        let told = stage.holds_in(*fact, &reply.json);
        told.or_else(|_| poll(SOON, || stage.holds(*fact)))?;
    }
    Ok(())
}

fn describe(rule: &Rule, example: &Example, why: &str) -> String {
    format!("{}: {}: {why}", rule.id, example.title)
}
