//! The reason of a claim's outcome, in words.

use std::fmt::{self, Write as _};

use super::Planner;
use crate::binding::{ClaimOutcome, FitCounts, Loss, Mismatch, ObjectKey};
use crate::cli::input::dump::PodCoverage;
use crate::cli::input::listing::labels;
use crate::cli::preview::planned::Blocker;
use crate::model::{Claim, NonEmpty, VolumeName, VolumePhase};

impl Planner<'_> {
    /// Why a claim ends up as it does, where that needs saying.
    pub(super) fn reason(
        &self,
        claim: &Claim,
        outcome: &ClaimOutcome,
        counts: &FitCounts,
        blocker: Option<&Blocker>,
    ) -> Option<String> {
        Some(match outcome {
            ClaimOutcome::Bound(_) | ClaimOutcome::Unseen => return None,
            ClaimOutcome::BoundDespite(_, despite) => {
                format!("each names the other, although {}", joined(despite))
            }
            ClaimOutcome::Terminating => "it is being deleted".to_owned(),
            ClaimOutcome::Unknown => self.unknown(claim),
            ClaimOutcome::GetsDefaultClass(class) => {
                format!("it gets the default StorageClass \"{class}\"")
            }
            ClaimOutcome::WaitsForConsumer => self.no_pod(claim),
            ClaimOutcome::WaitsForPods(pods) => {
                format!("it binds once {} is scheduled", any_of(pods))
            }
            ClaimOutcome::WaitsForProvisioner(name) => {
                format!("waiting for provisioner \"{name}\" to create a PV")
            }
            ClaimOutcome::NoMatchingVolume => nothing_fits(counts, blocker),
            ClaimOutcome::NoClass(class) => {
                format!(
                    "StorageClass \"{class}\" does not exist; {}",
                    nothing_fits(counts, blocker)
                )
            }
            ClaimOutcome::NoVolume(name) => {
                format!("PV \"{name}\", which it names, does not exist")
            }
            ClaimOutcome::Unfit(name, reasons) => {
                format!("PV \"{name}\", which it names, does not match: {}", joined(reasons))
            }
            ClaimOutcome::Taken(name) => {
                format!("PV \"{name}\", which it names, {}", self.whose(name))
            }
            ClaimOutcome::Lost(loss) => lost(loss),
        })
    }

    /// Returns why nothing is known of a claim.
    fn unknown(&self, claim: &Claim) -> String {
        match self.settlement.missing.get(&ObjectKey::Claim(claim.key.clone())) {
            Some(open) => format!("the input does not hold all {}", labels(open)),
            None => "objects that it depends on could not be read".to_owned(),
        }
    }

    /// The claim that a named volume is bound to or reserved for.
    fn whose(&self, name: &VolumeName) -> String {
        let Some(volume) = self.after.volume(name) else {
            return "belongs to another PVC".to_owned();
        };
        let verb =
            if volume.phase == VolumePhase::Bound { "is bound to" } else { "is reserved for" };
        match volume.reservation.key() {
            Some(holder) => format!("{verb} PVC \"{holder}\""),
            None => "belongs to another PVC".to_owned(),
        }
    }

    /// Returns what a claim waits for whose class waits for a pod, where none that waits for a node uses it.
    fn no_pod(&self, claim: &Claim) -> String {
        let given = self.after.pods_of(&claim.key).find_map(|pod| Some((pod, pod.node.as_ref()?)));
        match (given, self.pods) {
            (Some((pod, node)), _) => format!(
                "pod \"{}\" uses it and has node \"{node}\" in spec.nodeName, which bypasses the scheduler, so no PV is \
                 selected; re-create the pod without spec.nodeName",
                pod.key.name
            ),
            (None, PodCoverage::Complete) => {
                "it binds once a pod that uses it is scheduled, and no such pod is Pending"
                    .to_owned()
            }
            (None, PodCoverage::Partial(_)) => {
                "it binds once a pod that uses it is scheduled".to_owned()
            }
        }
    }
}

/// One of these pods, as it is said.
fn any_of(pods: &NonEmpty<impl fmt::Display>) -> String {
    /// A line holds so many.
    const NAMES_MAX: usize = 3;
    let names: Vec<String> =
        pods.iter().take(NAMES_MAX).map(|name| format!("\"{name}\"")).collect();
    let more = pods.iter().count().saturating_sub(names.len());
    match (names.as_slice(), more) {
        ([name], 0) => format!("pod {name}"),
        (names, 0) => format!("one of pods {}", names.join(", ")),
        (names, more) => format!("one of pods {} and {more} more", names.join(", ")),
    }
}

/// Returns how many volumes fail for what, and who got the one that would have done.
fn nothing_fits(counts: &FitCounts, blocker: Option<&Blocker>) -> String {
    let mut text = counts.to_string();
    if let Some(Blocker { claim, volume }) = blocker {
        // Writing to a string cannot fail.
        let _ = write!(text, "; PV \"{volume}\" would match, but binds to PVC \"{claim}\"");
    }
    text
}

fn joined(mismatches: &NonEmpty<Mismatch>) -> String {
    let texts: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn lost(loss: &Loss) -> String {
    match loss {
        Loss::Reference => "it was bound and no longer names a PV".to_owned(),
        Loss::Volume(name) => format!("it was bound to PV \"{name}\", which does not exist"),
        Loss::Misbound(name) => {
            format!("it was bound to PV \"{name}\", which belongs to another PVC")
        }
        Loss::Unfit(name, mismatches) => {
            format!(
                "it was bound to PV \"{name}\", which no longer matches: {}",
                joined(mismatches)
            )
        }
    }
}
