//! Whether a driver has the capacity for a volume that it is to provision for a node.

use super::question::NodeLoss;
use crate::model::{Class, Host, Provisioner, Quantity};

/// Whether there is enough for one volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capacity {
    Enough,
    Lacking,
    /// Not all CSIDrivers are known, or not all `CSIStorageCapacity` objects of a driver that has them.
    NotKnown,
}

/// What counts as enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assumption {
    /// What is not known is enough.
    Hopeful,
    /// Only what is known is enough.
    Proven,
}

impl Capacity {
    /// The capacity of the class's driver on the node. Only a driver whose CSIDriver says `storageCapacity` is asked.
    ///
    /// Kubernetes: `pkg/scheduler/framework/plugins/volumebinding/binder.go`, `hasEnoughCapacity`.
    pub(super) fn of(loss: &NodeLoss<'_>, class: &Class, size: &Quantity, host: &Host) -> Self {
        let Provisioner::Named(driver) = &class.provisioner else { return Self::Lacking };
        let Some(drivers) = &loss.drivers.drivers else { return Self::NotKnown };
        let is_asked = drivers.iter().any(|one| one.name == *driver && one.has_storage_capacity);
        if !is_asked {
            return Self::Enough;
        }
        let Some(capacities) = &loss.drivers.capacities else { return Self::NotKnown };
        let mut of_class = capacities.iter().filter(|one| one.class == class.name);
        let is_enough = of_class.any(|one| {
            let max = one.volume_max.as_ref().map(Quantity::rounded_up_units);
            one.nodes.matches(&host.node.labels)
                && max.is_some_and(|max| max >= size.rounded_up_units())
        });
        if is_enough { Self::Enough } else { Self::Lacking }
    }

    pub(super) fn suffices(self, assumption: Assumption) -> bool {
        match (self, assumption) {
            (Self::Enough, _) | (Self::NotKnown, Assumption::Hopeful) => true,
            (Self::Lacking, _) | (Self::NotKnown, Assumption::Proven) => false,
        }
    }
}
