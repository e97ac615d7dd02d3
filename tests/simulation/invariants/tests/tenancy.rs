//! A controller's reservation against the marks of a volume.

use bindery::model::annotations::{ALLOWED_NAMESPACES, TENANT};
use bindery_sim::Method;
use serde_json::json;

use super::play::{Play, VOLUMES};
use crate::invariants::Invariant;

#[test]
fn tenants_apart() {
    let listed = |namespaces: &str| json!({"annotations": {ALLOWED_NAMESPACES: namespaces}});
    let of = |tenant: &str| json!({"labels": {TENANT: tenant}});
    for (marks, is_admitted) in [
        (listed("db,default"), true),
        (of("green"), true),
        (listed("db"), false),
        (of("red"), false),
    ] {
        let mut play = Play::new();
        let namespace = json!({"metadata": {"labels": {TENANT: "green"}}});
        play.send("admin", Method::Patch, "/api/v1/namespaces/default", namespace);
        play.volume("pv", &json!({}));
        play.send("admin", Method::Patch, &format!("{VOLUMES}/pv"), json!({"metadata": marks}));
        play.claim("data");
        play.reserve("pv", "data");
        let broken = if is_admitted { vec![] } else { vec![Invariant::TenantsApart] };
        assert_eq!(play.broken(), broken, "{marks}");
    }
}

/// A volume that a person gave to a claim for which it is not is not given to it, and rests.
#[test]
fn a_volume_of_others_may_wait() {
    for (namespaces, count) in [("default", 1), ("elsewhere", 0)] {
        let mut play = Play::new();
        play.volume("pv", &json!({}));
        let marked = json!({"metadata": {"annotations": {ALLOWED_NAMESPACES: namespaces}}});
        play.send("admin", Method::Patch, &format!("{VOLUMES}/pv"), marked);
        play.phase("pv", "Available");
        play.claim("data");
        play.reserve("pv", "data");
        play.phase("pv", "Bound");
        assert_eq!(play.at_rest().len(), count, "{namespaces}: {:?}", play.at_rest());
    }
}
