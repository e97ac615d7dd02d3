//! What is said of the `volumeClaimTemplates` of a StatefulSet that its claims differ from, and the commands that make them
//! agree.
//!
//! The commands are followed as they are written: the first ones keep the data of every volume, whatever follows.

use std::collections::BTreeMap;

use arcstr::ArcStr;
use serde_json::{Value, json};

use super::shell::quoted;
use crate::binding::View;
use crate::claim_templates::{
    ClaimDifference, ClaimRetention, DriftedClaim, TemplateChange, TemplateObstacle,
    TemplateRemedy, TemplateState, TemplateValue, TemplatedSet,
};
use crate::model::annotations::LEGACY_CLASS;
use crate::model::{ClaimKey, ClassRequest, Quantity, ReclaimPolicy};

/// The id of findings on claims that differ from their template.
pub(in crate::cli) const DRIFT: &str = "claim-template-drift";
/// The id of findings on claims of replicas that do not exist.
pub(in crate::cli) const LEFTOVER: &str = "claim-of-no-replica";

/// So many names are written out; of more, the number.
const NAMES_MAX: usize = 5;
/// From so many volumes on, those of the whole namespace are retained.
const RETAINED_MAX: usize = 30;

/// Returns how claims differ from their templates; nothing if none does.
pub(in crate::cli) fn differences(set: &TemplatedSet, state: &TemplateState) -> Option<String> {
    let mut groups: Vec<((&str, String), Vec<&ArcStr>)> = Vec::new();
    for DriftedClaim { template, name, differences } in &state.drifted {
        let ways: Vec<String> = differences.iter().map(way).collect();
        let way = (template.as_str(), ways.join(" and "));
        match groups.iter_mut().find(|(other, _)| *other == way) {
            Some((_, names)) => names.push(name),
            None => groups.push((way, vec![name])),
        }
    }
    let groups = groups.iter().map(|((template, ways), names)| {
        let verb = if names.len() == 1 { "differs from" } else { "differ from" };
        format!("{} {verb} volumeClaimTemplate \"{template}\" in {ways}", claims(names))
    });
    let groups: Vec<String> = groups.collect();
    let (namespace, name) = (&set.namespace, &set.name);
    (!groups.is_empty())
        .then(|| format!("of StatefulSet \"{namespace}/{name}\", {}", groups.join(", and ")))
}

/// One difference: what the claim has, instead of what the template asks for.
fn way(difference: &ClaimDifference) -> String {
    match difference {
        ClaimDifference::Size { claim, template } => format!("size ({claim}, not {template})"),
        ClaimDifference::Class { claim, template } => {
            format!("StorageClass ({}, not {})", class(claim), class(template))
        }
        ClaimDifference::AccessModes { claim, template } => {
            format!("access modes ({claim}, not {template})")
        }
        ClaimDifference::VolumeMode { claim, template } => {
            format!("volume mode ({claim}, not {template})")
        }
    }
}

fn class(class: &ClassRequest) -> String {
    class.wanted().name().map_or_else(|| "none".to_owned(), |name| format!("\"{name}\""))
}

/// The claims of these names.
fn claims(names: &[&ArcStr]) -> String {
    let shown: Vec<String> =
        names.iter().take(NAMES_MAX).map(|name| format!("\"{name}\"")).collect();
    let kind = if names.len() == 1 { "PVC" } else { "PVCs" };
    match names.len().checked_sub(NAMES_MAX) {
        None | Some(0) => format!("{kind} {}", shown.join(", ")),
        Some(more) => format!("{kind} {} and {more} more", shown.join(", ")),
    }
}

/// Returns what is said of claims of replicas that do not exist; nothing if there is none.
pub(in crate::cli) fn leftover(
    set: &TemplatedSet,
    state: &TemplateState,
    view: &View,
) -> Option<String> {
    let names: Vec<&ArcStr> = state.leftover.iter().collect();
    if names.is_empty() {
        return None;
    }
    let (first, end) = (set.ordinals.start, set.ordinals.end);
    let replicas = match end.saturating_sub(first) {
        0 => "no replica".to_owned(),
        1 => format!("replica {first} only"),
        _ => format!("replicas {first} to {} only", end.saturating_sub(1)),
    };
    let (is, them) = if names.len() == 1 { ("is", "the PVC") } else { ("are", "the PVCs") };
    let delete = match retain(set, view, |name| state.leftover.contains(name)) {
        Some(retain) => format!("run `{retain}` first, then delete {them}"),
        None => format!("delete {them}"),
    };
    Some(format!(
        "{} {is} of no replica: StatefulSet \"{}/{}\" has {replicas}; the storage stays in use, and a replica that is \
         added gets the PVC of its number with the data that is on it; if that data is needed, change nothing, else {delete}",
        claims(&names),
        set.namespace,
        set.name
    ))
}

