//! The event beside a claim.
//!
//! Kubernetes: `pv_controller.go`, `syncUnboundClaim`, `syncBoundClaim`, `provisionClaim`.

use arcstr::ArcStr;

use super::{EventType, ObjectEvent};
use crate::binding::claim::{ClaimOutcome, Loss};
use crate::binding::fit::FitCheck;
use crate::binding::fit_counts::count_fits;
use crate::binding::mismatch::Mismatch;
use crate::binding::object_key::ObjectKey;
use crate::binding::view::View;
use crate::model::{Claim, NonEmpty, Provisioner, VolumeName};

impl ClaimOutcome {
    /// Returns whether an event reports it.
    pub fn has_event(&self) -> bool {
        match self {
            Self::Unseen
            | Self::Terminating
            | Self::Unknown
            | Self::Bound(_)
            | Self::GetsDefaultClass(_) => false,
            Self::BoundDespite(..)
            | Self::WaitsForConsumer
            | Self::WaitsForPods(_)
            | Self::WaitsForProvisioner(_)
            | Self::NoMatchingVolume
            | Self::NoClass(_)
            | Self::NoVolume(_)
            | Self::Unfit(..)
            | Self::Taken(_)
            | Self::Lost(_) => true,
        }
    }
}

/// Returns the event that reports `outcome`, if it needs one. `view` provides the counts.
pub fn claim_event(view: &View, claim: &Claim, outcome: &ClaimOutcome) -> Option<ObjectEvent> {
    use EventType::{Normal, Warning};
    let (event_type, reason, text) = match outcome {
        ClaimOutcome::Unseen
        | ClaimOutcome::Terminating
        | ClaimOutcome::Unknown
        | ClaimOutcome::Bound(_)
        | ClaimOutcome::GetsDefaultClass(_) => return None,
        ClaimOutcome::BoundDespite(name, mismatches) => {
            (Warning, "BoundDespiteMismatch", bound_despite(name, mismatches))
        }
        ClaimOutcome::WaitsForConsumer => (Normal, "WaitForFirstConsumer", consumer(view, claim)),
        ClaimOutcome::WaitsForPods(pods) => (Normal, "WaitForPodScheduled", waiting(pods)),
        ClaimOutcome::WaitsForProvisioner(name) => {
            (Normal, "ExternalProvisioning", provisioning(name))
        }
        ClaimOutcome::NoMatchingVolume => nothing_fits(view, claim),
        ClaimOutcome::NoClass(class) => (
            Warning,
            "ProvisioningFailed",
            format!("storageclass.storage.k8s.io \"{class}\" not found; {}", counts(view, claim)),
        ),
        ClaimOutcome::NoVolume(name) => (Warning, "FailedBinding", no_volume(name)),
        ClaimOutcome::Unfit(name, mismatches) => {
            (Warning, "VolumeMismatch", unfit(view, claim, name, mismatches))
        }
        ClaimOutcome::Taken(name) => (
            Warning,
            "FailedBinding",
            format!("volume \"{name}\" already bound to a different claim."),
        ),
        ClaimOutcome::Lost(loss) => (Warning, lost_reason(loss), lost(loss)),
    };
    let on = ObjectKey::Claim(claim.key.clone());
    Some(ObjectEvent::new(on, event_type, reason, text))
}

fn consumer(view: &View, claim: &Claim) -> String {
    let text = "waiting for first consumer to be created before binding";
    // A pod that was given a node in another way than by the scheduler waits for ever, and the claim
    // with it: only the scheduler chooses a volume.
    match view.pods_of(&claim.key).find(|pod| pod.node.is_some()) {
        None => text.to_owned(),
        Some(pod) => format!(
            "{text}; pod \"{}\" has a node that the scheduler did not choose, so that no volume is \
             chosen for it; let the scheduler place the pod",
            pod.key.name
        ),
    }
}

fn waiting(pods: &NonEmpty<ArcStr>) -> String {
    let names: Vec<&str> = pods.iter().map(|name| &**name).collect();
    match names.as_slice() {
        [name] => format!("waiting for pod {name} to be scheduled"),
        names => format!("waiting for pods {} to be scheduled", names.join(",")),
    }
}

fn provisioning(provisioner: &str) -> String {
    format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or \
         manually by the system administrator. If volume creation is delayed, please verify that the \
         provisioner is running and correctly registered."
    )
}

