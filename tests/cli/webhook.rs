//! `bindery webhook` as a process, without a cluster: wrong arguments, and how it ends.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::bad_input::kubeconfig;
use crate::{Folder, Output};

/// The arguments of a correct run; a row replaces what it gets wrong.
const RIGHT: [(&str, &str); 6] = [
    ("--listen", "127.0.0.1:0"),
    ("--health-listen", "127.0.0.1:0"),
    ("--tls-cert-file", "tls.crt"),
    ("--tls-private-key-file", "tls.key"),
    ("--kubeconfig", "kubeconfig"),
    ("--log-format", "json"),
];

/// Flag and value that are wrong, and the sentence. All of these end with code 2.
const ROWS: &[(&str, &str, &str)] = &[
    (
        "--wrong",
        "x",
        "unexpected argument '--wrong' found; a similar argument exists: '--config'; see --help",
    ),
    ("--threads", "0", "invalid value '0' for '--threads <COUNT>': 0 is not in 1..=64; see --help"),
    (
        "--drain-delay",
        "0s",
        "invalid value '0s' for '--drain-delay <TIME>': expected a time like 10s, 5m or 24h; see --help",
    ),
    (
        "--log-format",
        "xml",
        "invalid value 'xml' for '--log-format <FORMAT>' [possible values: text, json]; see --help",
    ),
    (
        "--log-level",
        "nonsense",
        "invalid value 'nonsense' for '--log-level <LEVEL>': a level is one of off, error, warn, info, debug, trace; see --help",
    ),
    ("--config", "none", "none: cannot be read: no such file or directory; check the path"),
    (
        "--config",
        "config.yaml",
        "config.yaml:3:1: unknown key \"rule\"; known are apiVersion, kind, profile, rules, mutations, tenancy, overrides, trusted, ownController, exemptions, recycler, trash, moves",
    ),
    (
        "--tls-cert-file",
        "none",
        "none does not exist; TLS cannot be served from it; check the path and the mount",
    ),
    (
        "--tls-cert-file",
        ".",
        ". cannot be read: is a directory; TLS cannot be served from it; give a file that this user may read",
    ),
    (
        "--tls-cert-file",
        "empty",
        "empty is empty; TLS cannot be served from it; wait until it is written, or write it",
    ),
    (
        "--tls-cert-file",
        "text",
        "text holds no certificate; TLS cannot be served from it; put a PEM block CERTIFICATE there",
    ),
    (
        "--tls-private-key-file",
        "none",
        "none does not exist; TLS cannot be served from it; check the path and the mount",
    ),
    (
        "--tls-private-key-file",
        "empty",
        "empty is empty; TLS cannot be served from it; wait until it is written, or write it",
    ),
    (
        "--tls-private-key-file",
        "tls.crt",
        "tls.crt holds no usable private key; TLS cannot be served from it; put an unencrypted PEM key there",
    ),
    (
        "--tls-private-key-file",
        "other/tls.key",
        "the key in other/tls.key does not belong to the first certificate in tls.crt; TLS cannot be served from them; write the matching pair, leaf first",
    ),
    (
        "--kubeconfig",
        "none",
        "kubeconfig none cannot be used: no such file or directory; give a usable one with --kubeconfig",
    ),
    (
        "--kubeconfig",
        "clusters",
        "kubeconfig clusters cannot be used: expected sequence start at line 1, column 11; give a usable one with --kubeconfig",
    ),
    (
        "--kubeconfig",
        "empty",
        "kubeconfig empty cannot be used: has no current context; give a usable one with --kubeconfig",
    ),
    (
        "--kubeconfig",
        "context",
        "kubeconfig context cannot be used: has no context \"b\"; give a usable one with --kubeconfig",
    ),
    (
        "--kubeconfig",
        "certificate",
        "the credentials for the cluster cannot be used: client certificate none: no such file or directory; check the kubeconfig",
    ),
    (
        "--listen",
        "192.0.2.1:8443",
        "cannot listen on 192.0.2.1:8443: cannot assign requested address; free it or choose another with --listen",
    ),
];

fn folder() -> Folder {
    let folder = Folder::new();
    for out in [".", "other"] {
        assert_eq!(folder.run(&["certs", "--out", out]).code, 0);
    }
    // Nothing listens on port 1: every connection is denied at once.
    let good = kubeconfig(1);
    folder.write("context", good.replace("current-context: a", "current-context: b"));
    let user = "user: {client-certificate: none, client-key: none}";
    folder.write("certificate", good.replace("user: {}", user));
    folder.write("kubeconfig", good);
    folder.write("clusters", "clusters: 5\n");
    folder.write("empty", "");
    folder.write("text", "no certificate\n");
    folder.write("config.yaml", "apiVersion: bindery.dev/v1\nkind: Config\nrule: {}\n");
    folder
}

/// The arguments of a run that is right but for `wrong`.
fn arguments<'a>(wrong: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let kept = RIGHT.iter().filter(|(flag, _)| wrong.iter().all(|(other, _)| flag != other));
    let pairs = kept.chain(wrong).flat_map(|(flag, value)| [*flag, *value]);
    std::iter::once("webhook").chain(pairs).collect()
}

fn reported(code: i32, sentence: &str) -> Output {
    Output { code, stdout: String::new(), stderr: format!("error: {sentence}\n") }
}

