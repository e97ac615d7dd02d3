//! What `check` says is what the webhook does: every denied change is first checked dry, over a dump
//! of the cluster and over the cluster itself, and then made; the texts are the same, byte for byte.

use std::io::Write as _;
use std::process::{Command, Stdio};

use bindery::rules::{Example, RULES, Rule, Send};
use serde_json::{Value, json};

use super::routes::{Route, natural, shot, written};
use super::stage::{Stage, persona};
use super::table::insisting;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{BINDERY, TENANT, VOLUME_VIEWER};
use crate::plane::{Peers, Persona, Plane};

pub(crate) fn check_says_what_the_webhook_does() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    // What warns by default is reported in the same way once it denies.
    let _installed = Installed::under(insisting(), &plane, Registered::Validating);
    super::table::await_registration(&mut stage);
    let mut wrong = Vec::new();
    let mut compared = 0;
    for rule in RULES {
        for example in rule.denied {
            stage.set(example.given);
            for live in [Live::Dump, Live::Cluster] {
                compared += 1;
                if let Err(why) = compare(&stage, rule, example, live) {
                    wrong.push(describe(rule, example, live, &why));
                }
            }
        }
    }
    println!("{compared} denials reported by check as by the webhook");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where `check` learns what is stored.
#[derive(Clone, Copy, Debug)]
enum Live {
    Dump,
    Cluster,
}

fn compare(stage: &Stage<'_>, rule: &Rule, example: &Example, live: Live) -> Result<(), String> {
    let who = asker(example);
    let reported = check(stage, rule, example, live)?;
    let shot = shot(stage, example.send, natural(example.send))?;
    let path = format!("{}?dryRun=All", shot.path);
    let reply = stage.plane.request(who, shot.method, &path, shot.body);
    let message = reply.json["message"].as_str().unwrap_or_default();
    let (_, done) = message
        .split_once("denied the request: ")
        .ok_or_else(|| format!("the webhook does not deny it: {reply}"))?;
    // The API server hands out the denial of the endpoint that answers first.
    let same = reported == done
        || (reported.contains(done) && done.lines().count() < reported.lines().count());
    if same { Ok(()) } else { Err(format!("check: {reported:?}; webhook: {done:?}")) }
}

/// Returns who asks: `check` answers as the webhook answers those who may read volumes.
fn asker(example: &Example) -> Persona {
    match persona(example.by) {
        TENANT => VOLUME_VIEWER,
        other => other,
    }
}

/// The denials that `check` reports, a line each.
fn check(stage: &Stage<'_>, rule: &Rule, example: &Example, live: Live) -> Result<String, String> {
    let who = asker(example);
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = |name: &str, value: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, value.to_string()).map_err(|error| error.to_string())?;
        Ok::<_, String>(path.display().to_string())
    };
    let mut arguments = vec!["check".to_owned(), "-o".to_owned(), "json".to_owned()];
    arguments.extend(["--config".to_owned(), file("config.json", &configuration())?]);
    match example.send {
        // A mutation would correct it first, and `check` knows: the review shows it unmutated.
        Send::Create(line) if is_corrected(line) => {
            let review = creation_review(stage, line, who);
            arguments.extend(["-f".to_owned(), file("review.json", &review)?]);
        }
        Send::Create(line) => {
            let (_, object) = written(stage, line);
            arguments.extend(["-f".to_owned(), file("new.json", &object)?]);
        }
        Send::Merge { target, patch } => {
            let mut object = stage.get(target).ok_or("no target")?;
            let patch: Value = serde_json::from_str(&stage.fill(patch)).unwrap();
            json_patch::merge(&mut object, &patch);
            arguments.extend(["-f".to_owned(), file("new.json", &object)?]);
            arguments.push("--apply=replace".to_owned());
        }
        Send::Delete(target) => arguments.extend(["--delete".to_owned(), stage.fill(target)]),
        Send::MergeStatus { target, patch } => {
            let review = status_review(stage, target, patch, who);
            arguments.extend(["-f".to_owned(), file("review.json", &review)?]);
        }
    }
    match live {
        Live::Dump => {
            for (number, list) in stage.dump().as_array().into_iter().flatten().enumerate() {
                let name = format!("dump-{number}.json");
                arguments.extend(["--live".to_owned(), file(&name, list)?]);
            }
        }
        Live::Cluster => {
            let kubeconfig = stage.plane.kubeconfig(BINDERY).display().to_string();
            arguments.extend(["--live".to_owned(), "cluster".to_owned()]);
            arguments.extend(["--kubeconfig".to_owned(), kubeconfig]);
        }
    }
    arguments.extend(["--for-user".to_owned(), who.user.to_owned()]);
    for group in who.groups {
        arguments.extend(["--for-group".to_owned(), (*group).to_owned()]);
    }
    // Whether the asker has a permission, the cluster is not asked.
    let (result, code) = if rule.is_of_permission() { ("unverified", 0) } else { ("denied", 1) };
    let reported = findings(&arguments, result, code)?;
    Ok(reported.replace("; whether the requester has the permission is not known here", ""))
}

