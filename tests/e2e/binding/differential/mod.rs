//! Our controller and Kubernetes' own binder, each on a server of its own, live through the same
//! histories; after every step both servers stand alike, or differ in a way that is documented.
//!
//! `--seeds=17..18` plays the scenario of seed 17 alone. Not here: what a plan foresees (`planned`).

mod at_once;
mod documented;
mod exported;
mod planned;
mod scenario;
mod scene;
mod stage;
mod step;
mod tally;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use documented::{Both, explain};
use scenario::{Scenario, scenario};
use scene::Scene;
use stage::{Binder, Stage, await_quiet};
use step::{Act, Step};
use tally::Tally;

use crate::eventually::poll;
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[
    case!(histories_end_as_with_kubernetes),
    case!(whatever_comes_at_once_ends_as_in_some_order),
    case!(what_a_plan_says_the_controller_does),
    case!(an_exported_volume_goes_to_no_other_claim),
];

use at_once::whatever_comes_at_once_ends_as_in_some_order;
use exported::an_exported_volume_goes_to_no_other_claim;
use planned::what_a_plan_says_the_controller_does;

/// Without a change for so long, both have settled: Kubernetes' binder looks at everything once a second
/// here, at other times only at what an event names.
const QUIET: Duration = Duration::from_millis(1200);

/// How long two servers that differ may take to agree, should the machine be busy.
const LATE: Duration = Duration::from_secs(8);

/// Scenarios in progress at once. Each waits for most of its time.
const LANES: usize = 24;

/// The seeds to play: those that are asked for, else so many, or `full` of them.
fn seeds(count: u64, full: u64) -> Range<u64> {
    let all = if extent().is_full { full } else { count };
    extent().seeds.clone().unwrap_or(0..all)
}

/// Both servers.
struct Servers {
    ours: Stage,
    theirs: Stage,
    /// Held while a scenario is played whose objects others of its kind could take.
    alone: Mutex<()>,
}

fn histories_end_as_with_kubernetes() {
    let seeds = seeds(16, 300);
    let (ours, theirs) = (Stage::new(Binder::Ours), Stage::new(Binder::InTree));
    let servers = Servers { ours, theirs, alone: Mutex::default() };
    let mut scenarios: Vec<Scenario> = seeds.clone().map(scenario).collect();
    // Those that wait for each other begin at once.
    scenarios.sort_by_key(|scenario| !scenario.is_alone);
    let next = AtomicUsize::new(0);
    let (tally, failures) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut own = Tally::default();
                    if let Err(failure) = play(&servers, scenario, &mut own) {
                        failures.lock().unwrap().push(failure);
                    }
                    tally.lock().unwrap().add(own);
                }
            });
        }
    });
    let (tally, failures) = (tally.into_inner().unwrap(), failures.into_inner().unwrap());
    println!("{tally}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    if seeds.end - seeds.start >= 40 {
        tally.assert_reported();
    }
}

/// Plays a scenario on both servers, until it ends or they differ as documented. The error says how they
/// differ otherwise.
fn play(servers: &Servers, scenario: &Scenario, tally: &mut Tally) -> Result<(), String> {
    let _turn = scenario.is_alone.then(|| servers.alone.lock().unwrap());
    let stages = [&servers.ours, &servers.theirs];
    for stage in stages {
        stage.prepare(scenario);
    }
    let result = play_steps(servers, scenario, tally);
    tally.scenario();
    for stage in stages {
        stage.clear(scenario);
    }
    result
}

fn play_steps(servers: &Servers, scenario: &Scenario, tally: &mut Tally) -> Result<(), String> {
    let seed = scenario.seed;
    let volumes: Vec<Step> = scenario.volumes.iter().cloned().map(Step::Create).collect();
    // The volumes come together, then one step at a time.
    let chapters = [&volumes[..]].into_iter().chain(scenario.steps.chunks(1));
    for (number, steps) in chapters.enumerate() {
        let taken = take(servers, scenario, steps, tally);
        if !taken {
            continue;
        }
        await_quiet(&[&servers.ours, &servers.theirs], &scenario.tag, QUIET);
        match compare(servers, scenario, tally) {
            Compared::Alike => {}
            Compared::Documented => return Ok(()),
            Compared::Different(how) => {
                return Err(format!(
                    "seed {seed} differs after step {number}, {steps:?}:\n{how}\nreplay: \
                     make e2e CASES='--seeds={seed}..{} histories'",
                    seed + 1
                ));
            }
        }
    }
    tally.end(&servers.ours.scene(scenario));
    Ok(())
}

/// Takes steps on both servers; not if one rejects, or chance would decide.
fn take(servers: &Servers, scenario: &Scenario, steps: &[Step], tally: &mut Tally) -> bool {
    let stages = [&servers.ours, &servers.theirs];
    let scenes = stages.map(|stage| stage.scene(scenario));
    let acts = scenes
        .each_ref()
        .map(|scene| steps.iter().flat_map(|step| step.acts(scene)).collect::<Vec<Act>>());
    let by_chance = |(scene, acts): (&Scene, &Vec<Act>)| scene.after(acts).is_left_to_chance();
    if acts.iter().all(Vec::is_empty) || scenes.iter().zip(&acts).any(by_chance) {
        tally.skipped();
        return false;
    }
    let outcomes = [(stages[0], &acts[0]), (stages[1], &acts[1])]
        .map(|(stage, acts)| stage.act(&scenario.tag, acts));
    tally.step(&outcomes);
    true
}

enum Compared {
    Alike,
    Documented,
    Different(String),
}

fn compare(servers: &Servers, scenario: &Scenario, tally: &mut Tally) -> Compared {
    let mut last = [Scene::default(), Scene::default()];
    let alike = poll(LATE, || {
        last = [servers.ours.scene(scenario), servers.theirs.scene(scenario)];
        let [ours, theirs] = &last;
        if ours.reported().is_like(&theirs.reported()) {
            return Ok(Vec::new());
        }
        let explained = explain(&Both { ours, theirs }).unwrap_or_default();
        let is_harmless = !explained.is_empty() && explained.iter().all(|found| found.is_harmless);
        if is_harmless { Ok(explained) } else { Err(String::new()) }
    });
    let [ours, theirs] = &last;
    tally.look(ours);
    if let Ok(harmless) = alike {
        tally.documented(&harmless);
        return Compared::Alike;
    }
    match explain(&Both { ours, theirs }) {
        Some(found) => {
            tally.documented(&found);
            Compared::Documented
        }
        None => Compared::Different(differences(ours, theirs)),
    }
}

/// Returns what is different, and nothing else.
fn differences(ours: &Scene, theirs: &Scene) -> String {
    let (ours, theirs) = (ours.reported(), theirs.reported());
    let mut lines = Vec::new();
    let names: BTreeSet<&String> = ours.claims.keys().chain(theirs.claims.keys()).collect();
    for name in names {
        let (here, there) = (ours.claims.get(name), theirs.claims.get(name));
        if here != there {
            lines.push(format!("claim {name}\n  ours {here:?}\n  theirs {there:?}"));
        }
    }
    let mut there = theirs.volumes;
    for (reported, name) in ours.volumes {
        match there.iter().position(|(other, _)| *other == reported) {
            Some(place) => drop(there.remove(place)),
            None => lines.push(format!("volume {name}\n  ours {reported}")),
        }
    }
    lines
        .extend(there.iter().map(|(reported, name)| format!("volume {name}\n  theirs {reported}")));
    lines.join("\n")
}
