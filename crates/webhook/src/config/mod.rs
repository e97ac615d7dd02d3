//! The configuration file, parsed strictly; an error names all problems at once.
//!
//! Webhook, controller and command line use the same file, so that `check` judges as the webhook does. Not here: flags
//! (`cli`).
//!
#![doc = "```yaml"]
#![doc = include_str!("example.yaml")]
#![doc = "```"]
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
mod keys;
mod moves;
mod overrides;
mod read;
mod recycler;
mod trash;

#[cfg(test)]
mod tests;

pub use self::configuration::{Configuration, ConfigurationError, ConfigurationProblem};
pub use self::keys::{ConfigurationKey, EXAMPLE, KEYS};
pub use self::recycler::{PodTemplate, Recycler, Timeout};
use crate::document::{self, Position, TreeNode};

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
    let parsed = document(text).and_then(|document| read::configuration(&document));
    parsed.map_err(|problems| ConfigurationError { file: file.to_owned(), problems })
}

/// The defaults, under the profile that a file names which cannot be used otherwise: where it observes only, a mistake
/// elsewhere must not begin to deny. Of a file that is no YAML, the first line that sets the profile counts.
pub fn defaults_under_profile(bytes: &[u8]) -> Configuration {
    let text = String::from_utf8_lossy(bytes);
    let line = || document(text.lines().find(|line| line.starts_with("profile:"))?).ok();
    let document = document(&text).ok().or_else(line);
    document.map(|document| read::profile_alone(&document)).unwrap_or_default()
}

/// The only document of a file.
fn document(text: &str) -> Result<TreeNode, Vec<ConfigurationProblem>> {
    let mut documents = document::read(text)
        .map_err(|error| vec![ConfigurationProblem { at: error.at, text: error.reason }])?;
    if documents.len() != 1 {
        let at = documents.get(1).map_or(Position { line: 1, column: 1 }, |second| second.at);
        let text = format!("{} documents instead of one; keep one", documents.len());
        return Err(vec![ConfigurationProblem { at, text }]);
    }
    Ok(documents.remove(0))
}
