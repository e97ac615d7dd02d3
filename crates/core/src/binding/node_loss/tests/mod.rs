//! Each reason in a cluster of its own, with its text.

mod limits;
mod property;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::binding::tests::{claim, volume};
use crate::binding::{
    Collection, DriverEvidence, ListedCollections, NodeLoss, NodeLossOutcome, NodeLossReason,
    Observed, View, judge_node_loss,
};
use crate::model::annotations::{BIND_COMPLETED, SELECTED_NODE};
use crate::model::{
    Backend, BindingMode, Claim, ClaimKey, ClaimPhase, Class, ClassName, ClassRequest, Constraints,
    DefaultMark, Expansion, Host, Node, NodeAffinity, NodeExpression, NodeTerm, PlacedPod, Pod,
    PodKey, PodOrigin, Provisioner, Reservation, Term, Toleration, Uid, Volume, VolumeName,
    VolumePhase,
};

/// A cluster of two nodes in zone a and one in zone b; the node `a1` is the one that is asked about.
struct Cluster {
    hosts: Vec<Host>,
    pods: Vec<PlacedPod>,
    view: View,
    listed: ListedCollections,
    drivers: DriverEvidence,
}

pub(super) fn host(name: &str, zone: &str) -> Host {
    let labels = [("zone", zone), ("host", name)].into_iter().collect();
    Host { node: Node { name: name.into(), labels }, taints: Vec::new(), is_cordoned: false }
}

/// The nodes whose label has one of these values.
pub(super) fn within(key: &str, values: &[&str]) -> NodeTerm {
    NodeTerm::new(vec![NodeExpression::new(key, "In", values).unwrap()], Vec::new())
}

/// No driver has an object, and none has a limit.
pub(super) fn known_drivers() -> DriverEvidence {
    let (csi_nodes, drivers, capacities) = (Some(Vec::new()), Some(Vec::new()), Some(Vec::new()));
    DriverEvidence { csi_nodes, drivers, capacities }
}

fn only(key: &str, value: &str) -> NodeAffinity {
    NodeAffinity::Required(vec![within(key, &[value])])
}

pub(super) fn key(name: &str) -> ClaimKey {
    ClaimKey::new("db", name)
}

/// A pod in the namespace of the claims, on this node.
pub(super) fn pod(name: &str, node: &str, claims: &[&str]) -> PlacedPod {
    let mut claims: Vec<ClaimKey> = claims.iter().copied().map(key).collect();
    claims.sort();
    PlacedPod {
        pod: Pod { key: PodKey::new("db", name), node: Some(node.into()), claims },
        constraints: Constraints::default(),
        origin: PodOrigin::Other,
        ephemeral: Vec::new(),
    }
}

/// A class whose claims wait for a pod.
pub(super) fn late(provisioner: Provisioner, allowed_topologies: NodeAffinity) -> Class {
    Class {
        name: ClassName::new("late"),
        provisioner,
        binding_mode: BindingMode::WaitForFirstConsumer,
        expansion: Expansion::NotAllowed,
        default: DefaultMark::Unmarked,
        allowed_topologies,
    }
}

/// A claim of that class without a volume.
pub(super) fn delayed(name: &str) -> Claim {
    let class_field = ClassRequest::Named(ClassName::new("late"));
    Claim { key: key(name), uid: Some(Uid::new(name)), class_field, ..claim() }
}

/// A free volume of that class.
pub(super) fn free(name: &str, node_affinity: NodeAffinity) -> Volume {
    let class_field = Some(ClassName::new("late"));
    Volume { name: VolumeName::new(name), class_field, node_affinity, ..volume() }
}

/// A claim and its volume, of the name `pv-NAME`, bound to each other.
pub(super) fn bound(name: &str, node_affinity: NodeAffinity) -> (Claim, Volume) {
    let mut claim = delayed(name);
    claim.annotations.insert(BIND_COMPLETED, "yes");
    let volume = Volume {
        reservation: Reservation::Held(key(name), Uid::new(name)),
        phase: VolumePhase::Bound,
        ..free(&format!("pv-{name}"), node_affinity)
    };
    claim.volume = Some(volume.name.clone());
    claim.phase = ClaimPhase::Bound;
    (claim, volume)
}

