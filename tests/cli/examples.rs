//! Every example of every rule through the binary: the text is that of judging it directly, byte
//! for byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery::api::pods::{pod_use, users_page};
use bindery::api::volume::Wanted;
use bindery::api::{attachment, claim, class, namespace, node, review, volume};
use bindery::binding::{Evidence, LiveReads, Observed, OwnerState, PodUse, Read, ReadResult, View};
use bindery::cli::example::{ExampleScenario, scenario};
use bindery::cli::judge::ProposedChange;
use bindery::model::{ClaimKey, Node, NodeState};
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::{
    Effect, Endpoint, Example, Mode, Persona, Policy, Question, RULES, ReadAccess, Rule, Ruling,
    Send, TENANT_LABEL, Verdict, judge,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{Folder, Output};

/// The objects of an example, read for judging without any code of the command line.
#[derive(Default)]
struct Stored {
    view: View,
    pods: Vec<Value>,
    nodes: Vec<Node>,
    states: Vec<NodeState>,
}

impl Stored {
    fn of(objects: &[Value]) -> Self {
        let mut stored = Self::default();
        for object in objects {
            let text = object.to_string();
            match object["kind"].as_str() {
                Some("PersistentVolume") => {
                    let volume = volume::volume(&text, Wanted::Both).expect("a volume");
                    stored.view.apply(Observed::Volume(Arc::new(volume.volume)));
                }
                Some("PersistentVolumeClaim") => {
                    let claim = claim::claim(&text, "").expect("a claim");
                    stored.view.apply(Observed::Claim(Arc::new(claim)));
                }
                Some("StorageClass") => {
                    let class = class::class(&text).expect("a class");
                    stored.view.apply(Observed::Class(Arc::new(class)));
                }
                Some("Namespace") => {
                    let namespace = namespace::namespace(&text).expect("a namespace");
                    stored.view.apply(Observed::Namespace(Arc::new(namespace)));
                }
                Some("Node") => {
                    stored.nodes.push(node::node(&text).expect("a node"));
                    stored.states.push(attachment::node_state(&text).expect("a node"));
                }
                _ => stored.pods.push(object.clone()),
            }
        }
        stored
    }

    fn answer(&self, read: &Read, live: &mut LiveReads) {
        fn found<T>(object: Option<&Arc<T>>) -> ReadResult<T> {
            object.cloned().map_or(ReadResult::NotFound, ReadResult::Found)
        }
        match read {
            Read::Volume(name) => {
                live.volumes.insert(name.clone(), found(self.view.volume(name)));
            }
            Read::Claim(key) => {
                live.claims.insert(key.clone(), found(self.view.claim(key)));
            }
            Read::Class(name) => {
                live.classes.insert(name.clone(), found(self.view.class(name)));
            }
            Read::DefaultClass => {
                live.default_class = Some(found(self.view.default_class()));
            }
            Read::AnyNode(term) => {
                let is_one = self.nodes.iter().any(|node| term.admits(node));
                let answer =
                    if is_one { ReadResult::Found(Arc::new(())) } else { ReadResult::NotFound };
                live.any_nodes.insert(term.clone(), answer);
            }
            Read::Owner(namespace, owner) => {
                let claim = self.view.claim(&ClaimKey::new(namespace.clone(), &*owner.name));
                let claim = claim.filter(|claim| claim.uid.as_ref() == Some(&owner.uid));
                let answer = match claim {
                    Some(_) => ReadResult::Found(Arc::new(OwnerState::Alive)),
                    None => ReadResult::NotFound,
                };
                live.owners.insert((namespace.clone(), owner.clone()), answer);
            }
            Read::Namespace(name) => {
                live.namespaces.insert(name.clone(), found(self.view.namespace_of(name)));
            }
            // No example has Leases.
            Read::Lease(namespace, name) => {
                live.leases.insert((namespace.clone(), name.clone()), ReadResult::NotFound);
            }
            Read::NodeState(name) => {
                let state = self.states.iter().find(|state| state.name == *name);
                let state = state.cloned().map(Arc::new);
                live.node_states.insert(name.clone(), found(state.as_ref()));
            }
            Read::Node(_) => panic!("no rule asks for {read:?}"),
            Read::LivePods(key) => {
                let users = users_page(&self.pods_in(key), key).expect("pods").users;
                live.live_pods.insert(key.clone(), ReadResult::Found(Arc::new(users)));
            }
            Read::PodsUsing(key) => {
                let used: PodUse = pod_use(&self.pods_in(key), key).expect("pods");
                live.pods.insert(key.clone(), ReadResult::Found(Arc::new(used)));
            }
        }
    }

    /// The pods of the claim's namespace, as a list.
    fn pods_in(&self, key: &ClaimKey) -> String {
        let pods = self.pods.iter();
        let here = pods.filter(|pod| pod["metadata"]["namespace"] == *key.namespace);
        json!({"items": here.collect::<Vec<_>>()}).to_string()
    }
}

/// Returns what the rules say to the change as it is sent, with nothing mutated first.
fn direct(scene: &ExampleScenario, policy: &Policy) -> Verdict {
    let body = scene.proposal.body();
    let request = review::parse_request(&body, policy).expect("a review");
    let stored = Stored::of(&scene.stored);
    let mut live = LiveReads::default();
    let mut verdict = Verdict::default();
    for endpoint in Endpoint::VALIDATING {
        if !reaches(endpoint, &request.change, OWN_CONTROLLER, ReadAccess::Volumes) {
            continue;
        }
        let question =
            Question { endpoint, change: &request.change, policy, now: Timestamp::UNIX_EPOCH };
        loop {
            let judged = judge(RULES, question, &Evidence::new(&stored.view, &live));
            if judged.reads.is_empty() {
                verdict.rulings.extend(judged.verdict.rulings);
                break;
            }
            for read in &judged.reads {
                stored.answer(read, &mut live);
            }
        }
    }
    verdict
}

const KINDS: [&str; 9] = [
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "Namespace",
    "Pod",
    "Node",
    "VolumeAttachment",
    "CSIDriver",
    "VolumeSnapshotContent",
];

/// A dump of the example's cluster, with a list of every kind. An empty one says besides that it is of all
/// namespaces.
fn dump(scene: &ExampleScenario) -> String {
    let mut dump = String::new();
    for kind in KINDS {
        let is_one = |object: &&Value| object["kind"] == kind;
        let items: Vec<&Value> = scene.stored.iter().filter(is_one).collect();
        for items in [&items[..], &[]] {
            let list = json!({"apiVersion": "v1", "kind": format!("{kind}List"), "items": items});
            dump += &list.to_string();
            dump.push('\n');
        }
    }
    dump
}

/// The arguments and files that stand for the change; none where only a review can say it.
fn as_files(example: &Example, proposal: &ProposedChange, folder: &Folder) -> Option<Vec<String>> {
    let mut arguments = vec!["check".to_owned(), "-o".to_owned(), "json".to_owned()];
    arguments.extend(["--config", "config.yaml", "--live", "live.json"].map(str::to_owned));
    match example.send {
        Send::Create(_) => arguments.extend(["-f", "new.json"].map(str::to_owned)),
        Send::Merge { .. } => {
            arguments.extend(["-f", "new.json", "--apply=replace"].map(str::to_owned));
        }
        Send::Delete(target) => arguments.extend(["--delete".to_owned(), target.to_owned()]),
        Send::MergeStatus { .. } => return None,
    }
    if let Some(new) = &proposal.new {
        folder.write("new.json", new.to_string());
    }
    if !proposal.user.name.is_empty() {
        arguments.extend(["--for-user".to_owned(), proposal.user.name.clone()]);
    }
    for group in &proposal.user.groups {
        arguments.extend(["--for-group".to_owned(), group.clone()]);
    }
    Some(arguments)
}

/// The report's messages by result, and its mutations.
fn messages(output: &Output) -> (BTreeMap<String, Vec<String>>, Vec<String>) {
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let mut reported = BTreeMap::<String, Vec<String>>::new();
    for finding in report["findings"].as_array().expect("findings") {
        let text = |key: &str| finding[key].as_str().expect("text").to_owned();
        reported.entry(text("result")).or_default().push(text("message"));
    }
    let mutations = report["mutations"].as_array().expect("mutations").iter();
    (
        reported,
        mutations.map(|mutation| mutation["mutation"].as_str().expect("text").to_owned()).collect(),
    )
}

fn expected(verdict: &Verdict) -> BTreeMap<String, Vec<String>> {
    let mut reported = BTreeMap::<String, Vec<String>>::new();
    for ruling in &verdict.rulings {
        let (result, unknown) = if is_unverified(ruling) {
            ("unverified", "; whether the requester has the permission is not known here")
        } else {
            (ruling.effect.label(), "")
        };
        reported
            .entry(result.to_owned())
            .or_default()
            .push(format!("{}{unknown}", ruling.message()));
    }
    reported
}

/// Returns whether it denies to askers without a permission only, and no input shows whether they have it.
fn is_unverified(ruling: &Ruling) -> bool {
    ruling.rule.is_of_permission() && ruling.effect == Effect::Denied
}

fn denial(reported: &BTreeMap<String, Vec<String>>) -> String {
    reported.get("denied").map(|lines| lines.join("\n")).unwrap_or_default()
}

/// Plays one example both ways; gives back the denial.
fn play(rule: &Rule, mode: Mode, example: &Example) -> String {
    let scene = scenario(example).expect("an example");
    let modes = [(rule.id.to_owned(), mode)].into();
    let verdict = direct(&scene, &Policy { modes, ..Policy::default() });
    let folder = Folder::new();
    let mode = json!({"rules": {"modes": {rule.id: mode.as_str()}}, "kind": "Config"});
    let mut configuration = mode;
    configuration["apiVersion"] = json!("bindery.dev/v1");
    folder.write("config.yaml", configuration.to_string());
    folder.write("live.json", dump(&scene));
    folder.write("review.json", scene.proposal.body());
    let title = example.title;

    let review = ["check", "--config", "config.yaml", "-f", "review.json", "--live", "live.json"];
    let output = folder.run(&[&review[..], &["-o", "json"]].concat());
    let (reported, _) = messages(&output);
    assert_eq!(reported, expected(&verdict), "{title}, as a review");
    let is_denied = !verdict.is_allowed() && !verdict.rulings.iter().any(is_unverified);
    let denied = if is_denied { verdict.denial() } else { String::new() };
    assert_eq!(denial(&reported), denied, "{title}, as a review");
    assert_eq!(output.code, i32::from(is_denied), "{title}: {output:?}");

    if let Some(arguments) = as_files(example, &scene.proposal, &folder) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = folder.run(&arguments);
        let (mut reported, mutations) = messages(&output);
        // What the API server itself rejects besides is no verdict of ours.
        reported.remove("api");
        let corrections = ["strip-binder-annotations", "restore-binding", "repair-stale-claim-ref"];
        let is_corrected =
            mutations.iter().any(|mutation| corrections.contains(&mutation.as_str()));
        if is_corrected {
            assert_eq!(denial(&reported), "", "{title}: {mutations:?}");
        } else {
            assert_eq!(reported, expected(&verdict), "{title}, as files: {arguments:?}");
        }
    }
    verdict.denial()
}

