//! Claims of a namespace that comes to be a tenant's.

use super::*;
use crate::model::annotations::TENANT;
use crate::model::{Deletion, Namespace};

fn tell(stage: &mut Stage, tenant: &str) {
    let labels = [(TENANT, tenant)].into_iter().collect();
    let namespace = Namespace { name: "db".into(), labels, deletion: Deletion::NotAsked };
    let observed = Observed::Namespace(Arc::new(namespace));
    stage.engine.observe(observed, &ResourceVersion::new("200"), stage.now);
}

#[test]
fn a_claim_gets_the_volume_of_its_tenant_once_the_namespace_is_labelled() {
    let red = pv("a", 1, "1Gi", "Available");
    let red = Volume { labels: [(TENANT, "red")].into_iter().collect(), ..red };
    let mut stage = Stage::of(&[red], &[pvc("c", 2, 0)]);
    assert_eq!(label(&stage.writes()), [""; 0]);
    tell(&mut stage, "blue");
    assert_eq!(label(&stage.writes()), [""; 0]);
    tell(&mut stage, "red");
    assert_eq!(label(&stage.writes()), ["reserve volume \"a\""]);
}
