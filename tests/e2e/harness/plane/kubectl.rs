//! kubectl as a person runs it, with a kubeconfig per persona.
//!
//! It exists because what users see is kubectl's rendering: its exit code, its errors, its warnings.
//! Not here: raw requests (`api`).

use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::process::{denial, dying_with_us};
use crate::eventually::poll;

/// How long one kubectl may take; its own longest wait, for a deleted object, has no end.
const DEADLINE: Duration = Duration::from_mins(1);

/// What one kubectl run left.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The exit code; -1 if a signal ended it.
    pub(crate) code: i32,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error: warnings and errors are here.
    pub(crate) stderr: String,
}

impl Output {
    /// The standard output of a run that succeeded. Panics otherwise, with kubectl's words.
    #[track_caller]
    pub(crate) fn expect_ok(self) -> String {
        assert_eq!(self.code, 0, "kubectl failed: {}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The standard error of a run that failed. Panics on success.
    #[track_caller]
    pub(crate) fn expect_failed(self) -> String {
        assert_ne!(self.code, 0, "kubectl should have failed: {}{}", self.stdout, self.stderr);
        self.stderr
    }
}

/// The kubeconfig of a persona, as JSON (which is YAML).
pub(crate) fn kubeconfig(port: u16, authority_file: &Path, token: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "plane",
        "clusters": [{"name": "plane", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": authority_file}}],
        "users": [{"name": "persona", "user": {"token": token}}],
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "persona"}}],
    })
    .to_string()
}

/// Runs kubectl to its end. `home` holds its discovery cache. The error is about starting it.
pub(crate) fn run(
    binary: &Path,
    home: &Path,
    kubeconfig: &Path,
    arguments: &[&str],
    stdin: &str,
) -> Result<Output, String> {
    let mut child = dying_with_us(binary)
        .args(arguments)
        .env("HOME", home)
        .env("KUBECONFIG", kubeconfig)
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| denial("kubectl", &error))?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // Each pipe has its own thread: a full one would stop kubectl.
        scope.spawn(move || input.map(|mut pipe| pipe.write_all(stdin.as_bytes())));
        let stdout = scope.spawn(move || read_all(output));
        let stderr = scope.spawn(move || read_all(errors));
        let code = wait(&mut child, arguments)?;
        let text = |reader: thread::ScopedJoinHandle<'_, String>| reader.join().unwrap_or_default();
        Ok(Output { code, stdout: text(stdout), stderr: text(stderr) })
    })
}

fn read_all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A broken pipe ends the text; the exit code shows the rest.
        drop(pipe.read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn wait(child: &mut Child, arguments: &[&str]) -> Result<i32, String> {
    let ended = || match child.try_wait() {
        Ok(Some(status)) => Ok(status),
        Ok(None) => Err("still running".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    match poll(DEADLINE, ended) {
        Ok(status) => Ok(status.code().unwrap_or(-1)),
        Err(last) => {
            drop(child.kill());
            drop(child.wait());
            Err(format!("kubectl {} did not end within {DEADLINE:?}: {last}", arguments.join(" ")))
        }
    }
}
