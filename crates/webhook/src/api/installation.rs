//! An installation of Bindery in a cluster: where it is, and what its objects are called.
//!
//! The only place that knows these names besides the chart, which is compared with it.

use std::fmt;
use std::str::FromStr;

/// The name of the objects that `bindery doctor` sends as dry runs.
pub const CANARY: &str = "bindery-doctor-canary";

/// The name of the PersistentVolume that the controller sends as a dry run, and guard always denies.
pub const GUARD_PROBE: &str = "bindery-guard-probe";

/// What guard answers to it, in every profile.
pub const GUARD_PROBE_DENIAL: &str = "[guard-probe] guard answers; this dry run is always denied, and nothing of it is \
    stored; to create a PersistentVolume, choose another name";

/// Namespace and name of an installation, from which all other names follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    namespace: String,
    name: String,
}

/// Why a text names no installation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" names no installation; write NAMESPACE/NAME, as `helm get notes` prints it")]
pub struct InstallationError(String);

impl Installation {
    /// The namespace of everything that has one.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the service and of the registrations.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Secret that replicas serve.
    pub fn serving_secret(&self) -> String {
        format!("{}-tls", self.name)
    }

    /// The Secret with the CA, for the controller alone.
    pub fn ca_secret(&self) -> String {
        format!("{}-ca", self.name)
    }

    /// The lease of the controller.
    pub fn lease(&self) -> String {
        format!("{}-controller", self.name)
    }

    /// The lease of the controller that renews its certificates.
    pub fn certificates_lease(&self) -> String {
        format!("{}-certificates", self.name)
    }

    /// The role, its binding and the account by which the API server knows that replicas answer: guard fails closed while
    /// the binding exists.
    pub fn answering(&self) -> String {
        format!("{}-answering", self.name)
    }

    /// The `ConfigMap` of its configuration.
    pub fn configuration(&self) -> String {
        format!("{}-config", self.name)
    }

    /// The host name by which API servers call the service.
    ///
    /// Kubernetes: `apiserver/pkg/util/webhook/client.go`: the name of the service, its namespace and `svc`.
    pub fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }

    /// The path of one of its Secrets.
    pub fn secret_path(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace)
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for Installation {
    type Err = InstallationError;

    fn from_str(text: &str) -> Result<Self, InstallationError> {
        let error = || InstallationError(text.to_owned());
        let (namespace, name) = text.split_once('/').ok_or_else(error)?;
        if !is_label(namespace) || !is_label(name) {
            return Err(error());
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// Kubernetes: names of namespaces and services are labels of DNS, which have at most 63 characters.
fn is_label(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(is_plain)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_objects_are_named_after_it() {
        let it: Installation = "storage/keeper".parse().unwrap();
        assert_eq!(it.to_string(), "storage/keeper");
        assert_eq!(it.host(), "keeper.storage.svc");
        assert_eq!(it.serving_secret(), "keeper-tls");
        assert_eq!(it.secret_path(&it.ca_secret()), "/api/v1/namespaces/storage/secrets/keeper-ca");
        assert_eq!(it.lease(), "keeper-controller");
        assert_eq!(it.certificates_lease(), "keeper-certificates");
        assert_eq!(it.answering(), "keeper-answering");
    }

    #[test]
    fn other_texts_are_errors() {
        for text in ["", "a", "/", "a/", "/b", "a/b/c", "A/b", "a/-b", "a/b-", "a b/c", "../x"] {
            let error = text.parse::<Installation>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("\"{text}\" names no installation; ")), "{error}");
        }
    }
}
