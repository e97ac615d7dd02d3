//! The explanation of a claim for an account that may list volumes.

use super::command::fix;
use super::moving::moving;
use super::nearness::{self, MismatchedPair};
use super::related::{PartialList, event_object};
use super::repair::{ClaimRepair, helps, repair, unnamed};
use super::report::{AwaitedProvisioner, Explanation, Fix, Harm, NodeVolumes, ReportedEvent};
use super::volume::deletion;
use crate::api::event::Event;
use crate::api::node;
use crate::binding::{ClaimOutcome, FitCheck, ObjectKey, View, fit};
use crate::cli::exit::Failure;
use crate::cli::input::dump::{PodCoverage, StorageState};
use crate::cli::preview::outcome::Planner;
use crate::cli::preview::planned::ClaimForecast;
use crate::cli::preview::settled::SettledCluster;
use crate::model::annotations::SELECTED_NODE;
use crate::model::{
    BindingMode, Claim, ClaimKey, ClaimPhase, Deletion, Node, Provisioner, Reservation, Volume,
    VolumePhase,
};
use crate::rules::mutations::changed_class;

/// How many of the nearest volumes are tried for a repair: each try settles the whole cluster.
const REPAIRS_TRIED: usize = 8;
/// How many repairs are shown, if none is clearly right.
const OPTIONS_MAX: usize = 3;

/// Explains the claim of this name.
pub(super) fn explain(cluster: &SettledCluster, key: &ClaimKey) -> Result<Explanation, Failure> {
    let SettledCluster { state, settlement, .. } = cluster;
    let StorageState { view: after, pods, .. } = state;
    if let Some((_, reason)) = cluster.denied.claims.get(key) {
        return Ok(Explanation::denied(key.into(), &format!("PVC \"{key}\""), reason));
    }
    let (Some(claim), Some(outcome)) = (after.claim(key), settlement.claim(key)) else {
        let names = after.claims().map(|claim| claim.key.to_string());
        return Err(cluster.missing("PVC", &key.to_string(), names));
    };
    let planned = Planner::new(after, settlement, pods).claim(claim, outcome);
    let forecast = planned.outcome;
    let mut summary = format!("PVC \"{key}\" {}", verb(forecast));
    if let Some(volume) = &planned.volume {
        summary.extend([" to PV \"", volume, "\""]);
    }
    if let Some(reason) = &planned.reason {
        summary.extend([": ", reason]);
    }
    let mut explanation = Explanation::of(key.into(), &forecast, forecast.is_stuck(), summary);
    explanation.partner = planned.volume;
    explanation.is_delayed = PodCoverage::matters_for(outcome);
    let unseen = pods.note().filter(|_| explanation.is_delayed);
    explanation.notes.extend(unseen.map(str::to_owned));
    explanation.notes.extend(cluster.notes_on(&ObjectKey::Claim(key.clone())));
    let misses = misses(after, claim, outcome);
    explanation.candidates = misses.iter().map(MismatchedPair::of_volume).collect();
    match delay(after, claim, outcome) {
        Some(Provisioner::Static) => reach(&mut explanation, cluster, claim),
        Some(Provisioner::Named(name)) => explanation.notes.push(format!(
            "provisioner \"{name}\" creates a PV on the pod's node, if none matches"
        )),
        None => {}
    }
    if let ClaimOutcome::WaitsForProvisioner(name) = outcome {
        explanation.provisioner = Some(awaited(&mut explanation.notes, cluster, key, name));
    }
    explanation.notes.extend(changed_class(after, &state.listed, claim));
    trouble(&mut explanation, cluster, claim);
    // The command of the move is the fix: another one would work against it.
    let volume = claim.volume.as_ref().and_then(|name| after.volume(name));
    let is_moving = volume.is_some_and(|volume| moving(volume).is_some());
    if forecast.is_stuck() && forecast != ClaimForecast::Unknown && !is_moving {
        let mut fixes = find_fixes(cluster, claim, outcome, &misses).into_iter();
        explanation.fix = fixes.next();
        explanation.alternatives = fixes.collect();
        explanation.notes.extend(advice(after, claim, outcome, explanation.fix.as_ref()));
    }
    Ok(explanation)
}

