//! Pods, only as far as they tell whether a claim is in use.

use serde::Deserialize;

use super::bounded::{LabelUse, Text};
use super::metadata::or_empty;
use crate::binding::PodUse;
use crate::model::ClaimKey;

#[derive(Deserialize)]
struct PodListWire {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(default)]
    items: Vec<PodWire>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    r#continue: Option<String>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct PodWire {
    metadata: PodMetadata,
    spec: PodSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodMetadata {
    name: Option<Text>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    node_name: Option<Text>,
    volumes: Vec<PodVolume>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodVolume {
    name: Option<Text>,
    persistent_volume_claim: Option<ClaimSource>,
    ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSource {
    claim_name: Option<Text>,
}

/// What one page of a list of pods says about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodPage {
    /// A pod on it uses the claim.
    Used,
    /// None does, and this token gives the next page.
    More(String),
    /// None does, and there are no more pods.
    End,
}

/// Whether one of the pods on a page of a list (JSON text) uses the claim.
///
/// Kubernetes: `pvc_protection_controller.go`, `podUsesPVC`: pods without a node do not count,
/// finished ones do until their object is gone.
pub fn pod_page(page: &str, key: &ClaimKey) -> Result<PodPage, serde_json::Error> {
    let pods: PodListWire = super::bounded::read(page, LabelUse::Skip)?.value;
    if pods.items.iter().any(|pod| uses(pod, &key.name)) {
        return Ok(PodPage::Used);
    }
    Ok(match pods.metadata.r#continue {
        Some(token) if !token.is_empty() => PodPage::More(token),
        Some(_) | None => PodPage::End,
    })
}

/// Whether one of the pods in a complete list (JSON text) uses the claim.
pub fn pod_use(list: &str, key: &ClaimKey) -> Result<PodUse, serde_json::Error> {
    Ok(match pod_page(list, key)? {
        PodPage::Used => PodUse::Used,
        PodPage::More(_) | PodPage::End => PodUse::Unused,
    })
}

fn uses(pod: &PodWire, claim: &str) -> bool {
    if or_empty(pod.spec.node_name.as_ref()).is_empty() {
        return false;
    }
    let pod_name = or_empty(pod.metadata.name.as_ref());
    pod.spec.volumes.iter().any(|volume| {
        match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(source), _) => or_empty(source.claim_name.as_ref()) == claim,
            // The claim of a generic ephemeral volume is named after its pod.
            (None, Some(_)) => {
                claim.strip_prefix(pod_name).and_then(|rest| rest.strip_prefix('-'))
                    == Some(or_empty(volume.name.as_ref()))
            }
            (None, None) => false,
        }
    })
}
