//! The tenant's label that a volume gets with its reservation.
//!
//! One decision for every binder: another one, whose write the webhook mutates, and our controller, which writes
//! the label with the reservation. Whether labels are given at all is the configuration's (`tenancy.label`). Not
//! here: whom a label admits (`model`), who may label a namespace (`rules`).

use super::evidence::{Evidence, Lookup};
use super::read::Read;
use crate::model::{NamespaceName, Volume};

/// The tenant's label that a volume gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewTenantLabel<'a> {
    /// None: the volume carries a mark, or the namespace belongs to no tenant.
    Nothing,
    /// That of this tenant.
    Tenant(&'a str),
    /// The namespace was not observed; this read settles it.
    Unknown(Read),
}

/// The label that `volume` gets when it is reserved for a claim of `namespace`. A mark is never changed.
pub fn new_tenant_label<'a>(
    volume: &Volume,
    namespace: &NamespaceName,
    evidence: &Evidence<'a>,
) -> NewTenantLabel<'a> {
    if volume.carries_mark() || namespace.is_empty() {
        return NewTenantLabel::Nothing;
    }
    match evidence.namespace(namespace) {
        // A label of a namespace changes once in its life; what the watch shows is good enough.
        Lookup::Present(home) => {
            home.tenant().map_or(NewTenantLabel::Nothing, NewTenantLabel::Tenant)
        }
        Lookup::Absent => NewTenantLabel::Nothing,
        Lookup::Unknown => NewTenantLabel::Unknown(Read::Namespace(namespace.clone())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::binding::tests::volume;
    use crate::binding::{LiveReads, Observed, ReadResult, View};
    use crate::model::annotations::{ALLOWED_NAMESPACES, TENANT};
    use crate::model::{Deletion, Labels, Namespace};

    fn namespace(tenant: Option<&str>) -> Arc<Namespace> {
        let labels = tenant.map(|tenant| (TENANT, tenant)).into_iter().collect();
        Arc::new(Namespace { name: "db".into(), labels, deletion: Deletion::NotAsked })
    }

    /// A volume with this label of a tenant and this list of namespaces.
    fn marked(tenant: Option<&str>, listed: Option<&str>) -> Volume {
        let mut volume = volume();
        volume.labels = Labels::default().with(TENANT, tenant);
        if let Some(listed) = listed {
            volume.annotations.insert(ALLOWED_NAMESPACES, listed);
        }
        volume
    }

    #[test]
    fn a_volume_without_a_mark_gets_the_tenant_of_the_namespace() {
        let live = LiveReads::default();
        for (tenant, label, listed, expected) in [
            (Some("blue"), None, None, NewTenantLabel::Tenant("blue")),
            (Some(""), None, None, NewTenantLabel::Nothing),
            (None, None, None, NewTenantLabel::Nothing),
            (Some("blue"), Some("red"), None, NewTenantLabel::Nothing),
            (Some("blue"), Some("blue"), None, NewTenantLabel::Nothing),
            (Some("blue"), Some(""), None, NewTenantLabel::Nothing),
            (Some("blue"), None, Some("db"), NewTenantLabel::Nothing),
            (Some("blue"), None, Some(""), NewTenantLabel::Nothing),
        ] {
            let mut view = View::default();
            view.apply(Observed::Namespace(namespace(tenant)));
            let evidence = Evidence::new(&view, &live);
            let found = new_tenant_label(&marked(label, listed), &"db".into(), &evidence);
            assert_eq!(found, expected, "{tenant:?} {label:?} {listed:?}");
        }
    }

    /// That a watch did not show a namespace proves nothing.
    #[test]
    fn an_unseen_namespace_needs_a_live_read() {
        let view = View::default();
        let owed = |answer: Option<ReadResult<Namespace>>| {
            let mut live = LiveReads::default();
            live.namespaces.extend(answer.map(|answer| ("db".into(), answer)));
            let found = new_tenant_label(&volume(), &"db".into(), &Evidence::new(&view, &live));
            format!("{found:?}")
        };
        let unknown = "Unknown(Namespace(\"db\"))";
        assert_eq!(owed(None), unknown);
        assert_eq!(owed(Some(ReadResult::Failed)), unknown);
        assert_eq!(owed(Some(ReadResult::NotFound)), "Nothing");
        assert_eq!(owed(Some(ReadResult::Found(namespace(Some("blue"))))), "Tenant(\"blue\")");
        let live = LiveReads::default();
        let unnamed = new_tenant_label(&volume(), &"".into(), &Evidence::new(&view, &live));
        assert_eq!(unnamed, NewTenantLabel::Nothing);
    }
}
