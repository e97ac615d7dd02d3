//! The laws.

use std::cell::Cell;
use std::time::Duration;

use bindery::api::review::parse_request;
use bindery::model::annotations::LEGACY_CLASS;
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::{Endpoint, Policy, ReadAccess, Send};
use bindery_sim::Review;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use super::world::{World, block_on};
use crate::shared::generated::{
    CLAIMS, Case, Knowledge, POD, case, claim_target, volume_target, words,
};
use crate::shared::properties::holds;
use crate::stage::{Sent, apply, endpoints};

type Law = Result<(), TestCaseError>;

/// A change about which the mutating endpoints are asked, with every answer to that.
struct Asked {
    world: World,
    case: Case,
    review: Review,
    /// Of guard, advise and the mutating path.
    answers: [Value; 3],
}

/// How often a law had something to say: one that never has proves nothing.
#[derive(Default)]
struct Tally {
    asked: Cell<u32>,
    mutated: Cell<u32>,
    corrected: Cell<u32>,
    about_claims: Cell<u32>,
}

fn count(tally: &Cell<u32>) {
    tally.set(tally.get() + 1);
}

#[test]
fn every_answer_keeps_the_laws() {
    let tally = Tally::default();
    holds(450, case(), |case| {
        block_on(async {
            let world = World::of(&case.given, case.knowledge);
            let review = match world.scene.begin(&case.send, case.by, "") {
                Sent::Answered(_) => return Ok(()),
                Sent::Asked(review) => *review,
            };
            count(&tally.asked);
            let answers = world.all(review.body()).await;
            let asked = Asked { world, case, review, answers };
            what_a_mutation_has_corrected_is_not_denied(&asked, &tally).await?;
            a_second_mutation_changes_nothing(&asked, &tally).await?;
            a_mutation_leaves_everything_else_alone(&asked)?;
            mutations_are_made_only_where_the_registrations_ask(&asked)?;
            a_dry_run_gets_the_same_answers(&asked).await?;
            an_answer_about_a_claim_names_only_what_the_request_names(&asked, &tally)?;
            a_warning_is_short_and_one_line_and_only_denials_have_a_status(&asked)?;
            no_denial_is_reported_by_two_endpoints(&asked).await
        })
    });
    let Tally { asked, mutated, corrected, about_claims } = tally;
    let found = [&asked, &mutated, &corrected, &about_claims].map(Cell::get);
    let wanted = [300, 10, 5, 50];
    assert!(found.iter().zip(wanted).all(|(found, wanted)| *found >= wanted), "{found:?}");
}

async fn what_a_mutation_has_corrected_is_not_denied(asked: &Asked, tally: &Tally) -> Law {
    let Asked { world, review, answers: [_, _, answer], .. } = asked;
    let Some(mutated) = admitted(world, review, answer) else { return Ok(()) };
    for (mutation, rule) in [
        ("strip-binder-annotations", "forged-binder-annotations"),
        ("restore-binding", "bound-volume-claim-ref"),
        ("restore-binding", "prebind-incomplete"),
    ] {
        if !is_mutated_by(answer, mutation) {
            continue;
        }
        count(&tally.corrected);
        for endpoint in [Endpoint::Guard, Endpoint::Advise] {
            let verdict = world.validate(endpoint, mutated.body()).await;
            prop_assert!(!is_denied_by(&verdict, rule), "{mutation}: {verdict}");
        }
    }
    if is_mutated_by(answer, "restore-binding") {
        let request = mutated.request();
        let (old, new) = (&request["oldObject"]["spec"], &request["object"]["spec"]);
        prop_assert_eq!(&old["claimRef"], &new["claimRef"]);
    }
    Ok(())
}

async fn a_second_mutation_changes_nothing(asked: &Asked, tally: &Tally) -> Law {
    let Asked { world, review, answers: [_, _, answer], .. } = asked;
    if answer["patch"].is_null() {
        return Ok(());
    }
    count(&tally.mutated);
    let mut body = review.body().clone();
    apply(answer, &mut body["request"]["object"]);
    let again = world.mutate(&body).await;
    prop_assert_eq!(&again["patch"], &Value::Null, "{}", again);
    Ok(())
}

/// Annotations of others survive, finalizers are only added, and no other field is touched.
fn a_mutation_leaves_everything_else_alone(asked: &Asked) -> Law {
    let [_, _, answer] = &asked.answers;
    let mut before = asked.review.request()["object"].clone();
    let mut after = before.clone();
    apply(answer, &mut after);
    let is_ours = |key: &str| {
        ["bindery.dev/", "pv.kubernetes.io/", "volume."].iter().any(|part| key.starts_with(part))
    };
    for (key, value) in before["metadata"]["annotations"].as_object().into_iter().flatten() {
        let kept = &after["metadata"]["annotations"][key];
        prop_assert!(kept == value || (is_ours(key) && key != LEGACY_CLASS), "{}", key);
    }
    for name in before["metadata"]["finalizers"].as_array().into_iter().flatten() {
        let kept = after["metadata"]["finalizers"].as_array();
        prop_assert!(kept.is_some_and(|kept| kept.contains(name)), "{}", name);
    }
    for object in [&mut before, &mut after] {
        for (part, field) in [
            ("metadata", "annotations"),
            ("metadata", "finalizers"),
            ("spec", "claimRef"),
            ("spec", "storageClassName"),
        ] {
            object[part].as_object_mut().map(|part| part.remove(field));
        }
    }
    prop_assert_eq!(before, after);
    Ok(())
}

