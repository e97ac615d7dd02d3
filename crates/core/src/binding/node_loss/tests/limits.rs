//! What the pods that stay leave to the one that comes back: claims that admit one pod, room for CSI volumes; and the zone
//! labels of volumes.

use super::*;
use crate::model::{
    AccessModes, CsiDriver, CsiNode, Quantity, RegisteredDriver, Selector, Storage,
    StorageCapacity, StorageKind,
};

const DRIVER: &str = "csi.example";
const ZONE: &str = "topology.kubernetes.io/zone";

/// A claim and its volume of the driver, with this handle.
fn of_driver(name: &str, handle: &str) -> (Claim, Volume) {
    let (claim, volume) = bound(name, NodeAffinity::Unrestricted);
    let storage = Some(Storage::new(StorageKind::Disk, &format!("{DRIVER}:{handle}")));
    (claim, Volume { backend: Backend::Csi(DRIVER.into()), storage, ..volume })
}

impl Cluster {
    fn csi(self, name: &str, handle: &str) -> Self {
        let (claim, volume) = of_driver(name, handle);
        self.volume(volume).claim(claim)
    }

    /// Each node can have so many volumes of the driver.
    fn limits(mut self, limits: &[(&str, Option<u32>)]) -> Self {
        let registered =
            |max: Option<u32>| RegisteredDriver { name: DRIVER.into(), volumes_max: max };
        let node = |(name, max): &(&str, Option<u32>)| CsiNode {
            name: (*name).into(),
            drivers: vec![
                RegisteredDriver { name: "other".into(), ..registered(Some(0)) },
                registered(*max),
            ],
        };
        self.drivers.csi_nodes = Some(limits.iter().map(node).collect());
        self
    }
}

/// Two volumes of the pod, and on b1 a pod with two others; a2 is cordoned.
fn crowded(limit: Option<u32>) -> Cluster {
    let cluster =
        Cluster::new().csi("x", "h-x").csi("y", "h-y").csi("one", "h-1").csi("two", "h-2");
    let cluster = cluster.cordon(&["a2"]).limits(&[("a1", Some(0)), ("b1", limit)]);
    cluster.web(&["x", "y"]).pod(pod("other", "b1", &["one", "two"]))
}

#[test]
fn a_pod_comes_back_where_there_is_room_for_its_volumes() {
    for (limit, expected) in [
        (None, vec![]),
        (Some(4), vec![]),
        (Some(3), vec!["attach_limit"]),
        (Some(0), vec!["attach_limit"]),
    ] {
        assert_eq!(crowded(limit).labels(), (expected, vec![]), "{limit:?}");
    }
    assert_eq!(
        crowded(Some(3)).texts(&["a1"], &[]),
        [
            "the attach limit of driver \"csi.example\" leaves no room for the PVs of the pod on Node \"b1\", and no other \
          remaining Node takes it; the pod stays Pending; add a Node, or delete a pod there that uses a PV of that driver \
          and can run elsewhere"
        ]
    );
    // Another node has no CSINode, and with it no limit.
    let mut open = crowded(Some(3));
    open.hosts.push(host("b2", "b"));
    assert_eq!(open.labels().0, Vec::<&str>::new());
}

/// One handle is one volume for all pods that use it, and pods that go leave room.
#[test]
fn volumes_are_counted_once_and_only_of_pods_that_stay() {
    let shared = crowded(Some(4)).pod(pod("shares", "b1", &["x", "one"]));
    assert_eq!(shared.labels().0, Vec::<&str>::new());
    let copy = crowded(Some(4)).csi("same", "h-x").pod(pod("copy", "b1", &["same"]));
    assert_eq!(copy.labels().0, Vec::<&str>::new());
    let elsewhere = crowded(Some(3)).csi("three", "h-3").pod(pod("far", "a1", &["three"]));
    // The volume of the pod that goes too is not counted, and it has room alone.
    assert_eq!(elsewhere.labels().0, ["attach_limit"]);
    let mut drained = crowded(Some(3));
    drained.pods[0].constraints.tolerations =
        vec![Toleration { key: "".into(), value: None, effect: "".into() }];
    let texts = |cluster: &Cluster| {
        let outcome = cluster.judge(&["a1", "a2"], &["b1"]);
        let web = outcome.pods.into_iter().find(|pod| *pod.pod.name == *"web").unwrap();
        web.reasons.iter().map(NodeLossReason::label).collect::<Vec<_>>()
    };
    assert_eq!(texts(&drained), Vec::<&str>::new(), "the other pod is drained as well");
    drained.pods[1].origin = PodOrigin::DaemonSet;
    assert_eq!(texts(&drained), ["attach_limit"]);
}

/// A volume that is still to be provisioned takes room of the driver that its class names.
#[test]
fn a_volume_to_be_provisioned_is_counted_for_its_driver() {
    let of = |provisioner: &str, limit: u32| {
        let class = late(Provisioner::Named(provisioner.into()), NodeAffinity::Unrestricted);
        let cluster =
            Cluster::new().class(class).claim(delayed("x")).claim(delayed("y")).web(&["x", "y"]);
        cluster.limits(&[("a2", Some(limit)), ("b1", Some(limit))]).labels().0
    };
    assert_eq!(of(DRIVER, 2), Vec::<&str>::new());
    assert_eq!(of(DRIVER, 1), ["attach_limit"]);
    assert_eq!(of("csi.unlimited", 1), Vec::<&str>::new());
}

