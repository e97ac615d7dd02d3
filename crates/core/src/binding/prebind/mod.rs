//! Which volume is reserved for a claim beside another binder: for a pod that was given its node in
//! another way than by the scheduler, which alone would have chosen one.
//!
//! Such a claim waits for ever: the in-tree binder leaves the choice to the scheduler, and the scheduler
//! never sees the pod. The one write here is the reservation, which the other binder completes. Anything
//! wider would race the scheduler. Everything it rests on is read live.

use super::bind::reserve;
use super::choice::{Choice, choose};
use super::decision::{ChosenBy, Decision};
use super::evidence::{Evidence, Lookup};
use super::fit::FitCheck;
use super::read::Read;
use crate::model::annotations::SELECTED_NODE;
use crate::model::{
    BindingMode, Claim, ClaimKey, ClassName, Deletion, Pod, PodKey, Provisioner, Stage,
    VolumeClass, VolumeName,
};

/// The state of a claim for a controller that only reserves volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrebindOutcome {
    /// It was not observed.
    Unseen,
    /// The other binder or the scheduler sees to it.
    Skipped(SkipReason),
    /// Something that decides is not known.
    Unknown,
    /// No pod that has not finished uses it.
    NoPods,
    /// This pod, which uses it, has no node yet: the scheduler chooses.
    Scheduled(PodKey),
    /// Pods that use it have different nodes.
    DifferentNodes,
    /// The node of its pods does not exist.
    NoNode(Box<str>),
    /// No volume that fits can be reached from this node.
    NoMatchingVolume(Box<str>),
    /// This volume is reserved for it, and its node cannot reach it. No other volume is considered.
    ReservedUnreachable(VolumeName),
    /// This volume is reserved for it already: the other binder continues.
    AlreadyReserved(VolumeName),
    /// This volume is reserved for it.
    Reserves(VolumeName),
}

/// Why a claim is left to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// It is being deleted.
    Terminating,
    /// It was bound.
    Completed,
    /// It names a volume.
    NamesVolume,
    /// The scheduler has chosen a node for it.
    SelectedNode,
    /// It has no class, or one without an object: it binds at once.
    NoClass,
    /// Its class binds at once.
    Immediate,
    /// Its class has a provisioner.
    Provisioned,
}

/// Decides whether a volume is to be reserved for the claim of this name.
///
/// # Guarantees
///
/// The only write is [`Write::Reserve`](super::Write::Reserve) of a free volume, and only when live reads proved: every pod of
/// the claim that has not finished has the same node, and there is one; the claim names no volume and the
/// scheduler chose no node; its class delays binding and has no provisioner; the node can reach the volume.
pub fn decide_prebind(evidence: &Evidence<'_>, key: &ClaimKey) -> Decision<PrebindOutcome> {
    let claim = evidence.claim(key).present().filter(|claim| claim.uid.is_some());
    let Some(claim) = claim else { return Decision::settled(PrebindOutcome::Unseen) };
    let request = claim.class();
    let VolumeClass::Named(class) = request.wanted() else {
        return Decision::settled(PrebindOutcome::Skipped(SkipReason::NoClass));
    };
    if let Some(why) = not_ours(evidence, claim, class) {
        return Decision::settled(PrebindOutcome::Skipped(why));
    }
    // Pods that wait are watched: without one that could be meant, nothing is read.
    if let Err(why) = common_node(evidence.view().pods_of(key).map(|pod| &**pod)) {
        return Decision::settled(why);
    }
    let wanted =
        [Read::Claim(key.clone()), Read::Class(class.clone()), Read::LivePods(key.clone())];
    let open = evidence.unanswered(wanted);
    if !open.is_empty() {
        return Decision::read(open, PrebindOutcome::Unknown);
    }
    let pods = evidence.live_pods(key).present().into_iter().flatten();
    match common_node(pods.filter(|pod| pod.uses(key))) {
        Err(why) => Decision::settled(why),
        Ok(node) => on_node(evidence, claim, node),
    }
}

fn not_ours(evidence: &Evidence<'_>, claim: &Claim, class: &ClassName) -> Option<SkipReason> {
    if claim.stage() == Stage::Completed {
        return Some(SkipReason::Completed);
    }
    if claim.deletion == Deletion::Terminating {
        return Some(SkipReason::Terminating);
    }
    if claim.volume.is_some() {
        return Some(SkipReason::NamesVolume);
    }
    if claim.annotations.has(SELECTED_NODE) {
        return Some(SkipReason::SelectedNode);
    }
    match evidence.class(class) {
        Lookup::Unknown => None,
        Lookup::Absent => Some(SkipReason::NoClass),
        Lookup::Present(class) => match (class.binding_mode, &class.provisioner) {
            (BindingMode::Immediate, _) => Some(SkipReason::Immediate),
            (BindingMode::WaitForFirstConsumer, Provisioner::Named(_)) => {
                Some(SkipReason::Provisioned)
            }
            (BindingMode::WaitForFirstConsumer, Provisioner::Static) => None,
        },
    }
}

/// The node that all of these pods have; else why there is none.
fn common_node<'a>(pods: impl Iterator<Item = &'a Pod>) -> Result<&'a str, PrebindOutcome> {
    let (mut common, mut is_scattered) = (None, false);
    for pod in pods {
        let Some(node) = pod.node.as_deref() else {
            return Err(PrebindOutcome::Scheduled(pod.key.clone()));
        };
        is_scattered |= *common.get_or_insert(node) != node;
    }
    if is_scattered {
        return Err(PrebindOutcome::DifferentNodes);
    }
    common.ok_or(PrebindOutcome::NoPods)
}

fn on_node(evidence: &Evidence<'_>, claim: &Claim, name: &str) -> Decision<PrebindOutcome> {
    let node = match evidence.node(name) {
        Lookup::Unknown => {
            return Decision::read(vec![Read::Node(name.into())], PrebindOutcome::Unknown);
        }
        Lookup::Absent => return Decision::settled(PrebindOutcome::NoNode(name.into())),
        Lookup::Present(node) => node,
    };
    match choose(evidence.view(), claim, FitCheck::Scheduler(node)) {
        Choice::NoMatch => Decision::settled(PrebindOutcome::NoMatchingVolume(name.into())),
        Choice::ReservedUnreachable(volume) => {
            Decision::settled(PrebindOutcome::ReservedUnreachable(volume.name.clone()))
        }
        Choice::Reserved(volume) => {
            Decision::settled(PrebindOutcome::AlreadyReserved(volume.name.clone()))
        }
        Choice::Free(volume) => {
            let next = reserve(evidence, &volume, claim, ChosenBy::Binder);
            Decision { next, why: PrebindOutcome::Reserves(volume.name.clone()) }
        }
    }
}

#[cfg(test)]
mod tests;