/// Returns what to do, as one sentence whose commands are run in their order.
pub(in crate::cli) fn advice(set: &TemplatedSet, state: &TemplateState, view: &View) -> String {
    let TemplateRemedy { growing, changes, obstacles } = &state.remedy;
    if !obstacles.is_empty() {
        let obstacles: Vec<String> = obstacles.iter().map(|one| obstacle(one, set)).collect();
        return obstacles.join(", and ");
    }
    let mut commands = grow(set, growing);
    if changes.is_empty() {
        return format!("run {}, so that the PVCs grow to their template", listed(&commands));
    }
    commands.extend(retain(set, view, |_| true));
    if let Some((kind, name)) = &set.controller {
        commands.extend(keep_claims(set));
        commands.push(delete(set));
        return format!(
            "set {} in {kind} \"{name}\", which writes the StatefulSet, then run {}: its pods and PVCs stay, and {kind} \
             \"{name}\" creates it again",
            words(changes),
            listed(&commands)
        );
    }
    let (name, namespace) = (quoted(&set.name), quoted(&set.namespace));
    commands.push(format!(
        "kubectl get statefulset {name} -n {namespace} -o yaml > {name}-before.yaml"
    ));
    commands.push(format!(
        "kubectl patch --local -f {name}-before.yaml --type=json -p {} -o yaml > {name}-after.yaml",
        quoted(&patch(set, changes).to_string())
    ));
    commands.extend(keep_claims(set));
    commands.push(delete(set));
    commands.push(format!("kubectl create -f {name}-after.yaml"));
    format!(
        "run {}: its pods and PVCs stay; then set {} in the manifest that the StatefulSet comes from",
        listed(&commands),
        words(changes)
    )
}

/// Returns what to do with a manifest that was not applied yet.
pub(in crate::cli) fn advice_on_manifest(set: &TemplatedSet, state: &TemplateState) -> String {
    let TemplateRemedy { growing, changes, obstacles } = &state.remedy;
    if !obstacles.is_empty() {
        let obstacles: Vec<String> = obstacles.iter().map(|one| obstacle(one, set)).collect();
        return obstacles.join(", and ");
    }
    let grow = grow(set, growing);
    match (grow.as_slice(), changes.as_slice()) {
        ([], changes) => format!("set {} in the manifest", words(changes)),
        (_, []) => format!("run {} first", listed(&grow)),
        (_, changes) => {
            format!("run {} first, and set {} in the manifest", listed(&grow), words(changes))
        }
    }
}

/// The commands in one sentence.
fn listed(commands: &[String]) -> String {
    let commands: Vec<String> = commands.iter().map(|one| format!("`{one}`")).collect();
    commands.join(", then ")
}

/// The commands that enlarge claims, one for each size.
fn grow(set: &TemplatedSet, growing: &[(ArcStr, Quantity)]) -> Vec<String> {
    let mut sizes: BTreeMap<&Quantity, Vec<String>> = BTreeMap::new();
    for (name, size) in growing {
        sizes.entry(size).or_default().push(quoted(&format!("pvc/{name}")).into_owned());
    }
    let grow = sizes.into_iter().map(|(size, names)| {
        let patch =
            json!({"spec": {"resources": {"requests": {"storage": size.to_string()}}}}).to_string();
        let (names, namespace) = (names.join(" "), quoted(&set.namespace));
        format!("kubectl patch {names} -n {namespace} --type=merge -p {}", quoted(&patch))
    });
    grow.collect()
}

/// The command that keeps the data of those claims of the set that are meant and whose volumes may be deleted with them; none
/// where there is no such volume.
fn retain(set: &TemplatedSet, view: &View, is_meant: impl Fn(&ArcStr) -> bool) -> Option<String> {
    let is_kept = |name| view.volume(name).is_some_and(|one| one.policy == ReclaimPolicy::Retain);
    let claims = view.claims_in(&set.namespace).filter(|claim| set.has_name(&claim.key.name));
    let claims = claims.filter(|claim| is_meant(&claim.key.name));
    let claims = claims.filter(|claim| claim.volume.as_ref().is_some_and(|name| !is_kept(name)));
    let names: Vec<String> =
        claims.map(|claim| quoted(&format!("pvc/{}", claim.key.name)).into_owned()).collect();
    let namespace = quoted(&set.namespace);
    match names.len() {
        0 => None,
        1..=RETAINED_MAX => Some(format!("bindery retain {} -n {namespace}", names.join(" "))),
        _ => Some(format!("bindery retain ns/{namespace}")),
    }
}

/// The command after which the StatefulSet deletes no claims.
fn keep_claims(set: &TemplatedSet) -> Option<String> {
    let deletes = [set.when_deleted, set.when_scaled].contains(&ClaimRetention::Delete);
    let keep = json!({"spec": {"persistentVolumeClaimRetentionPolicy": {
        "whenDeleted": "Retain", "whenScaled": "Retain",
    }}});
    let (name, namespace) = (quoted(&set.name), quoted(&set.namespace));
    deletes.then(|| {
        format!(
            "kubectl patch statefulset {name} -n {namespace} --type=merge -p {}",
            quoted(&keep.to_string())
        )
    })
}

