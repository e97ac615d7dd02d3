//! Who writes to volumes and claims in a cluster, by the user name that admission sees.
//!
//! Catalogued from Kubernetes' controllers and the sidecars of CSI. People are not in it: they may be denied.

use crate::plane::persona;

/// A writer: a short name, and that of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Writer {
    pub(super) name: &'static str,
    pub(super) user: &'static str,
}

/// One that Kubernetes' own process plays itself.
const fn real(name: &'static str, user: &'static str) -> Writer {
    Writer { name, user }
}

/// One that the scenarios play.
const fn played(persona: &persona::Persona) -> Writer {
    Writer { name: persona.name, user: persona.user }
}

/// All of them.
pub(super) const ACTORS: &[Writer] = &[
    real("binder", persona::BINDER.user),
    real("volume-protection", persona::VOLUME_PROTECTION.user),
    real("claim-protection", persona::CLAIM_PROTECTION.user),
    real("garbage-collector", persona::GARBAGE_COLLECTOR.user),
    real("namespace-controller", persona::NAMESPACE_CONTROLLER.user),
    real("ephemeral-volume", "system:serviceaccount:kube-system:ephemeral-volume-controller"),
    real("stateful-set", "system:serviceaccount:kube-system:statefulset-controller"),
    real("scheduler", persona::SCHEDULER.user),
    played(&persona::PROVISIONER),
    played(&persona::RESIZER),
    played(&persona::ATTACHER),
    played(&persona::NODE),
    played(&persona::POPULATOR),
    played(&persona::BACKUP),
];
