//! A controller's reservation against the marks of a volume.

use bindery::model::annotations::{ALLOWED_NAMESPACES, TENANT};
use bindery_sim::Method;
use serde_json::json;

use super::super::Invariant;
use super::play::{Play, VOLUMES};

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
