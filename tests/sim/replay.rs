//! Replays a recorded conversation with a real kube-apiserver (1.36.3) and compares every reply,
//! warning and admission review.
//!
//! `record.py` made `recorded.json` from `conversation.py`. What differs between two runs of the
//! same server (uids, versions, times, generated names) is renamed by order of appearance. What the
//! simulated server does not model is left out here, each with its reason, in [`Names::level`].

use std::collections::BTreeMap;

use bindery::sim::{Body, Cluster, Method, Outcome, Phase, Progress, Request, Review, User};
use serde_json::{Map, Value, json};

const RECORDED: &str = include_str!("recorded.json");

#[test]
fn answers_as_the_real_server_did() {
    let recorded: Vec<Value> = serde_json::from_str(RECORDED).expect("recorded.json is JSON");
    assert!(recorded.len() >= 200, "the recording is cut short");
    let mut cluster = Cluster::new(7, "2026-11-21T05:00:00Z".parse().expect("a time"));
    let (mut real, mut ours) = (Names::default(), Names::default());
    let mut seen = BTreeMap::new();
    let mut differences = Vec::new();
    for (number, step) in recorded.iter().enumerate() {
        let answer = play(&mut cluster, &step["step"], &mut seen);
        let expected = real.level(&picked(step));
        let actual = ours.level(&answer);
        if expected != actual {
            differences.push(format!(
                "step {number}: {}\n  real: {expected}\n  ours: {actual}",
                step["step"]
            ));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// What is compared of a recorded step.
fn picked(step: &Value) -> Value {
    let warnings: Vec<String> = step["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|header| header.trim_start_matches("299 - ").to_owned())
        .collect();
    json!({
        "code": step["code"],
        "reply": step["reply"],
        "warnings": warnings,
        "reviews": step["reviews"],
    })
}

fn play(cluster: &mut Cluster, step: &Value, seen: &mut BTreeMap<String, Value>) -> Value {
    let step: Value = serde_json::from_str(&fill(&step.to_string(), seen)).expect("still JSON");
    let text = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
    let method = match text("method").as_str() {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        other => panic!("unknown method {other}"),
    };
    let mut user = User::admin();
    "admin-uid".clone_into(&mut user.uid);
    let mut request = Request::new(method, text("path"), step["body"].clone()).by(user);
    if step["type"].is_string() {
        request.content_type = text("type");
    }
    let mut reviews = Vec::new();
    let mut progress = cluster.begin(request);
    let response = loop {
        match progress {
            Progress::Done(response) => break response,
            Progress::Review(review) => {
                let resource = review.request()["resource"]["resource"].as_str();
                // The recorder's webhooks are registered for these.
                let kinds = ["persistentvolumes", "persistentvolumeclaims", "storageclasses"];
                let is_reviewed = resource.is_some_and(|resource| kinds.contains(&resource));
                if is_reviewed {
                    let phase = match review.phase() {
                        Phase::Mutating => "mutating",
                        Phase::Validating => "validating",
                    };
                    reviews.push(json!({"phase": phase, "review": review.body()}));
                }
                let outcome = verdict(&review, is_reviewed);
                progress = cluster.resume(*review, outcome);
            }
        }
    };
    let warnings: Vec<String> = response.warnings.iter().map(|text| format!("{text:?}")).collect();
    let reply = match response.body {
        Body::Json(value) => value,
        Body::Watch(mut watch) => Value::Array(cluster.events(&mut watch)),
    };
    remember(&reply, seen);
    json!({"code": response.code, "reply": reply, "warnings": warnings, "reviews": reviews})
}

/// What the recorder's webhooks answer: what an annotation of the object tells them.
fn verdict(review: &Review, is_reviewed: bool) -> Outcome {
    let request = review.request();
    let object =
        if request["object"].is_null() { &request["oldObject"] } else { &request["object"] };
    let (phase, key) = match review.phase() {
        Phase::Mutating => ("mutating", "recorder.test~1mutating"),
        Phase::Validating => ("validating", "recorder.test~1validating"),
    };
    let order = object.pointer(&format!("/metadata/annotations/{key}")).and_then(Value::as_str);
    let warnings = vec!["careful".to_owned()];
    let deny = |status, warnings| Outcome::Deny {
        webhook: format!("{phase}.recorder.test"),
        status,
        warnings,
    };
    match order.filter(|_| is_reviewed) {
        Some("deny") => {
            deny(json!({"message": "not like this", "code": 403, "reason": "Forbidden"}), warnings)
        }
        Some("deny-422") => {
            deny(json!({"message": "no\nand no", "code": 422, "reason": "Invalid"}), Vec::new())
        }
        Some("deny-bare") => deny(Value::Null, Vec::new()),
        Some("warn") => Outcome::Allow { object: None, warnings },
        Some("edit") => {
            let mut edited = object.clone();
            edited["metadata"]["labels"] = json!({"edited": "yes"});
            Outcome::Allow { object: Some(edited), warnings: Vec::new() }
        }
        _ => Outcome::allow(),
    }
}

fn remember(reply: &Value, seen: &mut BTreeMap<String, Value>) {
    let kind = reply["kind"].as_str().unwrap_or("Status");
    if kind == "Status" {
        return;
    }
    let name = if kind.ends_with("List") {
        "list"
    } else {
        reply["metadata"]["name"].as_str().unwrap_or_default()
    };
    seen.insert(name.to_owned(), reply["metadata"].clone());
}

/// Puts what was seen in the place of `${name.field}`.
fn fill(text: &str, seen: &BTreeMap<String, Value>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, after) = after.split_once('}').expect("a closed variable");
        let (name, field) = variable.split_once('.').expect("a name and a field");
        filled.push_str(before);
        let value = seen.get(name).map(|metadata| &metadata[field]);
        filled.push_str(value.and_then(Value::as_str).unwrap_or_default());
        rest = after;
    }
    filled + rest
}

/// Names for what differs from run to run, by order of appearance.
#[derive(Default)]
struct Names {
    known: BTreeMap<String, String>,
}

impl Names {
    fn level(&mut self, value: &Value) -> Value {
        self.learn(value);
        self.renamed("", value)
    }

    /// Collects uids and versions before any text that quotes them is rewritten.
    fn learn(&mut self, value: &Value) {
        if let Some(map) = value.as_object() {
            let is_list = map.contains_key("items");
            let is_bookmark = map.get("type") == Some(&json!("BOOKMARK"));
            for (key, field) in map {
                // The version of a list or bookmark counts writes of unrelated objects as well.
                if is_list && key == "metadata" || is_bookmark {
                    continue;
                }
                if let (true, Some(text)) =
                    (key == "uid" || key == "resourceVersion", field.as_str())
                {
                    let number = self.known.len();
                    self.known.entry(text.to_owned()).or_insert(format!("<{key} {number}>"));
                }
                self.learn(field);
            }
        }
        value.as_array().into_iter().flatten().for_each(|one| self.learn(one));
    }

    fn renamed(&self, key: &str, value: &Value) -> Value {
        if let Some(map) = value.as_object() {
            return Value::Object(self.renamed_map(map));
        }
        if let Some(list) = value.as_array() {
            return list.iter().map(|one| self.renamed("", one)).collect();
        }
        let Some(text) = value.as_str() else { return value.clone() };
        let times = ["creationTimestamp", "deletionTimestamp", "lastPhaseTransitionTime"];
        match key {
            // `2020` is what the conversation itself sends.
            _ if times.contains(&key) && !text.starts_with("2020") => json!("<time>"),
            "continue" => json!("<token>"),
            "name" if text.starts_with("made-") => json!("made-<suffix>"),
            "uid" | "resourceVersion" => json!(self.known.get(text).map_or(text, String::as_str)),
            "message" => json!(self.renamed_message(text)),
            _ => value.clone(),
        }
    }

    fn renamed_map(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let mut map = map.clone();
        if map.contains_key("items") || map.get("type") == Some(&json!("BOOKMARK")) {
            for path in ["/metadata/resourceVersion", "/object/metadata/resourceVersion"] {
                let mut whole = Value::Object(map);
                if let Some(version) = whole.pointer_mut(path) {
                    *version = json!("<list>");
                }
                map = whole.as_object().cloned().unwrap_or_default();
            }
        }
        // Pods and nodes are stored as sent: most of their defaults do not matter here.
        if map.get("spec").is_some_and(|spec| spec.get("containers").is_some()) {
            keep(&mut map, "spec", &["nodeName", "terminationGracePeriodSeconds"]);
            keep(&mut map, "status", &["phase"]);
        }
        if map.get("kind") == Some(&json!("Node")) {
            keep(&mut map, "status", &[]);
        }
        map.iter().map(|(key, field)| (key.clone(), self.renamed(key, field))).collect()
    }

    fn renamed_message(&self, text: &str) -> String {
        // After the first line the server prints a diff of its own internal types.
        let mut text = text.lines().next().unwrap_or_default().trim_end_matches(']').to_owned();
        // So it does with a whole struct as the wrong value.
        if let Some((head, _)) = text.split_once("Invalid value: {") {
            text = format!("{head}Invalid value: <struct>");
        }
        if let Some((head, _)) = text.split_once(", current: ") {
            text = format!("{head}, current: <version>");
        }
        // Why exactly a token is unreadable depends on its encoding.
        if let Some((head, _)) = text.split_once("continue key is not valid") {
            text = format!("{head}continue key is not valid");
        }
        if let Some((head, tail)) = text.split_once("Key: /") {
            let key = tail.split_once('/').map_or("", |(_, key)| key);
            text = format!("{head}Key: /<prefix>/{key}");
        }
        for (name, alias) in &self.known {
            // Versions are short numbers: only in parentheses do they mean themselves.
            if name.len() > 30 {
                text = text.replace(name, alias);
            } else {
                text = text.replace(&format!("({name})"), &format!("({alias})"));
            }
        }
        text
    }
}

fn keep(map: &mut Map<String, Value>, field: &str, keys: &[&str]) {
    if let Some(inner) = map.get_mut(field).and_then(Value::as_object_mut) {
        inner.retain(|key, _| keys.contains(&key.as_str()));
    }
}