impl Cluster {
    fn new() -> Self {
        Self {
            hosts: vec![host("a1", "a"), host("a2", "a"), host("b1", "b")],
            pods: Vec::new(),
            view: View::default(),
            listed: ListedCollections::everything().clone(),
            drivers: known_drivers(),
        }
    }

    fn pair(mut self, name: &str, affinity: NodeAffinity) -> Self {
        let (claim, volume) = bound(name, affinity);
        self.view.apply(Observed::Volume(Arc::new(volume)));
        self.claim(claim)
    }

    fn claim(mut self, claim: Claim) -> Self {
        self.view.apply(Observed::Claim(Arc::new(claim)));
        self
    }

    fn volume(mut self, volume: Volume) -> Self {
        self.view.apply(Observed::Volume(Arc::new(volume)));
        self
    }

    fn class(mut self, class: Class) -> Self {
        self.view.apply(Observed::Class(Arc::new(class)));
        self
    }

    /// A pod of the name `web` on the node that goes.
    fn web(self, claims: &[&str]) -> Self {
        self.pod(pod("web", "a1", claims))
    }

    fn pod(mut self, pod: PlacedPod) -> Self {
        self.pods.push(pod);
        self
    }

    fn cordon(mut self, names: &[&str]) -> Self {
        for host in self.hosts.iter_mut().filter(|host| names.contains(&&*host.node.name)) {
            host.is_cordoned = true;
        }
        self
    }

    fn judge(&self, gone: &[&str], drained: &[&str]) -> NodeLossOutcome {
        let set = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect();
        let (gone, drained): (BTreeSet<Box<str>>, BTreeSet<Box<str>>) = (set(gone), set(drained));
        let Self { hosts, pods, view, listed, drivers } = self;
        let (gone, drained) = (&gone, &drained);
        judge_node_loss(&NodeLoss { hosts, gone, drained, pods, view, listed, drivers })
    }

    /// The labels of the reasons for the pod `web` if `a1` goes, and for the claims.
    fn labels(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let outcome = self.judge(&["a1"], &[]);
        let pods = outcome.pods.iter().flat_map(|pod| &pod.reasons);
        let claims = outcome.claims.iter().map(|claim| claim.reason.label());
        (pods.map(NodeLossReason::label).collect(), claims.collect())
    }

    /// The texts of the reasons for the pod `web`.
    fn texts(&self, gone: &[&str], drained: &[&str]) -> Vec<String> {
        let outcome = self.judge(gone, drained);
        outcome.pods.iter().flat_map(|pod| &pod.reasons).map(ToString::to_string).collect()
    }
}

#[test]
fn a_local_volume_goes_with_its_node_and_waits_for_a_drained_one() {
    let cluster = Cluster::new().pair("data", only("host", "a1")).web(&["data"]);
    assert_eq!(
        cluster.texts(&["a1"], &[]),
        [
            "PV \"pv-data\" of PVC \"db/data\" is reachable only from Node \"a1\", which is gone; a pod that uses the PVC \
          stays Pending; copy the data to a PV that another Node reaches first"
        ]
    );
    assert_eq!(
        cluster.texts(&[], &["a1"]),
        [
            "PV \"pv-data\" of PVC \"db/data\" is reachable from no other remaining Node than Node \"a1\", which is \
          cordoned; a pod that uses the PVC stays Pending; uncordon the Node when its maintenance ends, or copy the \
          data to a PV that another Node reaches first"
        ]
    );
    // A node that goes is not only drained.
    assert_eq!(cluster.texts(&["a1"], &["a1"]), cluster.texts(&["a1"], &[]));
    let outcome = cluster.judge(&["a1"], &[]);
    assert_eq!(outcome.claims.len(), 1);
    assert_eq!(cluster.judge(&["a2"], &["b1"]), NodeLossOutcome::default());
}

