//! When a volume is reserved beside another binder, and everything that leaves it to others.

use std::sync::Arc;

use super::*;
use crate::binding::tests::{claim, volume};
use crate::binding::{ListedCollections, LiveReads, Next, Observed, ReadResult, View, Write};
use crate::model::annotations::{BIND_COMPLETED, BOUND_BY_CONTROLLER};
use crate::model::{
    Class, ClassRequest, DefaultMark, Expansion, Labels, Node, NodeAffinity, NodeExpression,
    NodeTerm, Reservation, Uid, Volume, VolumePhase,
};

/// A cluster in which a volume is to be reserved, as watched and as read live.
struct World {
    claim: Claim,
    class: Option<Class>,
    volumes: Vec<Volume>,
    /// Pods as they are watched, and as a list gives them.
    pods: [Vec<Pod>; 2],
    node: Option<Node>,
}

fn of_node(name: &str, zone: &str) -> Volume {
    let in_zone = NodeExpression::new("zone", "In", &[zone]).unwrap();
    let term = NodeTerm::new(vec![in_zone], Vec::new());
    let node_affinity = NodeAffinity::Required(vec![term]);
    let class_field = Some(ClassName::new("local"));
    Volume { name: VolumeName::new(name), class_field, node_affinity, ..volume() }
}

fn pod(name: &str, node: Option<&str>) -> Pod {
    let (key, node) = (PodKey::new("db", name), node.map(Box::from));
    Pod { key, node, claims: vec![claim().key] }
}

fn world() -> World {
    let name = ClassName::new("local");
    World {
        claim: Claim { class_field: ClassRequest::Named(name.clone()), ..claim() },
        class: Some(Class {
            name,
            provisioner: Provisioner::Static,
            binding_mode: BindingMode::WaitForFirstConsumer,
            expansion: Expansion::NotAllowed,
            default: DefaultMark::Unmarked,
            allowed_topologies: NodeAffinity::Unrestricted,
        }),
        volumes: vec![of_node("pv-a", "a"), of_node("pv-b", "b")],
        pods: [vec![pod("web", Some("n1"))], vec![pod("web", Some("n1"))]],
        node: Some(Node {
            name: "n1".into(),
            labels: [("zone", "b")].into_iter().collect::<Labels>(),
        }),
    }
}

impl World {
    fn view(&self) -> View {
        let mut view = View::default();
        view.apply(Observed::Claim(Arc::new(self.claim.clone())));
        if let Some(class) = &self.class {
            view.apply(Observed::Class(Arc::new(class.clone())));
        }
        for volume in &self.volumes {
            view.apply(Observed::Volume(Arc::new(volume.clone())));
        }
        for pod in &self.pods[0] {
            view.apply(Observed::Pod(Arc::new(pod.clone())));
        }
        view
    }

    /// Decides until no read is wanted; which were.
    fn decided(&self) -> (Vec<Read>, Decision<PrebindOutcome>) {
        let (view, mut live, mut reads) = (self.view(), LiveReads::default(), Vec::new());
        for _ in 0..3 {
            let decision = decide_prebind(&Evidence::new(&view, &live), &claim().key);
            let Next::Read(wanted) = &decision.next else { return (reads, decision) };
            live.answer_from(&view, ListedCollections::everything(), wanted);
            for read in wanted.iter() {
                reads.push(read.clone());
                if let Read::LivePods(key) = read {
                    let listed = ReadResult::Found(Arc::new(self.pods[1].clone()));
                    live.live_pods.insert(key.clone(), listed);
                }
                if let Read::Node(name) = read {
                    let found = self.node.clone().map(Arc::new);
                    let answer = found.map_or(ReadResult::NotFound, ReadResult::Found);
                    live.nodes.insert(name.clone(), answer);
                }
            }
        }
        panic!("the same reads are wanted again")
    }

    #[track_caller]
    fn check(&self, expected: PrebindOutcome) {
        let (_, decision) = self.decided();
        assert_eq!((decision.next, decision.why), (Next::Settled, expected));
    }
}

#[test]
fn a_volume_is_reserved_for_the_node_of_the_pods() {
    let world = world();
    let (reads, decision) = world.decided();
    let key = claim().key;
    let class = Read::Class(ClassName::new("local"));
    let live = [Read::Claim(key.clone()), class, Read::LivePods(key), Read::Node("n1".into())];
    assert_eq!(reads, live);
    assert_eq!(decision.why, PrebindOutcome::Reserves(VolumeName::new("pv-b")));
    let Next::Write(write) = decision.next else { panic!("no write") };
    let mut view = world.view();
    view.assume(&write);
    let reserved = view.volume(&VolumeName::new("pv-b")).unwrap();
    let held = Reservation::Held(claim().key, Uid::new("uid-1"));
    assert_eq!(reserved.reservation, held);
    assert!(reserved.annotations.has(BOUND_BY_CONTROLLER));
    // The other binder goes on from there.
    let after = World { volumes: vec![Volume::clone(reserved)], ..world };
    after.check(PrebindOutcome::AlreadyReserved(VolumeName::new("pv-b")));
}