#[test]
fn limits_that_are_not_known_make_it_unknown_where_they_count() {
    let mut cluster = crowded(None);
    cluster.drivers.csi_nodes = None;
    let outcome = cluster.judge(&["a1"], &[]);
    assert_eq!(cluster.labels().0, ["attach_limits_not_known"]);
    assert!(outcome.pods[0].reasons.iter().all(NodeLossReason::is_unknown));
    let mut plain = Cluster::new().pair("data", NodeAffinity::Unrestricted).web(&["data"]);
    plain.drivers.csi_nodes = None;
    assert_eq!(plain.labels().0, Vec::<&str>::new());
}

/// Only a pod that stays keeps the claim.
#[test]
fn a_claim_for_one_pod_is_not_had_by_a_second() {
    let of = |mode: &str, user: PlacedPod| {
        let (claim, volume) = bound("data", NodeAffinity::Unrestricted);
        let access_modes = AccessModes::from_names([mode]);
        Cluster::new()
            .volume(volume)
            .claim(Claim { access_modes, ..claim })
            .web(&["data"])
            .pod(user)
    };
    let user = || pod("other", "b1", &["data"]);
    assert_eq!(of("ReadWriteOncePod", user()).labels().0, ["claim_in_use"]);
    assert_eq!(of("ReadWriteOnce", user()).labels().0, Vec::<&str>::new());
    assert_eq!(
        of("ReadWriteOncePod", pod("other", "a1", &["data"])).labels().0,
        Vec::<&str>::new()
    );
    let mut pending = user();
    pending.pod.node = None;
    assert_eq!(of("ReadWriteOncePod", pending).labels().0, Vec::<&str>::new());
    // A node that does not exist is none that the scheduler looks at.
    assert_eq!(
        of("ReadWriteOncePod", pod("other", "old", &["data"])).labels().0,
        Vec::<&str>::new()
    );
    assert_eq!(
        of("ReadWriteOncePod", user()).texts(&["a1"], &[]),
        [
            "PVC \"db/data\" has access mode ReadWriteOncePod, and pod \"db/other\", which stays on its Node, uses it; a pod \
          that uses the PVC stays Pending; delete that pod first, or give this one a PVC of its own"
        ]
    );
}

#[test]
fn zone_labels_of_a_volume_keep_its_pod_in_its_zones() {
    let of = |zones: &str| {
        let (claim, volume) = bound("data", NodeAffinity::Unrestricted);
        let labels = [(ZONE, zones)].into_iter().collect();
        let mut cluster =
            Cluster::new().volume(Volume { labels, ..volume }).claim(claim).web(&["data"]);
        for (host, zone) in cluster.hosts.iter_mut().zip(["a", "a", "b"]) {
            host.node.labels = [(ZONE, zone)].into_iter().collect();
        }
        cluster
    };
    assert_eq!(of("a").labels(), (vec![], vec![]));
    assert_eq!(
        of("a").cordon(&["a2"]).labels(),
        (vec!["volume_cordoned"], vec!["volume_cordoned"])
    );
    assert_eq!(of("a__b").cordon(&["a2"]).labels(), (vec![], vec![]));
    assert_eq!(of("c").labels(), (vec!["volume_unreachable"], vec![]));
}

/// A claim of 1Gi and one of 10Gi; the driver says what its pool in zone b has room for.
fn provisioned(volume_max: Option<&str>) -> Cluster {
    let class = late(Provisioner::Named(DRIVER.into()), NodeAffinity::Unrestricted);
    let request = Quantity::parse("10Gi").unwrap();
    let large = Claim { request, ..delayed("large") };
    let mut cluster = Cluster::new().class(class).claim(large).web(&["large"]);
    let driver =
        CsiDriver { name: DRIVER.into(), is_attach_required: false, has_storage_capacity: true };
    cluster.drivers.drivers = Some(vec![driver]);
    cluster.drivers.capacities = Some(vec![StorageCapacity {
        class: ClassName::new("late"),
        nodes: Selector::new(vec![Term::equals("zone", "b").unwrap()]),
        volume_max: volume_max.map(|text| Quantity::parse(text).unwrap()),
    }]);
    cluster
}

#[test]
fn a_volume_is_provisioned_where_the_driver_has_room() {
    for (volume_max, expected) in
        [(Some("10Gi"), vec![]), (Some("9Gi"), vec!["no_capacity"]), (None, vec!["no_capacity"])]
    {
        assert_eq!(provisioned(volume_max).labels().0, expected, "{volume_max:?}");
    }
    assert_eq!(provisioned(Some("10Gi")).cordon(&["b1"]).labels().0, ["no_capacity"]);
    let mut other = provisioned(None);
    other.drivers.drivers.as_mut().unwrap()[0].has_storage_capacity = false;
    assert_eq!(other.labels().0, Vec::<&str>::new());
    let mut elsewhere = provisioned(Some("10Gi"));
    elsewhere.drivers.capacities.as_mut().unwrap()[0].class = ClassName::new("other");
    assert_eq!(elsewhere.labels().0, ["no_capacity"]);
}

#[test]
fn capacity_that_is_not_known_makes_it_unknown() {
    type Forget = fn(&mut DriverEvidence);
    let forget: [Forget; 2] = [|known| known.drivers = None, |known| known.capacities = None];
    for forget in forget {
        let mut cluster = provisioned(Some("10Gi"));
        forget(&mut cluster.drivers);
        assert_eq!(cluster.labels().0, ["capacity_not_known"]);
        let outcome = cluster.judge(&["a1"], &[]);
        assert!(outcome.pods[0].reasons.iter().all(NodeLossReason::is_unknown));
        // A free volume needs no capacity.
        let free = cluster.volume(Volume {
            capacity: Quantity::parse("10Gi").unwrap(),
            ..free("pv-1", only("zone", "b"))
        });
        assert_eq!(free.labels().0, Vec::<&str>::new());
    }
}
