//! A webhook whose watches have not delivered everything yet: every hazard is found by live reads all the same.
//!
//! Watches lag behind: a claim is made a moment after its class. What is not seen is not absent, so that
//! a rule or a mutation that needs another object has to ask for it, and may not rest on what others ask.

use std::collections::BTreeSet;

use bindery::rules::mutations::{self, MUTATIONS};
use bindery::rules::{Example, Mode, Policy, RULES, Rule, Switch, TENANT_LABEL};
use serde_json::Value;

use super::world::{World, block_on};
use crate::shared::generated::Knowledge;
use crate::stage::endpoints;

/// Rules that look for an object among all of its kind, by what is in it: no single read finds that one.
const NEED_TO_SEE: [&str; 7] = [
    "csi-driver-delete-in-use",
    "duplicate-backend",
    "ignored-data-source",
    "namespace-delete-bound-claims",
    "node-delete-local-data",
    "storage-class-delete-in-use",
    "volume-substitution",
];

/// The same of mutations: which volume the trash holds for a name.
const MUTATIONS_THAT_NEED_TO_SEE: [&str; 1] = ["return-from-trash"];

/// Nothing was seen, or all but one object.
fn gaps() -> impl Iterator<Item = Knowledge> {
    let hidden = [u8::MAX].into_iter().chain((0..8).map(|object| 1 << object));
    hidden.map(|hidden| Knowledge { order: 0, hidden, is_connected: true })
}

fn world((example, gap): (&Example, Knowledge), rules: &[&'static Rule], policy: Policy) -> World {
    let mut world = World::of(example.given, gap);
    world.service.rules = Vec::leak(rules.to_vec());
    world.service.policy.store(policy.into());
    world
}

async fn is_found(rule: &'static Rule, example: &Example, gap: Knowledge) -> bool {
    let modes = [(rule.id.to_owned(), Mode::Deny)].into();
    let world = world((example, gap), &[rule], Policy { modes, ..Policy::default() });
    let review = world.scene.unmutated(&example.send, example.by, "");
    let mark = format!("[{}] ", rule.reported_id());
    for entry in endpoints(review.body()) {
        let answer = world.validate(entry, review.body()).await;
        if answer["status"]["message"].as_str().is_some_and(|text| text.contains(&mark)) {
            return true;
        }
    }
    false
}

#[test]
fn every_hazard_is_found_by_those_who_have_not_seen_it_yet() {
    let mut missed = BTreeSet::new();
    for rule in RULES {
        for example in rule.denied {
            let mut gaps = gaps();
            if !gaps.all(|gap| block_on(is_found(rule, example, gap))) {
                missed.insert(rule.id);
            }
        }
    }
    assert_eq!(missed, BTreeSet::from(NEED_TO_SEE));
}

#[test]
fn every_mutation_is_made_by_those_who_see_nothing_yet() {
    let mut missed = BTreeSet::new();
    for mutation in MUTATIONS {
        for (example, gap) in
            mutation.mutated.iter().flat_map(|example| gaps().map(move |gap| (example, gap)))
        {
            let mutations = [(mutation.id.to_owned(), Switch::On)].into();
            let answer = block_on(async {
                let world = world((example, gap), &[], Policy { mutations, ..Policy::default() });
                let review = world.scene.begin(&example.send, example.by, "").review();
                world.mutate(review.body()).await
            });
            let is_logged = answer["auditAnnotations"].get(mutation.id).is_some();
            if !is_logged || answer["patch"].is_null() {
                missed.insert(mutation.id);
            }
        }
    }
    assert_eq!(missed, BTreeSet::from(MUTATIONS_THAT_NEED_TO_SEE));
}

/// A wrong tenant would be worse than none: the user who reserves gets a warning, and is not held up.
#[test]
fn a_volume_stays_unlabelled_where_the_tenant_of_the_namespace_is_unknown() {
    let mutation = mutations::find(TENANT_LABEL).unwrap();
    for example in mutation.mutated {
        let gap = Knowledge { order: 0, hidden: u8::MAX, is_connected: false };
        let answer = block_on(async {
            let world = world((example, gap), &[], mutations::all_on());
            let review = world.scene.begin(&example.send, example.by, "").review();
            world.mutate(review.body()).await
        });
        assert_eq!((&answer["allowed"], &answer["patch"]), (&true.into(), &Value::Null));
        let warnings = answer["warnings"].to_string();
        assert!(warnings.contains("[tenant-label] not applied: "), "{}: {answer}", example.title);
    }
}

#[test]
fn every_allowed_counterpart_passes_on_an_older_view() {
    for rule in RULES {
        for example in rule.allowed {
            for gap in gaps() {
                block_on(async {
                    let world = world((example, gap), RULES, Policy::default());
                    let review = world.scene.unmutated(&example.send, example.by, "");
                    for entry in endpoints(review.body()) {
                        let answer = world.validate(entry, review.body()).await;
                        assert_eq!(
                            answer["allowed"], true,
                            "{}: {}: {answer}",
                            rule.id, example.title
                        );
                    }
                });
            }
        }
    }
}

#[test]
fn what_could_not_be_checked_is_reported_once_and_whole() {
    let mut reported = 0;
    for rule in RULES {
        for example in rule.denied {
            block_on(async {
                let gap = Knowledge { order: 0, hidden: u8::MAX, is_connected: false };
                let world = world((example, gap), RULES, Policy::default());
                let review = world.scene.unmutated(&example.send, example.by, "");
                for entry in endpoints(review.body()) {
                    let answer = world.validate(entry, review.body()).await;
                    let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
                    let unchecked = "could not be checked, because the cluster could not be read; check it yourself";
                    let of_it = warnings
                        .iter()
                        .filter(|it| it.to_string().contains("could not be checked"));
                    let of_it: Vec<_> = of_it.collect();
                    assert!(of_it.len() <= 1, "{}: {answer}", example.title);
                    assert!(of_it.iter().all(|it| it.to_string().contains(unchecked)), "{answer}");
                    reported += of_it.len();
                }
            });
        }
    }
    assert!(reported > 20, "{reported}");
}
