//! Nothing that Bindery logs, counts or prints holds a key, a token or a certificate: whatever it wrote in a run is
//! looked through, and one find fails the run.
//!
//! Not here: what its commands print (`tests/cli`).

use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// How they begin: PEM, the same encoded once more, a P-256 key as DER in base64, and a token of an account.
const MARKS: [&str; 4] = ["-----BEGIN", "LS0tLS1CRUdJTi", "MIGHAgEAMBMG", "eyJhbGciOi"];

static FOUND: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Looks through a text; `what` names it in the verdict.
pub(crate) fn look(what: &str, text: &str) {
    look_for(&[], what, text);
}

/// The same, and for these keys (PEM), line by line and encoded.
pub(crate) fn look_for(keys: &[String], what: &str, text: &str) {
    let lines = keys.iter().flat_map(|key| key.lines()).filter(|line| !line.starts_with("-----"));
    let encoded: Vec<String> = keys.iter().map(|key| STANDARD.encode(key)).collect();
    let marks = MARKS.into_iter().chain(lines).chain(encoded.iter().map(String::as_str));
    for mark in marks.filter(|mark| text.contains(mark)) {
        let found = format!("{what} holds {}…", mark.get(..14).unwrap_or(mark));
        FOUND.lock().unwrap_or_else(PoisonError::into_inner).push(found);
    }
}

/// Returns what was found in all of the run.
pub(crate) fn found() -> Vec<String> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
