//! Whose data is on a volume, and who may release it.

use bindery_sim::Method;
use serde_json::{Value, json};

use super::play::{CLAIMS, Play, US, VOLUMES};
use crate::invariants::{Invariant, PROVISIONED_BY};

#[test]
fn data_stays() {
    // The volume comes again as it was, and is given to another claim: by the controller, or by a person.
    for (who, expected) in [(US, vec![Invariant::DataStays]), ("admin", Vec::new())] {
        let mut play = Play::new();
        play.pair();
        let path = format!("{VOLUMES}/pv");
        let held = play.get(&path)["spec"]["claimRef"].clone();
        play.drop_claim("data");
        play.send("admin", Method::Patch, &path, json!({"metadata": {"finalizers": null}}));
        play.send("admin", Method::Delete, &path, Value::Null);
        play.volume("pv", &json!({"claimRef": held}));
        play.claim("other");
        play.send(who, Method::Patch, &path, json!({"spec": {"claimRef": null}}));
        play.phase("pv", "Available");
        play.reserve("pv", "other");
        let mut found = play.broken();
        found.retain(|invariant| *invariant == Invariant::DataStays);
        assert_eq!(found, expected, "{who}");
    }
}

/// A scheduler's reservation says nothing about data: it is no person's, and the claim was never bound.
#[test]
fn a_reservation_of_the_scheduler_gives_no_data() {
    for (who, expected) in
        [("admin", vec![Invariant::DataStays]), ("system:kube-scheduler", Vec::new())]
    {
        let mut play = Play::new();
        play.volume("pv", &json!({}));
        play.phase("pv", "Available");
        play.claim("other");
        let path = format!("{VOLUMES}/pv");
        let reference = json!({"namespace": "default", "name": "data", "uid": "gone"});
        play.send(who, Method::Patch, &path, json!({"spec": {"claimRef": reference}}));
        play.send(US, Method::Patch, &path, json!({"spec": {"claimRef": null}}));
        play.reserve("pv", "other");
        let mut found = play.broken();
        found.retain(|invariant| *invariant == Invariant::DataStays);
        assert_eq!(found, expected, "{who}");
    }
}

/// A provisioned volume that is being deleted may be released for a claim that another leader has named meanwhile, but not
/// by the one that named it.
#[test]
fn a_volume_is_not_released_by_who_gave_it_to_the_claim() {
    for (namer, expected) in
        [(US, vec![Invariant::ReleasedOnlyWithoutClaim]), ("former", Vec::new())]
    {
        let mut play = Play::new();
        play.volume("pv", &json!({"persistentVolumeReclaimPolicy": "Delete"}));
        let path = format!("{VOLUMES}/pv");
        let made = json!({"metadata": {"annotations": {PROVISIONED_BY: "csi.example.com"}}});
        play.send("provisioner", Method::Patch, &path, made);
        play.phase("pv", "Available");
        play.claim("data");
        play.reserve("pv", "data");
        play.phase("pv", "Bound");
        play.send("admin", Method::Delete, &path, Value::Null);
        let name = json!({"spec": {"volumeName": "pv"}});
        play.send(namer, Method::Patch, &format!("{CLAIMS}/data"), name);
        play.phase("pv", "Released");
        let mut found = play.broken();
        found.retain(|invariant| *invariant == Invariant::ReleasedOnlyWithoutClaim);
        assert_eq!(found, expected, "{namer}");
    }
}
