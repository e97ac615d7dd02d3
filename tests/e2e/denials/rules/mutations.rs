//! Mutations on a real API server: the object is stored as mutated, the asker is warned, and what is
//! not to be mutated is left alone.

use std::time::Duration;

use bindery::rules::mutations::{MUTATIONS, all_on};
use bindery::rules::{Example, Send, WarningMode};

use super::routes::{Route, natural, shot};
use super::stage::{Run, Stage, fire, items, persona};
use crate::eventually::{eventually, poll};
use crate::installed::{Installed, Registered};
use crate::plane::persona::TENANT;
use crate::plane::{Peers, Plane};

pub(crate) fn every_mutation_repairs() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let _installed = Installed::under(all_on(), &plane, Registered::Everything);
    await_registration(&mut stage);
    let mut wrong = Vec::new();
    for mutation in MUTATIONS {
        let is_reported = mutation.warning == WarningMode::Warned;
        let mutated = mutation.mutated.iter().map(|example| (example, is_reported));
        let left = mutation.unchanged.iter().map(|example| (example, false));
        for (example, is_warned) in mutated.chain(left) {
            for route in routes(example) {
                if let Err(why) = check(&mut stage, mutation.id, (example, route), is_warned) {
                    wrong.push(format!(
                        "{}: {} by {}: {why}",
                        mutation.id,
                        example.title,
                        route.title()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A change is mutated whatever its request type.
fn routes(example: &Example) -> Vec<Route> {
    if natural(example.send) == Route::MergePatch {
        return vec![Route::MergePatch, Route::Put, Route::PutUnversioned, Route::JsonPatch];
    }
    vec![natural(example.send)]
}

fn check(
    stage: &mut Stage<'_>,
    id: &str,
    (example, route): (&Example, Route),
    is_warned: bool,
) -> Result<(), String> {
    stage.set(example.given);
    await_labels(stage, example, route)?;
    let shot = shot(stage, example.send, route)?;
    let reply = stage.plane.request(persona(example.by), shot.method, &shot.path, shot.body);
    if reply.code >= 300 {
        return Err(format!("does not pass: {reply}"));
    }
    for fact in example.then {
        stage.holds(*fact)?;
    }
    let reported = format!("[{id}] ");
    let warned = reply.warnings.iter().any(|warning| warning.starts_with(&reported));
    if warned == is_warned { Ok(()) } else { Err(format!("warnings are {:?}", reply.warnings)) }
}

/// A label that a namespace has just been given counts once the webhook's watch shows it.
fn await_labels(stage: &Stage<'_>, example: &Example, route: Route) -> Result<(), String> {
    if !items(example.given).iter().any(|item| item.target.starts_with("ns/")) {
        return Ok(());
    }
    poll(Duration::from_secs(10), || {
        let shot = shot(stage, example.send, route)?;
        let reply = fire(stage, persona(example.by), shot, Run::Dry);
        example.then.iter().try_for_each(|fact| stage.holds_in(*fact, &reply.json))
    })
}

fn await_registration(stage: &mut Stage<'_>) {
    stage.set("");
    let line =
        "claim db/probe 1Gi RWO class=none-such annotation=pv.kubernetes.io/bind-completed:yes";
    eventually("the API server asks for mutations", Duration::from_secs(20), || {
        let made = shot(stage, Send::Create(line), Route::Create)?;
        let reply = fire(stage, TENANT, made, Run::Dry);
        match reply.json.pointer("/metadata/annotations") {
            None if reply.code < 300 => Ok(()),
            _ => Err(reply.to_string()),
        }
    });
}
