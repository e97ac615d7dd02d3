//! Pods, only as far as they tell which claims they use.

use serde::Deserialize;

use super::bounded::{LabelUse, Text};
use super::metadata::or_empty;
use crate::binding::PodUse;
use crate::model::ClaimKey;

#[derive(Deserialize)]
struct PodListWire<'a> {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Vec<PodWire<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    r#continue: Option<String>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct PodWire<'a> {
    #[serde(borrow)]
    metadata: PodMetadata<'a>,
    spec: PodSpec<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodMetadata<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    namespace: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec<'a> {
    #[serde(borrow)]
    node_name: Option<Text<'a>>,
    volumes: Vec<PodVolume<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodVolume<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    persistent_volume_claim: Option<ClaimSource<'a>>,
    ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSource<'a> {
    #[serde(borrow)]
    claim_name: Option<Text<'a>>,
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
    let pods: PodListWire<'_> = super::bounded::read(page, LabelUse::Skip)?.value;
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

/// A pod and the claims that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodClaims {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The node that it was given, if it was.
    pub node: Option<String>,
    /// The claims, in the order of its volumes.
    pub claims: Vec<ClaimKey>,
}

/// Reads a pod from its JSON text.
///
/// Kubernetes: `component-helpers/storage/ephemeral`, `VolumeClaimName`: the claim of a generic
/// ephemeral volume is named after its pod and its volume.
pub fn pod_claims(pod: &str) -> Result<PodClaims, serde_json::Error> {
    let pod: PodWire<'_> = super::bounded::read(pod, LabelUse::Skip)?.value;
    let namespace = or_empty(pod.metadata.namespace.as_ref()).to_owned();
    let name = or_empty(pod.metadata.name.as_ref()).to_owned();
    let claims = pod.spec.volumes.iter().filter_map(|volume| {
        match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(source), _) => Some(or_empty(source.claim_name.as_ref()).to_owned()),
            (None, Some(_)) => Some(format!("{name}-{}", or_empty(volume.name.as_ref()))),
            (None, None) => None,
        }
    });
    let claims = claims.map(|claim| ClaimKey::new(&*namespace, claim)).collect();
    let node = or_empty(pod.spec.node_name.as_ref()).to_owned();
    let node = Some(node).filter(|node| !node.is_empty());
    Ok(PodClaims { namespace, name, node, claims })
}

fn uses(pod: &PodWire<'_>, claim: &str) -> bool {
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
