//! Random changes of random clusters: what `check` predicts of a rule, and what the policy of the rule does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bindery::rules::judging::policy_form::BY_PHASE;
use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{PolicyForm, RULES, Rule, TENANT_LABEL, find};
use bindery_sim::SeededRng;
use serde_json::{Value, json};

use super::{apply, await_force};
use crate::denials::rules::Stage;
use crate::plane::{Peers, Plane};
use crate::predictions::check::change::{Change, changes};
use crate::predictions::check::world::world;
use crate::predictions::check::{Fate, id, predicted};
use crate::runner::extent;

/// Changes in all, and in an everyday run.
const CHANGES_FULL: usize = 500;
const CHANGES: usize = 60;

/// Changes between two new clusters, each of another object.
const CHANGES_A_WORLD: usize = 5;

pub(super) fn policies_deny_random_changes_as_their_rules_do() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    apply(&plane, &BTreeMap::new());
    await_force(&mut stage);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    // Nothing is repaired before a policy judges it.
    let mutations = MUTATIONS.iter().filter(|mutation| mutation.id != TENANT_LABEL);
    let off: BTreeMap<&str, bool> = mutations.map(|mutation| (mutation.id, false)).collect();
    let without_mutations =
        json!({"apiVersion": "bindery.dev/v1", "kind": "Config", "mutations": off});
    std::fs::write(&config, without_mutations.to_string()).unwrap();
    let all = if extent().is_full { CHANGES_FULL } else { CHANGES };
    let (mut wrong, mut made, mut denied, mut passed) = (Vec::new(), 0, 0, 0);
    for seed in 0.. {
        if made >= all {
            break;
        }
        let mut rng = SeededRng::new(seed);
        stage.set(&world(&mut rng));
        for change in changes(&stage, &mut rng, CHANGES_A_WORLD) {
            made += 1;
            match compared(&stage, &change, &config) {
                Ok(true) => denied += 1,
                Ok(false) => passed += 1,
                Err(difference) => wrong.push(format!("seed {seed}: {change}: {difference}")),
            }
        }
    }
    println!("of {made} random changes policies deny {denied}, and {passed} pass as predicted");
    assert!(wrong.is_empty(), "{} of {made}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(denied >= made / 20 && passed >= made / 20, "{denied} and {passed} of {made}");
}

/// Returns whether a policy denies a change, if that is what the forms of the rules say.
fn compared(stage: &Stage<'_>, change: &Change, config: &Path) -> Result<bool, String> {
    let predicted = match predicted(stage, change, Some(config)) {
        Fate::Denied(ids) => ids,
        Fate::Api => return Ok(false),
        Fate::Passes(_) => BTreeSet::new(),
    };
    let by_policy = denied(stage, change);
    // The API server names one of several policies that deny.
    let is_owed = predicted.iter().filter_map(|id| find(id)).any(denies_all);
    match by_policy {
        None if is_owed => Err(format!("no policy denies what {predicted:?} do")),
        None => Ok(false),
        Some(id) if predicted.contains(&id) => Ok(true),
        Some(id) if RULES.iter().any(|rule| rule.id == id && denies_more(rule)) => Ok(true),
        Some(id) => Err(format!("the policy of {id} denies it, and {predicted:?} do")),
    }
}

fn denies_all(rule: &Rule) -> bool {
    matches!(rule.policy, PolicyForm::Exact(_) | PolicyForm::Stricter(..))
}

/// Also one that denies less may take a PV for a bound one whose PVC is gone.
fn denies_more(rule: &Rule) -> bool {
    match rule.policy {
        PolicyForm::Stricter(..) => true,
        PolicyForm::Partial(_, reason) => reason.contains(BY_PHASE),
        PolicyForm::Exact(_) | PolicyForm::NotExpressible(_) => false,
    }
}

/// The rule whose policy denies a change, which is made.
fn denied(stage: &Stage<'_>, change: &Change) -> Option<String> {
    let stdin = change.object.as_ref().map(Value::to_string).unwrap_or_default();
    let arguments = change.kubectl();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = stage.plane.kubectl(change.who, &arguments, &stdin);
    id(output.stderr.split_once("denied request: ")?.1)
}
