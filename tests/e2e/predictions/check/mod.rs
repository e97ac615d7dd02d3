//! What `check` predicts for a change is what the API server then answers: random changes to random
//! clusters are checked against the live cluster, then made by kubectl.
//!
//! Not here: the examples of the rules, which are played in the same way (`rules::replay`).

pub(crate) mod change;
pub(crate) mod world;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use bindery_sim::SeededRng;
use serde_json::Value;

use self::change::{Change, changes};
use crate::denials::rules::{Stage, await_registration};
use crate::installed::{Installed, Registered, with_long_timeout};
use crate::plane::persona::BINDERY;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[case!(what_check_predicts_happens)];

/// Changes in all, and in an everyday run.
const CHANGES_FULL: u64 = 500;
const CHANGES: u64 = 40;

/// Changes between two new clusters. Each is of another object: who owns a field after an apply, `check` does
/// not read.
const CHANGES_A_WORLD: usize = 5;

fn what_check_predicts_happens() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let _installed = Installed::on(&plane, Registered::Everything);
    with_long_timeout(&plane);
    await_registration(&mut stage);
    let all = if extent().is_full { CHANGES_FULL } else { CHANGES };
    let (mut wrong, mut tally, mut made) = (Vec::new(), Tally::default(), 0);
    for seed in 0.. {
        if made >= all {
            break;
        }
        let mut rng = SeededRng::new(seed);
        stage.set(&world::world(&mut rng));
        for change in changes(&stage, &mut rng, CHANGES_A_WORLD) {
            made += 1;
            let predicted = predicted(&stage, &change, None);
            let happened = happened(&stage, &change);
            tally.count(&predicted);
            if predicted != happened {
                wrong.push(format!(
                    "seed {seed}: {change}:\npredicted: {predicted:?}\n happened: {happened:?}"
                ));
            }
        }
    }
    println!("{made} changes were predicted and made: {tally:?}");
    assert!(wrong.is_empty(), "{} of {made}:\n{}", wrong.len(), wrong.join("\n"));
    tally.expect_each();
}

/// What becomes of a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The webhook denies it, for these reasons.
    Denied(BTreeSet<String>),
    /// The API server itself rejects it.
    Api,
    /// It passes, with the warnings of these rules and mutations.
    Passes(BTreeSet<String>),
}

/// How many changes came to what.
#[derive(Debug, Default)]
struct Tally {
    denied: usize,
    api: usize,
    warned: usize,
    clean: usize,
}

impl Tally {
    fn count(&mut self, fate: &Fate) {
        match fate {
            Fate::Denied(_) => self.denied += 1,
            Fate::Api => self.api += 1,
            Fate::Passes(warnings) if warnings.is_empty() => self.clean += 1,
            Fate::Passes(_) => self.warned += 1,
        }
    }

    /// A generator that makes changes of one kind alone proves nothing.
    fn expect_each(&self) {
        let Self { denied, api, warned, clean } = *self;
        let least = (denied + api + warned + clean) / 20;
        assert!([denied, api, warned, clean].into_iter().all(|count| count >= least), "{self:?}");
    }
}

/// Returns what `check` says against the live cluster, under the configuration in a file.
pub(crate) fn predicted(stage: &Stage<'_>, change: &Change, config: Option<&Path>) -> Fate {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (text, json) = (file("report.txt"), "json".to_owned());
    let mut arguments = vec!["check".to_owned(), "-o".to_owned(), json];
    arguments.extend(["-o".to_owned(), format!("text={text}")]);
    arguments.extend(["--live", "cluster", "--kubeconfig"].map(str::to_owned));
    arguments.push(stage.plane.kubeconfig(BINDERY).display().to_string());
    arguments.extend(["--for-user".to_owned(), change.who.user.to_owned()]);
    for group in change.who.groups {
        arguments.extend(["--for-group".to_owned(), (*group).to_owned()]);
    }
    match &change.object {
        Some(object) => {
            std::fs::write(file("new.json"), object.to_string()).unwrap();
            arguments.extend(["-f".to_owned(), file("new.json")]);
        }
        None => arguments.extend(["--delete".to_owned(), change.target.clone()]),
    }
    arguments.extend(change.how.argument().map(str::to_owned));
    if let Some(config) = config {
        arguments.extend(["--config".to_owned(), config.display().to_string()]);
    }
    let output = Command::new(env!("CARGO_BIN_EXE_bindery")).args(&arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {said} from {arguments:?}"));
    let findings = report["findings"].as_array().unwrap();
    let of = |result: &str| {
        let found = findings.iter().filter(|finding| finding["result"] == result);
        found.filter_map(|finding| id(finding["message"].as_str()?)).collect::<BTreeSet<String>>()
    };
    if findings.iter().any(|finding| finding["result"] == "api") {
        return Fate::Api;
    }
    let denied = of("denied");
    if !denied.is_empty() {
        return Fate::Denied(denied);
    }
    let text = std::fs::read_to_string(&text).unwrap();
    let mutated = text.lines().filter_map(|line| id(line.split_once(": mutated: ")?.1));
    // That one is made without a warning.
    let mutated = mutated.filter(|mutation| mutation != "delayed-binding");
    let unverified = of("unverified");
    assert!(unverified.is_empty(), "a cluster that can be asked leaves {unverified:?} open");
    Fate::Passes(of("warned").into_iter().chain(mutated).collect())
}

/// Returns what the API server answers to kubectl.
fn happened(stage: &Stage<'_>, change: &Change) -> Fate {
    let stdin = change.object.as_ref().map(Value::to_string).unwrap_or_default();
    let arguments = change.kubectl();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = stage.plane.kubectl(change.who, &arguments, &stdin);
    let ids = |text: &str| text.lines().filter_map(id).collect::<BTreeSet<String>>();
    if let Some((_, denial)) = output.stderr.split_once("denied the request: ") {
        return Fate::Denied(ids(denial));
    }
    if output.code != 0 {
        return Fate::Api;
    }
    let warnings = output.stderr.lines().filter_map(|line| line.strip_prefix("Warning: "));
    Fate::Passes(warnings.filter_map(id).collect())
}

/// The id that a sentence of ours begins with: `[ID] …`, or that an exemption names.
pub(crate) fn id(sentence: &str) -> Option<String> {
    let (id, _) = sentence.strip_prefix('[')?.split_once("] ")?;
    Some(id.to_owned())
}
