//! A StatefulSet: wire form to what is compared with the claims of its replicas.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::claim::claim;
use crate::claim_templates::{ClaimRetention, TemplatedSet};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetWire<'a> {
    metadata: MetadataWire,
    #[serde(borrow)]
    spec: SpecWire<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataWire {
    name: String,
    namespace: Option<String>,
    deletion_timestamp: Option<String>,
    owner_references: Option<Vec<OwnerWire>>,
}

#[derive(Deserialize)]
struct OwnerWire {
    kind: String,
    name: String,
    controller: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecWire<'a> {
    replicas: Option<u32>,
    ordinals: Option<OrdinalsWire>,
    persistent_volume_claim_retention_policy: Option<RetentionWire>,
    #[serde(borrow)]
    volume_claim_templates: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
struct OrdinalsWire {
    start: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RetentionWire {
    when_deleted: Option<String>,
    when_scaled: Option<String>,
}

/// Reads a StatefulSet from its JSON text; none if it is being deleted. `namespace` is used if it names none.
pub fn templated_set(
    text: &str,
    namespace: &str,
) -> Result<Option<TemplatedSet>, serde_json::Error> {
    let SetWire { metadata, spec } = serde_json::from_str(text)?;
    let own = metadata.namespace.as_deref().filter(|name| !name.is_empty());
    let namespace = own.unwrap_or(namespace);
    let start = spec.ordinals.unwrap_or_default().start.unwrap_or_default();
    // Kubernetes: `pkg/apis/apps/v1/defaults.go`: one replica where nothing is said, and claims stay.
    let end = start.saturating_add(spec.replicas.unwrap_or(1));
    let kept = spec.persistent_volume_claim_retention_policy.unwrap_or_default();
    let owners = metadata.owner_references.unwrap_or_default().into_iter();
    let controller = owners.into_iter().find(|owner| owner.controller == Some(true));
    let templates = spec.volume_claim_templates.unwrap_or_default().into_iter();
    let set = TemplatedSet {
        namespace: namespace.into(),
        name: metadata.name.into(),
        ordinals: start..end,
        templates: templates
            .map(|template| claim(template.get(), namespace))
            .collect::<Result<_, serde_json::Error>>()?,
        when_deleted: retention(kept.when_deleted.as_deref()),
        when_scaled: retention(kept.when_scaled.as_deref()),
        controller: controller.map(|owner| (owner.kind.into(), owner.name.into())),
    };
    Ok(metadata.deletion_timestamp.is_none().then_some(set))
}

fn retention(text: Option<&str>) -> ClaimRetention {
    match text {
        Some("Delete") => ClaimRetention::Delete,
        Some(_) | None => ClaimRetention::Retain,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{ClassRequest, Quantity};

    #[test]
    fn a_set_is_read_with_what_the_claims_of_its_replicas_depend_on() {
        let owner = json!({"kind": "Prometheus", "name": "main", "controller": true, "uid": "u"});
        let mut set = json!({
            "metadata": {"name": "db", "namespace": "shop", "ownerReferences": [owner]},
            "spec": {
                "replicas": 3, "ordinals": {"start": 5}, "serviceName": "db",
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                    "storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}},
                }}],
            },
        });
        let read = templated_set(&set.to_string(), "else").unwrap().unwrap();
        assert_eq!((&*read.namespace, &*read.name, read.ordinals.clone()), ("shop", "db", 5..8));
        assert_eq!(read.when_deleted, ClaimRetention::Delete);
        assert_eq!(read.when_scaled, ClaimRetention::Retain);
        assert_eq!(read.controller, Some(("Prometheus".into(), "main".into())));
        let template = &read.templates[0];
        assert_eq!(&*template.key.name, "data");
        assert_eq!(template.class(), ClassRequest::from_text(Some("fast")));
        assert_eq!(template.request, Quantity::parse("2Gi").unwrap());
        set["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(templated_set(&set.to_string(), "").unwrap(), None);
        let usual =
            json!({"metadata": {"name": "a"}, "spec": {"replicas": null, "ordinals": null}});
        let usual = templated_set(&usual.to_string(), "else").unwrap().unwrap();
        assert_eq!((&*usual.namespace, usual.ordinals), ("else", 0..1));
        assert_eq!(usual.when_deleted, ClaimRetention::Retain);
    }
}
