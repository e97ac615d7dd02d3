//! Values that rules compare with, as the operator has set them.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::TenantLabel;
use crate::model::annotations::TENANT;

/// Values that rules compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How many times as large as its claim a volume may be (`oversized-volume`).
    pub max_waste: NonZeroU32,
    /// Whether a volume that names neither namespaces nor a tenant may be named by any claim
    /// (`foreign-namespace-volume`).
    pub unlisted: Unlisted,
    /// The keys of the labels of namespaces that name their tenants or select overrides (`namespace-tenant-label`).
    pub namespace_labels: Arc<[String]>,
    /// Who labels volumes with their tenants (`tenant-label`).
    pub tenant_label: TenantLabel,
}

/// What becomes of claims that name a volume which says nothing of who may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// They pass.
    Allow,
    /// They are denied.
    Deny,
}

/// Sizes are often rounded up to what a disk shop sells; ten times as much is a mistake.
const MAX_WASTE: NonZeroU32 = NonZeroU32::new(10).unwrap();

impl Default for Parameters {
    fn default() -> Self {
        Self {
            max_waste: MAX_WASTE,
            unlisted: Unlisted::Allow,
            namespace_labels: guarded_labels(std::iter::empty()).into(),
            tenant_label: TenantLabel::Manual,
        }
    }
}

/// Kubernetes: `core/v1/defaults.go`, `SetDefaults_Namespace`, which overwrites it: it cannot be changed, and every
/// new namespace has it.
const METADATA_NAME: &str = "kubernetes.io/metadata.name";

/// The label keys that are guarded: that of tenants, then those of `selecting`, by which overrides select, in the
/// order of the alphabet and each once.
pub fn guarded_labels<'a>(selecting: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut others: Vec<&str> =
        selecting.filter(|key| ![TENANT, METADATA_NAME].contains(key)).collect();
    others.sort_unstable();
    others.dedup();
    std::iter::once(TENANT).chain(others).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenants_label_comes_first_and_the_name_is_no_ones_to_change() {
        let selecting = ["team", "stage", TENANT, METADATA_NAME, "team"];
        assert_eq!(guarded_labels(selecting.into_iter()), [TENANT, "stage", "team"]);
    }
}
