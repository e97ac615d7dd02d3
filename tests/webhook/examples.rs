//! Every example of every rule and mutation, over a real TLS connection to the real webhook.
//!
//! What an example says is the expectation; nothing here knows a single rule.

use std::collections::BTreeSet;

use bindery::api::review::parse_request;
use bindery::rules::judging::filter::is_dangerous;
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::judging::rule::address;
use bindery::rules::mutations::{MUTATIONS, all_on};
use bindery::rules::{
    Endpoint, Example, Fact, Mode, Mutation, Persona, Policy, RULES, ReadAccess, RequestType, Rule,
    Send, WarningMode,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::stage::{Scene, Stage, apply, endpoints};

/// An example with the webhook in front of its cluster.
struct Played {
    example: &'static Example,
    scene: Scene,
    stage: Stage,
}

impl Played {
    async fn new(example: &'static Example) -> Self {
        Self::under(Policy::default(), example).await
    }

    async fn under(policy: Policy, example: &'static Example) -> Self {
        let scene = Scene::of(example.given);
        let stage = Stage::under(policy, &scene, RULES).await;
        Self { example, scene, stage }
    }

    /// Returns what the API server would ask the validating endpoints.
    fn review(&self, query: &str) -> Value {
        self.scene.unmutated(&self.example.send, self.example.by, query).body().clone()
    }

    /// Returns what the API server would ask the mutating endpoints.
    fn mutating_review(&self, query: &str) -> Value {
        let sent = self.scene.begin(&self.example.send, self.example.by, query);
        sent.review().body().clone()
    }
}

/// The answers of every endpoint that the registrations send `review` to.
async fn answers(stage: &Stage, review: &Value) -> Vec<(Endpoint, Value)> {
    let mut answers = Vec::new();
    for endpoint in endpoints(review) {
        let answer = stage.validate(endpoint, review).await;
        assert_eq!(answer["uid"], review["request"]["uid"]);
        answers.push((endpoint, answer));
    }
    answers
}

/// The ids of the rules in the text of a denial, one a line.
fn denying(answer: &Value) -> BTreeSet<String> {
    if answer["allowed"] == json!(true) {
        assert_eq!(answer["status"], Value::Null, "{answer}");
        return BTreeSet::new();
    }
    assert_eq!(answer["status"]["code"], 403);
    assert_eq!(answer["status"]["reason"], "Forbidden");
    let text = answer["status"]["message"].as_str().unwrap();
    let id = |line: &str| {
        let id = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        id.unwrap_or_else(|| panic!("no rule in {line:?}")).0.to_owned()
    };
    // The line that overrides a denial follows it.
    let is_override = |line: &&str| line.starts_with("To override: ") || line.starts_with("If \"");
    text.lines().filter(|line| !is_override(line)).map(id).collect()
}

/// The endpoints through which the rule looks at the review.
fn request_types(request_types: &[RequestType], review: &Value) -> Vec<Endpoint> {
    let text = review.to_string();
    let change = parse_request(text.as_bytes(), &Policy::default()).unwrap().change;
    let (resource, operation) = address(&change);
    let here = |request_type: &&RequestType| {
        request_type.resource == resource && request_type.operation == operation
    };
    // All rules judge in the one entry to which a change is sent.
    let judging = if is_dangerous(&change) {
        Endpoint::Guard
    } else if endpoints(review).contains(&Endpoint::Restricted) {
        Endpoint::Restricted
    } else {
        Endpoint::Advise
    };
    let sent_to = |request_type: &RequestType| match request_type.endpoint {
        Endpoint::Guard | Endpoint::Advise | Endpoint::Restricted => judging,
        Endpoint::Tenancy | Endpoint::Mutate | Endpoint::Restore => request_type.endpoint,
    };
    request_types.iter().filter(here).map(sent_to).collect()
}

fn without_uid(mut answers: Vec<(Endpoint, Value)>) -> Vec<(Endpoint, Value)> {
    for (_, answer) in &mut answers {
        answer["uid"] = Value::Null;
    }
    answers
}

/// The profile `baseline`, but that this rule denies.
fn insisting_on(rule: &Rule) -> Policy {
    let modes = [(rule.id.to_owned(), Mode::Deny)].into();
    Policy { modes, ..Policy::default() }
}

/// The ids of the rules that warn.
fn warning(answer: &Value) -> BTreeSet<String> {
    let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
    let id = |warning: &Value| {
        let (id, _) = warning.as_str()?.strip_prefix('[')?.split_once("] ")?;
        Some(id.to_owned())
    };
    warnings.iter().filter_map(id).collect()
}

/// All rules but one.
fn all_but(rule: &Rule) -> &'static [&'static Rule] {
    let rest = RULES.iter().filter(|other| other.id != rule.id).copied();
    Vec::leak(rest.collect())
}