/// The command that deletes the StatefulSet and nothing else.
fn delete(set: &TemplatedSet) -> String {
    let (name, namespace) = (quoted(&set.name), quoted(&set.namespace));
    format!("kubectl delete statefulset {name} -n {namespace} --cascade=orphan")
}

/// The changes as a JSON Patch of the StatefulSet.
fn patch(set: &TemplatedSet, changes: &[TemplateChange]) -> Value {
    let mut operations = Vec::new();
    for TemplateChange { index, value, .. } in changes {
        let at = |field: &str| format!("/spec/volumeClaimTemplates/{index}/{field}");
        let (field, value) = match value {
            TemplateValue::Size(size) => {
                ("spec/resources/requests/storage", json!(size.to_string()))
            }
            TemplateValue::Class(class) => {
                let template = set.templates.get(*index);
                if template.is_some_and(|one| one.annotations.has(LEGACY_CLASS)) {
                    let path =
                        at(&format!("metadata/annotations/{}", LEGACY_CLASS.replace('/', "~1")));
                    operations.push(json!({"op": "remove", "path": path}));
                }
                let name = class.wanted().name().map(ToString::to_string).unwrap_or_default();
                ("spec/storageClassName", json!(name))
            }
            TemplateValue::AccessModes(modes) => {
                ("spec/accessModes", modes.names().map(Value::from).collect())
            }
            TemplateValue::VolumeMode(mode) => ("spec/volumeMode", json!(mode.to_string())),
        };
        operations.push(json!({"op": "add", "path": at(field), "value": value}));
    }
    operations.into()
}

/// The changes in words.
fn words(changes: &[TemplateChange]) -> String {
    let words = changes.iter().map(|TemplateChange { template, value, .. }| {
        let value = match value {
            TemplateValue::Size(size) => format!("resources.requests.storage {size}"),
            TemplateValue::Class(ClassRequest::Named(name)) => format!("storageClassName {name}"),
            TemplateValue::Class(ClassRequest::Unset | ClassRequest::Classless) => {
                "storageClassName \"\"".to_owned()
            }
            TemplateValue::AccessModes(modes) => {
                format!("accessModes [{}]", modes.names().collect::<Vec<_>>().join(", "))
            }
            TemplateValue::VolumeMode(mode) => format!("volumeMode {mode}"),
        };
        format!("{value} of volumeClaimTemplate \"{template}\"")
    });
    words.collect::<Vec<_>>().join(" and ")
}

/// Returns what prevents that a template and its claims agree, and what to do.
fn obstacle(obstacle: &TemplateObstacle, set: &TemplatedSet) -> String {
    let all = |names: &Vec<ArcStr>| claims(&names.iter().collect::<Vec<_>>());
    match obstacle {
        TemplateObstacle::Mixed { template, what } => format!(
            "no value of volumeClaimTemplate \"{template}\" agrees with PVCs of several {what}: a PVC keeps its own; {}",
            copy(set)
        ),
        TemplateObstacle::NotExpandable(names) => format!(
            "{} cannot grow, as no StorageClass with allowVolumeExpansion is theirs; set that in the StorageClass if its \
             driver can expand, else {}",
            all(names),
            copy(set)
        ),
        TemplateObstacle::UnknownExpansion(names) => format!(
            "whether {} can grow is not known, as their StorageClass was not read; give it with the other objects",
            all(names)
        ),
        TemplateObstacle::NotBound(names) => {
            format!("{} can grow only once bound; wait for that, then look again", all(names))
        }
    }
}

/// How the data of a claim comes to one of another kind.
fn copy(set: &TemplatedSet) -> String {
    let keep = keep_claims(set).map(|command| format!("run `{command}` first, then "));
    format!(
        "{}scale the StatefulSet to 0, create a PVC as the template says beside each PVC that differs, copy its data there, and \
         exchange the two with `bindery swap`",
        keep.unwrap_or_default()
    )
}

/// The text on one claim: how it differs from its template, or that no replica has it; nothing where it is as it should be.
pub(in crate::cli) fn on_claim(
    set: &TemplatedSet,
    state: &TemplateState,
    view: &View,
    key: &ClaimKey,
) -> Vec<String> {
    let drifted = state.drifted.iter().any(|one| one.name == key.name);
    let drift = drifted.then(|| drift(set, state, view)).flatten();
    let is_leftover = state.leftover.contains(&key.name);
    drift
        .map(|(problem, advice)| format!("{problem}; {advice}"))
        .into_iter()
        .chain(is_leftover.then(|| leftover(set, state, view)).flatten())
        .collect()
}

/// How claims of existing objects differ from their templates with what follows, and what to do; nothing if none differs.
pub(in crate::cli) fn drift(
    set: &TemplatedSet,
    state: &TemplateState,
    view: &View,
) -> Option<(String, String)> {
    let differences = differences(set, state)?;
    let problem = format!(
        "{differences}; existing PVCs stay as they are, and a replica that is added, or whose PVC is deleted, gets one as the \
         template says"
    );
    Some((problem, advice(set, state, view)))
}
