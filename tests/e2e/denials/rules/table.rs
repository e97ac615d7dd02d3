//! Rule by request type: denied, with the object unchanged, and the allowed counterparts pass.

use std::collections::{BTreeMap, BTreeSet};

use bindery::rules::{Example, Mode, Operation, Policy, RULES, Rule, Send, Terminating};

use super::routes::{Route, shot};
use super::stage::{Run, Stage, fire, persona};
use crate::api_server::versions::record::{Facts, REFERENCE, Topic, verify, version};
use crate::installed::{Installed, Registered};
use crate::plane::persona::{
    ADMIN, GARBAGE_COLLECTOR, NAMESPACE_CONTROLLER, TENANT, VOLUME_VIEWER,
};
use crate::plane::{Peers, Persona, Plane};

pub(crate) fn every_rule_denies_every_request_type() {
    let mut table = Table::default();
    // What warns by default denies here; that it warns by default is seen without a cluster.
    on_a_plane(insisting(), |stage| {
        table.version = version(stage.plane);
        for rule in RULES {
            rule.denied.iter().for_each(|example| deny(stage, rule, example, &mut table));
        }
    });
    on_a_plane(Policy::default(), |stage| {
        for rule in RULES {
            rule.allowed.iter().for_each(|example| allow(stage, rule, example, &mut table));
        }
    });
    table.finish();
}

/// A policy under which every rule denies.
pub(crate) fn insisting() -> Policy {
    let modes = RULES.iter().map(|rule| (rule.id.to_owned(), Mode::Deny)).collect();
    Policy { modes, ..Policy::default() }
}