fn mutations_are_made_only_where_the_registrations_ask(asked: &Asked) -> Law {
    let [_, _, answer] = &asked.answers;
    let text = asked.review.body().to_string();
    let request = parse_request(text.as_bytes(), &Policy::default()).unwrap();
    let mut endpoints = [Endpoint::Mutate, Endpoint::Restore].iter();
    let is_asked = endpoints
        .any(|endpoint| reaches(*endpoint, &request.change, OWN_CONTROLLER, ReadAccess::Volumes));
    prop_assert!(is_asked || answer["patch"].is_null(), "{answer}");
    Ok(())
}

async fn a_dry_run_gets_the_same_answers(asked: &Asked) -> Law {
    let Asked { world, case, review, answers: real } = asked;
    let dry = world.scene.begin(&case.send, case.by, "?dryRun=All").review();
    prop_assert_eq!(&dry.request()["dryRun"], &json!(true));
    let mut answers = world.all(dry.body()).await;
    for answer in &mut answers {
        prop_assert_eq!(&answer["uid"], &dry.request()["uid"]);
        answer["uid"] = review.request()["uid"].clone();
    }
    prop_assert_eq!(real, &answers);
    Ok(())
}

/// A tenant learns nothing about the cluster from an answer about a claim, but which pods of its own namespace use it. The
/// reason of an exemption is for the audit log alone.
fn an_answer_about_a_claim_names_only_what_the_request_names(asked: &Asked, tally: &Tally) -> Law {
    let Asked { world, review, answers, .. } = asked;
    if review.request()["resource"]["resource"] != "persistentvolumeclaims" {
        return Ok(());
    }
    let request = review.body().to_string();
    let uids = CLAIMS.iter().filter_map(|key| {
        let claim = world.scene.object(&format!("pvc/{key}"))?;
        Some(claim["metadata"]["uid"].as_str()?.to_owned())
    });
    let namespace = review.request()["namespace"].as_str().unwrap_or_default();
    let is_own_pod = world.scene.object(&format!("pod/{namespace}/{POD}")).is_some();
    let words = words().filter(|word| !(is_own_pod && *word == POD));
    let words = words.map(str::to_owned).chain(uids);
    let secrets: Vec<String> = words.filter(|word| !request.contains(&**word)).collect();
    for answer in answers {
        let mut answer = answer.clone();
        let audit = answer["auditAnnotations"].as_object_mut();
        for note in audit.into_iter().flatten().map(|(_, note)| note) {
            if note.as_str().unwrap().starts_with("exempted until ") {
                *note = Value::Null;
            }
        }
        let text = answer.to_string();
        if text.len() > 100 {
            count(&tally.about_claims);
        }
        let leaked = secrets.iter().find(|word| text.contains(&***word));
        prop_assert_eq!(leaked, None, "{}", text);
    }
    Ok(())
}

/// kubectl shows warnings to people, and the API server cuts or drops what is no header.
fn a_warning_is_short_and_one_line_and_only_denials_have_a_status(asked: &Asked) -> Law {
    for answer in &asked.answers {
        let is_allowed = answer["allowed"] == json!(true);
        prop_assert_eq!(&answer["uid"], &asked.review.request()["uid"]);
        prop_assert_eq!(is_allowed, answer["status"].is_null());
        prop_assert!(is_allowed || answer["patch"].is_null());
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            let text = warning.as_str().unwrap();
            prop_assert!(text.chars().count() <= 256 && !text.contains(char::is_control), "{text}");
        }
    }
    Ok(())
}

/// The registrations send each rule each request once: what guard judged, advise does not report
/// again.
async fn no_denial_is_reported_by_two_endpoints(asked: &Asked) -> Law {
    let Asked { world, review, .. } = asked;
    let Some(review) = admitted(world, review, &json!({"allowed": true})) else { return Ok(()) };
    let mut reported = Vec::new();
    for endpoint in endpoints(review.body()) {
        let answer = world.validate(endpoint, review.body()).await;
        let text = answer["status"]["message"].as_str().unwrap_or_default().to_owned();
        reported.extend(text.lines().filter(|line| line.starts_with('[')).map(str::to_owned));
    }
    let count = reported.len();
    reported.sort();
    reported.dedup();
    prop_assert_eq!(reported.len(), count, "{:?}", reported);
    Ok(())
}

