//! What a tenant can find out about volumes that are not theirs, by naming them: nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bindery::rules::{Entry, Parameters, Persona, Policy, RULES, Send, Unlisted};
use serde_json::{Value, json};

use crate::stage::{Gate, Scene, Stage};

const GIVEN: &str = "volume pv-free 10Gi RWO phase=Available label=bindery.dev/tenant:red\n\
    volume pv-list 10Gi RWO phase=Available annotation=bindery.dev/allowed-namespaces:qa,red-*\n\
    volume pv-kept 10Gi RWO phase=Available for=qa/other label=bindery.dev/tenant:red\n\
    volume pv-odds 1Gi ROX mode=Block class=odd phase=Available label=bindery.dev/tenant:red\n\
    volume pv-gone 10Gi RWO label=bindery.dev/tenant:red terminating\n\
    volume pv-left 10Gi RWO phase=Released dead=qa/gone label=bindery.dev/tenant:red\n\
    pair pv-have qa/data 10Gi RWO label=bindery.dev/tenant:red";

/// Volumes that exist and are somebody else's.
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
    scene.unedited(&Send::Create(line), Persona::Tenant, "").body().clone()
}

/// The answer, without what the tenant wrote into the request.
async fn answer(stage: &Stage, scene: &Scene, volume: &str) -> String {
    let mut answer = stage.validate(Entry::Advise, &naming(scene, volume)).await;
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
        let told = answers.first().unwrap();
        assert!(told.contains("[prebind-taken] volume \\\"VOLUME\\\" is not available"), "{told}");
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
    let mut times = [const { Vec::<Duration>::new() }; FOREIGN.len() + 1];
    for _ in 0..50 {
        for (volume, times) in FOREIGN.iter().chain([&ABSENT]).zip(&mut times) {
            let review = naming(&scene, volume);
            let (asked, start) = (gate.held(), Instant::now());
            stage.validate(Entry::Advise, &review).await;
            times.push(start.elapsed());
            assert_eq!(gate.held() - asked, 1, "{volume}");
        }
    }
    let medians = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    let (least, most) = (medians.iter().min().unwrap(), medians.iter().max().unwrap());
    assert!(*most < *least * 2, "{medians:?}");
}

#[tokio::test]
async fn who_is_admitted_hears_of_the_volume_what_everybody_does() {
    let scene = Scene::of("volume pv-mine 5Gi RWO phase=Available label=bindery.dev/tenant:red");
    let stage = Stage::under(policy(Unlisted::Deny), &scene, RULES).await;
    let told = answer(&stage, &scene, "pv-mine").await;
    assert!(told.contains("[prebind-taken]"), "the namespace is nobody's yet: {told}");
    scene.patch("ns/db", json!({"metadata": {"labels": {"bindery.dev/tenant": "red"}}}));
    let stage = Stage::under(policy(Unlisted::Deny), &scene, RULES).await;
    let told = answer(&stage, &scene, "pv-mine").await;
    assert!(told.contains("[prebind-capacity]") && !told.contains("[prebind-taken]"), "{told}");
}
