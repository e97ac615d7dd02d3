//! A StatefulSet or a Deployment: its pods that have not started.

use super::pod;
use super::report::Explanation;
use crate::api::pods::{PodProgress, Workload, any_pod, is_of, progress};
use crate::cli::exit::Failure;
use crate::cli::preview::settled::SettledCluster;
use crate::cli::report::ReportedObject;
use crate::model::PodKey;

/// Explains the workload of this name.
pub(super) fn explain(
    cluster: &SettledCluster,
    workload: Workload,
    key: &PodKey,
) -> Result<Explanation, Failure> {
    let owned = |text: &str| {
        let is_own = is_of(text, workload, &key.name)?;
        Ok((any_pod(text)?.key, is_own, progress(text)?))
    };
    let pods = cluster.pods_in(&key.namespace, owned);
    let what = workload.as_str();
    let own =
        pods.found.into_iter().filter(|(pod, is_own, _)| *is_own && pod.namespace == key.namespace);
    let own: Vec<(PodKey, PodProgress)> = own.map(|(pod, _, progress)| (pod, progress)).collect();
    if let (true, Some(note)) = (own.is_empty(), &pods.note) {
        return Err(cluster.unread(&format!("the pods of {what} \"{key}\" are not known: {note}")));
    }
    if own.is_empty() {
        let place = cluster.place();
        return Err(Failure::usage(format!(
            "{what} \"{key}\" has no pods in {place}; check name and namespace, and its replicas"
        )));
    }
    let mut explanation = of_pods(cluster, ReportedObject::workload(workload, key), &own)?;
    lack(&mut explanation, pods.note);
    let (count, waiting) = (own.len(), explanation.pods.len());
    explanation.summary = match first(&explanation) {
        None => format!("{what} \"{key}\": {count} of {count} pods have started"),
        Some(first) => {
            format!(
                "{what} \"{key}\": {waiting} of {count} pods have not started; {}",
                first.summary
            )
        }
    };
    Ok(explanation)
}

/// The explanation of an object by these pods; its summary is still to be written.
pub(super) fn of_pods(
    cluster: &SettledCluster,
    object: ReportedObject,
    pods: &[(PodKey, PodProgress)],
) -> Result<Explanation, Failure> {
    let waiting = pods.iter().filter(|(_, progress)| *progress == PodProgress::NotStarted);
    let pods: Vec<Explanation> =
        waiting.map(|(key, _)| pod::explain(cluster, key)).collect::<Result<_, _>>()?;
    let outcome = ["stuck", "unknown", "waits"]
        .into_iter()
        .find(|outcome| pods.iter().any(|pod| pod.outcome == *outcome))
        .unwrap_or("ready");
    let is_stuck = pods.iter().any(|pod| pod.stuck);
    let mut explanation = Explanation::of(object, outcome, is_stuck, String::new());
    explanation.pods = pods;
    Ok(explanation)
}

/// Notes that not all pods are known: then none of them says that all is well.
pub(super) fn lack(explanation: &mut Explanation, note: Option<String>) {
    if note.is_some() && !explanation.stuck {
        "unknown".clone_into(&mut explanation.outcome);
        explanation.stuck = true;
    }
    explanation.notes.extend(note);
}

/// The pod that is named first: one that needs a fix.
pub(super) fn first(explanation: &Explanation) -> Option<&Explanation> {
    explanation.pods.iter().find(|pod| pod.stuck).or(explanation.pods.first())
}
