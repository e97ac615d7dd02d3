//! Every key of the configuration file: what the parser accepts, and what the reference page shows.

/// A configuration that shows most keys.
pub const EXAMPLE: &str = include_str!("example.yaml");

/// A key of the configuration file.
#[derive(Debug)]
pub struct ConfigurationKey {
    /// Where it is, such as `rules.parameters.maxWaste`; `[]` stands for each entry of a list.
    pub path: &'static str,
    /// What it sets, in Markdown with links from the page.
    pub sets: &'static str,
    /// What holds without it, likewise; nothing where it is required.
    pub default: Option<&'static str>,
}

const fn optional(
    path: &'static str,
    sets: &'static str,
    default: &'static str,
) -> ConfigurationKey {
    ConfigurationKey { path, sets, default: Some(default) }
}

const fn required(path: &'static str, sets: &'static str) -> ConfigurationKey {
    ConfigurationKey { path, sets, default: None }
}

/// Every key, in the order of the page.
pub const KEYS: &[ConfigurationKey] = &[
    required("apiVersion", "`bindery.dev/v1`"),
    required("kind", "`Config`"),
    optional(
        "profile",
        "the mode that each rule starts with: `audit` counts and logs, and no request is changed; \
         `warn` warns where `baseline` denies; `baseline` is the mode on [the rule's page](rules/README.md); `strict` denies what `baseline` warns about",
        "`baseline`",
    ),
    optional(
        "rules.modes",
        "the mode of single rules: `deny`, `warn`, `audit`, `off`",
        "that of the profile",
    ),
    optional(
        "rules.parameters.maxWaste",
        "how many times larger than its PVC a PV may be before `oversized-volume` reports it",
        "`10`",
    ),
    optional(
        "rules.parameters.unlisted",
        "`allow` or `deny` PVCs that name a PV without a tenant's mark",
        "`allow`",
    ),
    optional(
        "mutations",
        "mutations to switch on or off; in the profile `audit` all are off",
        "those on [the rules' page](rules/README.md)",
    ),
    optional(
        "tenancy.label",
        "`manual`, or `auto`: [what auto does](../explanation/security.md#what-tenancylabel-auto-does); in the profile \
         `audit` it is `manual`",
        "`manual`",
    ),
    required(
        "overrides[].namespaceSelector",
        "a label selector of the Namespaces in which other modes hold",
    ),
    required("overrides[].rules", "the modes there; of several that match, the last counts"),
    optional("trusted.binders", "user names whose bindings are theirs to write", "Kubernetes' own"),
    optional(
        "trusted.populators",
        "user names that may move a binding from one PVC to another",
        "none",
    ),
    optional(
        "trusted.provisioners",
        "user names that may create a PV whose PVC was deleted meanwhile",
        "accounts that hold the Lease of a driver's provisioner",
    ),
    optional(
        "ownController",
        "the user name of Bindery's own controller",
        "of webhooks `system:serviceaccount:bindery:bindery-controller`, of policies none",
    ),
    optional(
        "exemptions.maxDuration",
        "how far ahead an [annotation](../how-to/override.md) may exempt",
        "`168h`",
    ),
    required("exemptions.list[].rules", "the rules from which changes are exempt"),
    optional(
        "exemptions.list[].namespaces",
        "the Namespaces that they concern: of a PV, that of the PVC for which it is reserved",
        "all",
    ),
    optional("exemptions.list[].users", "the users who make them", "all"),
    required("exemptions.list[].until", "when the exemption ends (RFC 3339)"),
    required("exemptions.list[].reason", "why; the audit log of the API server repeats it"),
    optional(
        "recycler.namespace",
        "the Namespace of the pods that [recycle](../how-to/recycle.md)",
        "that of the controller's Lease",
    ),
    optional("recycler.image", "the image of the built-in pod", "Kubernetes' own"),
    optional("recycler.podTemplate", "a pod of your own instead", "the built-in pod"),
    optional(
        "recycler.timeouts.nfs.minimum",
        "how long a pod may take to empty a PV on NFS, at least",
        "`5m`",
    ),
    optional("recycler.timeouts.nfs.perGi", "and for each GiB of its capacity", "`30s`"),
    optional("recycler.timeouts.hostPath.minimum", "the same of a hostPath PV", "`1m`"),
    optional("recycler.timeouts.hostPath.perGi", "and for each GiB of its capacity", "`30s`"),
    optional(
        "trash.keep",
        "how long a PV whose policy is Delete stays after its PVC was deleted, `0s` for not at all: \
         [the trash](../how-to/trash.md)",
        "`0s`",
    ),
    optional(
        "trash.soft",
        "whether a new PVC of the same namespace and name gets its PV back; else only a rescue does",
        "`false`",
    ),
    optional("trash.overrides[].storageClasses", "the StorageClasses that it concerns", "all"),
    optional("trash.overrides[].namespaces", "the Namespaces of the PVCs that it concerns", "all"),
    optional(
        "trash.overrides[].keep",
        "the time there; of several that match, the last counts",
        "as before",
    ),
    optional("trash.overrides[].soft", "the same of `soft`", "as before"),
    optional(
        "moves.resumeAfter",
        "after which time the controller ends a move whose command was cut off, such as `5m`: \
         [resumption](../how-to/move-and-rescue.md#if-a-command-stops)",
        "never",
    ),
];

/// The names of the keys of the map at `path`, in order; the whole document is at the empty path.
pub(super) fn keys_at(path: &str) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = KEYS.iter().filter_map(|key| key.name_at(path)).collect();
    names.dedup();
    names
}

/// The names of those without which a map at `path` is incomplete.
pub(super) fn required_at(path: &str) -> impl Iterator<Item = &'static str> {
    let required = KEYS.iter().filter(|key| key.default.is_none());
    required.filter_map(move |key| key.name_at(path).filter(|name| key.path.ends_with(name)))
}

impl ConfigurationKey {
    /// The name in the map at `path` under which this key is found.
    fn name_at(&self, path: &str) -> Option<&'static str> {
        let rest = self.path.strip_prefix(path)?;
        let rest = if path.is_empty() { rest } else { rest.strip_prefix('.')? };
        rest.split(['.', '[']).next()
    }
}
