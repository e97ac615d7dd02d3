//! A webhook whose watches show what is gone by now: nothing is denied and nothing mutated for it.

use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{Example, Mode, Persona, Policy, RULES, Rule, Send, Switch};
use bindery::webhook::read_dispatcher::ReadDispatcher;
use serde_json::Value;
use tokio::runtime::Handle;

use super::world::{World, block_on};
use crate::shared::generated::Knowledge;
use crate::stage::{Scene, endpoints};

/// What the examples of its rule do not reach.
const STATIC_CLASS: (&str, Example) = (
    "ignored-data-source",
    Example {
        title: "asking for a copy of a snapshot in a class without a provisioner",
        given: "class manual",
        by: Persona::Tenant,
        send: Send::Create("claim db/data 10Gi RWO class=manual snapshot=monday"),
        then: &[],
    },
);

/// What the watches show; live reads find nothing at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// All that was there when the request was made.
    Everything,
    /// What is there: nothing.
    Nothing,
}

const SHOWN: [Shown; 2] = [Shown::Everything, Shown::Nothing];

/// The world of an example, of which nothing is left in the API server.
fn outdated(example: &Example, shown: Shown, rules: &[&'static Rule], policy: Policy) -> World {
    let hidden = match shown {
        Shown::Everything => 0,
        Shown::Nothing => u8::MAX,
    };
    let mut world = World::of(example.given, Knowledge { order: 0, hidden, is_connected: true });
    world.service.reader = ReadDispatcher::new(Scene::empty().client(), Handle::current());
    world.service.rules = Vec::leak(rules.to_vec());
    world.service.policy.store(policy.into());
    world
}

async fn is_denied(rule: &'static Rule, example: &Example, shown: Shown) -> bool {
    let modes = [(rule.id.to_owned(), Mode::Deny)].into();
    let world = outdated(example, shown, &[rule], Policy { modes, ..Policy::default() });
    let review = world.scene.unmutated(&example.send, example.by, "");
    for entry in endpoints(review.body()) {
        let answer = world.validate(entry, review.body()).await;
        if answer["allowed"] == Value::Bool(false) {
            return true;
        }
    }
    false
}

#[test]
fn nothing_is_denied_for_what_is_gone_by_now() {
    let mut rests = 0;
    let mut wrong = Vec::new();
    for rule in RULES {
        let more = (rule.id == STATIC_CLASS.0).then_some(&STATIC_CLASS.1);
        for example in rule.denied.iter().chain(rule.allowed).chain(more) {
            let [before, now] = SHOWN.map(|shown| block_on(is_denied(rule, example, shown)));
            if before && !now {
                wrong.push(format!("{}: {}", rule.id, example.title));
            }
            rests += usize::from(!now);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rests > 100, "{rests}");
}

#[test]
fn nothing_is_mutated_for_what_is_gone_by_now() {
    for mutation in MUTATIONS {
        for example in mutation.mutated {
            let mutations: Vec<bool> = SHOWN
                .into_iter()
                .map(|shown| {
                    let mutations = [(mutation.id.to_owned(), Switch::On)].into();
                    block_on(async {
                        let policy = Policy { mutations, ..Policy::default() };
                        let world = outdated(example, shown, &[], policy);
                        let review = world.scene.begin(&example.send, example.by, "").review();
                        !world.mutate(review.body()).await["patch"].is_null()
                    })
                })
                .collect();
            assert!(mutations[1] || !mutations[0], "{}: {}", mutation.id, example.title);
        }
    }
}