/// Adds problems of a claim other than its volume; each needs a fix.
fn trouble(explanation: &mut Explanation, cluster: &SettledCluster, claim: &Claim) {
    let failed = explanation.provisioner.as_ref().and_then(|awaited| {
        let event = awaited.last_event.as_ref()?;
        let is_failure = event.reason == "ProvisioningFailed";
        is_failure.then(|| format!("its provisioner failed: {}", event.message))
    });
    let volume = claim.volume.as_ref().and_then(|name| cluster.state.view.volume(name));
    let moved = volume.and_then(|volume| Some(format!("its PV is being {}", moving(volume)?)));
    let volume = volume.filter(|_| claim.phase == ClaimPhase::Bound);
    let deleted = volume.and_then(|volume| Some(format!("its PV is {}", deletion(volume)?)));
    let troubles = [
        terminating(cluster, claim),
        growing(claim),
        gone_node(cluster, claim),
        deleted,
        moved,
        failed,
    ];
    for text in troubles.into_iter().flatten() {
        explanation.stuck = true;
        explanation.summary.push_str("; ");
        explanation.summary.push_str(&text);
    }
}

/// Returns what a claim with a deletion timestamp waits for.
///
/// Kubernetes: `pvc_protection_controller.go`: as long as a pod uses it.
fn terminating(cluster: &SettledCluster, claim: &Claim) -> Option<String> {
    if claim.deletion != Deletion::Terminating {
        return None;
    }
    let held: Vec<&str> = claim.finalizers.iter().collect();
    let by = if held.is_empty() { "a finalizer".to_owned() } else { held.join(", ") };
    let PartialList { found: users, note } = cluster.users(&claim.key);
    let users: Vec<String> = users.iter().map(|pod| format!("\"{}\"", pod.key)).collect();
    let pods = match (users.as_slice(), note) {
        ([], None) => "no pod uses it".to_owned(),
        ([], Some(_)) => "which pods use it is not known".to_owned(),
        (users, _) => {
            format!("it is deleted once no pod uses it, and pods {} do", users.join(", "))
        }
    };
    Some(format!("it is being deleted and {by} blocks that; {pods}"))
}

/// A bound claim that asks for more than its volume has.
fn growing(claim: &Claim) -> Option<String> {
    let has = claim.reported.capacity.as_ref()?;
    let is_bound = claim.phase == ClaimPhase::Bound;
    (is_bound && claim.request > *has)
        .then(|| format!("it has {has} and its resize to {} is pending", claim.request))
}

/// A node that a scheduler chose for the claim's volume, and that is gone: no provisioner can make one there.
fn gone_node(cluster: &SettledCluster, claim: &Claim) -> Option<String> {
    let node = claim.annotations.get(SELECTED_NODE).filter(|_| claim.volume.is_none())?;
    let PartialList { found: nodes, note } = cluster.nodes(node::node);
    let is_gone = note.is_none() && nodes.iter().all(|one| *one.name != *node);
    is_gone.then(|| {
        format!(
            "node \"{node}\", which was selected for it, no longer exists; remove the annotation \
             {SELECTED_NODE}, so that the scheduler selects another"
        )
    })
}

/// The verb for an outcome.
fn verb(outcome: ClaimForecast) -> &'static str {
    match outcome {
        ClaimForecast::Bound => "is bound",
        ClaimForecast::Binds => "binds",
        ClaimForecast::Provisions | ClaimForecast::Waits => "is Pending",
        ClaimForecast::Unmatched => "cannot bind",
        ClaimForecast::Lost => "is lost",
        ClaimForecast::Conflict => "is in conflict",
        ClaimForecast::Unknown => "cannot be judged",
    }
}

