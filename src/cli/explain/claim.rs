//! Why a claim stands where it stands, where all volumes can be seen.

use super::command::fix;
use super::nearness::{self, Miss};
use super::repair::{Repair, helps, repair, unnamed};
use super::report::{Awaited, Explanation, Fix, Object, Reach, Written};
use super::world::World;
use crate::binding::{Asker, ClaimOutcome, View, fit};
use crate::cli::exit::Failure;
use crate::cli::plan::outcome::Planner;
use crate::cli::plan::state::Pods;
use crate::k8s::event::Event;
use crate::model::{BindingMode, Claim, ClaimKey, Node, Provisioner, Volume, VolumeClass};

/// How many of the nearest volumes are tried for a repair: each costs a settling of the whole cluster.
const REPAIRS_TRIED: usize = 8;

/// Explains the claim of this name.
pub(super) fn explain(world: &World, key: &ClaimKey) -> Result<Explanation, Failure> {
    let World { after, settlement, pods, .. } = world;
    let (Some(claim), Some(outcome)) = (after.claim(key), settlement.claim(key)) else {
        let names = after.claims().map(|claim| claim.key.to_string());
        return Err(world.missing("claim", &key.to_string(), names));
    };
    let planned = Planner::new(after, settlement, pods).claim(claim, outcome);
    let fate = planned.outcome;
    let summary = match (&planned.volume, &planned.reason) {
        (Some(volume), None) => {
            format!("claim \"{key}\" {} to volume \"{volume}\"", verb(fate.as_str()))
        }
        (Some(volume), Some(reason)) => {
            format!("claim \"{key}\" {} to volume \"{volume}\": {reason}", verb(fate.as_str()))
        }
        (None, Some(reason)) => format!("claim \"{key}\" {}: {reason}", verb(fate.as_str())),
        (None, None) => format!("claim \"{key}\" {}", verb(fate.as_str())),
    };
    let mut explanation =
        Explanation::of(Object::claim(key), fate.as_str(), fate.is_stuck(), summary);
    explanation.partner = planned.volume;
    explanation.is_delayed = Pods::matter_for(outcome);
    let unseen = pods.note().filter(|_| explanation.is_delayed);
    explanation.notes.extend(unseen.map(str::to_owned));
    let misses = misses(after, claim, outcome);
    explanation.candidates = misses.iter().map(Miss::of_volume).collect();
    match delay(after, claim, outcome) {
        Some(Provisioner::Static) => reach(&mut explanation, world, claim),
        Some(Provisioner::Named(name)) => explanation.notes.push(format!(
            "provisioner \"{name}\" makes a volume where the pod goes, if none fits"
        )),
        None => {}
    }
    if let ClaimOutcome::WaitsForProvisioner(name) = outcome {
        explanation.provisioner = Some(awaited(&mut explanation.notes, world, key, name));
    }
    if fate.is_stuck() {
        explanation.fix = find_fix(after, claim, outcome, &misses);
        explanation.notes.extend(advice(claim, outcome, explanation.fix.as_ref()));
    }
    Ok(explanation)
}

/// What a claim does, in a sentence.
fn verb(outcome: &str) -> String {
    match outcome {
        "bound" => "is bound".to_owned(),
        "lost" => "is lost".to_owned(),
        "conflict" => "is in conflict".to_owned(),
        "provisions" => "waits for a new volume".to_owned(),
        other => other.to_owned(),
    }
}

/// The volumes that come into question and do not fit, the nearest first. A claim that names a volume can
/// have no other.
fn misses<'a>(view: &'a View, claim: &'a Claim, outcome: &ClaimOutcome) -> Vec<Miss<'a>> {
    let immediate = Asker::Controller(BindingMode::Immediate);
    let named = |name, asker| {
        let volume: Option<&Volume> = view.volume(name).map(AsRef::as_ref);
        volume.and_then(|volume| nearness::miss(volume, claim, asker)).into_iter().collect()
    };
    match outcome {
        ClaimOutcome::NothingFits | ClaimOutcome::NoClass(_) => {
            nearness::volumes(view, claim, immediate)
        }
        // It is not for want of a volume that it waits: only those of its class are worth a word.
        ClaimOutcome::WaitsForConsumer | ClaimOutcome::WaitsForPods(_) => {
            let mut misses = nearness::volumes(view, claim, immediate);
            misses.retain(|miss| miss.volume.class().as_class() == claim.class().wanted());
            misses
        }
        ClaimOutcome::Unfit(name, _) => named(name, Asker::Prebind),
        ClaimOutcome::Taken(name) => named(name, immediate),
        ClaimOutcome::Unseen
        | ClaimOutcome::Terminating
        | ClaimOutcome::Unknown
        | ClaimOutcome::Bound(_)
        | ClaimOutcome::BoundDespite(..)
        | ClaimOutcome::GetsDefaultClass(_)
        | ClaimOutcome::WaitsForProvisioner(_)
        | ClaimOutcome::NoVolume(_)
        | ClaimOutcome::Lost(_) => Vec::new(),
    }
}