#[tokio::test]
async fn every_hazard_is_denied_by_its_rule_and_passes_without_it() {
    for rule in RULES {
        assert!(!rule.denied.is_empty() && !rule.allowed.is_empty(), "{}", rule.id);
        for example in rule.denied {
            let what = format!("{}: {}", rule.id, example.title);
            let played = Played::under(insisting_on(rule), example).await;
            let review = played.review("");
            let answers = answers(&played.stage, &review).await;

            let by: BTreeSet<String> =
                answers.iter().flat_map(|(_, answer)| denying(answer)).collect();
            assert_eq!(by, BTreeSet::from([rule.reported_id().to_owned()]), "{what}: {answers:?}");

            let through: Vec<Endpoint> = answers
                .iter()
                .filter(|(_, answer)| denying(answer).contains(rule.reported_id()))
                .map(|(endpoint, _)| *endpoint)
                .collect();
            assert_eq!(through, request_types(&rule.request_types, &review), "{what}");

            let blind = Stage::judging(&played.scene, all_but(rule)).await;
            for (endpoint, answer) in self::answers(&blind, &review).await {
                assert!(denying(&answer).is_empty(), "{what} through {endpoint:?}: {answer}");
            }

            let dry = self::answers(&played.stage, &played.review("?dryRun=All")).await;
            assert_eq!(without_uid(dry), without_uid(answers), "{what}, as a dry run");
        }
    }
}