#[test]
fn every_denied_example_is_denied_with_the_same_text() {
    for rule in RULES {
        assert!(!rule.denied.is_empty(), "{}", rule.id);
        for example in rule.denied {
            let denial = play(rule, Mode::Deny, example);
            // `check` answers as the webhook answers those who may read volumes.
            if rule.id == "missing-volume" && example.by == Persona::Tenant {
                continue;
            }
            let mark = format!("[{}] ", rule.reported_id());
            assert!(denial.lines().any(|line| line.starts_with(&mark)), "{mark}: {denial:?}");
        }
    }
}

#[test]
fn every_allowed_example_passes_with_the_same_text() {
    for rule in RULES {
        for example in rule.allowed {
            assert_eq!(play(rule, rule.mode, example), "", "{}: {}", rule.id, example.title);
        }
    }
}

#[test]
fn every_mutation_is_reported_with_its_patch() {
    for mutation in bindery::rules::mutations::MUTATIONS {
        let cases = mutation.mutated.iter().map(|example| (example, true));
        for (example, is_mutated) in
            cases.chain(mutation.unchanged.iter().map(|example| (example, false)))
        {
            let scene = scenario(example).expect("an example");
            let folder = Folder::new();
            folder.write("live.json", dump(&scene));
            let mut on = json!({"apiVersion": "bindery.dev/v1", "kind": "Config"});
            if mutation.id == TENANT_LABEL {
                on["tenancy"] = json!({"label": "auto"});
            } else {
                on["mutations"] = json!({mutation.id: true});
            }
            folder.write("config.yaml", on.to_string());
            let arguments = as_files(example, &scene.proposal, &folder).expect("files");
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let output = folder.run(&arguments);
            let (_, made) = messages(&output);
            let title = example.title;
            assert_eq!(made.iter().any(|id| id == mutation.id), is_mutated, "{title}: {output:?}");
        }
    }
}
