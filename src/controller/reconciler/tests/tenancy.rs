//! Claims of a namespace that comes to be a tenant's.

use super::*;
use crate::model::annotations::TENANT;
use crate::model::{Deletion, Namespace, TenantLabel};

fn label_namespace(stage: &mut Stage, tenant: &str) {
    let labels = [(TENANT, tenant)].into_iter().collect();
    let namespace = Namespace { name: "db".into(), labels, deletion: Deletion::NotAsked };
    let observed = Observed::Namespace(Arc::new(namespace));
    stage.reconciler.on_object(observed, &ResourceVersion::new("200"), stage.now);
}

#[test]
fn a_claim_gets_the_volume_of_its_tenant_once_the_namespace_is_labelled() {
    let red = pv("a", 1, "1Gi", "Available");
    let red = Volume { labels: [(TENANT, "red")].into_iter().collect(), ..red };
    let mut stage = Stage::of(&[red], &[pvc("c", 2, 0)]);
    assert_eq!(label(&stage.writes()), [""; 0]);
    label_namespace(&mut stage, "blue");
    assert_eq!(label(&stage.writes()), [""; 0]);
    label_namespace(&mut stage, "red");
    assert_eq!(label(&stage.writes()), ["reserve volume \"a\""]);
}

/// The label is in the write that reserves. A namespace that the watch has not shown yet may have a tenant.
#[test]
fn a_volume_is_reserved_with_the_label_of_its_tenant_once_the_namespace_is_seen() {
    for (tenant, expected) in [("blue", Some("blue")), ("", None)] {
        let volumes = [pv("a", 1, "1Gi", "Available"), pv("b", 2, "1Gi", "Available")];
        let mut stage = Stage::of(&volumes, &[pvc("c", 3, 0)]);
        stage.reconciler.label_volumes(TenantLabel::Auto);
        assert_eq!(label(&stage.writes()), [""; 0]);
        label_namespace(&mut stage, tenant);
        let write = stage.write();
        let Write::Reserve { tenant, .. } = &write else { panic!("not reserved: {write:?}") };
        assert_eq!(tenant.as_deref(), expected);
        stage.store(&write, 201);
        // The step after it rests on the same view.
        let write = stage.write();
        assert_eq!(write.label(), "volume_phase");
        let ObjectKey::Volume(name) = write.object() else { panic!("of a claim: {write:?}") };
        let volume = stage.reconciler.view().volume(&name).unwrap();
        assert_eq!(volume.labels.get(TENANT), expected);
    }
}