/// Plays on a cluster of its own, under `policy`.
fn on_a_plane(policy: Policy, play: impl FnOnce(&mut Stage<'_>)) {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let installed = Installed::under(policy, &plane, Registered::Validating);
    await_registration(&mut stage);
    play(&mut stage);
    let failed = installed.metric("bindery_panics_total");
    assert!(failed.abs() < 0.5, "{failed} reviews ended in a panic");
}

/// A registration takes effect within about a second.
pub(crate) fn await_registration(stage: &mut Stage<'_>) {
    stage.set("pair pv-probe db/probe 1Gi RWO");
    let probes = [
        ("guard", Send::Delete("pv/pv-probe"), Route::Delete),
        ("advise", Send::Create("claim qa/probe 1Gi RWO volume=pv-probe"), Route::Create),
    ];
    for (entry, send, route) in probes {
        let what = format!("the API server asks {entry}");
        crate::eventually::eventually(&what, std::time::Duration::from_secs(20), || {
            let made = shot(stage, send, route).unwrap();
            let reply = fire(stage, ADMIN, made, Run::Dry);
            if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
        });
    }
}

/// Cells found, and what is wrong.
#[derive(Default)]
struct Table {
    /// The Kubernetes version that answered.
    version: String,
    denied: BTreeMap<(&'static str, Route), usize>,
    passed: BTreeMap<(&'static str, Route), usize>,
    reasons: BTreeMap<(&'static str, Route), &'static str>,
    wrong: Vec<String>,
}

/// Returns who asks: tenants have no rights on `/status`, whose routes an administrator takes, and the garbage
/// collector has none on collections.
pub(crate) fn asker(example: &Example, route: Route) -> Persona {
    match persona(example.by) {
        TENANT | VOLUME_VIEWER if route == Route::Status => ADMIN,
        GARBAGE_COLLECTOR if route == Route::DeleteCollection => NAMESPACE_CONTROLLER,
        other => other,
    }
}

/// The routes on which a rule has to hold: those of the operations that it looks at.
pub(crate) fn routes_of(rule: &Rule) -> impl Iterator<Item = Route> {
    let operations: BTreeSet<Operation> =
        rule.request_types.iter().map(|request| request.operation).collect();
    Route::ALL.into_iter().filter(move |route| {
        // A server-side apply creates what is not there.
        operations.contains(&route.operation())
            || (*route == Route::Apply && operations.contains(&Operation::Create))
    })
}

fn deny(stage: &mut Stage<'_>, rule: &'static Rule, example: &Example, table: &mut Table) {
    stage.set(example.given);
    let mut before = stage.dump();
    for route in routes_of(rule) {
        for run in [Run::Dry, Run::Real] {
            let shot = match shot(stage, example.send, route) {
                Ok(shot) => shot,
                Err(reason) => {
                    table.reasons.entry((rule.id, route)).or_insert(reason);
                    continue;
                }
            };
            let reply = fire(stage, asker(example, route), shot, run);
            let reported = format!("[{}] ", rule.reported_id());
            if reply.code == 403 && reply.text.contains(&reported) {
                *table.denied.entry((rule.id, route)).or_default() += 1;
            } else {
                let cell = format!("{}: {} by {} ({run:?})", rule.id, example.title, route.title());
                table.wrong.push(format!("{cell}: not denied: {} {}", reply.code, reply.text));
                stage.set(example.given);
                before = stage.dump();
            }
        }
    }
    if stage.dump() != before {
        let place = format!("{}: {}", rule.id, example.title);
        table.wrong.push(format!("{place}: what is denied by each route changed something"));
    }
}

fn allow(stage: &mut Stage<'_>, rule: &'static Rule, example: &Example, table: &mut Table) {
    let mut is_set = false;
    for run in [Run::Dry, Run::Real] {
        for route in routes_of(rule) {
            if !is_set {
                stage.set(example.given);
                is_set = true;
            }
            let Ok(shot) = shot(stage, example.send, route) else { continue };
            let reply = fire(stage, asker(example, route), shot, run);
            if reply.code >= 300 {
                table.wrong.push(format!(
                    "{}: {} by {} ({run:?}): does not pass: {} {}",
                    rule.id,
                    example.title,
                    route.title(),
                    reply.code,
                    reply.text
                ));
            } else {
                *table.passed.entry((rule.id, route)).or_default() += 1;
            }
            is_set = run == Run::Dry;
        }
    }
}

impl Table {
    /// Every cell exists or has its reason; the document says the same.
    fn finish(mut self) {
        let text = self.document();
        let denied: usize = self.denied.values().sum();
        let passed: usize = self.passed.values().sum();
        println!("{} rules, {denied} denials, {passed} counterparts", RULES.len());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/routes.md");
        let is_reference = self.version == REFERENCE;
        if is_reference && std::env::var_os("BINDERY_GENERATE").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        if is_reference && committed != text {
            self.wrong.push(
                "docs/reference/routes.md is not what was found; run make generate".to_owned(),
            );
        }
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        let mut facts = Facts::from([
            ("denials".to_owned(), denied.to_string()),
            ("allowed counterparts".to_owned(), passed.to_string()),
        ]);
        facts.extend(other_cells(&committed, &text));
        verify(&self.version, Topic::RequestTypes, &facts);
    }

    fn document(&mut self) -> String {
        let mut out = String::from(
            "# Rules by request type\n\n\
             Made by the end-to-end tests (`make generate`); do not edit. Each number counts changes that \
             a real API server denied for that request type, dry runs included, and after the slash the \
             allowed counterparts that passed. A letter is the reason why the request type cannot carry the hazard.\n\n",
        );
        let mut notes: Vec<&str> = Vec::new();
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let titles = Route::ALL.into_iter().map(|route| route.title().to_owned());
        out.push_str(&row(&std::iter::once("rule".to_owned()).chain(titles).collect::<Vec<_>>()));
        out.push_str(&row(&vec!["---".to_owned(); Route::ALL.len() + 1]));
        for rule in RULES {
            let mut cells = vec![format!("`{}`", rule.id)];
            for route in Route::ALL {
                let cell = (rule.id, route);
                let (denied, passed) = (self.denied.get(&cell), self.passed.get(&cell));
                if let (Some(denied), Some(passed)) = (denied, passed) {
                    cells.push(format!("{denied}/{passed}"));
                    continue;
                }
                let reason = self.why_empty(rule, route);
                let place = notes.iter().position(|note| *note == reason).unwrap_or_else(|| {
                    notes.push(reason);
                    notes.len() - 1
                });
                cells.push(letter(place).to_string());
            }
            out.push_str(&row(&cells));
        }
        let note = |(place, note)| format!("* {}: {note}.", letter(place));
        let notes: Vec<String> = notes.iter().enumerate().map(note).collect();
        format!("{out}\n{}\n", notes.join("\n"))
    }

    /// Returns why there is no cell; a cell that should be there and is not is a fault.
    fn why_empty(&mut self, rule: &'static Rule, route: Route) -> &'static str {
        let cell = (rule.id, route);
        if routes_of(rule).any(|of_rule| of_rule == route) {
            if self.denied.contains_key(&cell) {
                self.wrong.push(format!(
                    "{} by {} has no counterpart that passes",
                    rule.id,
                    route.title()
                ));
            }
            if route == Route::LastFinalizer && rule.options.terminating == Terminating::Passes {
                return "an object that is being deleted passes";
            }
            if let Some(reason) = self.reasons.get(&cell) {
                return reason;
            }
            self.wrong.push(format!(
                "{} by {} has neither cell nor reason",
                rule.id,
                route.title()
            ));
            return "missing";
        }
        let has =
            |operation| rule.request_types.iter().any(|request| request.operation == operation);
        match route.operation() {
            Operation::Create => "a new object has nothing yet that this rule protects",
            Operation::Update if has(Operation::UpdateStatus) => {
                "the API server resets status with this request type"
            }
            Operation::Update => "an update deletes nothing",
            Operation::UpdateStatus if has(Operation::Update) => {
                "the API server resets spec with this request type"
            }
            Operation::UpdateStatus => "a change of status deletes nothing",
            Operation::Finalize => unreachable!("no route is one"),
            Operation::Delete => "a deletion changes no field",
        }
    }
}

/// The cells of `found` that `committed` has differently or not at all.
fn other_cells(committed: &str, found: &str) -> Facts {
    let known = cells(committed);
    cells(found).into_iter().filter(|(place, cell)| known.get(place) != Some(cell)).collect()
}

/// The cells of a page by rule and route; a letter is replaced by what it stands for.
fn cells(page: &str) -> Facts {
    let notes: BTreeMap<&str, &str> =
        page.lines().filter_map(|line| line.strip_prefix("* ")?.split_once(": ")).collect();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &'_ str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let rule = cells.next().unwrap_or_default().to_owned();
        let cells = Route::ALL.into_iter().zip(cells);
        let cell = |(route, cell): (Route, &str)| {
            let content = notes.get(cell).map_or(cell, |note| note);
            (format!("{rule} by {}", route.title()), content.to_owned())
        };
        cells.map(cell).collect::<Vec<_>>()
    };
    rows.flat_map(row).collect()
}

fn letter(place: usize) -> char {
    char::from(b'a' + u8::try_from(place).unwrap_or(25).min(25))
}
