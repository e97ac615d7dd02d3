//! `bindery demo` as a whole: what it prints, how it ends, and that nothing of it stays behind.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bindery::cli::demo::{Afterwards, DemoOptions, DemoOutcome, run};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

/// One demo at a time: a signal reaches every demo of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// Replaces what differs from run to run: the port and the end of the exemption.
fn steady(text: &str) -> String {
    let is_time = |word: &str| word.len() == 20 && word.ends_with('Z') && word.contains('T');
    let word = |word: &str| {
        let bare = word.trim_start_matches(|c: char| c.is_alphabetic() || "./=-'".contains(c));
        if is_time(bare.trim_end_matches(':')) {
            return word.replace(bare.trim_end_matches(':'), "2030-01-31T18:00:00Z");
        }
        match word.strip_prefix("127.0.0.1:") {
            Some(_) => "127.0.0.1:PORT,".to_owned(),
            None => word.to_owned(),
        }
    };
    text.split_inclusive('\n')
        .flat_map(|line| line.split_inclusive(' '))
        .map(|piece| {
            let bare = piece.trim_end();
            format!("{}{}", word(bare), &piece[bare.len()..])
        })
        .collect()
}

#[test]
fn every_scene_ends_as_documented_and_nothing_stays() {
    let _alone = alone();
    let temporary = temporary("whole");
    let options = DemoOptions { temporary: temporary.clone(), ..DemoOptions::default() };
    let mut out = Vec::new();
    let started = Instant::now();
    let outcome = run(&options, &mut out).unwrap();
    let took = started.elapsed();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(outcome, DemoOutcome::AsDocumented, "{text}");
    assert!(left_in(&temporary).is_empty());
    assert!(took < Duration::from_secs(3), "took {took:?}");
    // To write it anew: run this test with DEMO_TXT set to the path of the file.
    if let Some(path) = std::env::var_os("DEMO_TXT") {
        fs::write(path, steady(&text)).unwrap();
    }
    assert_eq!(steady(&text), include_str!("demo.txt"));
}

/// What a demo wrote so far, for another thread to read.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The text once it has `part`.
    fn once_it_says(&self, part: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            let text = self.text();
            if text.contains(part) {
                return text;
            }
            std::hint::spin_loop();
            thread::yield_now();
        }
        panic!("it never says {part:?}: {}", self.text());
    }
}

fn interrupt() {
    let pid = std::process::id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

/// What a curl of `--serve` gets, by the words of the command that the demo prints.
fn post(command: &str) -> Value {
    let after = |flag: &str| {
        let words: Vec<&str> = command.split_whitespace().collect();
        let at = words.iter().position(|word| *word == flag).unwrap();
        words[at + 1].to_owned()
    };
    let authority = fs::read(after("--cacert")).unwrap();
    let review = fs::read(after("--data-binary").trim_start_matches('@')).unwrap();
    let url = command.split_whitespace().last().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // The client puts the path of a request after that of its server.
        let (server, path) = url.split_at(url.rfind("/validate").unwrap());
        let mut config = Config::new(server.parse().unwrap());
        let authority = CertificateDer::from_pem_slice(&authority).unwrap();
        config.root_cert = Some(vec![authority.to_vec()]);
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
    let _alone = alone();
    let temporary = temporary("serve");
    let options = DemoOptions {
        afterwards: Afterwards::Serve,
        temporary: temporary.clone(),
        ..DemoOptions::default()
    };
    let out = Shared::default();
    let demo = {
        let mut out = out.clone();
        thread::spawn(move || run(&options, &mut out).unwrap())
    };
    // The last line of what it tells.
    let text = out.once_it_says("review.json\n");
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
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }

    interrupt();
    assert_eq!(demo.join().unwrap(), DemoOutcome::AsDocumented);
    assert!(left_in(&temporary).is_empty());
    assert!(out.text().ends_with("Stopped; the certificate and the review are removed.\n"));
}

/// Interrupts the process when the first scene is shown.
#[derive(Default)]
struct Impatient(Vec<u8>);

impl Write for Impatient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            interrupt();
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn ctrl_c_in_the_middle_leaves_nothing_either() {
    let _alone = alone();
    let temporary = temporary("interrupted");
    let options = DemoOptions { temporary: temporary.clone(), ..DemoOptions::default() };
    let mut out = Impatient::default();
    assert_eq!(run(&options, &mut out).unwrap(), DemoOutcome::Interrupted);
    assert!(left_in(&temporary).is_empty());
    let text = String::from_utf8(out.0).unwrap();
    assert!(!text.contains("all as documented"), "{text}");
}

/// Takes nothing.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_an_error_that_leaves_nothing() {
    let _alone = alone();
    let temporary = temporary("closed");
    let options = DemoOptions { temporary: temporary.clone(), ..DemoOptions::default() };
    let error = run(&options, &mut Closed).unwrap_err();
    assert!(error.to_string().starts_with("the output cannot be written"), "{error}");
    assert!(left_in(&temporary).is_empty());
}