/// **Differs from Kubernetes** for a class without a provisioner: there, a failure to find the plug-in
/// `kubernetes.io/no-provisioner` is reported, though nothing failed.
fn nothing_fits(view: &View, claim: &Claim) -> (EventType, &'static str, String) {
    let (request, counts) = (claim.class(), counts(view, claim));
    let none = "no persistent volumes available for this claim";
    let Some(class) = request.wanted().name() else {
        let text = format!("{none} and no storage class is set; {counts}");
        return (EventType::Normal, "FailedBinding", text);
    };
    match view.class(class).map(|class| &class.provisioner) {
        Some(Provisioner::Named(plugin)) => {
            let text = format!("no volume plugin matched name: {plugin}; {counts}");
            (EventType::Warning, "ProvisioningFailed", text)
        }
        Some(Provisioner::Static) | None => {
            let text = format!("{none} and storage class \"{class}\" has no provisioner; {counts}");
            (EventType::Normal, "FailedBinding", text)
        }
    }
}

fn counts(view: &View, claim: &Claim) -> String {
    count_fits(view, claim, FitCheck::Controller(view.binding_mode(claim))).to_string()
}

fn no_volume(name: &VolumeName) -> String {
    format!(
        "PV \"{name}\", which the PVC names, does not exist; the PVC is Pending until it does; create \
         the PV, or delete and re-create the PVC without spec.volumeName"
    )
}

fn unfit(view: &View, claim: &Claim, name: &VolumeName, mismatches: &NonEmpty<Mismatch>) -> String {
    let text = format!("Cannot bind to requested volume \"{name}\": {}", reasons(name, mismatches));
    let is_theirs =
        view.volume(name).is_some_and(|volume| volume.reservation.key() == Some(&claim.key));
    if is_theirs {
        format!("{text}; the two are not bound, although each names the other")
    } else {
        text
    }
}

fn bound_despite(name: &VolumeName, mismatches: &NonEmpty<Mismatch>) -> String {
    format!(
        "PV \"{name}\" is bound to the PVC because each names the other, although: {}",
        reasons(name, mismatches)
    )
}

fn lost_reason(loss: &Loss) -> &'static str {
    match loss {
        Loss::Reference | Loss::Volume(_) | Loss::Unfit(..) => "ClaimLost",
        Loss::Misbound(_) => "ClaimMisbound",
    }
}

fn lost(loss: &Loss) -> String {
    match loss {
        Loss::Reference => {
            "Bound claim has lost reference to PersistentVolume. Data on the volume is \
                            lost!"
                .to_owned()
        }
        Loss::Volume(_) => {
            "Bound claim has lost its PersistentVolume. Data on the volume is lost!".to_owned()
        }
        Loss::Misbound(_) => {
            "Two claims are bound to the same volume, this one is bound incorrectly".to_owned()
        }
        Loss::Unfit(name, mismatches) => format!(
            "Bound claim has lost its PersistentVolume; PV \"{name}\", which has its name, does not \
             fit: {}; restore the former PV",
            reasons(name, mismatches)
        ),
    }
}

/// Returns what speaks against a named volume, in the order and the words of Kubernetes, the first before the
/// others. The text holds no size, mode or class: naming a volume must not reveal its properties.
///
/// Kubernetes: `pv_controller.go`, `checkVolumeSatisfyClaim`, which reports the first only.
fn reasons(name: &VolumeName, mismatches: &NonEmpty<Mismatch>) -> String {
    let mut texts: Vec<(u8, String)> =
        mismatches.iter().map(|mismatch| in_words(name, mismatch)).collect();
    texts.sort();
    let texts: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
    match texts.as_slice() {
        [first, others @ ..] if !others.is_empty() => {
            format!("{first}; also: {}", others.join(", "))
        }
        texts => texts.concat(),
    }
}

/// The words for a mismatch and the place of its check among the others.
fn in_words(name: &VolumeName, mismatch: &Mismatch) -> (u8, String) {
    let (place, text) = match mismatch {
        Mismatch::Terminating => (1, format!("the volume is marked for deletion \"{name}\"")),
        Mismatch::TooSmall { .. } => (2, "requested PV is too small".to_owned()),
        Mismatch::Class { .. } => (3, "storageClassName does not match".to_owned()),
        Mismatch::AttributesClass { .. } => {
            (4, "volumeAttributesClassName does not match".to_owned())
        }
        Mismatch::VolumeMode { .. } => (5, "incompatible volumeMode".to_owned()),
        Mismatch::AccessModes { .. } => (6, "incompatible accessMode".to_owned()),
        Mismatch::ReservedForOther { .. }
        | Mismatch::ClaimElsewhere
        | Mismatch::ForeignNamespace
        | Mismatch::NotAvailable { .. }
        | Mismatch::Selector { .. }
        | Mismatch::DataSource
        | Mismatch::NodeAffinity
        | Mismatch::WaitsForConsumer => (7, mismatch.in_short().to_owned()),
    };
    (place, text)
}
