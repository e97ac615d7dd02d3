//! One question of a table about objects: what the core answers, and whether the data says so.

use std::sync::Arc;

use bindery::binding::{Choice, ClaimOutcome, FitCheck, Mismatch, Observed, View, choose, fit};
use bindery::client::resource::ResourceKind;
use bindery::model::{BindingMode, Claim, ClassRequest, Node, Volume};
use serde_json::Value;

use crate::cases::{Asks, Question, Questions, Verdict};
use crate::notation::{claim, class, lines, pairs, volume};
use crate::world::{Why, World};

/// Returns what is wrong with a question; nothing if the answer is what the data says.
pub(crate) fn run(table: &Questions, question: &Question) -> Option<String> {
    let answer = answer(table, question);
    let expected = question.here.as_ref().unwrap_or(&question.expects);
    if answer != *expected {
        return Some(format!("  the answer is {answer:?}, not {expected:?}"));
    }
    let is_same = question.expects == answer;
    match question.verdict {
        Verdict::Same => (!is_same).then(|| "same, and yet another answer is given".to_owned()),
        Verdict::Differs => is_same.then(|| "it does not differ".to_owned()),
        Verdict::NotOurs => None,
    }
}

fn answer(table: &Questions, question: &Question) -> String {
    let world = world(table, question);
    match table.asks {
        Asks::Choice => chosen(world.cache(), question),
        Asks::Prebind => {
            yes(fit(&only_volume(&world), &asking(question), None, FitCheck::Prebind).is_ok())
        }
        Asks::VolumeMode => {
            without(&world, question, |mismatch| matches!(mismatch, Mismatch::VolumeMode { .. }))
        }
        Asks::AccessModes => {
            without(&world, question, |mismatch| matches!(mismatch, Mismatch::AccessModes { .. }))
        }
        Asks::Order => {
            let claim = asking(question);
            let free = world.cache().free_for(&claim);
            free.map(|volume| volume.name.to_string()).collect::<Vec<_>>().join(" ")
        }
        Asks::Class => class_after(world),
        Asks::Delay => delays(world),
        Asks::Reach => yes(only_volume(&world).node_affinity.admits(&node(&question.asker))),
        Asks::HasClass => yes(asking(question).class() != ClassRequest::Unset),
    }
}

fn world(table: &Questions, question: &Question) -> World {
    let mut world = World::default();
    for line in lines(question.classes.as_ref().unwrap_or(&table.classes)) {
        world.put_class(&class(line));
    }
    for line in lines(question.volumes.as_ref().unwrap_or(&table.volumes)) {
        world.put_volume(volume(line));
    }
    for line in lines(&question.claim) {
        world.put_claim(claim(line));
    }
    world
}

fn asking(question: &Question) -> Claim {
    let observed = ResourceKind::Claims.observed(&claim(&question.claim).to_string());
    let Ok(Observed::Claim(claim)) = observed else { panic!("{observed:?} is no claim") };
    Arc::unwrap_or_clone(claim)
}

fn only_volume(world: &World) -> Arc<Volume> {
    let mut volumes = world.cache().volumes();
    let only = volumes.next().expect("a volume to ask about");
    assert!(volumes.next().is_none(), "more than one volume to ask about");
    Arc::clone(only)
}

fn chosen(view: &View, question: &Question) -> String {
    let node = node(&question.asker);
    let asker = match question.asker.as_str() {
        "binder" => FitCheck::Controller(BindingMode::Immediate),
        "binder of a delayed class" => FitCheck::Controller(BindingMode::WaitForFirstConsumer),
        _ => FitCheck::Scheduler(&node),
    };
    match choose(view, &asking(question), asker) {
        Choice::Reserved(volume) | Choice::Free(volume) => volume.name.to_string(),
        Choice::ReservedUnreachable(_) | Choice::NoMatch => "none".to_owned(),
    }
}

fn without(world: &World, question: &Question, is: fn(&Mismatch) -> bool) -> String {
    let found = fit(&only_volume(world), &asking(question), None, FitCheck::Prebind);
    yes(found.is_ok() || found.is_err_and(|mismatches| !mismatches.iter().any(is)))
}

/// The node that `node key:value` describes; one without labels for every other asker.
fn node(asker: &str) -> Node {
    let labels = asker.strip_prefix("node ").map(pairs);
    let labels = labels.iter().filter_map(Value::as_object).flatten();
    let labels: Vec<_> =
        labels.map(|(key, value)| (key.as_str(), value.as_str().expect("a text"))).collect();
    Node { name: "".into(), labels: labels.into_iter().collect() }
}

/// The class of the one claim after a call, as the API has it.
fn class_after(mut world: World) -> String {
    let object = world.names().pop().expect("a claim");
    world.sync(&object);
    let claim = world.get(&object).expect("it stays");
    claim["spec"]["storageClassName"]
        .as_str()
        .map_or("unset", |name| if name.is_empty() { "\"\"" } else { name })
        .to_owned()
}

fn delays(mut world: World) -> String {
    let object = world.names().pop().expect("a claim");
    world.sync(&object);
    match world.why {
        Some(Why::Claim(outcome)) => yes(outcome == ClaimOutcome::WaitsForConsumer),
        other => panic!("{other:?}: no claim was decided about"),
    }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}
