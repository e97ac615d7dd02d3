//! What is wrong with a kubeconfig, on one line of bounded length, and what the client library would fail on
//! instead of saying so.
//!
//! A kubeconfig is input of a user, and names commands and files. Not here: how a client is made
//! of one (`connect`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kube::client::AuthError;
use kube::config::{Config, KubeconfigError, LoadDataError};

use crate::telemetry::logging::cause;

/// A longer reason repeats the content of the file, or the output of a command.
const REASON_CHARS_MAX: usize = 300;

/// `text` on one line of bounded length.
pub(super) fn brief(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut line: String = text.chars().take(REASON_CHARS_MAX).map(plain).collect();
    if text.chars().nth(REASON_CHARS_MAX).is_some() {
        line.push('…');
    }
    line
}

/// The files that are read where none is named, as kubectl finds them.
pub(super) fn usual_files() -> Vec<PathBuf> {
    let listed = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".kube/config"));
    let listed = listed.map(|list: OsString| std::env::split_paths(&list).collect());
    listed.unwrap_or_else(|| home().into_iter().collect())
}

/// Returns why the bytes of a file are no text, where the library fails: UTF-16 with half a letter at its end.
pub(super) fn unusable_bytes(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let is_wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    (is_wide && bytes.len() % 2 == 1).then(|| "is cut off in the middle of a letter".to_owned())
}

/// Returns why a configuration cannot be used although it was read: the library fails with the first request.
pub(super) fn unusable_values(config: &Config) -> Option<String> {
    let url = &config.cluster_url;
    if !matches!(url.scheme_str(), Some("http" | "https")) || url.authority().is_none() {
        return Some(brief(&format!(
            "the server \"{url}\" is no address; write https://HOST:PORT"
        )));
    }
    // The content of a secret is never shown.
    let token = serde_json::to_value(&config.auth_info).ok()?;
    let token = token.get("token").and_then(serde_json::Value::as_str).unwrap_or_default();
    let is_sendable = http::HeaderValue::from_str(&format!("Bearer {token}")).is_ok();
    (!is_sendable).then(|| "the token holds a letter that cannot be sent; replace it".to_owned())
}

/// Returns what is wrong with a kubeconfig; with line and column where it cannot be parsed.
pub(super) fn reason(error: &KubeconfigError) -> String {
    let unread = |what: &str, error: &LoadDataError| {
        if let LoadDataError::ReadFile(error, path) = error {
            format!("{what} {}: {}", path.display(), cause(error))
        } else {
            format!("{what}: {}", cause(error))
        }
    };
    brief(&match error {
        KubeconfigError::ReadConfig(error, path) => format!("{}: {}", path.display(), cause(error)),
        KubeconfigError::Parse(error) => cause(error),
        KubeconfigError::CurrentContextNotSet => "has no current context".to_owned(),
        KubeconfigError::LoadContext(name) => format!("has no context \"{name}\""),
        KubeconfigError::LoadClusterOfContext(name) => format!("has no cluster \"{name}\""),
        KubeconfigError::LoadCertificateAuthority(error) => unread("certificate authority", error),
        KubeconfigError::LoadClientCertificate(error) => unread("client certificate", error),
        KubeconfigError::LoadClientKey(error) => unread("client key", error),
        KubeconfigError::KindMismatch
        | KubeconfigError::ApiVersionMismatch
        | KubeconfigError::FindPath
        | KubeconfigError::MissingClusterUrl
        | KubeconfigError::ParseClusterUrl(_)
        | KubeconfigError::ParseProxyUrl(_)
        | KubeconfigError::ParseCertificates(_) => {
            error.to_string().lines().next().unwrap_or_default().to_owned()
        }
    })
}

/// Returns why no client could be made of a configuration.
pub(super) fn unusable(error: &kube::Error) -> String {
    let source = std::error::Error::source(error);
    if let Some(error) = source.and_then(|source| source.downcast_ref::<KubeconfigError>()) {
        return reason(error);
    }
    match source.and_then(|source| source.downcast_ref::<AuthError>()) {
        Some(error) => brief(&plugin(error)),
        None => brief(&cause(error)),
    }
}

/// Returns what a credential plugin did instead of answering. What it wrote to its output may be credentials; what it
/// wrote beside that is for people.
fn plugin(error: &AuthError) -> String {
    if let AuthError::AuthExecRun { out, .. } = error {
        let output = String::from_utf8_lossy(&out.stderr);
        let output = output.lines().map(str::trim).find(|line| !line.is_empty());
        let output = output.map_or_else(String::new, |line| format!(": {line}"));
        return format!("the credential plugin ended with {}{output}", out.status);
    }
    let what = if let AuthError::AuthExecStart(_) = error {
        "the credential plugin cannot be run"
    } else if let AuthError::AuthExecParse(_) = error {
        "what the credential plugin answers cannot be read"
    } else if let AuthError::ReadTokenFile(_, path) = error {
        return format!("token file {}: {}", path.display(), cause(error));
    } else {
        return cause(error);
    };
    format!("{what}: {}", cause(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_that_a_screen_holds() {
        let name = format!("\u{1b}[31mred\n{}", "z".repeat(1_000_000));
        let text = reason(&KubeconfigError::LoadContext(name));
        assert!(
            text.starts_with("has no context \" [31mred zzz") && text.ends_with("zz…"),
            "{text}"
        );
        assert_eq!(text.chars().count(), REASON_CHARS_MAX + 1);
    }
}
