//! What a request waits for policies, beside what it waits for the webhook.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::{apply, await_force};
use crate::denials::rules::{Stage, await_registration};
use crate::installed::{Installed, Registered};
use crate::plane::persona::STORAGE_ADMIN;
use crate::plane::{Body, Peers, Plane, volume_path};

/// Requests of each kind. Their median moves by less than a tenth from run to run.
const REQUESTS: usize = 300;

/// Changes of a bound PV that each rule of guard's has to look at and none denies: of what is changed, and how much of what
/// the webhook adds the policies may add, in hundredths. For the second, one of them warns.
const CHANGES: [(&str, &str, u32); 2] = [
    ("its reclaim policy", r#"{"persistentVolumeReclaimPolicy":"Retain"}"#, 50),
    ("its mount options", r#"{"mountOptions":["ro"]}"#, 75),
];

/// On a plane alone, on one with the policies and on one with the webhook, in turns, so that whatever else the machine does
/// slows all of them.
pub(super) fn policies_cost_a_request_less_than_the_webhook() {
    let planes =
        [(); 3].map(|()| Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}")));
    let [alone, with_policies, with_webhook] = &planes;
    let mut stages = [alone, with_policies, with_webhook].map(Stage::on);
    apply(with_policies, &BTreeMap::new());
    await_force(&mut stages[1]);
    let _installed = Installed::on(with_webhook, Registered::Everything);
    await_registration(&mut stages[2]);
    for stage in &mut stages {
        stage.set("pair pv-a db/data 10Gi RWO policy=Delete");
    }
    let mut wrong = Vec::new();
    for (what, spec, most) in CHANGES {
        let spec: Value = serde_json::from_str(spec).unwrap();
        let mut times = [const { Vec::new() }; 3];
        for number in 0..REQUESTS {
            for (plane, times) in planes.iter().zip(&mut times) {
                times.push(time(plane, number, &spec));
            }
        }
        let [alone, with_policies, with_webhook] = times.map(median);
        println!(
            "a change of a bound PV, {what}: {alone:?} alone, {with_policies:?} with policies, {with_webhook:?} with the webhook"
        );
        let added = with_policies.saturating_sub(alone);
        let added_by_webhook = with_webhook.saturating_sub(alone);
        if added * 100 > added_by_webhook * most {
            wrong.push(format!("{what}: {added:?} and {added_by_webhook:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The time of a change of `spec` that the rules have to judge.
fn time(plane: &Plane, number: usize, spec: &Value) -> Duration {
    let path = format!("{}?dryRun=All", volume_path("pv-a"));
    let change = json!({"metadata": {"annotations": {"n": number.to_string()}}, "spec": spec});
    let begun = Instant::now();
    plane.request(STORAGE_ADMIN, Method::PATCH, &path, Body::merge_patch(&change)).expect_ok();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[REQUESTS / 2]
}
