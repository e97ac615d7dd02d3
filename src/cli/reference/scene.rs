//! An example as users write it: the objects as YAML, and the command that makes the change.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::super::example::{ExampleError, scenario as objects};
use crate::api::fixture;
use crate::rules::{Example, Persona, Send};

/// The cluster of an example and what is sent to it.
pub(super) fn scene(example: &Example) -> Result<String, ExampleError> {
    let stored = objects(example)?.stored;
    let mut out = String::new();
    if !stored.is_empty() {
        let objects: Vec<String> = stored.iter().map(yaml).collect();
        let _ = write!(out, "```yaml\n{}```\n\n", objects.join("---\n"));
    }
    let fill = |text: &str| fixture::with_uids(text, |key| uid_of(&stored, key));
    let user = user(example.by);
    let _ = match example.send {
        Send::Create(line) => {
            let made = fixture::parse(line)?;
            let text = made.first().map(|item| fill(&item.object.to_string())).unwrap_or_default();
            let mut object: Value = serde_json::from_str(&text)?;
            object.as_object_mut().and_then(|fields| fields.remove("status"));
            writeln!(out, "{user} creates:\n\n```yaml\n{}```", yaml(&object))
        }
        Send::Merge { target, patch } => command(
            &mut out,
            user,
            &format!("patch {} --type merge -p '{}'", name(target), fill(patch)),
        ),
        Send::MergeStatus { target, patch } => {
            let patch = fill(patch);
            let command_line =
                format!("patch {} --subresource status --type merge -p '{patch}'", name(target));
            command(&mut out, user, &command_line)
        }
        Send::Delete(target) => command(&mut out, user, &format!("delete {}", name(target))),
    };
    Ok(out)
}

fn command(out: &mut String, user: &str, arguments: &str) -> std::fmt::Result {
    writeln!(out, "{user} runs:\n\n```sh\nkubectl {arguments}\n```")
}

/// Kind and name of `pv/NAME`, `pvc/NAMESPACE/NAME` or `ns/NAME`, as kubectl takes them.
fn name(target: &str) -> String {
    match *target.split('/').collect::<Vec<_>>() {
        [kind, namespace, name] => format!("{kind} -n {namespace} {name}"),
        _ => target.replace('/', " "),
    }
}

fn uid_of(stored: &[Value], key: &str) -> Option<String> {
    let is_it = |object: &&Value| {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        object["kind"] == "PersistentVolumeClaim"
            && key.split_once('/') == Some((text("namespace"), text("name")))
    };
    stored.iter().find(is_it)?["metadata"]["uid"].as_str().map(str::to_owned)
}

fn user(by: Persona) -> &'static str {
    match by {
        Persona::Admin => "An administrator",
        Persona::Tenant => "A tenant",
        Persona::VolumeViewer => "A tenant who may read PersistentVolumes",
        Persona::NamespaceAdmin => "A user who may write Namespaces, but not PersistentVolumes,",
        Persona::Binder => "The in-tree binder",
        Persona::Scheduler => "The scheduler",
        Persona::VolumeProtection => "The PV protection controller",
        Persona::ClaimProtection => "The PVC protection controller",
        Persona::GarbageCollector => "The garbage collector",
        Persona::Driver => "A storage driver",
    }
}

/// The object as YAML, each field of `spec` on a line. What every object has is left out.
fn yaml(object: &Value) -> String {
    let is_usual = |field: &str, value: &Value| match field {
        "volumeMode" => *value == json!("Filesystem"),
        "uid" => object["kind"] != "PersistentVolumeClaim",
        "finalizers" => {
            [json!(["kubernetes.io/pv-protection"]), json!(["kubernetes.io/pvc-protection"])]
                .contains(value)
        }
        _ => false,
    };
    let without_usual = |fields: &Map<String, Value>| -> Map<String, Value> {
        let unusual = fields.iter().filter(|(field, value)| !is_usual(field, value));
        unusual.map(|(field, value)| (field.clone(), value.clone())).collect()
    };
    let mut out = String::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        let _ = match value.as_object().map(without_usual) {
            Some(fields) if key == "spec" => {
                let lines = fields
                    .iter()
                    .map(|(field, value)| format!("\n  {}: {}", plain(field), flow(value)));
                writeln!(out, "{key}:{}", lines.collect::<String>())
            }
            Some(fields) => writeln!(out, "{key}: {}", flow(&Value::Object(fields))),
            None => writeln!(out, "{key}: {}", flow(value)),
        };
    }
    out
}

/// A value in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(key, value)| format!("{}: {}", plain(key), flow(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The text without quotes where YAML reads it as text.
fn plain(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "./_-".contains(letter))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    // Amounts such as 10Gi begin with a digit.
    let is_amount =
        text.strip_suffix("Gi").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
    if is_plain || is_amount { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::rules::RULES;
    use crate::rules::mutations::MUTATIONS;

    #[test]
    fn the_yaml_of_every_example_reads_as_what_it_was_made_of() {
        let rules = RULES.iter().flat_map(|rule| rule.denied.iter().chain(rule.allowed));
        let mutations = MUTATIONS.iter().flat_map(|one| one.mutated.iter().chain(one.unchanged));
        for example in rules.chain(mutations) {
            for object in objects(example).unwrap().stored {
                let text = yaml(&object);
                let read = document::read(&text).unwrap()[0].to_json();
                for (field, value) in read["spec"].as_object().into_iter().flatten() {
                    assert_eq!(*value, object["spec"][field], "{text}");
                }
                assert_eq!(
                    read["metadata"]["annotations"], object["metadata"]["annotations"],
                    "{text}"
                );
            }
        }
    }
}
