//! The conversation that a real API server and the simulated one must answer alike.
//!
//! `steps.txt` holds one request a line: method, path, then `merge`, `strategic`, `json`, `apply` or a content
//! type if it is a patch, then the body. `${name.uid}` and `${name.resourceVersion}` stand for what the latest reply
//! about the object of that name said; `list` is the latest list. `recorded.json` holds what a real
//! server answered: an end-to-end case plays the steps and compares, or writes it again with
//! `make generate`. Both suites read this module.

mod level;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub(crate) use level::Names;

/// The requests, in order.
const STEPS: &str = include_str!("steps.txt");

/// What a real server answered.
const RECORDED: &str = include_str!("recorded.json");

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The number of the line in `steps.txt`.
    pub(crate) line: String,
    /// The verb.
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// Content type of the body.
    pub(crate) content_type: &'static str,
    /// The body, if there is one.
    pub(crate) body: Option<Value>,
}

/// The steps of the conversation.
pub(crate) fn steps() -> Vec<Step> {
    STEPS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(Step::parse)
        .collect()
}

/// The recorded replies, a line for each step.
pub(crate) fn recorded() -> Vec<Value> {
    serde_json::from_str(RECORDED).expect("recorded.json is JSON")
}

/// A reply as it is recorded. `reply` is the document, or the events of a watch; `reviews` are the
/// reviews that the server sent, each with its phase.
pub(crate) fn record(
    step: &Step,
    code: u16,
    reply: &Value,
    warnings: &[String],
    reviews: &[Value],
) -> Value {
    let asked = (0..reviews.len()).filter(|number| !is_outdated(reviews, *number));
    let reviews: Vec<&Value> = asked.filter_map(|number| reviews.get(number)).collect();
    let mut entry = json!({
        "step": step.line, "code": code, "reply": reply, "warnings": warnings, "reviews": reviews,
    });
    drop_managed_fields(&mut entry);
    entry
}

/// Returns whether a review is about a state that the server then found to be old: it tries a write on what its cache
/// shows, and again on what is stored if that is newer. How late the cache is cannot be foreseen.
fn is_outdated(reviews: &[Value], number: usize) -> bool {
    fn old(review: &Value) -> Option<(&str, u64)> {
        let metadata = &review["review"]["request"]["oldObject"]["metadata"];
        let version = metadata["resourceVersion"].as_str()?.parse().ok()?;
        Some((metadata["uid"].as_str()?, version))
    }
    let Some((uid, version)) = reviews.get(number).and_then(old) else { return false };
    let later = reviews.iter().skip(number).filter_map(old);
    later.filter(|(other, _)| *other == uid).any(|(_, newer)| newer > version)
}

/// What a webhook is to answer to the review `request` of a phase: an annotation of the object says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Allow,
    Deny,
    DenyInvalid,
    DenyBare,
    Warn,
    Edit,
}

/// Returns what the annotation of the object makes the webhook answer in `phase`.
pub(crate) fn order(phase: &str, request: &Value) -> Order {
    let object =
        if request["object"].is_null() { &request["oldObject"] } else { &request["object"] };
    let key = format!("/metadata/annotations/recorder.test~1{phase}");
    match object.pointer(&key).and_then(Value::as_str) {
        Some("deny") => Order::Deny,
        Some("deny-422") => Order::DenyInvalid,
        Some("deny-bare") => Order::DenyBare,
        Some("warn") => Order::Warn,
        Some("edit") => Order::Edit,
        _ => Order::Allow,
    }
}

impl Order {
    /// The warnings of the answer.
    pub(crate) fn warnings(self) -> Vec<String> {
        match self {
            Self::Deny | Self::Warn => vec!["careful".to_owned()],
            Self::Allow | Self::DenyInvalid | Self::DenyBare | Self::Edit => Vec::new(),
        }
    }

    /// `status` of a denial; `None` if it lets the request through.
    pub(crate) fn denial(self) -> Option<Value> {
        match self {
            Self::Deny => {
                Some(json!({"message": "not like this", "code": 403, "reason": "Forbidden"}))
            }
            Self::DenyInvalid => {
                Some(json!({"message": "no\nand no", "code": 422, "reason": "Invalid"}))
            }
            Self::DenyBare => Some(Value::Null),
            Self::Allow | Self::Warn | Self::Edit => None,
        }
    }

    /// The labels that it gives the object.
    pub(crate) fn edit(self) -> Option<Value> {
        (self == Self::Edit).then(|| json!({"edited": "yes"}))
    }
}

/// What replies said about objects, for the requests that follow.
#[derive(Default)]
pub(crate) struct Seen(BTreeMap<String, Value>);

impl Seen {
    /// The step with what was seen in the place of its variables.
    pub(crate) fn fill(&self, step: &Step) -> Step {
        let body = step
            .body
            .as_ref()
            .map(|body| serde_json::from_str(&self.filled(&body.to_string())).expect("still JSON"));
        Step { path: self.filled(&step.path), body, ..step.clone() }
    }

    /// Remembers the metadata of a reply.
    pub(crate) fn remember(&mut self, reply: &Value) {
        let kind = reply["kind"].as_str().unwrap_or("Status");
        if kind == "Status" {
            return;
        }
        let name = if kind.ends_with("List") {
            "list"
        } else {
            reply["metadata"]["name"].as_str().unwrap_or_default()
        };
        self.0.insert(name.to_owned(), reply["metadata"].clone());
    }

    fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (variable, after) = after.split_once('}').expect("a closed variable");
            let (name, field) = variable.rsplit_once('.').expect("a name and a field");
            filled.push_str(before);
            let value = self.0.get(name).map(|metadata| &metadata[field]);
            filled.push_str(value.and_then(Value::as_str).unwrap_or_default());
            rest = after;
        }
        filled + rest
    }
}

impl Step {
    fn parse(line: &str) -> Self {
        let (method, rest) = line.split_once(' ').expect("a method and a path");
        let (path, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let (content_type, body) = match rest.split_once(' ') {
            Some(("merge", body)) => ("application/merge-patch+json", body),
            Some(("strategic", body)) => ("application/strategic-merge-patch+json", body),
            Some(("json", body)) => ("application/json-patch+json", body),
            Some(("apply", body)) => ("application/apply-patch+yaml", body),
            Some(("text/plain", body)) => ("text/plain", body),
            _ => ("application/json", rest),
        };
        let body = (!body.is_empty())
            .then(|| serde_json::from_str(body).unwrap_or_else(|error| panic!("{line}: {error}")));
        Self {
            line: line.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            content_type,
            body,
        }
    }
}

/// Who owns which field is not modelled, and half of every object.
fn drop_managed_fields(value: &mut Value) {
    if let Some(map) = value.as_object_mut() {
        map.remove("managedFields");
        map.values_mut().for_each(drop_managed_fields);
    } else if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(drop_managed_fields);
    }
}
