//! The demonstration as a process: what it prints, how it ends, and that nothing of it stays behind.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what fails ends the test; clippy knows test code only inside `#[test]`"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

/// A folder of a test, for the demo's own.
fn temporary(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("demo-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn left_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn demo(temporary: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo"));
    command.env("TMPDIR", temporary);
    command
}

/// Replaces what differs from run to run: the port, the end of the exemption, and how long each claim
/// took.
fn steady(text: &str) -> String {
    let after = |start: &str, end: char| {
        let (_, rest) = text.split_once(start).unwrap();
        rest.split_once(end).unwrap().0
    };
    let port = after("127.0.0.1:", ',');
    let until = after("bound-volume-capacity='", ' ');
    assert!(until.len() == 20 && until.ends_with('Z'), "{until}");
    let text = text.replace(&format!("127.0.0.1:{port},"), "127.0.0.1:PORT,");
    let text = text.replace(until, "2030-01-31T18:00:00Z");
    text.split_inclusive('\n').map(without_time).collect()
}

/// This text with `0.0` for each number before `ms`.
fn without_time(line: &str) -> String {
    let Some((before, after)) = line.split_once(" ms") else { return line.to_owned() };
    let (rest, number) = before.rsplit_once(' ').unwrap();
    let number: f64 = number.parse().unwrap();
    assert!(number < 1_000.0, "{line}");
    format!("{rest} 0.0 ms{after}")
}

#[test]
fn every_scene_ends_as_documented_and_nothing_stays() {
    let temporary = temporary("whole");
    let started = Instant::now();
    let done = demo(&temporary).output().unwrap();
    let took = started.elapsed();
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{text}");
    assert!(left_in(&temporary).is_empty());
    assert!(done.stderr.is_empty());
    // The controller reports a claim that waits once it has waited for a second; the rest is for a machine with twice
    // as much to do as it has cores.
    assert!(took < Duration::from_secs(12), "took {took:?}");
    // To write it again: run this test with DEMO_TXT set to the path of the file.
    if let Some(path) = std::env::var_os("DEMO_TXT") {
        fs::write(path, steady(&text)).unwrap();
    }
    assert_eq!(steady(&text), include_str!("demo.txt"));
}

/// A demo that runs. It is ended with the test, whatever becomes of that.
struct Running {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().map(BufReader::new);
        Self { child, out }
    }

    /// Returns what it says, up to the text that has `part`.
    fn up_to(&mut self, part: &str) -> String {
        let out = self.out.as_mut().unwrap();
        let mut text = String::new();
        while !text.lines().last().is_some_and(|line| line.contains(part)) {
            assert_ne!(out.read_line(&mut text).unwrap(), 0, "it never says {part}: {text}");
        }
        text
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Its exit code, the rest of what it says, and what it complains about.
    fn end(&mut self) -> (Option<i32>, String, String) {
        let (mut out, mut complaint) = (String::new(), String::new());
        if let Some(mut rest) = self.out.take() {
            rest.read_to_string(&mut out).unwrap();
        }
        self.child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        (self.child.wait().unwrap().code(), out, complaint)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns what a curl of `--serve` gets, by the words of the command that the demo prints.
fn post(command: &str) -> Value {
    let after = |flag: &str| {
        let words: Vec<&str> = command.split_whitespace().collect();
        let at = words.iter().position(|word| *word == flag).unwrap();
        words[at + 1].to_owned()
    };
    let ca = fs::read(after("--cacert")).unwrap();
    let review = fs::read(after("--data-binary").trim_start_matches('@')).unwrap();
    let url = command.split_whitespace().last().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // The client puts the path of a request after that of its server.
        let (server, path) = url.split_at(url.rfind("/validate").unwrap());
        let mut config = Config::new(server.parse().unwrap());
        let ca = CertificateDer::from_pem_slice(&ca).unwrap();
        config.root_cert = Some(vec![ca.to_vec()]);
        config.default_retry = false;
        let client = Client::try_from(config).unwrap();
        let request = http::Request::post(path).header("content-type", "application/json");
        let text = client.request_text(request.body(review).unwrap()).await.unwrap();
        serde_json::from_str(&text).unwrap()
    })
}

/// The answer of a plain port.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn serve_answers_until_ctrl_c_and_nothing_stays() {
    let temporary = temporary("serve");
    let mut running = Running::start(demo(&temporary).arg("--serve"));
    let mut text = running.up_to("review     ");
    let command = text.lines().find(|line| line.trim_start().starts_with("curl ")).unwrap();
    let answer = post(command.trim());
    assert_eq!(answer["response"]["allowed"], false);
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("[bound-volume-delete]"), "{message}");

    let health = text.lines().find_map(|line| line.trim().strip_prefix("health     http://"));
    let (address, _) = health.unwrap().split_once('/').unwrap();
    assert!(get(address, "/readyz").starts_with("HTTP/1.1 200 OK\r\n"));

    let [folder] = &left_in(&temporary)[..] else { panic!("not one folder") };
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    for file in left_in(folder) {
        let metadata = fs::metadata(&file).unwrap();
        // No other user gets into a folder, whatever the files in it allow.
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o777, expected, "{file:?}");
    }

    running.signal("-INT");
    let (code, rest, complaint) = running.end();
    text.push_str(&rest);
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{text}");
    assert!(text.ends_with("Stopped; the certificate and the review are removed.\n"), "{text}");
    assert!(left_in(&temporary).is_empty());
}

/// Sends the signal once the demo says `part`. Whether it came before the end; nothing stays in either case.
fn is_interrupted(part: &str, signal: &str) -> bool {
    let temporary = temporary(&format!("interrupted{signal}"));
    let mut running = Running::start(&mut demo(&temporary));
    running.up_to(part);
    running.signal(signal);
    let (code, rest, complaint) = running.end();
    assert!(left_in(&temporary).is_empty());
    if rest.contains("Next, in a clone") {
        assert_eq!((code, complaint.as_str()), (Some(0), ""));
        return false;
    }
    assert_eq!(code, Some(1));
    assert_eq!(complaint, "error: interrupted before the last scene\n");
    true
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_either() {
    // While the webhook is shown, and while the controller is. A claim waits for a second in the end, so
    // that only a very busy machine is too late; not several times in a row.
    for part in ["what kubectl would print", "The controller starts"] {
        for signal in ["-INT", "-TERM"] {
            let is_in_time = (0..5).any(|_| is_interrupted(part, signal));
            assert!(is_in_time, "{signal} after {part:?} ends nothing");
        }
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_without_a_word() {
    let temporary = temporary("closed");
    let mut running = Running::start(&mut demo(&temporary));
    running.up_to("DENIED");
    running.out = None;
    let (code, _, complaint) = running.end();
    assert_eq!((code, complaint.as_str()), (Some(1), ""));
    assert!(left_in(&temporary).is_empty());
}

#[test]
fn a_folder_that_cannot_be_made_is_one_sentence() {
    let done = demo(Path::new("/nowhere/at/all")).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(done.stdout.is_empty());
    let reported = String::from_utf8(done.stderr).unwrap();
    assert!(reported.starts_with("error: /nowhere/at/all/bindery-demo-"), "{reported}");
    assert!(reported.ends_with("set TMPDIR to a folder of yours\n"), "{reported}");
}
