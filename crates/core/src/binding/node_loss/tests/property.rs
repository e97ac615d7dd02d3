//! The answer for small random clusters is that of a search which knows nothing of affinities: it is given, for each
//! volume, the nodes that reach it.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::{bound, delayed, free, host, key, known_drivers, late, pod, within};
use crate::binding::{ListedCollections, NodeLoss, Observed, View, judge_node_loss};
use crate::model::{Claim, Host, NodeAffinity, PlacedPod, Provisioner, Term, Volume};

/// Nodes of a cluster; the first two are in zone a, the next two in b, the last in c.
const NODES: [(&str, &str); 5] = [("n0", "a"), ("n1", "a"), ("n2", "b"), ("n3", "b"), ("n4", "c")];

/// From where something is reachable.
#[derive(Clone, Debug)]
enum Reach {
    Any,
    Zones(Vec<&'static str>),
    Hosts(Vec<&'static str>),
    /// Two terms, of which one suffices.
    ZoneOrHost(&'static str, &'static str),
    /// One term with two conditions.
    ZoneAndNotHost(&'static str, &'static str),
}

impl Reach {
    fn affinity(&self) -> NodeAffinity {
        use crate::model::{NodeExpression, NodeTerm};
        let condition =
            |key, operator, value| NodeExpression::new(key, operator, &[value]).unwrap();
        NodeAffinity::Required(match self {
            Self::Any => return NodeAffinity::Unrestricted,
            Self::Zones(zones) => vec![within("zone", zones)],
            Self::Hosts(hosts) => vec![within("host", hosts)],
            Self::ZoneOrHost(zone, host) => vec![within("zone", &[zone]), within("host", &[host])],
            Self::ZoneAndNotHost(zone, host) => {
                let both = vec![condition("zone", "In", *zone), condition("host", "NotIn", *host)];
                vec![NodeTerm::new(both, Vec::new())]
            }
        })
    }

    /// The search's own answer.
    fn reaches(&self, (name, zone): (&str, &str)) -> bool {
        match self {
            Self::Any => true,
            Self::Zones(zones) => zones.contains(&zone),
            Self::Hosts(hosts) => hosts.contains(&name),
            Self::ZoneOrHost(one, other) => zone == *one || name == *other,
            Self::ZoneAndNotHost(one, other) => zone == *one && name != *other,
        }
    }
}

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    Cordoned,
    Drained,
    Gone,
}

/// A pod: its node, the bound claims that it uses, how many that wait for it, and the zone that it asks for.
type PodSpec = (usize, Vec<usize>, usize, Option<&'static str>);

#[derive(Clone, Debug)]
struct Scene {
    fates: Vec<Fate>,
    /// The volumes of bound claims.
    bound: Vec<Reach>,
    /// Free volumes of the delayed class.
    free: Vec<Reach>,
    /// Where its provisioner makes volumes, if it has one.
    topology: Option<Reach>,
    pod: PodSpec,
}

fn reach() -> impl Strategy<Value = Reach> {
    let zones = || proptest::sample::subsequence(vec!["a", "b", "c"], 0..=2);
    let zone = || proptest::sample::select(vec!["a", "b", "c"]);
    let names = || NODES.map(|(name, _)| name).to_vec();
    prop_oneof![
        1 => Just(Reach::Any),
        2 => zones().prop_filter("some", |zones| !zones.is_empty()).prop_map(Reach::Zones),
        3 => proptest::sample::subsequence(names(), 1..=2).prop_map(Reach::Hosts),
        1 => (zone(), proptest::sample::select(names())).prop_map(|(a, b)| Reach::ZoneOrHost(a, b)),
        1 => (zone(), proptest::sample::select(names()))
            .prop_map(|(a, b)| Reach::ZoneAndNotHost(a, b)),
    ]
}

prop_compose! {
    fn scenes()(
        fates in proptest::collection::vec(prop_oneof![
            3 => Just(Fate::Stays), 1 => Just(Fate::Cordoned), 1 => Just(Fate::Drained), 2 => Just(Fate::Gone),
        ], NODES.len()),
        bound in proptest::collection::vec(reach(), 1..5),
        free in proptest::collection::vec(reach(), 0..4),
        topology in proptest::option::weighted(0.3, reach()),
        node in 0..NODES.len(),
        used in proptest::sample::subsequence(vec![0_usize, 1, 2, 3], 0..=3),
        waiting in 0_usize..3,
        zone in proptest::option::weighted(0.2, proptest::sample::select(vec!["a", "b", "c"])),
    ) -> Scene {
        let used = used.into_iter().filter(|index| *index < bound.len()).collect();
        Scene { fates, bound, free, topology, pod: (node, used, waiting, zone) }
    }
}

impl Scene {
    fn hosts(&self) -> Vec<Host> {
        let hosts = NODES.iter().zip(&self.fates);
        let cordoned = |((name, zone), fate): (&(&str, &str), &Fate)| Host {
            is_cordoned: *fate == Fate::Cordoned,
            ..host(name, zone)
        };
        hosts.map(cordoned).collect()
    }

    fn names(&self, of: Fate) -> BTreeSet<Box<str>> {
        let nodes = NODES.iter().zip(&self.fates).filter(|(_, fate)| **fate == of);
        nodes.map(|((name, _), _)| Box::from(*name)).collect()
    }

    fn view(&self) -> View {
        let mut view = View::default();
        let provisioner = match self.topology {
            Some(_) => Provisioner::Named("csi.example".into()),
            None => Provisioner::Static,
        };
        let topology = self.topology.as_ref().map_or(NodeAffinity::Unrestricted, Reach::affinity);
        view.apply(Observed::Class(Arc::new(late(provisioner, topology))));
        let pairs = self.bound.iter().enumerate();
        let pairs = pairs.map(|(index, reach)| bound(&format!("bound-{index}"), reach.affinity()));
        let (mut claims, mut volumes): (Vec<Claim>, Vec<Volume>) = pairs.unzip();
        let free_ones = self.free.iter().enumerate();
        volumes.extend(
            free_ones.map(|(index, reach)| free(&format!("free-{index}"), reach.affinity())),
        );
        claims.extend((0..self.pod.2).map(|index| delayed(&format!("late-{index}"))));
        for volume in volumes {
            view.apply(Observed::Volume(Arc::new(volume)));
        }
        for claim in claims {
            view.apply(Observed::Claim(Arc::new(claim)));
        }
        view
    }

    fn placed(&self) -> PlacedPod {
        let (node, used, waiting, zone) = &self.pod;
        let used = used.iter().map(|index| format!("bound-{index}"));
        let claims: Vec<String> =
            used.chain((0..*waiting).map(|index| format!("late-{index}"))).collect();
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        let mut placed = pod("web", NODES[*node].0, &claims);
        placed.constraints.selector =
            zone.iter().map(|zone| Term::equals("zone", zone).unwrap()).collect();
        placed
    }

    /// Whether a node takes the pod: one that stays, that every volume is reachable from, and on which those that wait
    /// find as many free volumes, or a provisioner.
    fn comes_back(&self) -> bool {
        let (_, used, waiting, zone) = &self.pod;
        NODES.iter().zip(&self.fates).any(|(node, fate)| {
            let free = self.free.iter().filter(|reach| reach.reaches(*node)).count();
            let is_made = self.topology.as_ref().is_some_and(|reach| reach.reaches(*node));
            *fate == Fate::Stays
                && zone.is_none_or(|zone| zone == node.1)
                && used.iter().all(|index| self.bound[*index].reaches(*node))
                && (free >= *waiting || is_made)
        })
    }

    /// The bound claims that a node which goes or is drained reaches, and no node that stays.
    fn stranded(&self) -> Vec<String> {
        let reached = |reach: &Reach, fates: &[Fate]| {
            let mut nodes = NODES.iter().zip(&self.fates);
            nodes.any(|(node, fate)| fates.contains(fate) && reach.reaches(*node))
        };
        let bound = self.bound.iter().enumerate();
        let stranded = bound.filter(|(_, reach)| {
            reached(reach, &[Fate::Gone, Fate::Drained]) && !reached(reach, &[Fate::Stays])
        });
        stranded.map(|(index, _)| key(&format!("bound-{index}")).to_string()).collect()
    }
}

proptest! {
    #[test]
    fn a_search_over_all_nodes_agrees(scene in scenes()) {
        let (hosts, pods, view) = (scene.hosts(), [scene.placed()], scene.view());
        let (gone, drained) = (scene.names(Fate::Gone), scene.names(Fate::Drained));
        let listed = ListedCollections::everything();
        let loss = NodeLoss {
            hosts: &hosts, gone: &gone, drained: &drained, pods: &pods, view: &view, listed,
            drivers: &known_drivers(),
        };
        let outcome = judge_node_loss(&loss);
        let (node, used, waiting, _) = &scene.pod;
        let is_affected = matches!(scene.fates[*node], Fate::Gone | Fate::Drained);
        let has_claims = !used.is_empty() || *waiting > 0;
        prop_assert_eq!(outcome.pods.len(), usize::from(is_affected && has_claims));
        for pod in &outcome.pods {
            prop_assert_eq!(pod.reasons.is_empty(), scene.comes_back(), "{:?}", pod.reasons);
            prop_assert!(pod.reasons.iter().all(|reason| !reason.is_unknown()));
        }
        let claims: Vec<String> = outcome.claims.iter().map(|one| one.claim.to_string()).collect();
        prop_assert_eq!(claims, scene.stranded());
    }
}
