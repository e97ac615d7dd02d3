//! Prebinding a raw device to a claim for a file system, or the reverse.

use super::judging::examples::pairings;
use super::judging::prebind::{OTHER_CLAIM, Prebind, REQUEST_TYPES, unless_found, violations};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::VolumeMode;

pub(super) static RULE: Rule = Rule {
    id: "prebind-volume-mode",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC for a file system names a raw block device, or the reverse; or such a PV is reserved for \
            the PVC.",
        consequence: "The PVC stays Pending, or the two are bound and no pod can start with them.",
        instead: "Set the same spec.volumeMode on PV and PVC.",
    },
    policy: PolicyForm::NotExpressible(
        "It compares a PV with a PVC, and a request shows one of the two. With `--volumes-as-parameters`, a policy denies \
         it where a PVC names a PV.",
    ),
    denied: pairings!(
        "pairing a device with a PVC for a file system",
        "volume pv-a 10Gi RWO class=none-such mode=Block",
        "claim db/data 10Gi RWO class=none-such",
        PENDING,
        PENDING
    ),
    allowed: pairings!(
        "pairing a PV and a PVC that match",
        "volume pv-a 10Gi RWO class=none-such",
        "claim db/data 10Gi RWO class=none-such",
        &[],
        &[],
    ),
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let describe = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::VolumeMode { requested, offered } = mismatch else { return None };
        Some(text(prebind, requested, offered))
    };
    violations(change, evidence, describe, unless_found)
}

fn text(prebind: &Prebind<'_>, requested: &VolumeMode, offered: &VolumeMode) -> String {
    prebind.text(
        [&format!("has volume mode {offered}"), &requested.to_string(), OTHER_CLAIM],
        [&format!("volume mode {requested}"), "has another", "use the volume mode of the PV"],
        "no pod could start with it",
    )
}
