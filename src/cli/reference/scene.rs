//! An example as users write it: the objects as YAML, and the command that makes the change.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::example::{ExampleError, scenario as objects};
use super::super::exit::Failure;
use super::super::render;
use crate::api::fixture;
use crate::rules::{Example, Persona, Send};

/// The cluster of an example and what is sent to it.
pub(super) fn scene(example: &Example) -> Result<String, ExampleError> {
    let stored = objects(example)?.stored;
    let mut out = String::new();
    if !stored.is_empty() {
        let objects = stored.iter().map(yaml).collect::<Result<Vec<String>, _>>()?;
        let _ = write!(out, "```yaml\n{}```\n\n", objects.join("---\n"));
    }
    let fill = |text: &str| fixture::with_uids(text, |key| uid_of(&stored, key));
    let user = user(example.by);
    let runs = if is_person(example.by) { "runs" } else { "sends what this command sends" };
    let who = format!("{user} {runs}");
    let _ = match example.send {
        Send::Create(line) => {
            let made = fixture::parse(line)?;
            let text = made.first().map(|item| fill(&item.object.to_string())).unwrap_or_default();
            let mut object: Value = serde_json::from_str(&text)?;
            object.as_object_mut().and_then(|fields| fields.remove("status"));
            writeln!(out, "{user} creates:\n\n```yaml\n{}```", yaml(&object)?)
        }
        Send::Merge { target, patch } => command(
            &mut out,
            &who,
            &format!("patch {} --type merge -p '{}'", name(target), fill(patch)),
        ),
        Send::MergeStatus { target, patch } => {
            let patch = fill(patch);
            let command_line =
                format!("patch {} --subresource status --type merge -p '{patch}'", name(target));
            command(&mut out, &who, &command_line)
        }
        Send::Delete(target) => command(&mut out, &who, &format!("delete {}", name(target))),
    };
    Ok(out)
}

fn command(out: &mut String, who: &str, arguments: &str) -> std::fmt::Result {
    writeln!(out, "{who}:\n\n```sh\nkubectl {arguments}\n```")
}

/// Kind and name of a target such as `pv/NAME` or `pvc/NAMESPACE/NAME`, as kubectl takes them.
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

/// Returns whether it uses kubectl.
fn is_person(by: Persona) -> bool {
    match by {
        Persona::Admin | Persona::Tenant | Persona::VolumeViewer | Persona::NamespaceAdmin => true,
        Persona::Binder
        | Persona::Scheduler
        | Persona::VolumeProtection
        | Persona::ClaimProtection
        | Persona::GarbageCollector
        | Persona::AttachDetach
        | Persona::Driver => false,
    }
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
        Persona::AttachDetach => "The attach/detach controller",
        Persona::Driver => "A storage driver",
    }
}

/// The object as YAML. What every object has is left out.
fn yaml(object: &Value) -> Result<String, Failure> {
    let is_usual = |field: &str, value: &Value| match field {
        "volumeMode" => *value == json!("Filesystem"),
        "uid" => object["kind"] != "PersistentVolumeClaim",
        "finalizers" => {
            [json!(["kubernetes.io/pv-protection"]), json!(["kubernetes.io/pvc-protection"])]
                .contains(value)
        }
        _ => false,
    };
    let mut shown = object.clone();
    for fields in
        shown.as_object_mut().into_iter().flatten().filter_map(|(_, part)| part.as_object_mut())
    {
        fields.retain(|field, value| !is_usual(field, value));
    }
    render::yaml(&shown)
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
                let text = yaml(&object).unwrap();
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