#[tokio::test]
async fn every_rule_does_by_default_what_its_mode_says() {
    for rule in RULES {
        for example in rule.denied {
            let what = format!("{}: {}", rule.id, example.title);
            let played = Played::new(example).await;
            let answers = answers(&played.stage, &played.review("")).await;
            let denies =
                answers.iter().any(|(_, answer)| denying(answer).contains(rule.reported_id()));
            let warns =
                answers.iter().any(|(_, answer)| warning(answer).contains(rule.reported_id()));
            let expected = match rule.mode {
                Mode::Deny => (true, false),
                Mode::Warn => (false, true),
                Mode::Audit | Mode::Off => (false, false),
            };
            assert_eq!((denies, warns), expected, "{what}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn every_allowed_counterpart_passes() {
    for rule in RULES {
        for example in rule.allowed {
            let what = format!("{}: {}", rule.id, example.title);
            let played = Played::under(insisting_on(rule), example).await;
            let review = played.review("");
            assert!(
                !request_types(&rule.request_types, &review).is_empty(),
                "{what}: the rule never sees it"
            );
            let answers = answers(&played.stage, &review).await;
            for (endpoint, answer) in &answers {
                assert_eq!(answer["allowed"], true, "{what} through {endpoint:?}: {answer}");
            }
            let dry = self::answers(&played.stage, &played.review("?dryRun=All")).await;
            assert_eq!(without_uid(dry), without_uid(answers), "{what}, as a dry run");
        }
    }
}

#[tokio::test]
async fn every_mutation_mutates_what_it_should_and_leaves_the_rest() {
    for mutation in MUTATIONS {
        assert!(!mutation.mutated.is_empty() && !mutation.unchanged.is_empty(), "{}", mutation.id);
        let wanted = mutation.mutated.iter().map(|example| (example, true));
        let unwanted = mutation.unchanged.iter().map(|example| (example, false));
        for (example, is_mutated) in wanted.chain(unwanted) {
            let what = format!("{}: {}", mutation.id, example.title);
            let played = Played::under(all_on(), example).await;
            let review = played.mutating_review("");
            let answer = played.stage.mutate(&review).await;
            assert_eq!(answer["allowed"], true, "{what}");
            assert_eq!(reported(&answer, mutation), is_mutated, "{what}: {answer}");
            let sent_here =
                request_types(&mutation.request_types, &review).iter().any(|endpoint| {
                    let text = review.to_string();
                    let request = parse_request(text.as_bytes(), &all_on()).unwrap();
                    reaches(*endpoint, &request.change, OWN_CONTROLLER, ReadAccess::Volumes)
                });
            assert!(sent_here || !is_mutated, "{what}: the registrations do not send it");

            let mut dry = played.stage.mutate(&played.mutating_review("?dryRun=All")).await;
            dry["uid"] = answer["uid"].clone();
            assert_eq!(dry, answer, "{what}, as a dry run");

            store(&played, &answer, &what).await;
            for fact in example.then {
                check(&played.scene, fact, &what);
            }
        }
    }
}

/// The exemption stands on a volume; its reason is shown only to users who may read volumes.
#[tokio::test]
async fn an_exemption_lets_pass_and_shows_a_claimant_no_reason() {
    let scene = Scene::of("volume pv-a 5Gi RWO phase=Available\npair pv-b db/held 10Gi RWO");
    let until = Timestamp::now() + SignedDuration::from_hours(1);
    for (target, rule) in [("pv/pv-a", "prebind-capacity"), ("pv/pv-b", "bound-volume-delete")] {
        let key = format!("allow.bindery.dev/{rule}");
        let note = json!({key: format!("{until} moving to zephyr")});
        scene.patch(target, json!({"metadata": {"annotations": note}}));
    }
    let stage = Stage::before(&scene).await;
    for (endpoint, send, by, reported) in [
        (
            Endpoint::Advise,
            Send::Create("claim db/data 10Gi RWO class= volume=pv-a"),
            Persona::VolumeViewer,
            format!("exempt from prebind-capacity until {until}"),
        ),
        (
            Endpoint::Guard,
            Send::Delete("pv/pv-b"),
            Persona::Admin,
            format!("exempt from bound-volume-delete until {until}: moving to zephyr"),
        ),
    ] {
        let review = scene.unmutated(&send, by, "");
        let answer = stage.validate(endpoint, review.body()).await;
        assert_eq!((&answer["allowed"], &answer["warnings"]), (&json!(true), &json!([reported])));
        let audit = answer["auditAnnotations"].to_string();
        assert!(audit.contains("moving to zephyr"), "{audit}");
    }
}

/// Drivers round up: what they raise a volume to may be more than the claim asked for.
#[tokio::test]
async fn growth_beyond_what_an_expansion_asked_for_is_a_warning() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO csi=disk.example.com request=20Gi");
    let stage = Stage::before(&scene).await;
    let beyond = "[bound-volume-capacity] spec.capacity.storage of bound PV \"pv-a\" would grow \
        from 10Gi to 21Gi, more than the requested 20Gi; the disk may be smaller; check that it has grown";
    for (patch, reported) in [
        (r#"{"spec":{"capacity":{"storage":"20Gi"}}}"#, json!(null)),
        (r#"{"spec":{"capacity":{"storage":"21Gi"}}}"#, json!([beyond])),
    ] {
        let send = Send::Merge { target: "pv/pv-a", patch };
        let review = scene.unmutated(&send, Persona::Driver, "");
        let answer = stage.validate(Endpoint::Guard, review.body()).await;
        assert_eq!((&answer["allowed"], &answer["warnings"]), (&json!(true), &reported));
    }
}

/// Returns whether the mutation changed something: the audit log says so, and the asker is warned unless it is silent.
fn reported(answer: &Value, mutation: &Mutation) -> bool {
    let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
    let reported = format!("[{}] ", mutation.id);
    let is_warned = warnings.iter().any(|warning| warning.as_str().unwrap().starts_with(&reported));
    let is_mutated = answer["auditAnnotations"].get(mutation.id).is_some();
    assert_eq!(is_warned, is_mutated && mutation.warning == WarningMode::Warned, "{answer}");
    is_mutated
}

/// Goes through with the write as the API server would: mutated, validated, stored.
async fn store(played: &Played, answer: &Value, what: &str) {
    let (example, scene) = (played.example, &played.scene);
    let review = scene.begin(&example.send, example.by, "").review();
    let mut object = review.request()["object"].clone();
    apply(answer, &mut object);
    let review = scene.admit(review, Some(object)).review();
    for (endpoint, answer) in answers(&played.stage, review.body()).await {
        assert_eq!(answer["allowed"], true, "{what} through {endpoint:?}, mutated: {answer}");
    }
    scene.finish(review);
}

fn check(scene: &Scene, fact: &Fact, what: &str) {
    let at = |target: &str, pointer: &str| {
        let object = scene.object(target).unwrap_or_else(|| panic!("{what}: no {target}"));
        object.pointer(pointer).cloned()
    };
    match *fact {
        Fact::Is(target, pointer, json) => {
            let expected: Value = serde_json::from_str(&scene.with_uids(json)).unwrap();
            assert_eq!(at(target, pointer), Some(expected), "{what}: {target} {pointer}");
        }
        Fact::Has(target, pointer) => assert!(at(target, pointer).is_some(), "{what}: {pointer}"),
        Fact::Lacks(target, pointer) => assert_eq!(at(target, pointer), None, "{what}: {pointer}"),
        Fact::Gone(target) => assert!(scene.object(target).is_none(), "{what}: {target} is there"),
    }
}
