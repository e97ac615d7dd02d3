//! Events in crowded clusters: what one takes for each object that it concerns.

use bindery::client::resource::ResourceKind;
use tokio::runtime::Handle;

use crate::api_server::{ApiServer, Change, Cluster};
use crate::bound::{marker_claim, marker_volume, settled, until};
use crate::child::Figures;
use crate::crowd::{self, FEW};
use crate::objects::{self, MARKERS, Objects};
use crate::{controller, floors};

/// Rounds; odd, so that the median is one of them.
const ROUNDS: usize = 5;

/// Between the numbers of two markers: each has a larger volume than those before, so that claims take them in order.
const MARKER_STEP: usize = 500;

/// A crowded cluster, and what happens in it.
pub(crate) struct Shape {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The crowd of so many.
    cluster: fn(usize) -> Cluster,
    /// The objects that change in a round of this number.
    events: fn(usize, u64) -> (ResourceKind, Vec<String>),
    /// How many objects these concern.
    concerned: fn(usize) -> usize,
}

/// All of them.
const SHAPES: [Shape; 8] = [
    Shape {
        name: "namespace",
        cluster: |count| {
            in_namespace(Objects::NONE, count, |number| crowd::waiting_claim(number, 1))
        },
        events: |_, newer| (ResourceKind::Namespaces, vec![crowd::namespace(newer)]),
        concerned: |count| count,
    },
    Shape {
        name: "claims-of-namespace",
        cluster: |count| {
            in_namespace(Objects::NONE, count, |number| crowd::waiting_claim(number, 1))
        },
        events: |count, newer| (ResourceKind::Claims, few(count, newer, crowd::waiting_claim)),
        concerned: |_| FEW,
    },
    Shape {
        name: "class",
        cluster: of_class,
        events: |_, newer| (ResourceKind::Classes, vec![crowd::class(newer)]),
        concerned: |_| FEW,
    },
    Shape {
        name: "volumes-of-class",
        cluster: of_class,
        events: |count, newer| (ResourceKind::Volumes, few(count, newer, crowd::held_volume)),
        concerned: |_| FEW,
    },
    Shape {
        name: "named-volume",
        cluster: |count| {
            let volume = Objects { count: 1, text: crowd::volume_of_claim };
            in_namespace(volume, count, crowd::naming_claim)
        },
        events: |_, newer| (ResourceKind::Volumes, vec![crowd::held_volume(0, newer)]),
        concerned: |count| count,
    },
    Shape {
        name: "claim-of-volumes",
        cluster: of_claim,
        events: |_, newer| (ResourceKind::Claims, vec![crowd::holder(0, newer)]),
        concerned: |count| count,
    },
    Shape {
        name: "volumes-of-claim",
        cluster: of_claim,
        events: |count, newer| (ResourceKind::Volumes, few(count, newer, crowd::reserved_volume)),
        concerned: |_| FEW,
    },
    Shape {
        name: "pods",
        cluster: |count| {
            let [volumes, claims, _, _, namespaces] =
                in_namespace(Objects::NONE, count, crowd::delayed_claim);
            let classes = Objects { count: 1 + objects::ALL_CLASSES, text: crowd::any_class };
            let pods = Objects { count, text: |number| crowd::pod(number, 1) };
            [volumes, claims, classes, pods, namespaces]
        },
        events: |count, newer| (ResourceKind::Pods, few(count, newer, crowd::pod)),
        concerned: |_| FEW,
    },
];

/// The shape of this name.
pub(crate) fn named(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

impl Shape {
    /// Measures the time, in µs, that the events of a round take for each object that they concern.
    pub(crate) fn measure(&self, count: usize, servers: Handle) -> Result<Figures, String> {
        let server = ApiServer::new((self.cluster)(count), servers);
        let markers = (0..=ROUNDS).map(marker);
        server.store(
            markers
                .map(|number| (objects::volume_path(number), marker_volume(number, "Available"))),
        );
        controller::beside(&server, async {
            let mut rounds = Vec::new();
            settled().await;
            for round in 0..=ROUNDS {
                let (kind, objects) = (self.events)(count, 2 + round as u64);
                let number = marker(round);
                let last = marker_claim(number, &objects::size(number));
                server.store([(objects::claim_path(number), last.clone())]);
                // In the queue the last claim comes after all that the events concern.
                let changes: [Change; 2] =
                    [(kind, "MODIFIED", objects), (ResourceKind::Claims, "ADDED", vec![last])];
                let reserved = [objects::volume_path(number)];
                let took = until(&server, reserved, || server.send(changes.into())).await;
                rounds.push(took / (self.concerned)(count) as f64);
                settled().await;
            }
            // The first is one after which everything is in its place.
            Ok(Figures::from([("each", floors::median(rounds.into_iter().skip(1)))]))
        })
    }
}

fn marker(round: usize) -> usize {
    MARKERS + round * MARKER_STEP
}

/// Some of the crowd, all over it, at a newer version.
fn few(count: usize, newer: u64, text: fn(usize, u64) -> String) -> Vec<String> {
    // In a class the first of them wait.
    (0..FEW).map(|number| text(FEW + number * (count - FEW) / FEW, newer)).collect()
}

/// Claims in one namespace.
fn in_namespace(volumes: Objects, count: usize, text: fn(usize) -> String) -> Cluster {
    [
        volumes,
        Objects { count, text },
        Objects { count: objects::ALL_CLASSES, text: objects::class },
        Objects::NONE,
        Objects { count: 1, text: |_| crowd::namespace(1) },
    ]
}

/// Volumes of one class, nearly all of them bound.
fn of_class(count: usize) -> Cluster {
    let text = |number| crowd::held_volume(number + FEW, 1);
    let volumes = Objects { count: count.saturating_sub(FEW), text };
    in_namespace(volumes, count, crowd::claim_of_class)
}

/// Volumes that are reserved for one claim.
fn of_claim(count: usize) -> Cluster {
    let volumes = Objects { count, text: crowd::volume_of_claim };
    in_namespace(volumes, 1, |_| crowd::holder(0, 1))
}
