//! Who may claim a volume: the namespaces that it names, or those of its tenant.
//!
//! The administrator decides whose a volume is; tenants write namespaces' objects, not their labels.

use super::parameters::Unlisted;
use super::violation::Dependency;
use crate::binding::{Evidence, Lookup, Read};
use crate::model::{Audience, Namespace, NamespaceName, Volume};

/// Whether a volume admits the claims of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It does.
    Admitted,
    /// It does not; on these facts that rests.
    Foreign(Vec<Dependency>),
}

/// Returns whether `volume` admits claims of `namespace`. One that names neither namespaces nor a tenant is judged as
/// `unlisted` says; one that names both admits every namespace that either admits.
pub fn admission(
    volume: &Volume,
    namespace: &NamespaceName,
    unlisted: Unlisted,
    evidence: &Evidence<'_>,
) -> Admission {
    let tenant = match volume.audience(namespace) {
        Audience::Listed => return Admission::Admitted,
        Audience::Unmarked => {
            return match unlisted {
                Unlisted::Allow => Admission::Admitted,
                Unlisted::Deny => Admission::Foreign(Vec::new()),
            };
        }
        Audience::Foreign => return Admission::Foreign(Vec::new()),
        Audience::OfTenant(tenant) => tenant,
    };
    let lookup = evidence.namespace(namespace);
    if lookup.present().and_then(Namespace::tenant) == Some(tenant) {
        return Admission::Admitted;
    }
    Admission::Foreign(match lookup {
        // A label of a namespace changes once in its life; what the watch shows is good enough.
        Lookup::Present(_) => Vec::new(),
        Lookup::Absent | Lookup::Unknown => {
            vec![Dependency::on(Read::Namespace(namespace.clone()), lookup)]
        }
    })
}
