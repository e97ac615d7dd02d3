//! The conditions of the registration against the predicates of the code, over every request of every
//! example. That of other requests is compared by those who make them.

use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{Persona, RULES};

use super::routes::{Route, natural, shot};
use super::stage::{Run, Stage, fire, persona};
use crate::plane::persona::BREAK_GLASS;
use crate::plane::{Peers, Plane};
use crate::recorder::Recorder;
use crate::runner::extent;

pub(crate) fn conditions_and_predicates_agree() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let recorder = Recorder::on(&plane);
    let of_rules = RULES.iter().flat_map(|rule| rule.denied.iter().chain(rule.allowed));
    let of_mutations =
        MUTATIONS.iter().flat_map(|mutation| mutation.mutated.iter().chain(mutation.unchanged));
    let mut compared = 0;
    let mut wrong = Vec::new();
    for example in of_rules.chain(of_mutations) {
        stage.set(example.given);
        let own = persona(example.by);
        for who in [own, persona(Persona::Driver), BREAK_GLASS] {
            for route in Route::ALL {
                // Others take each route in the full run only: this is most of the requests.
                if !extent().is_full && who.user != own.user && route != natural(example.send) {
                    continue;
                }
                let Ok(shot) = shot(&stage, example.send, route) else { continue };
                recorder.forget();
                // Dry, so that the next route finds the same stage.
                fire(&stage, who, shot, Run::Dry);
                let found = recorder.compare();
                compared += found.count;
                let place = format!("{} by {}", example.title, route.title());
                wrong.extend(found.differences.iter().map(|line| format!("{place}: {line}")));
            }
        }
    }
    println!("{compared} comparisons of condition and predicate");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 1000, "only {compared} comparisons");
}
