//! A new volume under the name of one that a claim has lost.

use super::prelude::*;
use crate::binding::{FitCheck, Mismatch, fit};
use crate::model::{Claim, ClaimKey, NonEmpty, Stage, Volume};

pub(super) static RULE: Rule = Rule {
    id: "volume-substitution",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Create)]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A PV is created under the name of a deleted PV that a PVC still names, with another volume \
            mode, other access modes or on other storage.",
        consequence: "The PVC takes it for its own without a check: its pods find other files, or do not start.",
        instead: "Restore the PV as it was, with policy Retain. Or give the new PV another name, and delete the \
            PVC if its data is not needed.",
    },
    policy: PolicyForm::NotExpressible("What the lost PV was shows on the PVC and in what the webhook has seen."),
    denied: &[
        Example::new("creating a raw device under the name of a lost file system")
            .given("lost pv-a db/data 10Gi RWO")
            .creates("volume pv-a 10Gi RWO mode=Block")
            .then(&[Fact::Is("pv/pv-a", "/spec/volumeMode", "\"Block\"")]),
        Example::new("creating a PV with other access modes under the name of a lost one")
            .given("lost pv-a db/data 10Gi RWO")
            .creates("volume pv-a 10Gi ROX")
            .then(&[Fact::Is("pv/pv-a", "/spec/accessModes", "[\"ReadOnlyMany\"]")]),
    ],
    allowed: &[
        Example::new("restoring a lost PV")
            .given("lost pv-a db/data 10Gi RWO")
            .creates("volume pv-a 10Gi RWO"),
        Example::new("creating a PV under another name")
            .given("lost pv-a db/data 10Gi RWO")
            .creates("volume pv-b 10Gi RWO mode=Block"),
        Example::new("restoring a lost PV somewhat smaller, with a warning")
            .given("lost pv-a db/data 10Gi RWO")
            .creates("volume pv-a 9Gi RWO"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.volume() else { return Vec::new() };
    let named = evidence.view().naming(&new.name);
    // A claim that has only just lost its volume may not be shown as Lost yet.
    let held = new.reservation.key().into_iter();
    let keys: std::collections::BTreeSet<&ClaimKey> = named.chain(held).collect();
    keys.into_iter().flat_map(|key| of_claim(key, new, evidence)).collect()
}

fn of_claim(key: &ClaimKey, new: &Volume, evidence: &Evidence<'_>) -> Vec<Violation> {
    let lookup = evidence.claim(key);
    let points_here = |claim: &&Claim| {
        claim.volume.as_ref() == Some(&new.name) && claim.stage() == Stage::Completed
    };
    if lookup == Lookup::Unknown {
        return vec![Violation::open("metadata.name", Read::Claim(key.clone()))];
    }
    let Some(claim) = lookup.present().filter(points_here) else { return Vec::new() };
    let dependency = Dependency::on(Read::Claim(key.clone()), lookup);
    let mismatches = fit(new, claim, None, FitCheck::Prebind).err();
    let mismatches = mismatches.iter().flat_map(NonEmpty::iter);
    let mut found: Vec<Violation> = mismatches
        .filter_map(|mismatch| of_mismatch(mismatch, claim, new))
        .chain(of_storage(claim, new, evidence))
        .collect();
    for violation in &mut found {
        violation.depends_on.push(dependency.clone());
    }
    found
}

fn text(claim: &Claim, new: &Volume, what: &str) -> String {
    format!(
        "PVC \"{}\" has lost PV \"{}\" and would take the new one for it, which has {what}; its \
         pods would find other data or not start; restore the PV as it was, or give the new one \
         another name",
        claim.key, new.name
    )
}

fn of_mismatch(mismatch: &Mismatch, claim: &Claim, new: &Volume) -> Option<Violation> {
    match mismatch {
        Mismatch::VolumeMode { requested, offered } => {
            let what = format!("volume mode {offered}, not {requested}");
            Some(Violation::new("spec.volumeMode", text(claim, new, &what)))
        }
        Mismatch::AccessModes { requested, offered } => {
            let what = format!("access modes {offered}, not {requested}");
            Some(Violation::new("spec.accessModes", text(claim, new, &what)))
        }
        Mismatch::TooSmall { requested, offered } => {
            let what = format!("{offered}, less than the requested {requested}");
            Some(Violation::new("spec.capacity.storage", text(claim, new, &what)).as_warning())
        }
        Mismatch::ReservedForOther { .. }
        | Mismatch::ClaimElsewhere
        | Mismatch::ForeignNamespace
        | Mismatch::Class { .. }
        | Mismatch::AttributesClass { .. }
        | Mismatch::Terminating
        | Mismatch::NotAvailable { .. }
        | Mismatch::Selector { .. }
        | Mismatch::DataSource
        | Mismatch::NodeAffinity
        | Mismatch::WaitsForConsumer => None,
    }
}

fn of_storage(claim: &Claim, new: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let lost = evidence.view().lost_by(&claim.key)?;
    let storage = new.storage.as_ref()?;
    let is_its = lost.name == new.name && claim.uid.as_ref() == Some(&lost.holder);
    if !is_its || lost.storage == *storage {
        return None;
    }
    let what = format!("other storage ({storage}, not {})", lost.storage);
    Some(Violation::new("spec", text(claim, new, &what)))
}
