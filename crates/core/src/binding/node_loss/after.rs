//! The nodes that are left after a loss, and what the pods that stay use.

use super::question::NodeLoss;
use super::uses::StayingUses;
use crate::model::Host;

/// The nodes after the loss.
#[derive(Clone, Debug)]
pub(super) struct NodesAfter<'a> {
    /// Those that are left. A drained one is cordoned.
    pub(super) left: Vec<Host>,
    /// Those that are gone.
    pub(super) gone: Vec<&'a Host>,
    /// What the pods that stay use.
    pub(super) uses: StayingUses<'a>,
}

impl<'a> NodesAfter<'a> {
    pub(super) fn of(loss: &NodeLoss<'a>) -> Self {
        let (gone, left): (Vec<&Host>, Vec<&Host>) =
            loss.hosts.iter().partition(|host| loss.gone.contains(&host.node.name));
        let after = |host: &Host| Host {
            is_cordoned: host.is_cordoned || loss.drained.contains(&host.node.name),
            ..host.clone()
        };
        let left = left.into_iter().map(after).collect();
        Self { left, gone, uses: StayingUses::of(loss) }
    }
}