/// The messages of the findings with this result, if the exit code is this.
fn findings(arguments: &[String], result: &str, code: i32) -> Result<String, String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // Nothing is read from it; an open one would make a waiting program hang.
    drop(child.stdin.take().map(|mut input| input.flush()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_str(&text)
        .map_err(|error| format!("{error}: {text} {said} from {arguments:?}"))?;
    if output.status.code() != Some(code) {
        return Err(format!("ends with {}: {report} {said}", output.status));
    }
    let found = report["findings"].as_array().into_iter().flatten();
    let found = found.filter(|finding| finding["result"] == json!(result));
    let lines: Vec<&str> = found.filter_map(|finding| finding["message"].as_str()).collect();
    Ok(lines.join("\n"))
}

/// Returns whether a mutation takes the hazard out of a new object.
fn is_corrected(line: &str) -> bool {
    let is_stale =
        line.starts_with("volume ") && (line.contains("dead=") || line.contains("held="));
    line.contains("annotation=pv.kubernetes.io/bind-completed") || is_stale
}

/// The configuration file of [`insisting`].
fn configuration() -> Value {
    let modes = insisting().modes.into_keys().map(|id| (id, json!("deny")));
    let modes: serde_json::Map<String, Value> = modes.collect();
    json!({"apiVersion": "bindery.dev/v1", "kind": "Config", "rules": {"modes": modes}})
}

/// The review of a creation, as the API server sends it where no mutations are registered.
fn creation_review(stage: &Stage<'_>, line: &str, who: Persona) -> Value {
    let (target, object) = written(stage, line);
    let resource = resource(&target);
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "operation": "CREATE",
            "resource": {"group": "", "version": "v1", "resource": resource},
            "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"],
            "userInfo": {"username": who.user, "groups": who.groups},
            "object": object,
        },
    })
}

/// The review of a change of status, which no manifest can express.
fn status_review(stage: &Stage<'_>, target: &str, patch: &str, who: Persona) -> Value {
    let old = stage.get(target).unwrap();
    let mut new = old.clone();
    json_patch::merge(&mut new, &serde_json::from_str(&stage.fill(patch)).unwrap());
    let resource = resource(target);
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "operation": "UPDATE", "subResource": "status",
            "resource": {"group": "", "version": "v1", "resource": resource},
            "name": old["metadata"]["name"], "namespace": old["metadata"]["namespace"],
            "userInfo": {"username": who.user, "groups": who.groups},
            "object": new, "oldObject": old,
        },
    })
}

fn resource(target: &str) -> &'static str {
    match target.split_once('/') {
        Some(("pvc", _)) => "persistentvolumeclaims",
        Some(("ns", _)) => "namespaces",
        _ => "persistentvolumes",
    }
}

fn describe(rule: &Rule, example: &Example, live: Live, why: &str) -> String {
    let route: Route = natural(example.send);
    format!("{}: {} by {} ({live:?}): {why}", rule.id, example.title, route.title())
}
