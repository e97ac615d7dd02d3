//! A StatefulSet whose nodes are lost and come back at any time loses one replica at a time, and no claim whose node serves.

use proptest::prelude::*;
use proptest::sample::select;

use crate::disks::tests::world::volume;
use crate::disks::{
    CleanupClaim, CleanupObservation, CleanupReplicas, CleanupStep, LocalVolume, NodeOfVolume,
    NodeTie, OnNodeLoss, PodState, Replica, StatefulSetReplicas, next_cleanup_step, volume_loss,
};
use crate::model::{
    ClaimKey, Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumeName, VolumePhase,
};

const REPLICAS: usize = 3;

/// The node of a replica's first disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeLife {
    Ready,
    NotReady,
    OutOfService,
    Gone,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The node of this replica becomes this.
    Node(usize, NodeLife),
    /// The pod of this replica is deleted where its node is lost.
    PodGone(usize),
    /// It is made again, or gets a claim if it has none.
    PodMade(usize),
    /// The scheduler finds a node for the pod of this replica, if there is one.
    Scheduled(usize),
    Ready(usize),
    NotReady(usize),
    /// The process decides about the volume of this replica until it waits.
    Decide(usize),
}

/// A replica: its claim, on the first volume or on a new one elsewhere, and its pod.
#[derive(Clone, Debug)]
struct Life {
    node: NodeLife,
    volume: LocalVolume,
    /// Whether its claim is on a volume elsewhere, which exists.
    is_moved: bool,
    has_claim: bool,
    pod: PodState,
}

impl Life {
    /// Whether its pod has no disk that it can reach.
    fn is_lost(&self) -> bool {
        !self.is_moved && self.node == NodeLife::Gone
    }
}

struct World {
    lives: Vec<Life>,
    on_node_loss: OnNodeLoss,
    /// Whether a pod is made before those before it are ready.
    is_parallel: bool,
}

impl World {
    fn new(on_node_loss: OnNodeLoss, is_parallel: bool) -> Self {
        let life = |number: usize| {
            let claim = ClaimKey::new("db", format!("data-db-{number}"));
            let reservation = Reservation::Held(claim, Uid::new(format!("c{number}")));
            let mut volume = volume(VolumePhase::Bound, reservation);
            volume.name = VolumeName::new(format!("pv-{number}"));
            let node = NodeLife::Ready;
            Life { node, volume, is_moved: false, has_claim: true, pod: PodState::Ready }
        };
        Self { lives: (0..REPLICAS).map(life).collect(), on_node_loss, is_parallel }
    }

    fn nodes(&self, number: usize) -> Vec<NodeOfVolume> {
        let life = self.lives[number].node;
        let node = NodeOfVolume {
            name: "node-1".into(),
            uid: Uid::new("0a1b2c3d-4e5f-6789-abcd-ef0123456789"),
            tie: NodeTie::Admitted,
            is_ready: life == NodeLife::Ready,
            is_out_of_service: life == NodeLife::OutOfService,
        };
        if life == NodeLife::Gone { Vec::new() } else { vec![node] }
    }

    fn replica(&self, number: usize) -> Replica {
        let life = &self.lives[number];
        let is_lost = volume_loss(&life.volume, &self.nodes(number), true).is_ok();
        Replica {
            number: u32::try_from(number).unwrap(),
            pod: format!("db-{number}").into(),
            state: life.pod,
            has_lost_volume: life.has_claim && !life.is_moved && is_lost,
        }
    }

    fn claim(&self, number: usize) -> CleanupClaim {
        let life = &self.lives[number];
        if !life.has_claim || life.is_moved {
            return CleanupClaim::Gone;
        }
        CleanupClaim::Present {
            uid: Uid::new(format!("c{number}")),
            version: ResourceVersion::new("1"),
            volume: Some(life.volume.name.clone()),
            deletion: Deletion::NotAsked,
        }
    }