#[test]
fn pods_that_the_scheduler_may_still_place_are_left_to_it() {
    let [a, b] = ["a", "b"].map(|name| pod(name, Some("n1")));
    let (waits, elsewhere) = (pod("waits", None), pod("elsewhere", Some("n2")));
    let scheduled = PrebindOutcome::Scheduled(waits.key.clone());
    let rows = [
        (vec![], vec![], PrebindOutcome::NoPods),
        (vec![a.clone()], vec![], PrebindOutcome::NoPods),
        (vec![a.clone(), waits.clone()], vec![], scheduled.clone()),
        (vec![a.clone()], vec![a.clone(), waits], scheduled),
        (vec![a.clone(), elsewhere.clone()], vec![], PrebindOutcome::DifferentNodes),
        (vec![a.clone()], vec![a.clone(), elsewhere], PrebindOutcome::DifferentNodes),
    ];
    for (watched, listed, expected) in rows {
        World { pods: [watched, listed], ..world() }.check(expected);
    }
    let both = World { pods: [vec![a.clone()], vec![a, b]], ..world() };
    assert_eq!(both.decided().1.why, PrebindOutcome::Reserves(VolumeName::new("pv-b")));
    // No pod is pending: nothing is read.
    let idle = World { pods: [Vec::new(), Vec::new()], ..world() };
    assert_eq!(idle.decided().0, []);
}

#[test]
fn claims_that_another_binds_are_left_alone() {
    let with = |key: &str| {
        let mut claim = world().claim;
        claim.annotations.insert(key, "n1");
        claim
    };
    let claim = || world().claim;
    let named = Some(VolumeName::new("pv-b"));
    let rows = [
        (Claim { deletion: Deletion::Terminating, ..claim() }, SkipReason::Terminating),
        (with(BIND_COMPLETED), SkipReason::Completed),
        (Claim { volume: named, ..claim() }, SkipReason::NamesVolume),
        (with(SELECTED_NODE), SkipReason::SelectedNode),
        (Claim { class_field: ClassRequest::Classless, ..claim() }, SkipReason::NoClass),
    ];
    for (claim, expected) in rows {
        World { claim, ..world() }.check(PrebindOutcome::Skipped(expected));
    }
    let class = |provisioner: Provisioner, binding_mode: BindingMode| {
        Some(Class { provisioner, binding_mode, ..world().class.unwrap() })
    };
    let csi = Provisioner::Named("csi.example".into());
    let rows = [
        (None, SkipReason::NoClass),
        (class(Provisioner::Static, BindingMode::Immediate), SkipReason::Immediate),
        (class(csi, BindingMode::WaitForFirstConsumer), SkipReason::Provisioned),
    ];
    for (class, expected) in rows {
        World { class, ..world() }.check(PrebindOutcome::Skipped(expected));
    }
    World { claim: Claim { uid: None, ..claim() }, ..world() }.check(PrebindOutcome::Unseen);
}

#[test]
fn what_the_node_cannot_have_is_reported() {
    World { node: None, ..world() }.check(PrebindOutcome::NoNode("n1".into()));
    let far = vec![of_node("pv-a", "a")];
    World { volumes: far, ..world() }.check(PrebindOutcome::NoMatchingVolume("n1".into()));
    let used = vec![Volume { phase: VolumePhase::Bound, ..of_node("pv-b", "b") }];
    World { volumes: used, ..world() }.check(PrebindOutcome::NoMatchingVolume("n1".into()));
    let reservation = Reservation::Named(claim().key);
    let kept = Volume { reservation, ..of_node("pv-a", "a") };
    let name = kept.name.clone();
    let volumes = vec![kept, of_node("pv-b", "b")];
    World { volumes, ..world() }.check(PrebindOutcome::ReservedUnreachable(name));
}

/// The scheduler may choose a node while the claim's watch is behind.
#[test]
fn nothing_is_written_on_what_is_only_watched() {
    let world = world();
    let (view, key) = (world.view(), claim().key);
    let mut live = LiveReads::default();
    let pods = ReadResult::Found(Arc::new(world.pods[1].clone()));
    live.live_pods.insert(key.clone(), pods);
    let class = ReadResult::Found(Arc::new(world.class.clone().unwrap()));
    live.classes.insert(ClassName::new("local"), class);
    live.nodes.insert("n1".into(), ReadResult::Found(Arc::new(world.node.clone().unwrap())));
    let decide = |live: &LiveReads| decide_prebind(&Evidence::new(&view, live), &key);
    assert_eq!(decide(&live).next, Next::reads(vec![Read::Claim(key.clone())]));
    let mut selected = world.claim.clone();
    selected.annotations.insert(SELECTED_NODE, "n2");
    live.claims.insert(key.clone(), ReadResult::Found(Arc::new(selected)));
    let outcome = PrebindOutcome::Skipped(SkipReason::SelectedNode);
    assert_eq!(decide(&live).why, outcome);
    live.claims.insert(key.clone(), ReadResult::Found(Arc::new(world.claim.clone())));
    assert!(matches!(decide(&live).next, Next::Write(Write::Reserve { .. })));
    for read in [Read::LivePods(key.clone()), Read::Node("n1".into())] {
        let mut failed = live.clone();
        failed.fail_all(std::slice::from_ref(&read));
        assert_eq!(decide(&failed).next, Next::reads(vec![read]));
    }
}
