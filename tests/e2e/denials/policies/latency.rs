//! What a request waits for policies, beside what it waits for the webhook.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::{apply, await_force, create, generated};
use crate::denials::rules::{Stage, await_registration};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, STORAGE_ADMIN};
use crate::plane::{Body, Peers, Plane, volume_path};

/// Requests of each kind. Their median moves by less than a tenth from run to run.
const REQUESTS: usize = 300;

/// The policy, and its binding.
const BREAK_GLASS: &str = "bindery-break-glass";

/// Changes of a bound PV that each rule of guard's has to look at and none denies: of what is changed, and how much of what
/// the webhook adds the policies may add, in hundredths. For the second, one of them warns.
const CHANGES: [(&str, &str, u32); 2] = [
    ("its reclaim policy", r#"{"persistentVolumeReclaimPolicy":"Retain"}"#, 50),
    ("its mount options", r#"{"mountOptions":["ro"]}"#, 75),
];

/// On a plane alone, on one with the policies and on one with the webhook, in turns, so that whatever else the machine does
/// slows all of them. The policy about break-glass is on each of them: the chart installs it beside both.
pub(super) fn policies_cost_a_request_less_than_the_webhook() {
    let planes =
        [(); 3].map(|()| Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}")));
    let [alone, with_policies, with_webhook] = &planes;
    let mut stages = [alone, with_policies, with_webhook].map(Stage::on);
    for plane in [alone, with_webhook] {
        let items = generated(&BTreeMap::new(), &[]);
        items
            .iter()
            .filter(|item| item["metadata"]["name"] == BREAK_GLASS)
            .for_each(|item| create(plane, item));
    }
    apply(with_policies, &BTreeMap::new());
    await_force(&mut stages[1]);
    let _installed = Installed::on(with_webhook, Registered::Everything);
    await_registration(&mut stages[2]);
    for stage in &mut stages {
        stage.set("pair pv-a db/data 10Gi RWO policy=Delete");
        await_break_glass(stage.plane);
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

fn await_break_glass(plane: &Plane) {
    let arguments = "delete pv pv-a --dry-run=server --as=jane --as-group=system:masters --as-group=bindery.dev:break-glass";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    eventually("the policy about break-glass is in force", Duration::from_secs(30), || {
        let deleted = plane.kubectl(ADMIN, &arguments, "");
        let is_noted = deleted.stderr.contains("no rule of Bindery was evaluated");
        if is_noted { Ok(()) } else { Err(format!("{deleted:?}")) }
    });
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