    fn happens(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Node(number, node) => self.lives[number].node = node,
            Event::PodGone(number) => {
                let life = &mut self.lives[number];
                let is_lost = matches!(life.node, NodeLife::Gone | NodeLife::OutOfService);
                let is_placed = matches!(life.pod, PodState::Ready | PodState::NotReady);
                if !life.is_moved && is_lost && is_placed {
                    life.pod = PodState::Absent;
                }
            }
            Event::PodMade(number) => {
                let are_ready =
                    |lives: &[Life]| lives.iter().all(|life| life.pod == PodState::Ready);
                let is_next = self.is_parallel || are_ready(&self.lives[..number]);
                let life = &mut self.lives[number];
                if is_next && life.pod == PodState::Absent {
                    life.pod = PodState::Unscheduled;
                }
                // Kubernetes makes a missing claim when it comes to the pod.
                if is_next && life.pod == PodState::Unscheduled && !life.has_claim {
                    (life.has_claim, life.is_moved) = (true, true);
                }
            }
            Event::Scheduled(number) => {
                let life = &mut self.lives[number];
                let is_reachable = life.is_moved || life.node == NodeLife::Ready;
                if life.pod == PodState::Unscheduled && life.has_claim && is_reachable {
                    life.pod = PodState::NotReady;
                }
            }
            Event::Ready(number) if self.lives[number].pod == PodState::NotReady => {
                self.lives[number].pod = PodState::Ready;
            }
            Event::NotReady(number) if self.lives[number].pod == PodState::Ready => {
                self.lives[number].pod = PodState::NotReady;
            }
            Event::Ready(_) | Event::NotReady(_) => {}
            Event::Decide(number) => return self.decide(number),
        }
        Ok(())
    }

    fn decide(&mut self, number: usize) -> Result<(), TestCaseError> {
        let (mut claim, mut replicas) = (CleanupClaim::Unread, CleanupReplicas::Unread);
        let mut nodes_are_current = false;
        for _ in 0..8 {
            let step = next_cleanup_step(&CleanupObservation {
                volume: &self.lives[number].volume,
                nodes: &self.nodes(number),
                nodes_are_current,
                is_gone_for_long: true,
                on_node_loss: self.on_node_loss,
                claim: &claim,
                replicas: &replicas,
            });
            match step {
                CleanupStep::Wait(_) => return Ok(()),
                CleanupStep::ReadClaim => claim = self.claim(number),
                CleanupStep::ReadReplicas => {
                    let others = (0..REPLICAS).filter(|other| *other != number);
                    replicas = CleanupReplicas::Of(StatefulSetReplicas {
                        name: "db".into(),
                        own: self.replica(number),
                        others: others.map(|other| self.replica(other)).collect(),
                        is_parallel: self.is_parallel,
                    });
                }
                CleanupStep::ReadNodes => nodes_are_current = true,
                CleanupStep::Retain(_) => {
                    self.lives[number].volume.policy = ReclaimPolicy::Retain;
                }
                CleanupStep::DeleteClaim(..) => return self.claim_deleted(number),
                CleanupStep::DeleteVolume(..) => {
                    let life = &self.lives[number];
                    prop_assert!(matches!(life.node, NodeLife::Gone | NodeLife::OutOfService));
                    prop_assert!(life.volume.phase == VolumePhase::Released && nodes_are_current);
                    prop_assert!(self.on_node_loss == OnNodeLoss::Release);
                    return Ok(());
                }
            }
        }
        panic!("it reads for ever");
    }

    /// Everything that can happen next does; a claim that was deleted is made again before anything else.
    fn goes_on(&mut self) -> Result<(), TestCaseError> {
        for number in 0..REPLICAS {
            self.happens(Event::Decide(number))?;
            for event in [Event::PodGone, Event::PodMade, Event::Scheduled, Event::Ready] {
                self.happens(event(number))?;
            }
        }
        Ok(())
    }

    fn claim_deleted(&mut self, number: usize) -> Result<(), TestCaseError> {
        let is_going = |life: &&Life| {
            let is_released = !life.has_claim || life.is_moved;
            is_released && life.pod != PodState::Ready
        };
        let going = self.lives.iter().filter(is_going).count();
        prop_assert!(going == 0, "another replica was released and is not ready");
        let life = &mut self.lives[number];
        prop_assert!(matches!(life.node, NodeLife::Gone | NodeLife::OutOfService));
        prop_assert!(life.pod == PodState::Unscheduled);
        if self.on_node_loss == OnNodeLoss::Keep {
            prop_assert!(life.volume.policy == ReclaimPolicy::Retain, "its data could be removed");
        }
        prop_assert!(self.on_node_loss != OnNodeLoss::Wait);
        life.has_claim = false;
        life.volume.phase = VolumePhase::Released;
        Ok(())
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let number = 0..REPLICAS;
    let lives =
        select(vec![NodeLife::Ready, NodeLife::NotReady, NodeLife::OutOfService, NodeLife::Gone]);
    let event = prop_oneof![
        1 => (number.clone(), lives).prop_map(|(number, node)| Event::Node(number, node)),
        2 => number.clone().prop_map(Event::PodGone),
        2 => number.clone().prop_map(Event::PodMade),
        2 => number.clone().prop_map(Event::Scheduled),
        2 => number.clone().prop_map(Event::Ready),
        1 => number.clone().prop_map(Event::NotReady),
        3 => number.prop_map(Event::Decide),
    ];
    prop::collection::vec(event, 1..120)
}

fn on_node_loss() -> impl Strategy<Value = OnNodeLoss> {
    select(vec![OnNodeLoss::Wait, OnNodeLoss::Keep, OnNodeLoss::Release])
}

proptest! {
    #[test]
    fn replicas_are_released_one_by_one_and_only_from_lost_nodes(
        events in events(),
        on_node_loss in on_node_loss(),
        is_parallel in any::<bool>(),
    ) {
        let mut world = World::new(on_node_loss, is_parallel);
        for event in events {
            world.happens(event)?;
        }
    }

    /// However many nodes are lost, one after another, every replica is ready again in the end; those that are kept, if a
    /// copy was left.
    #[test]
    fn all_replicas_come_back(
        lost in prop::collection::vec((0..REPLICAS, 0..4_usize), 0..6),
        is_kept in any::<bool>(),
        is_parallel in any::<bool>(),
    ) {
        let action = if is_kept { OnNodeLoss::Keep } else { OnNodeLoss::Release };
        let mut world = World::new(action, is_parallel);
        for (number, rounds) in lost {
            let others_lost =
                world.lives.iter().enumerate().filter(|(other, life)| *other != number && life.is_lost());
            if is_kept && others_lost.count() == REPLICAS - 1 {
                continue;
            }
            world.happens(Event::Node(number, NodeLife::Gone))?;
            for _ in 0..rounds {
                world.goes_on()?;
            }
        }
        // One is released in each round, once all are seen to wait.
        for _ in 0..2 * REPLICAS + 2 {
            world.goes_on()?;
        }
        prop_assert!(world.lives.iter().all(|life| life.pod == PodState::Ready), "{:?}", world.lives);
    }
}