#[test]
fn a_zonal_volume_moves_within_its_zone() {
    let cluster = Cluster::new().pair("data", only("zone", "a")).web(&["data"]);
    assert_eq!(cluster.labels(), (vec![], vec![]));
    assert_eq!(cluster.texts(&["a1"], &["a2"]).len(), 1);
    let cordoned = cluster.cordon(&["a2"]);
    assert_eq!(cordoned.labels(), (vec!["volume_cordoned"], vec!["volume_cordoned"]));
    let gone = cordoned.texts(&["a1", "a2"], &[]);
    assert!(gone[0].contains("only from Nodes \"a1\", \"a2\", which are gone"), "{gone:?}");
}

/// The node that could take the pod has to reach all of its volumes.
#[test]
fn volumes_in_two_zones_leave_no_node() {
    let two = Cluster::new().pair("a", only("zone", "a")).pair("b", only("zone", "b"));
    let two = two.pair("c", NodeAffinity::Unrestricted).web(&["a", "b", "c"]);
    assert_eq!(
        two.texts(&["a1"], &[]),
        [
            "no remaining Node reaches the PVs of all PVCs at once: \"db/a\", \"db/b\", \"db/c\"; the pod stays Pending; \
          keep a Node that reaches all of them, or copy their data to PVs of one Node first"
        ]
    );
    assert!(two.judge(&["a1"], &[]).claims.is_empty());
}

/// Any of the terms suffices, and all conditions of one term count.
#[test]
fn a_volume_is_reachable_by_any_term_of_its_affinity() {
    let terms = vec![within("host", &["a1"]), within("zone", &["b"])];
    let either = Cluster::new().pair("data", NodeAffinity::Required(terms)).web(&["data"]);
    assert_eq!(either.labels(), (vec![], vec![]));
    let both = ["zone", "host"].map(|key| {
        NodeExpression::new(key, "In", if key == "zone" { &["b"] } else { &["a1", "a2"] }).unwrap()
    });
    let term = NodeTerm::new(both.into(), Vec::new());
    let never = NodeAffinity::Required(vec![within("host", &["a1"]), term]);
    let never = Cluster::new().pair("data", never).web(&["data"]);
    assert_eq!(never.labels(), (vec!["volume_gone"], vec!["volume_gone"]));
}

#[test]
fn pods_of_daemon_sets_mirrors_and_other_nodes_do_not_count() {
    let mut cluster = Cluster::new().pair("data", only("host", "a1")).pod(pod("x", "a1", &[]));
    for (name, node, origin) in [
        ("set", "a1", PodOrigin::DaemonSet),
        ("mirror", "a1", PodOrigin::Mirror),
        ("elsewhere", "a2", PodOrigin::Other),
    ] {
        cluster = cluster.pod(PlacedPod { origin, ..pod(name, node, &["data"]) });
    }
    let mut pending = pod("pending", "a1", &["data"]);
    pending.pod.node = None;
    cluster = cluster.pod(pending);
    // The claim is unreachable all the same.
    assert_eq!(cluster.labels(), (vec![], vec!["volume_gone"]));
    assert!(cluster.judge(&["a1"], &[]).pods.is_empty());
}

#[test]
fn a_claim_is_unreachable_only_if_the_loss_makes_it_so() {
    let cluster = Cluster::new()
        .pair("used", only("host", "a1"))
        .pair("nowhere", only("host", "old"))
        .pair("cordoned", only("host", "b1"))
        .cordon(&["b1"]);
    let outcome = cluster.judge(&["a1"], &[]);
    let names: Vec<String> = outcome.claims.iter().map(|one| one.claim.to_string()).collect();
    assert_eq!(names, ["db/used"]);
    let nowhere = cluster.web(&["nowhere"]);
    let text = &nowhere.texts(&["a1"], &[])[0];
    assert!(
        text.starts_with(
            "PV \"pv-nowhere\" of PVC \"db/nowhere\" is reachable from no Node at all;"
        )
    );
}