#[test]
fn every_row_is_reported_in_one_sentence() {
    let folder = folder();
    let mut wrong = String::new();
    for (flag, value, sentence) in ROWS {
        // One that starts all the same would run for ever.
        let output = Process::start(&folder, &arguments(&[(flag, value)])).output();
        let expected = reported(2, sentence);
        if output != expected {
            let _ = writeln!(wrong, "{flag} {value}\n  {output:?}\n  {expected:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_port_in_use_is_reported_with_its_flag() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    for flag in ["--listen", "--health-listen"] {
        let output = Process::start(&folder, &arguments(&[(flag, &address)])).output();
        let sentence = format!(
            "cannot listen on {address}: address already in use; free it or choose another with {flag}"
        );
        assert_eq!(output, reported(2, &sentence));
    }
}

#[test]
fn no_cluster_at_all_is_code_4() {
    let folder = folder();
    let arguments = arguments(&[]);
    let without: Vec<&str> =
        arguments.iter().copied().filter(|word| !word.ends_with("kubeconfig")).collect();
    let output = Process::start(&folder, &without).output();
    let path = folder.path().join(".kube/config");
    let sentence = format!(
        "no cluster is configured: kubeconfig {}: no such file or directory, and this is no pod; give a kubeconfig with --kubeconfig",
        path.display()
    );
    assert_eq!(output, reported(4, &sentence));
}

#[test]
fn without_an_answer_of_the_cluster_it_serves_and_is_not_ready() {
    let folder = folder();
    let mut process = Process::start(&folder, &arguments(&[("--log-level", "info,bindery=debug")]));
    let (_, health) = process.addresses();
    assert!(get(health, "/livez").starts_with("HTTP/1.1 200 "));
    let ready = get(health, "/readyz");
    assert!(ready.starts_with("HTTP/1.1 503 "), "{ready}");
    let reported = "not listed yet: persistentvolumes, persistentvolumeclaims, storageclasses, \
        namespaces\n";
    assert!(ready.ends_with(reported), "{ready}");
    let line = process.line_with("a watch was interrupted");
    assert!(line.contains("the API server cannot be reached: connection refused"), "{line}");
    // A pod that starts before the API server answers keeps trying.
    process.line_with("a watch is still interrupted");
}

#[test]
fn a_signal_drains_and_ends_with_code_0() {
    let folder = folder();
    for signal in ["-TERM", "-INT"] {
        let mut process = Process::start(&folder, &arguments(&[("--drain-delay", "1s")]));
        let (reviews, health) = process.addresses();
        let reported = Instant::now();
        process.signal(signal);
        process.line_with("draining");
        assert!(get(health, "/readyz").ends_with("shutting down\n"));
        assert!(TcpStream::connect(reviews).is_ok(), "reviews are taken until the delay is over");
        process.line_with("drained");
        assert_eq!(process.end().code(), Some(0));
        assert!(reported.elapsed() >= Duration::from_secs(1));
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let folder = folder();
    let mut process = Process::start(&folder, &arguments(&[("--drain-delay", "10m")]));
    process.addresses();
    process.signal("-INT");
    process.line_with("draining");
    process.signal("-INT");
    process.line_with("not drained");
    assert_eq!(process.end().code(), Some(0));
}

/// The whole answer to a GET on the plain port.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the port is open");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// How long a process may run. Far longer than it does: it ends those that should have failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running `bindery`, killed at the end.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    passed_over: Vec<String>,
    /// Dropping it calls off the end of patience.
    _patience: Sender<()>,
}

impl Process {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bindery"))
            .args(arguments)
            .current_dir(folder.path())
            .env_clear()
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (patience, over) = channel();
        let id = child.id();
        thread::spawn(move || {
            if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                signal(id, "-KILL");
            }
        });
        Self { child, lines, passed_over: Vec::new(), _patience: patience }
    }

    /// A line of the log that holds `text`: threads write as they come, so one that was passed over
    /// for another counts too, once.
    fn line_with(&mut self, text: &str) -> String {
        if let Some(place) = self.passed_over.iter().position(|line| line.contains(text)) {
            return self.passed_over.remove(place);
        }
        for line in self.lines.by_ref() {
            let line = line.expect("text");
            if line.contains(text) {
                return line;
            }
            self.passed_over.push(line);
        }
        panic!("no line with {text:?} after:\n{}", self.passed_over.join("\n"));
    }

    /// Returns where it takes reviews and probes.
    fn addresses(&mut self) -> (SocketAddr, SocketAddr) {
        let line = self.line_with("\"serving\"");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        let address = |key: &str| {
            let text = line[key].as_str().expect("text");
            text.parse().expect("an address")
        };
        (address("address"), address("health"))
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    fn end(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }

    /// Returns what a run that ends by itself came to. One that had to be killed has code -1.
    fn output(mut self) -> Output {
        let mut stdout = String::new();
        let pipe = self.child.stdout.as_mut().expect("a pipe");
        pipe.read_to_string(&mut stdout).expect("text");
        let stderr = self.lines.by_ref().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{}", line.expect("text"));
            text
        });
        Output { code: self.end().code().unwrap_or(-1), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([name, &process.to_string()]).status();
    assert!(status.expect("kill runs").success());
}