/// The volumes that do not match, the nearest first; only the named one if the claim names a volume.
fn misses<'a>(view: &'a View, claim: &'a Claim, outcome: &ClaimOutcome) -> Vec<MismatchedPair<'a>> {
    let immediate = FitCheck::Controller(BindingMode::Immediate);
    let named = |name, asker| {
        let volume: Option<&Volume> = view.volume(name).map(AsRef::as_ref);
        volume.and_then(|volume| nearness::miss(view, volume, claim, asker)).into_iter().collect()
    };
    match outcome {
        ClaimOutcome::NoMatchingVolume | ClaimOutcome::NoClass(_) => {
            nearness::volumes(view, claim, immediate)
        }
        // It does not lack a volume: only those of its class are of interest.
        ClaimOutcome::WaitsForConsumer | ClaimOutcome::WaitsForPods(_) => {
            let mut misses = nearness::volumes(view, claim, immediate);
            misses.retain(|miss| miss.volume.class().as_class() == claim.class().wanted());
            misses
        }
        ClaimOutcome::Unfit(name, _) => named(name, FitCheck::Prebind),
        ClaimOutcome::Taken(name) => named(name, immediate),
        // Those that were read: there may be others.
        ClaimOutcome::Unknown => nearness::volumes(view, claim, immediate),
        ClaimOutcome::Unseen
        | ClaimOutcome::Terminating
        | ClaimOutcome::Bound(_)
        | ClaimOutcome::BoundDespite(..)
        | ClaimOutcome::GetsDefaultClass(_)
        | ClaimOutcome::WaitsForProvisioner(_)
        | ClaimOutcome::NoVolume(_)
        | ClaimOutcome::Lost(_) => Vec::new(),
    }
}

/// The provisioner of the claim's class, if binding is delayed until the pod has a node.
fn delay<'a>(view: &'a View, claim: &Claim, outcome: &ClaimOutcome) -> Option<&'a Provisioner> {
    let may_delay = matches!(
        outcome,
        ClaimOutcome::WaitsForConsumer
            | ClaimOutcome::WaitsForPods(_)
            | ClaimOutcome::NoMatchingVolume
    );
    if !may_delay {
        return None;
    }
    let class = view.class(claim.class().wanted().name()?)?;
    let is_delayed = class.binding_mode == BindingMode::WaitForFirstConsumer;
    is_delayed.then_some(&class.provisioner)
}

/// The volumes that match on each node.
fn reach(explanation: &mut Explanation, cluster: &SettledCluster, claim: &Claim) {
    let nodes = cluster.nodes(node::node);
    explanation.notes.extend(nodes.note);
    explanation.nodes =
        nodes.found.iter().map(|node| on_node(&cluster.state.view, claim, node)).collect();
}

fn on_node(view: &View, claim: &Claim, node: &Node) -> NodeVolumes {
    let reserved = view.reserved_for(&claim.key).filter_map(|name| view.volume(name));
    let volumes = reserved.chain(view.free_for(claim));
    let fitting = volumes
        .filter(|volume| fit(volume, claim, view.home(claim), FitCheck::Scheduler(node)).is_ok());
    let volumes = fitting.map(|volume| volume.name.to_string()).collect();
    NodeVolumes { node: node.name.to_string(), volumes }
}

/// The provisioner and what it wrote last.
fn awaited(
    notes: &mut Vec<String>,
    cluster: &SettledCluster,
    key: &ClaimKey,
    name: &str,
) -> AwaitedProvisioner {
    let events = cluster.events(event_object(key));
    notes.extend(events.note);
    let own = events.found.into_iter().filter(|event| is_in_name_of(event, name));
    AwaitedProvisioner { name: name.to_owned(), last_event: last(own) }
}

