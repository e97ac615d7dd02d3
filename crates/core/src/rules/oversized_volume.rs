//! A small claim that is given a large volume by name.

use super::judging::prebind::{Prebind, REQUEST_TYPES, Side, prebinds};
use super::judging::restored_policy::has_record;
use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "oversized-volume",
    mode: Mode::Warn,
    request_types: REQUEST_TYPES,
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC names a PV, or has one reserved for it, that is many times as large as it requests: more \
            than `rules.parameters.maxWaste` times, by default 10.",
        consequence: "The PVC holds the whole PV for as long as it exists. Nothing else can use the remaining space, \
            and quota is charged for the request only.",
        instead: "Name a PV of the right size, or request what is needed.",
    },
    policy: PolicyForm::NotExpressible("It compares a PV with a PVC, and a request shows one of the two."),
    denied: &[
        Example::new("naming a PV that is a hundred times too large")
            .given("volume pv-a 100Gi RWO phase=Available")
            .by(Persona::VolumeViewer)
            .creates("claim db/data 1Gi RWO volume=pv-a")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
        Example::new("reserving a PV for a PVC that requests a hundredth of it")
            .given("claim db/data 1Gi RWO class=none-such")
            .creates("volume pv-a 100Gi RWO class=none-such for=db/data")
            .then(&[Fact::Is("pv/pv-a", "/spec/claimRef/name", "\"data\"")]),
    ],
    allowed: &[
        Example::new("naming a PV that is somewhat larger")
            .given("volume pv-a 12Gi RWO phase=Available")
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO volume=pv-a"),
        Example::new("naming a large PV that is imported for the PVC")
            .given("volume pv-a 100Gi RWO phase=Available annotation=bindery.dev/import:Retain")
            .by(Persona::VolumeViewer)
            .creates("claim db/data 1Gi RWO volume=pv-a"),
        Example::new("labelling a large PV that is reserved for a small PVC")
            .given(
                "claim db/data 1Gi RWO class=none-such\n\
                    volume pv-a 100Gi RWO class=none-such for=db/data",
            )
            .merges("pv/pv-a", LABEL),
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
        // A move gives the volume to a copy of the claim that had it.
        !has_record(&prebind.volume.annotations)
            && prebind.volume.capacity.rounded_up_units()
                > asked.saturating_mul(i128::from(most.get()))
    };
    let prebinds = match prebinds(change, evidence) {
        Ok(prebinds) => prebinds,
        Err(unseen) => return vec![unseen],
    };
    let wasted = prebinds.into_iter().filter(is_wasted);
    let describe = |prebind: Prebind<'_>| {
        let (volume, claim) = (prebind.volume, prebind.claim);
        let text = match prebind.side {
            Side::Volume => format!(
                "PV \"{}\" has {}, but PVC \"{}\", for which it is reserved, requests {}; nothing \
                 else can use the remaining space; reserve it for a larger PVC",
                volume.name, volume.capacity, claim.key, claim.request
            ),
            Side::ClaimNames | Side::ClaimFinds => format!(
                "PVC \"{}\" requests less than 1/{most} of {}; nothing else can use the remaining \
                 space; {}",
                claim.key.name,
                prebind.the_volume(),
                prebind.way_out("request what is needed")
            ),
        };
        Violation::new(prebind.field(), text).depending_on(prebind.dependency)
    };
    wasted.map(describe).collect()
}
