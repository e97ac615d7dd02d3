//! Each example of each rule, by each request type that can carry it.

use std::collections::{BTreeMap, BTreeSet};

use bindery::cli::example::judge_without_mutations;
use bindery::rules::{Example, Mode, PolicyForm, RULES, Rule};

use super::page::{self, Row};
use super::{apply, await_force};
use crate::api_server::versions::record::{self, Topic, version};
use crate::denials::rules::{Run, Stage, asker, fire, persona, routes_of, shot};
use crate::plane::{Peers, Plane, Reply};

pub(super) fn each_policy_denies_what_its_form_says() {
    let mut rows: BTreeMap<&str, Row> =
        RULES.iter().map(|rule| (rule.id, Row::default())).collect();
    let mut wrong = Vec::new();
    // What warns by default denies here, so that a warning is seen.
    let insisting = RULES.iter().map(|rule| (rule.id, Mode::Deny)).collect();
    let version = on_a_plane(&insisting, |stage| {
        for rule in RULES.iter().filter(|rule| !rule.policy.texts().is_empty()) {
            let row = rows.entry(rule.id).or_default();
            for example in rule.denied {
                wrong.extend(deny(stage, rule, example, row));
            }
        }
    });
    on_a_plane(&BTreeMap::new(), |stage| {
        for rule in RULES {
            for example in rule.allowed {
                for id in denying(stage, rule, example) {
                    rows.entry(id).or_default().denied_too.insert(example.title);
                }
            }
        }
    });
    wrong.extend(RULES.iter().filter_map(|rule| differs(rule, &rows[rule.id])));
    let facts = page::verify(&version, &rows, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    record::verify(&version, Topic::Policies, &facts);
}

/// Returns the version of Kubernetes.
fn on_a_plane(modes: &BTreeMap<&str, Mode>, play: impl FnOnce(&mut Stage<'_>)) -> String {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    apply(&plane, modes);
    await_force(&mut stage);
    play(&mut stage);
    version(&plane)
}

/// Makes a change that its rule denies. Returns what is wrong with the sentence of the policy.
fn deny(stage: &mut Stage<'_>, rule: &Rule, example: &Example, row: &mut Row) -> Vec<String> {
    stage.set(example.given);
    let mut wrong = Vec::new();
    for route in routes_of(rule) {
        let Ok(shot) = shot(stage, example.send, route) else { continue };
        let reply = fire(stage, asker(example, route), shot, Run::Dry);
        row.asked += 1;
        let is_denied = ids(&reply).contains(rule.id);
        row.denied += usize::from(is_denied);
        // Its sentence is for who asks in the example.
        if is_denied && asker(example, route) == persona(example.by) {
            wrong.extend(other_sentence(rule, example, &reply));
        }
    }
    wrong
}

/// Returns the rules whose policies deny a change that no rule denies.
fn denying(stage: &mut Stage<'_>, rule: &Rule, example: &Example) -> BTreeSet<&'static str> {
    stage.set(example.given);
    let mut found = BTreeSet::new();
    for route in routes_of(rule) {
        let Ok(shot) = shot(stage, example.send, route) else { continue };
        found.extend(ids(&fire(stage, asker(example, route), shot, Run::Dry)));
    }
    found
}

/// The rules that a reply names.
pub(super) fn ids(reply: &Reply) -> BTreeSet<&'static str> {
    if reply.code != 403 {
        return BTreeSet::new();
    }
    let is_named = |rule: &&&Rule| reply.text.contains(&format!("[{}] ", rule.id));
    RULES.iter().filter(is_named).map(|rule| rule.id).collect()
}

/// Rules whose sentence names another object, which a policy does not see.
const OTHER_SENTENCE: [&str; 1] = ["recycle-policy"];

/// What the rule says, if the policy does not say the same.
pub(super) fn other_sentence(rule: &Rule, example: &Example, reply: &Reply) -> Option<String> {
    if OTHER_SENTENCE.contains(&rule.id) {
        return None;
    }
    let judged = judge_without_mutations(example).unwrap();
    let of_rule = judged.verdict.rulings.iter().filter(|ruling| ruling.rule.id == rule.id);
    let sentences: Vec<&str> = of_rule.map(|ruling| &*ruling.violation.text).collect();
    let message = reply.json["message"].as_str().unwrap_or_default();
    let is_same = sentences.iter().any(|sentence| message.contains(sentence));
    (!is_same).then(|| format!("{}: {}: {message:?}, not {sentences:?}", rule.id, example.title))
}

/// Returns how a policy is not what its form says.
fn differs(rule: &Rule, row: &Row) -> Option<String> {
    let Row { asked, denied, denied_too } = row;
    let is_as_said = match rule.policy {
        PolicyForm::Exact(_) => denied == asked && denied_too.is_empty(),
        PolicyForm::Stricter(..) => denied == asked,
        PolicyForm::Partial(..) => (1..=*asked).contains(denied) && denied_too.is_empty(),
        PolicyForm::NotExpressible(_) => *denied == 0 && denied_too.is_empty(),
    };
    (!is_as_said).then(|| {
        let form = rule.policy.as_str();
        format!("{}: {form}, but it denies {denied} of {asked}, and {denied_too:?}", rule.id)
    })
}
