//! Offering a released volume to whoever comes next.

use super::prelude::*;
use crate::model::{Reservation, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "released-volume-reuse",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "The whole claimRef of a released volume is removed.",
        consequence: "The volume is free again with everything on it: whoever is matched next, in any \
            namespace, reads the files of the one before.",
        instead: "Keep the volume for somebody: name the new claim in claimRef in the same change, or \
            remove only its uid and resourceVersion, so that a new claim of the old name gets it. Or \
            empty the storage first.",
    },
    denied: &[Example {
        title: "freeing a released volume for anybody",
        given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
        by: Persona::Admin,
        send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":null}}"# },
        then: &[Fact::Lacks("pv/pv-a", "/spec/claimRef")],
    }],
    allowed: &[
        Example {
            title: "keeping a released volume for a new claim of the old name",
            given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}"#,
            },
            then: &[],
        },
        Example {
            title: "keeping a released volume for another claim",
            given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"name":"copy","uid":null,"resourceVersion":null}}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let is_left = matches!(old.phase, VolumePhase::Released | VolumePhase::Failed);
    if !is_left || change.actor.is_binder() || new.reservation != Reservation::Free {
        return Vec::new();
    }
    let Reservation::Held(key, _) = &old.reservation else { return Vec::new() };
    let dependency = match pair(old, evidence) {
        // A claim that is still there is for `bound-volume-claim-ref` to speak of.
        Pair::Bound { claim: Some(_), .. } | Pair::Ending { claim: Some(_), .. } | Pair::Unbound => {
            return Vec::new();
        }
        Pair::Bound { claim: None, dependency, .. } | Pair::Ending { claim: None, dependency, .. } => dependency,
    };
    let text = format!(
        "volume \"{}\" would be free with the files of \"{key}\" on it; the next claimant, in any \
         namespace, reads them; name a claim in spec.claimRef, or empty the volume first",
        new.name
    );
    vec![Violation::new("spec.claimRef", text).depending_on(dependency)]
}
