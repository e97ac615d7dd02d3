//! A small claim that is given a large volume by name.

use super::judging::prebind::{Prebind, REQUEST_TYPES, Side, prebinds};
use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "oversized-volume",
    mode: Mode::Warn,
    request_types: REQUEST_TYPES,
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim names a volume, or has one kept for it, that is many times as large as it asks \
            for: more than `rules.parameters.maxWaste` times, 10 unless configured.",
        consequence: "It is given the whole of it for as long as it lives. What it does not use is lost to \
            everybody else, and its quota is charged for what it asked for only.",
        instead: "Name a volume of the right size, or ask for what is needed.",
    },
    denied: &[
        Example {
            title: "naming a volume that is a hundred times too large",
            given: "volume pv-a 100Gi RWO phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 1Gi RWO volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")],
        },
        Example {
            title: "keeping a volume for a claim that asks for a hundredth of it",
            given: "claim db/data 1Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 100Gi RWO class=none-such for=db/data"),
            then: &[Fact::Is("pv/pv-a", "/spec/claimRef/name", "\"data\"")],
        },
    ],
    allowed: &[
        Example {
            title: "naming a volume that is somewhat larger",
            given: "volume pv-a 12Gi RWO phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO volume=pv-a"),
            then: &[],
        },
        Example {
            title: "labelling a large volume that is kept for a small claim",
            given: "claim db/data 1Gi RWO class=none-such\n\
                volume pv-a 100Gi RWO class=none-such for=db/data",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    if let Some((old, new)) = change.volume_update()
        && (&old.reservation, &old.capacity) == (&new.reservation, &new.capacity)
    {
        return Vec::new();
    }
    let most = change.parameters.max_waste;
    let is_wasted = |prebind: &Prebind<'_>| {
        let asked = prebind.claim.request.rounded_up_units();
        prebind.volume.capacity.rounded_up_units() > asked.saturating_mul(i128::from(most.get()))
    };
    let prebinds = match prebinds(change, evidence) {
        Ok(prebinds) => prebinds,
        Err(unseen) => return vec![unseen],
    };
    let wasted = prebinds.into_iter().filter(is_wasted);
    let tell = |prebind: Prebind<'_>| {
        let (volume, claim) = (prebind.volume, prebind.claim);
        let text = match prebind.side {
            Side::Volume => format!(
                "volume \"{}\" has {} and claim \"{}\", for which it is kept, asks for {}; the rest is \
                 lost to everybody; keep it for a larger claim",
                volume.name, volume.capacity, claim.key, claim.request
            ),
            Side::ClaimNames | Side::ClaimFinds => format!(
                "claim \"{}\" asks for less than a part in {most} of {}; the rest is lost to \
                 everybody; {}",
                claim.key.name,
                prebind.the_volume(),
                prebind.way_out("ask for what is needed")
            ),
        };
        Violation::new(prebind.field(), text).depending_on(prebind.dependency)
    };
    wasted.map(tell).collect()
}