#[test]
fn the_pod_itself_may_admit_no_node_or_a_cordoned_one() {
    let cluster = Cluster::new().pair("data", only("zone", "a"));
    let mut choosy = pod("web", "a1", &["data"]);
    choosy.constraints.selector = vec![Term::equals("host", "a1").unwrap()];
    let choosy = cluster.pod(choosy);
    let text = &choosy.texts(&["a1"], &[])[0];
    assert!(
        text.contains("admit no remaining Node that reaches its PVs, not Node \"a2\""),
        "{text}"
    );
    let mut tolerant = pod("web", "a1", &["data"]);
    let all = Toleration { key: "".into(), value: None, effect: "".into() };
    tolerant.constraints.tolerations = vec![all];
    let tolerant = Cluster::new().pair("data", only("host", "a1")).pod(tolerant);
    assert!(tolerant.texts(&[], &["a1"]).is_empty());
    assert_eq!(tolerant.texts(&["a1"], &[]).len(), 1);
}

#[test]
fn a_claim_that_waits_for_its_pod_takes_a_free_volume_or_is_provisioned() {
    let fixed = || Cluster::new().class(late(Provisioner::Static, NodeAffinity::Unrestricted));
    let of = |volumes: &[Volume], claims: &[&str]| {
        let cluster = volumes.iter().cloned().fold(fixed(), Cluster::volume);
        claims.iter().map(|name| delayed(name)).fold(cluster, Cluster::claim).web(claims).labels().0
    };
    let near = free("pv-1", only("zone", "a"));
    assert_eq!(of(std::slice::from_ref(&near), &["x"]), Vec::<&str>::new());
    assert_eq!(of(&[free("pv-1", only("host", "a1"))], &["x"]), ["no_free_volume"]);
    // Two claims cannot have one volume; on one node they have two.
    assert_eq!(of(std::slice::from_ref(&near), &["x", "y"]), ["volumes_apart"]);
    let far = free("pv-2", only("zone", "b"));
    assert_eq!(of(&[near.clone(), far], &["x", "y"]), ["volumes_apart"]);
    let second = free("pv-2", only("host", "a2"));
    assert_eq!(of(&[near, second], &["x", "y"]), Vec::<&str>::new());
    let driver = || Provisioner::Named("csi.example".into());
    for (topologies, expected) in [
        (NodeAffinity::Unrestricted, vec![]),
        (only("zone", "b"), vec![]),
        (only("zone", "c"), vec!["no_topology"]),
        (only("host", "a1"), vec!["no_topology"]),
        (NodeAffinity::Unread([0; 2]), vec!["class_not_known"]),
    ] {
        let cluster = Cluster::new().class(late(driver(), topologies.clone()));
        assert_eq!(cluster.claim(delayed("x")).web(&["x"]).labels().0, expected, "{topologies}");
    }
}

#[test]
fn a_selected_node_is_the_only_one_until_the_provisioner_gives_it_up() {
    let driver = Provisioner::Named("csi.example".into());
    let selected = |node: &str| {
        let mut claim = delayed("x");
        claim.annotations.insert(SELECTED_NODE, node);
        let cluster = Cluster::new().class(late(driver.clone(), NodeAffinity::Unrestricted));
        cluster.claim(claim).web(&["x"])
    };
    assert_eq!(selected("b1").labels().0, Vec::<&str>::new());
    assert_eq!(selected("a1").labels().0, ["selected_node"]);
    assert_eq!(selected("b1").cordon(&["b1"]).labels().0, ["selected_node"]);
    assert!(selected("a1").judge(&["a1"], &[]).pods[0].reasons[0].is_unknown());
}

