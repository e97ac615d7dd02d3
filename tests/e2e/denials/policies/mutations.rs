//! The MutatingAdmissionPolicies of `bindery generate policies --mutations`: what they store is what the webhook stores.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{Example, Mutation, MutationForm, Operation, Policy, Send, spelling};
use hyper::Method;
use serde_json::Value;

use super::mutation_version;
use crate::denials::rules::{Route, Run, Stage, fire, natural, persona, shot};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, TENANT};
use crate::plane::{Body, Peers, Plane};

const GROUP: &str = "/apis/admissionregistration.k8s.io";

/// What is stored of a change, by mutation, example and route.
type Stored = BTreeMap<(&'static str, &'static str, &'static str), Value>;

pub(super) fn mutating_policies_store_what_the_webhook_stores() {
    let by_policies = {
        let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
        apply(&plane);
        let mut stage = Stage::on(&plane);
        await_mutations(&mut stage);
        stored(&mut stage)
    };
    let by_webhook = {
        let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
        let mut stage = Stage::on(&plane);
        let _installed = Installed::under(Policy::default(), &plane, Registered::Everything);
        await_mutations(&mut stage);
        stored(&mut stage)
    };
    assert!(by_policies.len() >= 8, "{} changes", by_policies.len());
    for (what, object) in &by_policies {
        assert_eq!(Some(object), by_webhook.get(what), "{what:?}");
    }
    println!("{} changes are stored alike", by_policies.len());
}

/// Creates the policies of all mutations.
fn apply(plane: &Plane) {
    let version = mutation_version(plane);
    let arguments = ["generate", "policies", "-o", "json", "--mutations", version];
    let output = Command::new(env!("CARGO_BIN_EXE_bindery")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Backwards: the first is what is awaited.
    for item in list["items"].as_array().unwrap().iter().rev() {
        let collection = match item["kind"].as_str().unwrap() {
            "MutatingAdmissionPolicy" => "mutatingadmissionpolicies",
            "MutatingAdmissionPolicyBinding" => "mutatingadmissionpolicybindings",
            // Denials are another case's.
            _ => continue,
        };
        let path = format!("{GROUP}/{version}/{collection}");
        plane.request(ADMIN, Method::POST, &path, Body::json(item)).expect_ok();
    }
}

/// Waits until an annotation of the binder is removed.
fn await_mutations(stage: &mut Stage<'_>) {
    stage.set("");
    let line =
        "claim db/probe 1Gi RWO class=none-such annotation=pv.kubernetes.io/bind-completed:yes";
    eventually("the API server mutates", Duration::from_secs(30), || {
        let made = shot(stage, Send::Create(line), Route::Create)?;
        let reply = fire(stage, TENANT, made, Run::Dry);
        match reply.json.pointer("/metadata/annotations") {
            None if reply.code < 300 => Ok(()),
            _ => Err(reply.to_string()),
        }
    });
}

/// Makes every change that a policy may mutate, as a dry run.
fn stored(stage: &mut Stage<'_>) -> Stored {
    let mut stored = Stored::new();
    for mutation in MUTATIONS {
        for example in mutation.mutated.iter().chain(mutation.unchanged) {
            for route in routes(example) {
                stage.set(example.given);
                let made = shot(stage, example.send, route).unwrap();
                if !is_looked_at(mutation, &made.path) {
                    continue;
                }
                let reply = fire(stage, persona(example.by), made, Run::Dry);
                assert!(reply.code < 300, "{}: {}: {reply}", mutation.id, example.title);
                for fact in example.then {
                    let held = stage.holds_in(*fact, &reply.json);
                    held.unwrap_or_else(|error| {
                        panic!("{}: {}: {error}", mutation.id, example.title)
                    });
                }
                let what = (mutation.id, example.title, route.title());
                stored.insert(what, comparable(reply.json));
            }
        }
    }
    stored
}

fn routes(example: &Example) -> Vec<Route> {
    let natural = natural(example.send);
    if natural == Route::MergePatch {
        return vec![Route::MergePatch, Route::Put, Route::JsonPatch];
    }
    vec![natural]
}

/// Whether the mutation has a policy for the resource at a path.
fn is_looked_at(mutation: &Mutation, path: &str) -> bool {
    mutation.policy.texts().iter().any(|text| {
        let (resource, _) = spelling(text.resource, Operation::Update);
        path.split(['/', '?']).any(|part| part == resource)
    })
}

/// The object without what differs between two servers.
fn comparable(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(key);
        }
    }
    if let Some(reserved) = object.pointer_mut("/spec/claimRef").and_then(Value::as_object_mut) {
        reserved.remove("uid");
    }
    if let Some(status) = object["status"].as_object_mut() {
        status.remove("lastPhaseTransitionTime");
    }
    object
}

/// The part of the page about mutations.
pub(super) fn document() -> String {
    let mut out = String::from(
        "\n## Mutations as MutatingAdmissionPolicies\n\n\
         `bindery generate policies --mutations v1` prints them too. A policy that is \"exact\" stores what the webhook stores, and one \
         that is \"partial\" leaves some objects as they are. No policy warns the user of what it changed. Kubernetes serves the API \
         `v1` from 1.36 on. 1.34 and 1.35 serve `v1beta1` if the API server runs with `--feature-gates=MutatingAdmissionPolicy=true` and \
         `--runtime-config=admissionregistration.k8s.io/v1beta1=true`; without them, the output of `--mutations` cannot be applied \
         there, and that without the option can.\n\n\
         | mutation | policy | in what it differs |\n|---|---|---|\n",
    );
    for mutation in MUTATIONS {
        let form: MutationForm = mutation.policy;
        let (id, reason) = (mutation.id, form.reason().unwrap_or_default());
        let _ = writeln!(out, "| `{id}` | {} | {reason} |", form.as_str());
    }
    out
}
