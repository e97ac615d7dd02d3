//! Makes the replies of two servers, or of two runs of one, comparable.
//!
//! What differs between two runs of the same server (uids, versions, times, generated names) is renamed
//! by order of appearance. A version that the conversation makes up is 1, which no object has, so that it
//! never has an object's name. What the simulated server does not model is left out here, each with its
//! reason.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Names for what differs from run to run, by order of appearance.
#[derive(Default)]
pub(crate) struct Names {
    known: BTreeMap<String, String>,
}

impl Names {
    /// A reply as it is compared: its names in the place of what differs, without what the simulated
    /// server does not model.
    pub(crate) fn level(&mut self, value: &Value) -> Value {
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
        // Pods are stored as sent: most of their defaults do not matter here.
        if map.get("spec").is_some_and(|spec| spec.get("containers").is_some()) {
            keep(&mut map, "spec", &["nodeName", "terminationGracePeriodSeconds"]);
            keep(&mut map, "status", &["phase"]);
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