/// Another pod gets another claim from the template, and the one of this pod goes with it.
#[test]
fn an_ephemeral_claim_is_made_anew() {
    let template = || {
        let mut web = pod("web", "a1", &["web-tmp"]);
        web.ephemeral = vec![key("web-tmp")];
        Cluster::new().pair("web-tmp", only("host", "a1")).pod(web)
    };
    let fixed = template().class(late(Provisioner::Static, NodeAffinity::Unrestricted));
    assert_eq!(fixed.labels(), (vec!["no_free_volume"], vec![]));
    let offered = fixed.volume(free("pv-1", only("zone", "b")));
    assert_eq!(offered.labels(), (vec![], vec![]));
    let driver = Provisioner::Named("csi.example".into());
    let mut made = template().class(late(driver, NodeAffinity::Unrestricted));
    assert_eq!(made.labels(), (vec![], vec![]));
    // That of a `DaemonSet` has no other node to go to.
    made.pods[0].origin = PodOrigin::DaemonSet;
    assert_eq!(made.labels(), (vec![], vec![]));
    assert!(made.judge(&[], &["a1"]).claims.is_empty());
    made.pods[0].pod.node = Some("a2".into());
    assert_eq!(made.labels(), (vec![], vec!["volume_gone"]));
}

#[test]
fn what_the_input_lacks_is_unknown_or_missing_but_never_fine() {
    let (lost, _) = bound("data", NodeAffinity::Unrestricted);
    let cluster = |listed: &[Collection]| {
        let mut cluster = Cluster::new().claim(lost.clone()).claim(delayed("late"));
        cluster.listed = ListedCollections::default();
        for collection in listed {
            cluster.listed.add(*collection);
        }
        cluster.web(&["data", "absent", "late"])
    };
    let (all, none) = (cluster(&Collection::ALL), cluster(&[]));
    let (pods, claims) = all.labels();
    assert_eq!(pods, ["claim_missing", "volume_missing", "not_bound"]);
    assert_eq!(claims, ["volume_missing"]);
    let (pods, claims) = none.labels();
    assert_eq!(pods, ["claim_not_known", "volume_not_known", "class_not_known"]);
    assert_eq!(claims, ["volume_not_known"]);
    let outcome = none.judge(&["a1"], &[]);
    assert!(outcome.pods[0].reasons.iter().all(NodeLossReason::is_unknown));
    let unread = Cluster::new().pair("data", NodeAffinity::Unread([0; 2])).web(&["data"]);
    assert_eq!(unread.labels(), (vec!["affinity_not_known"], vec!["affinity_not_known"]));
}

/// Every node "reaches" it, and only one has its data.
#[test]
fn a_host_path_volume_without_node_affinity_is_not_said_to_come_back() {
    let (claim, volume) = bound("data", NodeAffinity::Unrestricted);
    let folder = Volume { backend: Backend::HostPath, ..volume };
    let cluster = Cluster::new().claim(claim).volume(folder).web(&["data"]);
    assert_eq!(cluster.labels(), (vec!["folder_of_any_node"], vec!["folder_of_any_node"]));
    let outcome = cluster.judge(&["a1"], &[]);
    assert!(outcome.pods[0].reasons.iter().all(NodeLossReason::is_unknown));
}

#[test]
fn a_class_that_binds_at_once_leaves_open_where() {
    let now = Class {
        binding_mode: BindingMode::Immediate,
        ..late(Provisioner::Named("csi.example".into()), NodeAffinity::Unrestricted)
    };
    let cluster = Cluster::new().class(now).claim(delayed("x")).web(&["x"]);
    assert_eq!(cluster.labels().0, ["not_bound"]);
    let named = Claim { volume: Some(VolumeName::new("pv-1")), ..delayed("x") };
    let late = late(Provisioner::Static, NodeAffinity::Unrestricted);
    let prebound = Cluster::new().class(late).claim(named).web(&["x"]);
    assert_eq!(prebound.labels().0, ["not_bound"]);
}
