//! What a tenant can find out about volumes that are not theirs, by naming them: nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bindery::api::review::parse_request;
use bindery::binding::{Evidence, LiveReads, View};
use bindery::model::{Selector, Term};
use bindery::rules::judging::filter::OWN_CONTROLLER;
use bindery::rules::{
    Endpoint, Mode, Override, Parameters, Persona, Policy, Question, RULES, Ruling, Send, Unlisted,
    Verdict, judge,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::stage::{Gate, Scene, Stage, endpoints};

const GIVEN: &str = "volume pv-free 10Gi RWO phase=Available label=bindery.dev/tenant:red\n\
    volume pv-list 10Gi RWO phase=Available annotation=bindery.dev/allowed-namespaces:qa,red-*\n\
    volume pv-kept 10Gi RWO phase=Available for=qa/other label=bindery.dev/tenant:red\n\
    volume pv-odds 1Gi ROX mode=Block class=odd phase=Available label=bindery.dev/tenant:red\n\
    volume pv-gone 10Gi RWO label=bindery.dev/tenant:red terminating\n\
    volume pv-left 10Gi RWO phase=Released dead=qa/gone label=bindery.dev/tenant:red\n\
    pair pv-have qa/data 10Gi RWO label=bindery.dev/tenant:red";

/// Volumes that exist and belong to others.
const FOREIGN: [&str; 7] =
    ["pv-free", "pv-list", "pv-kept", "pv-odds", "pv-gone", "pv-left", "pv-have"];
const ABSENT: &str = "pv-none";

fn policy(unlisted: Unlisted) -> Policy {
    let parameters = Parameters { unlisted, ..Parameters::default() };
    Policy { parameters, ..Policy::default() }
}

/// The review of a claim that names the volume.
fn naming(scene: &Scene, volume: &str) -> Value {
    let line = format!("claim db/data 10Gi RWO class= volume={volume}").leak();
    scene.unmutated(&Send::Create(line), Persona::Tenant, "").body().clone()
}

/// The answer, without what the tenant wrote into the request.
async fn answer(stage: &Stage, scene: &Scene, volume: &str) -> String {
    let mut answer = stage.validate(Endpoint::Advise, &naming(scene, volume)).await;
    answer["uid"] = json!("");
    // The API server writes these into its log; no tenant sees them.
    answer["auditAnnotations"] = Value::Null;
    answer.to_string().replace(volume, "VOLUME")
}

#[tokio::test]
async fn every_volume_of_others_gets_the_same_answer() {
    let scene = Scene::of(GIVEN);
    for (unlisted, alike) in [
        (Unlisted::Deny, FOREIGN.iter().chain([&ABSENT]).copied().collect::<Vec<_>>()),
        (Unlisted::Allow, FOREIGN.to_vec()),
    ] {
        let stage = Stage::under(policy(unlisted), &scene, RULES).await;
        let mut answers = BTreeSet::new();
        for volume in alike {
            answers.insert(answer(&stage, &scene, volume).await);
        }
        assert_eq!(answers.len(), 1, "{answers:#?}");
        let reported = answers.first().unwrap();
        assert!(
            reported.contains("[prebind-taken] PV \\\"VOLUME\\\" is not available"),
            "{reported}"
        );
    }
}

/// One question to the API server each, whatever there is: so each takes as long.
#[tokio::test]
async fn every_volume_of_others_costs_the_same() {
    let scene = Scene::of(GIVEN);
    let gate = Gate::closed("/api/v1/");
    gate.open();
    let policy = policy(Unlisted::Deny);
    let stage = Stage::through(gate.client(&scene.server), policy, RULES).await;
    // The shortest of each: what others do on the machine only adds. Beside many others it takes long to come by.
    let mut shortest = [Duration::MAX; FOREIGN.len() + 1];
    for round in 1..=2_000 {
        for (volume, shortest) in FOREIGN.iter().chain([&ABSENT]).zip(&mut shortest) {
            let review = naming(&scene, volume);
            let (asked, start) = (gate.reads(), Instant::now());
            stage.validate(Endpoint::Advise, &review).await;
            *shortest = start.elapsed().min(*shortest);
            assert_eq!(gate.reads() - asked, 1, "{volume}");
        }
        let (least, most) = (shortest.iter().min().unwrap(), shortest.iter().max().unwrap());
        if round >= 50 && *most < *least * 2 {
            return;
        }
    }
    panic!("{shortest:?}");
}

#[tokio::test]
async fn who_is_admitted_learns_of_the_volume_what_every_user_does() {
    let scene = Scene::of("volume pv-mine 5Gi RWO phase=Available label=bindery.dev/tenant:red");
    let stage = Stage::under(policy(Unlisted::Deny), &scene, RULES).await;
    let reported = answer(&stage, &scene, "pv-mine").await;
    assert!(reported.contains("[prebind-taken]"), "the namespace has no tenant yet: {reported}");
    scene.patch("ns/db", json!({"metadata": {"labels": {"bindery.dev/tenant": "red"}}}));
    let stage = Stage::under(policy(Unlisted::Deny), &scene, RULES).await;
    let reported = answer(&stage, &scene, "pv-mine").await;
    assert!(
        reported.contains("[prebind-capacity]") && !reported.contains("[prebind-taken]"),
        "{reported}"
    );
}

/// Owners that are nowhere, and owners whose name another object has: who may write claims and see neither learns which.
#[tokio::test]
async fn an_owner_that_a_tenant_guesses_reveals_nothing() {
    let scene = Scene::of("volume pv-secret 1Gi RWO\nclass secret wait\nnamespace secret");
    let stage = Stage::before(&scene).await;
    for (version, kind, name) in [
        ("v1", "PersistentVolume", "pv-secret"),
        ("v1", "Namespace", "secret"),
        ("storage.k8s.io/v1", "StorageClass", "secret"),
    ] {
        let ask = async |name: &str| {
            let send = Send::Create("claim db/data 1Gi RWO class=");
            let mut body = scene.unmutated(&send, Persona::Tenant, "").body().clone();
            body["request"]["object"]["metadata"]["ownerReferences"] =
                json!([{"apiVersion": version, "kind": kind, "name": name, "uid": "guessed"}]);
            let mut answer = stage.validate(Endpoint::Advise, &body).await;
            answer["uid"] = json!("");
            answer["auditAnnotations"] = Value::Null;
            answer.to_string().replace(name, "NAME")
        };
        assert_eq!(ask(name).await, ask("none-such").await, "{kind}");
    }
}

/// The reservation of a volume for `db/data`, by whom.
fn reserving(scene: &Scene, by: Persona) -> Value {
    let patch = r#"{"spec":{"claimRef":{"namespace":"db","name":"data","uid":"{uid:db/data}"}}}"#;
    scene.unmutated(&Send::Merge { target: "pv/pv-a", patch }, by, "").body().clone()
}

const MARKED: &str = "namespace db bindery.dev/tenant:blue\n\
    volume pv-a 10Gi RWO phase=Available label=bindery.dev/tenant:red\nclaim db/data 10Gi RWO class=";

/// Also our own controller, which may have seen the namespace when it was another tenant's.
#[tokio::test]
async fn a_volume_is_reserved_for_no_other_tenant_by_any_user() {
    let scene = Scene::of(MARKED);
    let stage = Stage::before(&scene).await;
    for by in [Persona::Admin, Persona::Binder, Persona::Scheduler, Persona::Driver] {
        let answer = stage.validate(Endpoint::Tenancy, &reserving(&scene, by)).await;
        let reported = answer["status"]["message"].as_str().unwrap_or_default();
        assert!(reported.starts_with("[foreign-namespace-binding] "), "{by:?}: {answer}");
        // The binder repeats it in events that a tenant reads.
        assert!(!reported.contains("pv-a") && !reported.contains("red"), "{reported}");
    }
    let mut own = reserving(&scene, Persona::Admin);
    own["request"]["userInfo"] = json!({"username": OWN_CONTROLLER, "groups": []});
    assert_eq!(endpoints(&own), [Endpoint::Tenancy]);
    own["request"]["userInfo"]["groups"] = json!(["bindery.dev:break-glass"]);
    assert_eq!(endpoints(&own), []);
}

/// As `bindery local` creates it before it offers a disk; another one is reserved for a namespace that may exist.
#[tokio::test]
async fn a_volume_that_no_claim_can_get_is_given_to_no_other_tenant() {
    let scene = Scene::of("namespace db bindery.dev/tenant:blue");
    let stage = Stage::before(&scene).await;
    for (line, is_allowed) in [
        ("volume pv-a 10Gi RWO for=bindery.dev/pv-a label=bindery.dev/tenant:red", true),
        ("volume pv-a 10Gi RWO for=db/pv-a label=bindery.dev/tenant:red", false),
    ] {
        let review = scene.unmutated(&Send::Create(line), Persona::Admin, "").body().clone();
        let answer = stage.validate(Endpoint::Tenancy, &review).await;
        assert_eq!(answer["allowed"], is_allowed, "{line}: {answer}");
    }
}

/// A label by which an override selects is guarded as that of tenants is; others are not guarded.
#[tokio::test]
async fn a_label_by_which_an_override_selects_is_denied_and_no_other() {
    let scene = Scene::of("namespace db team:db");
    let stage = Stage::under(selecting(), &scene, RULES).await;
    let labels = [
        (
            "team",
            json!("qa"),
            "label \"team\" of Namespace \"db\" would be set to \"qa\"; overrides select",
        ),
        (
            "team",
            Value::Null,
            "label \"team\" would be removed from Namespace \"db\"; overrides select",
        ),
        ("floor", json!("1"), ""),
    ];
    for (key, value, reported) in labels {
        let patch = json!({"metadata": {"labels": {key: value}}}).to_string().leak();
        let send = Send::Merge { target: "ns/db", patch };
        let review = scene.unmutated(&send, Persona::NamespaceAdmin, "");
        let answer = stage.validate(Endpoint::Tenancy, review.body()).await;
        let message = answer["status"]["message"].as_str().unwrap_or_default();
        assert_eq!(answer["allowed"], reported.is_empty(), "{key} {value}: {answer}");
        assert!(message.contains(reported), "{key} {value}: {answer}");
    }
}

/// A policy with an override for teams.
fn selecting() -> Policy {
    let mut policy = Policy::default();
    policy.override_modes(vec![Override {
        namespaces: Selector::new(vec![Term::equals("team", "qa").unwrap()]),
        modes: [("bound-volume-delete".to_owned(), Mode::Off)].into(),
    }]);
    policy
}

/// Returns what is found against a review where no read is answered.
fn unread(review: &Value) -> Vec<Ruling> {
    let text = review.to_string();
    let change = parse_request(text.as_bytes(), &Policy::default()).unwrap().change;
    let (view, mut live, policy) = (View::default(), LiveReads::default(), Policy::default());
    let now = Timestamp::UNIX_EPOCH;
    let question = Question { endpoint: Endpoint::Tenancy, change: &change, policy: &policy, now };
    let open = judge(RULES, question, &Evidence::new(&view, &live)).reads;
    live.fail_all(&open);
    judge(RULES, question, &Evidence::new(&view, &live)).verdict.rulings
}

/// A namespace that cannot be read has no tenant: a volume that is given away is not taken back.
#[tokio::test]
async fn what_cannot_be_read_is_not_admitted() {
    let scene = Scene::of(MARKED);
    let review = reserving(&scene, Persona::Binder);
    let gate = Gate::closed("/api/v1/namespaces");
    let stage = Stage::start(gate.client(&scene.server), RULES, Duration::ZERO);
    let answer = stage.validate(Endpoint::Tenancy, &review).await;
    assert_eq!(answer["allowed"], json!(false), "{answer}");
    assert!(gate.held() > 0);
    // A mark on what its claim has warns at most, and so does a rule that is to warn.
    let held = Scene::of("namespace db bindery.dev/tenant:blue\npair pv-a db/data 10Gi RWO");
    let patch = r#"{"metadata":{"labels":{"bindery.dev/tenant":"red"}}}"#;
    let mark = held.unmutated(&Send::Merge { target: "pv/pv-a", patch }, Persona::Admin, "");
    assert_eq!(stage.validate(Endpoint::Tenancy, mark.body()).await["allowed"], json!(true));
    let modes = [("foreign-namespace-binding".to_owned(), Mode::Warn)].into();
    let verdict = Verdict { rulings: unread(&review), ..Verdict::default() };
    assert!(verdict.clone().closed(&Policy { modes, ..Policy::default() }).is_allowed());
    assert!(!verdict.closed(&Policy::default()).is_allowed());
    scene.patch("ns/db", json!({"metadata": {"labels": {"bindery.dev/tenant": "red"}}}));
    let stage = Stage::before(&scene).await;
    assert_eq!(stage.validate(Endpoint::Tenancy, &review).await["allowed"], json!(true));
}

/// Only what is about tenants is sent: everything else goes on while no webhook answers.
#[test]
fn only_reservations_of_marked_volumes_are_sent() {
    let sent = |given: &str, send: &Send| {
        let body = Scene::of(given).unmutated(send, Persona::Admin, "").body().clone();
        endpoints(&body).contains(&Endpoint::Tenancy)
    };
    let merge = |patch| Send::Merge { target: "pv/pv-a", patch };
    let reserve = merge(r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"#);
    for (mark, is_sent) in [
        ("label=bindery.dev/tenant:red", true),
        ("annotation=bindery.dev/allowed-namespaces:qa", true),
        ("label=tier:gold", false),
        ("", false),
    ] {
        let free = format!("volume pv-a 10Gi RWO phase=Available {mark}");
        assert_eq!(sent(&free, &reserve), is_sent, "{mark}");
        assert!(!sent(&free, &merge(r#"{"spec":{"mountOptions":["ro"]}}"#)), "{mark}");
        let pair = format!("pair pv-a db/data 10Gi RWO {mark}");
        assert!(!sent(&pair, &merge(r#"{"spec":{"capacity":{"storage":"20Gi"}}}"#)), "{mark}");
        assert!(!sent(&pair, &merge(r#"{"metadata":{"labels":{"tier":"iron"}}}"#)), "{mark}");
        assert!(!sent(&pair, &merge(r#"{"spec":{"claimRef":null}}"#)), "{mark}");
        assert!(!sent(&pair, &Send::Delete("pv/pv-a")), "{mark}");
        let own = merge(r#"{"metadata":{"labels":{"bindery.dev/tenant":"blue"}}}"#);
        assert!(sent(&pair, &own) && !sent(&free, &own), "{mark}");
    }
    let create = |line| sent("", &Send::Create(line));
    assert!(create("volume pv-a 10Gi RWO for=db/data label=bindery.dev/tenant:red"));
    assert!(!create("volume pv-a 10Gi RWO label=bindery.dev/tenant:red"));
    assert!(!create("volume pv-a 10Gi RWO for=db/data"));
}
