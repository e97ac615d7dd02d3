//! The policies that have the PVs as parameters: each example of each rule, where a PVC comes to name a PV.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bindery::rules::judging::volume_parameters::with_volumes;
use bindery::rules::{Example, Mode, RULES, Rule};
use hyper::Method;
use serde_json::json;

use super::verdicts::{ids, other_sentence};
use super::{GROUP, apply_with, await_force, doctor};
use crate::denials::rules::{Route, Run, Shot, Stage, asker, fire, routes_of, shot};
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, ARRANGER, TENANT};
use crate::plane::{Body, Peers, Plane};

pub(super) fn policies_with_volumes_deny_what_their_rules_do() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    apply_with(&plane, &BTreeMap::new(), &["--volumes-as-parameters"]);
    let mut sight = Sight::of(&plane);
    await_force(&mut stage);
    let report = doctor(&plane, &BTreeMap::new());
    assert!(report.starts_with("ok "), "{report}");
    let report = doctor(&plane, &BTreeMap::from([("prebind-class", Mode::Off)]));
    assert!(report.starts_with("BAD ") && report.contains("bindery-volumes-"), "{report}");
    let mut wrong = Vec::new();
    let mut denied = BTreeMap::new();
    for rule in RULES {
        for example in rule.denied.iter().filter(|_| with_volumes(rule.id).is_some()) {
            let found = denying(&mut stage, &mut sight, rule, example, &mut wrong);
            *denied.entry(rule.id).or_insert(0) += found;
        }
    }
    for rule in RULES {
        for example in rule.allowed {
            sight.set(&mut stage, example);
            for (route, shot) in requests(&stage, rule, example) {
                let reply = fire(&stage, asker(example, route), shot, Run::Dry);
                let of_volumes = ids(&reply).into_iter().filter(|id| with_volumes(id).is_some());
                wrong.extend(of_volumes.map(|id| format!("{id} denies {}", example.title)));
            }
        }
    }
    println!("with volumes as parameters, policies deny {denied:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(denied.len() > 3 && denied.values().all(|count| *count > 2), "{denied:?}");
}

/// Returns how many requests that name a PV are denied, which is each of them.
fn denying(
    stage: &mut Stage<'_>,
    sight: &mut Sight,
    rule: &Rule,
    example: &Example,
    wrong: &mut Vec<String>,
) -> usize {
    sight.set(stage, example);
    let mut count = 0;
    for (route, request) in requests(stage, rule, example) {
        let is_of_claim = request.path.contains("/persistentvolumeclaims");
        let reply = fire(stage, asker(example, route), request, Run::Dry);
        let is_denied = ids(&reply) == BTreeSet::from([rule.reported_id()]);
        if is_denied != is_of_claim {
            wrong.push(format!("{}: {}: {reply}", rule.id, example.title));
        }
        if is_denied {
            count += 1;
            wrong.extend(other_sentence(rule, example, &reply));
            // Who may not get the PV learns nothing about it, but for that it is of another tenant.
            let again = shot(stage, example.send, route).unwrap();
            let reply = fire(stage, TENANT, again, Run::Dry);
            if ids(&reply).is_empty() == (rule.id == "foreign-namespace-volume") {
                wrong.push(format!("{}: {}: of a tenant: {reply}", rule.id, example.title));
            }
        }
    }
    count
}

/// The requests that can carry what an example sends.
fn requests(stage: &Stage<'_>, rule: &Rule, example: &Example) -> Vec<(Route, Shot)> {
    let made = |route| shot(stage, example.send, route).ok().map(|shot| (route, shot));
    routes_of(rule).filter_map(made).collect()
}

/// What the API server's policies see of the PVs: a while less than there is.
pub(super) struct Sight {
    /// How many PVs were created to be seen.
    created: usize,
}

impl Sight {
    /// Creates a policy that denies a `ConfigMap` which has the name of a PV.
    pub(super) fn of(plane: &Plane) -> Self {
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "sight"},
            "spec": {
                "paramKind": {"apiVersion": "v1", "kind": "PersistentVolume"},
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
                }]},
                "validations": [{"expression": "object.metadata.name != params.metadata.name"}],
            },
        });
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "sight"},
            "spec": {
                "policyName": "sight", "validationActions": ["Deny"],
                "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
            },
        });
        for (kind, object) in [("policies", policy), ("policybindings", binding)] {
            let path = format!("{GROUP}/validatingadmission{kind}");
            plane.request(ADMIN, Method::POST, &path, Body::json(&object)).expect_ok();
        }
        Self { created: 0 }
    }

    /// Puts what an example begins with, and waits until the policies see it.
    fn set(&mut self, stage: &mut Stage<'_>, example: &Example) {
        stage.set(example.given);
        self.wait(stage);
    }

    /// Waits until the policies see all PVs that there are: they see changes in their order.
    pub(super) fn wait(&mut self, stage: &Stage<'_>) {
        self.created += 1;
        let name = format!("last-{}", self.created);
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"}},
        });
        let volumes = "/api/v1/persistentvolumes";
        stage.plane.request(ARRANGER, Method::POST, volumes, Body::json(&volume)).expect_ok();
        let named = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let path = "/api/v1/namespaces/db/configmaps?dryRun=All";
        eventually("the policies see all PVs", Duration::from_secs(30), || {
            let reply = stage.plane.request(ADMIN, Method::POST, path, Body::json(&named));
            if reply.code == 422 { Ok(()) } else { Err(reply.to_string()) }
        });
    }
}