/// Who makes volumes of the claim's class, if the class leaves the choice to the pod's node.
fn delay<'a>(view: &'a View, claim: &Claim, outcome: &ClaimOutcome) -> Option<&'a Provisioner> {
    let may_delay = matches!(
        outcome,
        ClaimOutcome::WaitsForConsumer | ClaimOutcome::WaitsForPods(_) | ClaimOutcome::NothingFits
    );
    if !may_delay {
        return None;
    }
    match claim.class().wanted() {
        VolumeClass::Classless => None,
        VolumeClass::Named(name) => {
            let class = view.class(name)?;
            let is_delayed = class.binding_mode == BindingMode::WaitForFirstConsumer;
            is_delayed.then_some(&class.provisioner)
        }
    }
}

/// Which volumes the claim could have on which node.
fn reach(explanation: &mut Explanation, world: &World, claim: &Claim) {
    let nodes = world.nodes();
    explanation.notes.extend(nodes.note);
    explanation.nodes = nodes.found.iter().map(|node| on_node(&world.after, claim, node)).collect();
}

fn on_node(view: &View, claim: &Claim, node: &Node) -> Reach {
    let kept = view.kept_for(&claim.key).filter_map(|name| view.volume(name));
    let volumes = kept.chain(view.free_for(claim));
    let fitting = volumes.filter(|volume| fit(volume, claim, Asker::Scheduler(node)).is_ok());
    let volumes = fitting.map(|volume| volume.name.to_string()).collect();
    Reach { node: node.name.to_string(), volumes }
}

/// The provisioner and what it wrote last.
fn awaited(notes: &mut Vec<String>, world: &World, key: &ClaimKey, name: &str) -> Awaited {
    let events = world.events(key);
    notes.extend(events.note);
    let own = events.found.into_iter().filter(|event| is_in_name_of(event, name));
    Awaited { name: name.to_owned(), last_event: last(own) }
}

/// Whether the event says that it is this provisioner's.
///
/// Kubernetes: a provisioner names itself `DRIVER_POD_UID` as the source of its events.
pub(super) fn is_in_name_of(event: &Event, provisioner: &str) -> bool {
    let rest = event.component.strip_prefix(provisioner);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// The event that was written last.
pub(super) fn last(events: impl Iterator<Item = Event>) -> Option<Written> {
    let event = events.max_by(|a, b| a.time.cmp(&b.time))?;
    let [component, reason, message, time] =
        [event.component, event.reason, event.message, event.time].map(|text| one_line(&text));
    Some(Written { component, reason, message, time })
}

/// Text that others wrote, without what would move a terminal's cursor.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The first repair, from the nearest volume on, after which the core serves the claim.
fn find_fix(
    view: &View,
    claim: &Claim,
    outcome: &ClaimOutcome,
    misses: &[Miss<'_>],
) -> Option<Fix> {
    if matches!(outcome, ClaimOutcome::Lost(_)) {
        return None;
    }
    let of_volumes = misses.iter().filter_map(|miss| repair(miss, view)).take(REPAIRS_TRIED);
    let mut repairs: Vec<Repair> = of_volumes.collect();
    if claim.volume.is_some() {
        repairs.push(unnamed());
    }
    let found = repairs.iter().find(|repair| helps(repair, view, claim))?;
    Some(fix(found, claim))
}

/// What to do where no command can do it.
fn advice(claim: &Claim, outcome: &ClaimOutcome, fix: Option<&Fix>) -> Option<String> {
    if fix.is_some() {
        return None;
    }
    if matches!(outcome, ClaimOutcome::Lost(_)) {
        let text = "no command brings its volume back; restore the volume under its name and with its \
             claimRef, or restore the data into a new claim";
        return Some(text.to_owned());
    }
    let volume = if let ClaimOutcome::NoVolume(name) = outcome {
        format!("volume \"{name}\"")
    } else {
        "a volume".to_owned()
    };
    // Whoever names a volume that exists can have no other.
    let names_another = matches!(outcome, ClaimOutcome::Taken(_) | ClaimOutcome::Unfit(..));
    let first =
        if names_another { "make the claim anew without spec.volumeName, and " } else { "" };
    Some(format!(
        "no command fixes it; {first}add {volume} of {} with {} and access modes {}, volume mode {}",
        claim.class().wanted(),
        claim.request,
        claim.access_modes,
        claim.mode
    ))
}
