//! Whom a volume admits: the namespaces that its annotation lists, and those of the tenant that its label
//! names.
//!
//! Only users who may write PersistentVolumes set either. Not here: what namespaces are labelled with.

use super::annotations::{ALLOWED_NAMESPACES, TENANT};
use super::volume::Volume;

/// What the marks of a volume say about the claims of one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience<'a> {
    /// It carries no mark.
    Unmarked,
    /// Its annotation lists the namespace.
    Listed,
    /// Its label admits the namespace if that belongs to this tenant; its annotation does not list it.
    OfTenant(&'a str),
    /// Its annotation does not list the namespace, and it belongs to no tenant.
    Foreign,
}

impl Audience<'_> {
    /// Returns whether it admits a namespace of which `is_of` says whether it belongs to a tenant.
    pub fn admits(self, is_of: impl FnOnce(&str) -> bool) -> bool {
        match self {
            Self::Unmarked | Self::Listed => true,
            Self::OfTenant(tenant) => is_of(tenant),
            Self::Foreign => false,
        }
    }
}

/// Who labels a volume with the tenant to whom it belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TenantLabel {
    /// An administrator.
    #[default]
    Manual,
    /// The writer of its reservation: it gets the tenant of the claim's namespace, unless it carries a mark already.
    Auto,
}

impl TenantLabel {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Manual, Self::Auto];

    /// The spelling in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Auto => "auto",
        }
    }
}

impl Volume {
    /// Returns whether it carries a mark, even one that says nothing: an empty label is how an administrator keeps a
    /// volume everybody's.
    pub fn carries_mark(&self) -> bool {
        self.annotations.has(ALLOWED_NAMESPACES) || self.labels.get(TENANT).is_some()
    }

    /// Returns what its marks say about the claims of `namespace`. A volume that carries both marks admits the
    /// claims that either admits.
    pub fn audience(&self, namespace: &str) -> Audience<'_> {
        let allowed = self.annotations.get(ALLOWED_NAMESPACES);
        if allowed.is_some_and(|patterns| is_among(namespace, patterns)) {
            return Audience::Listed;
        }
        match (self.labels.get(TENANT).filter(|tenant| !tenant.is_empty()), allowed) {
            (Some(tenant), _) => Audience::OfTenant(tenant),
            (None, Some(_)) => Audience::Foreign,
            (None, None) => Audience::Unmarked,
        }
    }
}

/// Returns whether the name is one of `patterns`, which are separated by commas; one that ends with `*` stands for all
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
