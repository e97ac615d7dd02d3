//! The configuration file, parsed strictly; an error names all problems at once.
//!
//! Webhook, controller and command line use the same file, so that `check` judges as the webhook does. Not here: flags
//! (`cli`).
//!
//! ```yaml
//! apiVersion: bindery.dev/v1
//! kind: Config
//! profile: baseline            # audit, baseline or strict
//! rules: {modes: {prebind-taken: warn}, parameters: {maxWaste: 10, unlisted: allow}}
//! overrides:                   # other modes in some namespaces; of several that match, the last counts
//! - {namespaceSelector: {matchLabels: {team: qa}}, rules: {prebind-capacity: off}}
//! mutations: {delayed-binding: false}
//! tenancy: {label: auto}       # volumes get the tenant of their first claim's namespace; default: manual
//! trusted: {binders: ["system:serviceaccount:x:binder"], populators: [], provisioners: []}
//! ownController: system:serviceaccount:bindery:bindery-controller
//! exemptions:
//!   maxDuration: 168h          # how far ahead an annotation may exempt
//!   list:                      # without an annotation; namespaces and users: all unless named
//!   - {rules: [bound-volume-delete], users: [jane], until: 2030-01-31T18:00:00Z, reason: moving to new disks}
//! recycler:                    # how the controller empties volumes with the policy Recycle
//!   namespace: bindery         # of its pods; default: that of the controller's lease
//!   image: registry.k8s.io/build-image/debian-base:bookworm-v1.0.6    # of the built-in pod
//!   timeouts: {nfs: {minimum: 5m, perGi: 30s}, hostPath: {minimum: 1m, perGi: 30s}}
//! ```
//!
//! Instead of `recycler.image`, `recycler.podTemplate` gives a pod or a pod template object of the
//! operator's own. The first of its `spec.volumes` is replaced by the volume to be recycled, whatever it
//! says; a container mounts it, empties it, and fails unless it is empty. Resources, nodes, tolerations and
//! accounts stay as they are; name, namespace, deadline and restarts are the controller's.
//!
//! ```yaml
//! recycler:
//!   podTemplate:
//!     spec:
//!       containers:
//!       - name: scrub
//!         image: registry.example.com/scrub:1.4.0
//!         args: [/data]
//!         volumeMounts: [{name: data, mountPath: /data}]
//!       volumes: [{name: data}]
//!       nodeSelector: {storage.example.com/zone: a}
//! ```

mod configuration;
mod exemptions;
mod overrides;
mod read;
mod recycler;

#[cfg(test)]
mod tests;

pub use self::configuration::{Configuration, ConfigurationError, ConfigurationProblem};
pub use self::recycler::{PodTemplate, Recycler, Timeout};
use crate::document::{self, Position};

/// Parses a configuration from the bytes of a file.
pub fn read_bytes(bytes: &[u8], file: &str) -> Result<Configuration, ConfigurationError> {
    let text = document::text(bytes.to_vec()).map_err(|error| ConfigurationError {
        file: file.to_owned(),
        problems: vec![ConfigurationProblem { at: error.at, text: error.reason }],
    })?;
    read(&text, file)
}

/// Parses a configuration. `file` is its name in messages.
pub fn read(text: &str, file: &str) -> Result<Configuration, ConfigurationError> {
    let failed = |problems| ConfigurationError { file: file.to_owned(), problems };
    let documents = document::read(text)
        .map_err(|error| failed(vec![ConfigurationProblem { at: error.at, text: error.reason }]))?;
    let [document] = documents.as_slice() else {
        let at = documents.get(1).map_or(Position { line: 1, column: 1 }, |second| second.at);
        let text = format!("{} documents instead of one; keep one", documents.len());
        return Err(failed(vec![ConfigurationProblem { at, text }]));
    };
    read::configuration(document).map_err(failed)
}
