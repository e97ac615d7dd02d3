//! Who may claim a volume: the namespaces that it names, or those of its tenant.
//!
//! Whose a volume is, its administrator says; tenants write namespaces' objects, not their labels.

use super::policy::Unlisted;
use super::violation::Rest;
use crate::binding::{Evidence, Lookup, Read};
use crate::model::annotations::{ALLOWED_NAMESPACES, TENANT};
use crate::model::{Namespace, NamespaceName, Volume};

/// Whether a volume admits the claims of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It does.
    Admitted,
    /// It does not; on these facts that rests.
    Foreign(Vec<Rest>),
}

/// Whether `volume` admits claims of `namespace`. One that names neither namespaces nor a tenant is judged as
/// `unlisted` says; one that names both admits whoever either admits.
pub fn admission(
    volume: &Volume,
    namespace: &NamespaceName,
    unlisted: Unlisted,
    evidence: &Evidence<'_>,
) -> Admission {
    let allowed = volume.annotations.get(ALLOWED_NAMESPACES);
    let tenant = volume.labels.get(TENANT).filter(|tenant| !tenant.is_empty());
    if allowed.is_some_and(|patterns| is_among(namespace, patterns)) {
        return Admission::Admitted;
    }
    let Some(tenant) = tenant else {
        return match (allowed, unlisted) {
            (None, Unlisted::Allow) => Admission::Admitted,
            (Some(_), _) | (None, Unlisted::Deny) => Admission::Foreign(Vec::new()),
        };
    };
    let lookup = evidence.namespace(namespace);
    if lookup.present().and_then(Namespace::tenant) == Some(tenant) {
        return Admission::Admitted;
    }
    Admission::Foreign(match lookup {
        // A label of a namespace changes once in its life; what the watch shows is good enough.
        Lookup::Present(_) => Vec::new(),
        Lookup::Absent | Lookup::Unknown => {
            vec![Rest::on(Read::Namespace(namespace.clone()), lookup)]
        }
    })
}

/// Whether the name is one of `patterns`, which are separated by commas; one that ends with `*` stands for all
/// names that begin as it does.
fn is_among(name: &str, patterns: &str) -> bool {
    patterns.split(',').map(str::trim).any(|pattern| match pattern.strip_suffix('*') {
        Some(head) => name.starts_with(head),
        None => name == pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_how_names_begin() {
        assert!(is_among("db", "qa, db") && is_among("db-1", "db-*,x") && is_among("any", "*"));
        assert!(!is_among("db", "") && !is_among("db", "d,bd,db1") && !is_among("x-db", "db*"));
    }
}