/// A change of labels and of notes of one's own, or none at all.
#[test]
fn an_update_that_changes_nothing_relevant_always_passes_in_silence() {
    let target = prop_oneof![volume_target(), claim_target()];
    let judged = Cell::new(0);
    holds(250, (case(), target, any::<bool>(), any::<bool>()), |(case, target, touch, status)| {
        block_on(async {
            let world = World::of(&case.given, case.knowledge);
            if world.scene.object(target).is_none() {
                return Ok(());
            }
            let touched =
                r#"{"metadata":{"labels":{"a":"c"},"annotations":{"example.com/own":"yes"}}}"#;
            let patch = if touch { touched } else { "{}" };
            let send = if status {
                Send::MergeStatus { target, patch }
            } else {
                Send::Merge { target, patch }
            };
            let review = match world.scene.begin(&send, case.by, "") {
                Sent::Asked(review) => review,
                Sent::Answered(answer) => panic!("{answer:?}"),
            };
            judged.set(judged.get() + 1);
            let silent = json!({"uid": review.request()["uid"], "allowed": true});
            for answer in world.all(review.body()).await {
                prop_assert_eq!(&answer, &silent);
            }
            Ok(())
        })
    });
    assert!(judged.get() > 120, "only {} updates", judged.get());
}

#[test]
fn answers_do_not_depend_on_the_order_in_which_the_view_was_filled() {
    holds(200, (case(), any::<u64>()), |(case, order)| {
        block_on(async {
            let world = World::of(&case.given, case.knowledge);
            let other = World::of(&case.given, Knowledge { order, ..case.knowledge });
            let Sent::Asked(review) = world.scene.begin(&case.send, case.by, "") else {
                return Ok(());
            };
            prop_assert_eq!(world.all(review.body()).await, other.all(review.body()).await);
            Ok(())
        })
    });
}

#[test]
fn every_answer_repeats_the_uid_whatever_it_is() {
    holds(100, (case(), ".{1,40}"), |(case, uid)| {
        block_on(async {
            let world = World::of(&case.given, case.knowledge);
            let Sent::Asked(review) = world.scene.begin(&case.send, case.by, "") else {
                return Ok(());
            };
            let mut body = review.body().clone();
            body["request"]["uid"] = json!(uid);
            for answer in world.all(&body).await {
                prop_assert_eq!(&answer["uid"], &json!(uid));
            }
            Ok(())
        })
    });
}

/// Whatever the bytes are, there is an answer or a reason, and never a panic.
#[test]
fn damaged_bodies_are_answered_or_rejected() {
    let damage = vec((any::<u16>(), damage()), 1..6);
    let (read, denied) = (Cell::new(0), Cell::new(0));
    holds(250, (case(), damage), |(case, damage)| {
        block_on(async {
            let world = World::of(&case.given, case.knowledge);
            let Sent::Asked(review) = world.scene.begin(&case.send, case.by, "") else {
                return Ok(());
            };
            let mut body = review.body().to_string().into_bytes();
            for (place, damage) in damage {
                let place = usize::from(place) % body.len();
                match damage {
                    Damage::Cut => body.truncate(place.max(1)),
                    Damage::Put(byte) => body[place] = byte,
                    Damage::Double => body.extend_from_within(place..),
                }
            }
            let left = || Duration::from_secs(1);
            match world.service.parse(&mut body) {
                Ok(asked) => {
                    read.set(read.get() + 1);
                    for endpoint in [Endpoint::Guard, Endpoint::Advise] {
                        world.service.validate(endpoint, &asked, left).await;
                    }
                    world.service.mutate(&asked, &body, left).await?;
                }
                Err(error) => {
                    denied.set(denied.get() + 1);
                    prop_assert!(!error.to_string().is_empty());
                }
            }
            Ok(())
        })
    });
    assert!(read.get() > 20 && denied.get() > 50, "{} {}", read.get(), denied.get());
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Cut,
    Put(u8),
    Double,
}

fn damage() -> impl Strategy<Value = Damage> {
    let letters = select(b"\"{}[]:,\\0n \x00\xff".to_vec());
    prop_oneof![
        8 => letters.prop_map(Damage::Put),
        4 => any::<u8>().prop_map(Damage::Put),
        1 => Just(Damage::Cut),
        1 => Just(Damage::Double),
    ]
}

/// The review of what is stored if `answer` is followed; none where the API server denies that.
fn admitted(world: &World, review: &Review, answer: &Value) -> Option<Review> {
    let mut object = review.request()["object"].clone();
    apply(answer, &mut object);
    let patched = (!object.is_null()).then_some(object);
    match world.scene.admit(review.clone(), patched) {
        Sent::Asked(review) => Some(*review),
        Sent::Answered(_) => None,
    }
}

fn is_denied_by(answer: &Value, rule: &str) -> bool {
    let text = answer["status"]["message"].as_str().unwrap_or_default();
    text.lines().any(|line| line.starts_with(&format!("[{rule}] ")))
}

fn is_mutated_by(answer: &Value, mutation: &str) -> bool {
    let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
    let prefix = format!("[{mutation}] ");
    let done = |text: &str| text.starts_with(&prefix) && !text.contains("not applied");
    answer["patch"].is_string() && warnings.iter().any(|text| done(text.as_str().unwrap()))
}
