//! `bindery certs`: writes a development certificate into a folder.

use std::fs;
use std::path::PathBuf;

use super::args::CertsArgs;
use super::exit::{Exit, Failure};
use super::files::{self, Readers};
use crate::certificates::{SubjectNames, development};
use crate::telemetry::logging;

/// Runs the command.
pub fn run(arguments: &CertsArgs) -> Result<Exit, Failure> {
    let folder = &arguments.out;
    let path = |name: &str| folder.join(name);
    let paths: [PathBuf; 3] = [path("ca.crt"), path("tls.crt"), path("tls.key")];
    if let Some(there) = paths.iter().find(|path| path.exists()).filter(|_| !arguments.force) {
        return Err(Failure::usage(format!(
            "{}: exists already and a running webhook may use it; give --force to overwrite it",
            there.display()
        )));
    }
    let mut names = SubjectNames::default();
    if !arguments.dns.is_empty() {
        names.dns.clone_from(&arguments.dns);
    }
    if !arguments.ip.is_empty() {
        names.ip.clone_from(&arguments.ip);
    }
    let pair = development(&names).map_err(|error| {
        Failure::usage(format!("{error}; --dns takes host names without port or scheme"))
    })?;
    fs::create_dir_all(folder).map_err(|error| {
        let reason = logging::cause(&error);
        Failure::usage(format!("{}: cannot be made: {reason}; check --out", folder.display()))
    })?;
    let [ca, certificate, key] = &paths;
    // The key goes first: a reader that sees the new certificate must find its key.
    files::write(key, &pair.key_pem, Readers::Owner)?;
    files::write(certificate, &pair.cert_pem, Readers::Everybody)?;
    files::write(ca, &pair.ca_pem, Readers::Everybody)?;
    for path in &paths {
        super::output::eprint_line(&format!("wrote {}", path.display()));
    }
    Ok(Exit::Clean)
}
