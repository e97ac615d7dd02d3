//! Deleting a claim that takes the data of its volume along.

use super::judging::filter::is_advised;
use super::judging::violation::Certainty;
use super::prelude::*;
use crate::binding::{Confirmation, Pairing, pairing};
use crate::model::{Claim, ClaimKey, Pod, ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "claim-delete-destroys-data",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Claims, Operation::Delete)]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A PVC is deleted whose PV has the policy Delete or Recycle. Or a StatefulSet deletes such PVCs \
            by its persistentVolumeClaimRetentionPolicy (in `check`).",
        consequence: "Once no pod uses the PVC, the PV and its data are deleted with it. This cannot be undone.",
        instead: "Run `bindery retain` for the PVC, or set persistentVolumeReclaimPolicy to Retain on the PV, if the data \
            is needed; then delete the PVC. With the trash, the PV stays for a while anyway.",
    },
    policy: PolicyForm::NotExpressible("The reclaim policy is that of the PV, and the request is about the PVC."),
    denied: &[
        Example::new("deleting a PVC whose PV was provisioned for it")
            .given(
                "class standard provisioner=disk.example.com\n\
                    pair pv-a db/data 10Gi RWO class=standard csi=disk.example.com policy=Delete \
                    annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
            )
            .by(Persona::Tenant)
            .deletes("pvc/db/data")
            .then(&[Fact::Gone("pvc/db/data")]),
        Example::new("deleting a PVC that a pod uses and whose PV is deleted with it")
            .given(
                "class standard provisioner=disk.example.com\n\
                    pair pv-a db/data 10Gi RWO class=standard csi=disk.example.com policy=Delete \
                    annotation=pv.kubernetes.io/provisioned-by:disk.example.com\n\
                    pod db/main claim=data node=n1",
            )
            .by(Persona::Tenant)
            .deletes("pvc/db/data")
            .then(&[Fact::Has("pvc/db/data", "/metadata/deletionTimestamp")]),
    ],
    allowed: &[
        Example::new("deleting a PVC whose PV stays")
            .given("pair pv-a db/data 10Gi RWO policy=Retain")
            .by(Persona::Tenant)
            .deletes("pvc/db/data"),
        Example::new("deleting a PVC that has no PV")
            .given(
                "volume pv-a 10Gi RWO policy=Delete phase=Available\n\
                    claim db/data 20Gi RWO class=",
            )
            .by(Persona::Tenant)
            .deletes("pvc/db/data"),
        Example::new("the garbage collector deleting the PVC of a deleted pod")
            .given("pair pv-a db/data 10Gi RWO policy=Delete")
            .by(Persona::GarbageCollector)
            .deletes("pvc/db/data"),
    ],
    check,
};

const FIELD: &str = "metadata.name";

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Delete(deleted)) = change.claim() else { return Vec::new() };
    // A controller deletes on behalf of a user, and does not read warnings.
    if !is_advised(change) {
        return Vec::new();
    }
    let claim = match (&deleted.uid, evidence.claim(&deleted.key)) {
        (None, Lookup::Unknown) => {
            return vec![Violation::open(FIELD, Read::Claim(deleted.key.clone()))];
        }
        (None, Lookup::Present(stored)) => stored,
        (None, Lookup::Absent) | (Some(_), _) => deleted,
    };
    let Some(name) = &claim.volume else { return Vec::new() };
    let lookup = evidence.volume(name);
    let read = Read::Volume(name.clone());
    match lookup {
        Lookup::Unknown => vec![Violation::open(FIELD, read)],
        Lookup::Absent => Vec::new(),
        Lookup::Present(volume) => {
            let found = destroyed(claim, volume, evidence);
            found
                .map(|found| found.depending_on(Dependency::on(read, lookup)))
                .into_iter()
                .collect()
        }
    }
}

fn destroyed(claim: &Claim, volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let what = match volume.policy {
        ReclaimPolicy::Delete => "deleted",
        ReclaimPolicy::Recycle => "wiped",
        ReclaimPolicy::Retain | ReclaimPolicy::Newer(_) => return None,
    };
    if pairing(volume, claim) != Pairing::Bound {
        return None;
    }
    let (users, dependency) = users(&claim.key, evidence);
    let text = format!(
        "{} on PV \"{}\" (policy {}) would be {what} with PVC \"{}\"{users}; set \
         persistentVolumeReclaimPolicy to Retain first",
        volume.capacity, volume.name, volume.policy, claim.key.name
    );
    let violation = Violation::new(FIELD, text);
    Some(violation.depending_on_all(dependency))
}

/// The pods that use the claim, for the text. The loss does not depend on them: if they cannot be read, the text
/// says so.
fn users(key: &ClaimKey, evidence: &Evidence<'_>) -> (String, Option<Dependency>) {
    let read = Read::LivePods(key.clone());
    match (evidence.live_pods(key), evidence.confirmation(&read)) {
        (Lookup::Present(pods), _) => {
            (named(pods), Some(Dependency { read, certainty: Certainty::Seen }))
        }
        (Lookup::Absent | Lookup::Unknown, Confirmation::NotTried) => {
            (String::new(), Some(Dependency { read, certainty: Certainty::Assumed }))
        }
        (Lookup::Absent | Lookup::Unknown, Confirmation::Answered | Confirmation::Failed) => {
            (" (its pods are unknown)".to_owned(), None)
        }
    }
}

/// Room for the names of pods: a warning has 256 characters in all, and what to do stands at its end.
const NAMES_CHARS_MAX: usize = 24;

fn named(pods: &[Pod]) -> String {
    let mut names = String::new();
    let mut left = pods.len();
    for pod in pods {
        if names.len() + pod.key.name.len() > NAMES_CHARS_MAX {
            break;
        }
        let comma = if names.is_empty() { "" } else { ", " };
        names = format!("{names}{comma}{}", pod.key.name);
        left -= 1;
    }
    match (names.is_empty(), left) {
        (true, 0) => String::new(),
        (true, _) => format!(" (pods that use it: {left})"),
        (false, 0) => format!(" (used by {names})"),
        (false, _) => format!(" (used by {names} and {left} more)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PodKey;

    #[test]
    fn pods_are_named_as_far_as_there_is_room() {
        let text = |names: &[&str]| {
            let pod =
                |name: &&str| Pod { key: PodKey::new("db", *name), node: None, claims: Vec::new() };
            named(&names.iter().map(pod).collect::<Vec<_>>())
        };
        let long = "a".repeat(25);
        assert_eq!(text(&[]), "");
        assert_eq!(text(&["main", "web-1"]), " (used by main, web-1)");
        assert_eq!(text(&["main", &long, "web-1"]), " (used by main and 2 more)");
        assert_eq!(text(&[&long]), " (pods that use it: 1)");
    }
}
