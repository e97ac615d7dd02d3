//! What an explanation says of a StatefulSet's `volumeClaimTemplates` and the claims of its replicas.
//!
//! Not here: how the two are compared (`claim_templates`), and the words (`cli::claim_templates`).

use super::related::PartialList;
use crate::api::claim_templates::templated_set;
use crate::binding::Collection;
use crate::claim_templates::{
    TemplateState, TemplatedSet, judge_claim_templates, may_be_of_replica,
};
use crate::cli::claim_templates::{drift, leftover, on_claim};
use crate::cli::preview::settled::SettledCluster;
use crate::model::{ClaimKey, NamespaceName, PodKey};

/// The notes on a claim, if it has the name of a replica's.
pub(super) fn on_pvc(cluster: &SettledCluster, key: &ClaimKey) -> Vec<String> {
    if !may_be_of_replica(&key.name) {
        return Vec::new();
    }
    let view = &cluster.state.view;
    let PartialList { found: sets, note } = sets(cluster, &key.namespace);
    let mut notes = Vec::new();
    for set in sets.iter().filter(|set| set.has_name(&key.name)) {
        notes.extend(on_claim(set, &judged(cluster, set, &sets), view, key));
    }
    notes.extend(unknown(note));
    notes
}

/// The notes on a StatefulSet.
pub(super) fn on_set(cluster: &SettledCluster, key: &PodKey) -> Vec<String> {
    let PartialList { found: sets, note } = sets(cluster, &key.namespace);
    let mut notes = Vec::new();
    for set in sets.iter().filter(|set| set.name == key.name) {
        let state = judged(cluster, set, &sets);
        let drift = drift(set, &state, &cluster.state.view);
        notes.extend(drift.map(|(problem, advice)| format!("{problem}; {advice}")));
        notes.extend(leftover(set, &state, &cluster.state.view));
    }
    // Without such claims nothing can differ.
    let mut claims = cluster.state.view.claims_in(&key.namespace);
    let may_differ = claims.any(|claim| may_be_of_replica(&claim.key.name));
    notes.extend(unknown(note).filter(|_| may_differ));
    notes
}

fn judged(cluster: &SettledCluster, set: &TemplatedSet, sets: &[TemplatedSet]) -> TemplateState {
    judge_claim_templates(set, sets, &cluster.state.view, &cluster.state.listed)
}

fn unknown(note: Option<String>) -> Option<String> {
    note.map(|note| {
        format!(
            "whether PVCs differ from the volumeClaimTemplates of StatefulSets is not known: {note}"
        )
    })
}

/// The `StatefulSet`s of a namespace.
fn sets(cluster: &SettledCluster, namespace: &NamespaceName) -> PartialList<TemplatedSet> {
    let path = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets");
    let of = (Collection::StatefulSets, "StatefulSet", &*path);
    let PartialList { found, note } =
        cluster.all_in(of, namespace, |text| templated_set(text, namespace));
    let found = found.into_iter().flatten().filter(|set| set.namespace == *namespace);
    PartialList { found: found.collect(), note }
}
