//! Deleting a namespace whose claims would take their data with them.

use super::prelude::*;
use crate::model::{Claim, ClaimPhase, ReclaimPolicy};

pub(super) static RULE: Rule = Rule {
    id: "namespace-delete-bound-claims",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Namespaces, Operation::Delete)]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A namespace is deleted while PVCs in it are bound to PVs with the policy Delete or Recycle.",
        consequence: "Every PVC is deleted with its namespace, every such PV with its PVC, and the data with the PV. \
            This cannot be undone.",
        instead: "Run `bindery retain` for the PVs whose data is needed, or set persistentVolumeReclaimPolicy to Retain on \
            them where the trash is off; or delete unneeded PVCs one by one. Then delete the namespace.",
    },
    policy: PolicyForm::NotExpressible("Which PVCs are in the Namespace shows on the PVCs."),
    denied: &[Example::new("deleting a namespace with a PVC whose PV is deleted with it")
        .given("namespace db\npair pv-a db/data 10Gi RWO policy=Delete")
        .deletes("ns/db")
        .then(&[Fact::Has("ns/db", "/metadata/deletionTimestamp")])],
    allowed: &[
        Example::new("deleting a namespace whose PVs are retained")
            .given(
                "namespace db\n\
                    pair pv-a db/data 10Gi RWO policy=Retain\n\
                    pair pv-b qa/data 10Gi RWO policy=Delete",
            )
            .deletes("ns/db"),
        Example::new("deleting a namespace whose PVCs have no PV")
            .given("namespace db\nclaim db/data 10Gi RWO")
            .deletes("ns/db"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::Namespace(Transition::Delete(namespace)) = &change.subject else {
        return Vec::new();
    };
    let claims: Vec<&Claim> =
        evidence.view().claims_in(&namespace.name).map(|claim| &**claim).collect();
    let mut losing = claims.iter().filter_map(|claim| loses_data(claim, evidence));
    let Some((first, dependencies)) = losing.next() else {
        let unseen = claims.iter().find_map(|claim| unseen(claim, evidence));
        return unseen.into_iter().map(|read| Violation::open("metadata.name", read)).collect();
    };
    let others = match losing.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "PVC \"{}\"{others} in namespace \"{}\" would be deleted, and the data of its PV with it; \
         this cannot be undone; set persistentVolumeReclaimPolicy to Retain on the PVs that are \
         needed, then retry",
        first.key.name, namespace.name
    );
    let violation = Violation::new("metadata.name", text);
    vec![violation.depending_on_all(dependencies)]
}

/// The read of a claim's volume that was not seen: its policy is not known.
fn unseen(claim: &Claim, evidence: &Evidence<'_>) -> Option<Read> {
    let name = claim.volume.as_ref().filter(|_| claim.phase == ClaimPhase::Bound)?;
    (evidence.volume(name) == Lookup::Unknown).then(|| Read::Volume(name.clone()))
}

/// A claim that lives and takes the data of its volume with it, and what that rests on.
fn loses_data<'a>(claim: &'a Claim, evidence: &Evidence<'a>) -> Option<(&'a Claim, [Dependency; 2])> {
    let claim_lookup = evidence.claim(&claim.key);
    let claim = claim_lookup.present()?;
    let name = claim.volume.as_ref()?;
    let volume_lookup = evidence.volume(name);
    let volume = volume_lookup.present()?;
    let (key, _) = bound(volume, evidence)?;
    let takes_data = match volume.policy {
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle => true,
        ReclaimPolicy::Retain | ReclaimPolicy::Newer(_) => false,
    };
    let dependencies = [
        Dependency::on(Read::Claim(claim.key.clone()), claim_lookup),
        Dependency::on(Read::Volume(name.clone()), volume_lookup),
    ];
    (takes_data && *key == claim.key).then_some((claim, dependencies))
}