/// Returns whether the event says that it is this provisioner's.
///
/// Kubernetes: a provisioner names itself `DRIVER_POD_UID` as the source of its events.
pub(super) fn is_in_name_of(event: &Event, provisioner: &str) -> bool {
    let rest = event.component.strip_prefix(provisioner);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// The event that was written last.
pub(super) fn last(events: impl Iterator<Item = Event>) -> Option<ReportedEvent> {
    let event = events.max_by(|a, b| a.time.cmp(&b.time))?;
    // Control characters would move a terminal's cursor.
    let [component, reason, message, time] =
        [event.component, event.reason, event.message, event.time]
            .map(|text| text.replace(char::is_control, " "));
    Some(ReportedEvent { component, reason, message, time })
}

/// Repairs after which the binder binds the claim, the least harmful first (see [`Harm`]). Only one if it changes no
/// claim, or if it is the last resort.
fn find_fixes(
    cluster: &SettledCluster,
    claim: &Claim,
    outcome: &ClaimOutcome,
    misses: &[MismatchedPair<'_>],
) -> Vec<Fix> {
    if matches!(outcome, ClaimOutcome::Lost(_)) {
        return Vec::new();
    }
    let is_former = |miss: &&MismatchedPair<'_>| is_former(miss.volume, claim);
    let former = misses.iter().filter(is_former);
    let others = misses.iter().filter(|miss| !is_former(miss));
    let of_volumes = former.chain(others).filter_map(|miss| repair(miss, cluster));
    let mut repairs: Vec<ClaimRepair> = of_volumes.take(REPAIRS_TRIED).collect();
    if claim.volume.is_some() {
        repairs.push(unnamed());
    }
    if misses.iter().any(|miss| is_former(&miss)) {
        // A re-created claim would lose its own data.
        repairs.retain(|repair| repair.volume.is_some());
    }
    if held_volume(&cluster.state.view, claim).is_some() {
        // A deleted claim releases its volume, which is then reclaimed.
        repairs.retain(|repair| !repair.deletes_claim());
    }
    repairs.sort_by_key(|repair| repair.harm(claim));
    let mut fixes: Vec<Fix> = Vec::new();
    for repair in repairs.iter().filter(|repair| helps(repair, cluster, claim)) {
        // Data of another namespace is offered only if there is no other fix.
        let is_last_resort = repair.harm(claim) == Harm::OtherNamespace;
        if fixes.len() == OPTIONS_MAX || (is_last_resort && !fixes.is_empty()) {
            break;
        }
        fixes.push(fix(repair, claim));
        if is_last_resort || repair.harm(claim) == Harm::None {
            break;
        }
    }
    fixes
}

/// Returns whether the volume belonged to this claim before it was deleted and re-created.
fn is_former(volume: &Volume, claim: &Claim) -> bool {
    volume.phase == VolumePhase::Released
        && matches!(&volume.reservation, Reservation::Held(key, _) if *key == claim.key)
}

/// The volume that is reserved for this very claim, by its uid: it is Released when the claim is deleted.
fn held_volume<'a>(view: &'a View, claim: &Claim) -> Option<&'a Volume> {
    let mut reserved = view.reserved_for(&claim.key).filter_map(|name| view.volume(name));
    let uid = claim.uid.as_ref()?;
    reserved.find(|volume| volume.reservation.uid() == Some(uid)).map(AsRef::as_ref)
}

/// Returns what to do if no command can do it.
fn advice(view: &View, claim: &Claim, outcome: &ClaimOutcome, fix: Option<&Fix>) -> Option<String> {
    let is_milder = fix.is_some_and(|fix| fix.harm == Harm::Less);
    if fix.is_some() && !is_milder {
        return None;
    }
    if matches!(outcome, ClaimOutcome::Lost(_)) {
        let text = "no command brings its PV back; restore the PV under its name and with its \
             claimRef, or restore the data into a new PVC";
        return Some(text.to_owned());
    }
    let volume = if let ClaimOutcome::NoVolume(name) = outcome {
        format!("PV \"{name}\"")
    } else {
        "a PV".to_owned()
    };
    // A claim that names an existing volume cannot bind to another.
    let names_another = matches!(outcome, ClaimOutcome::Taken(_) | ClaimOutcome::Unfit(..));
    let first = match held_volume(view, claim) {
        _ if !names_another => String::new(),
        None => "delete the PVC and re-create it without spec.volumeName, and ".to_owned(),
        Some(held) => format!(
            "run `bindery retain pv/{}`, then delete the PVC and re-create it without spec.volumeName, and ",
            held.name
        ),
    };
    let beginning =
        if is_milder { "to keep the request as it is, " } else { "no command fixes it; " };
    Some(format!(
        "{beginning}{first}add {volume} of {} with {} and access modes {}, volume mode {}",
        claim.class().wanted(),
        claim.request,
        claim.access_modes,
        claim.mode
    ))
}
