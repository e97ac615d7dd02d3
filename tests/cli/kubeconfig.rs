//! Kubeconfigs that are cut off, of the wrong types, huge, deep or no text, that name what is not there, or whose
//! credential plugin fails: one line, never a panic, and nothing of what a plugin wrote to its output.
//!
//! Not here: a cluster that is not there or silent (`bad_input`), and a plugin that hangs, which is tried in
//! virtual time (`crates/webhook/src/client/connect.rs`).

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::bad_input::kubeconfig;
use crate::{Folder, Output, volume};

/// A port on which nothing listens: a run that gets so far has read all of the file.
const UNUSED_PORT: u16 = 1;

const UNREACHABLE: &str =
    "the cluster cannot be reached: connection refused; check --kubeconfig and --context";

fn run(folder: &Folder) -> Output {
    folder.run(&[
        "check",
        "-f",
        "pv.yaml",
        "--live",
        "cluster",
        "--kubeconfig",
        "kubeconfig",
        "--request-timeout",
        "1s",
    ])
}

/// What is reported of each file, which is the usual one with one part replaced.
fn reported_on(rows: &[(&str, &str, &str)]) {
    let folder = Folder::new();
    folder.write("pv.yaml", volume("10Gi"));
    let usual = kubeconfig(UNUSED_PORT);
    let mut wrong = String::new();
    for (from, to, expected) in rows {
        assert!(usual.contains(from), "{from}");
        folder.write("kubeconfig", usual.replacen(from, to, 1));
        let output = run(&folder);
        let reported = output.stderr.strip_prefix("error: ").unwrap_or(&output.stderr).trim_end();
        if reported != *expected || !output.stdout.is_empty() || !matches!(output.code, 2 | 4) {
            let _ = writeln!(wrong, "{from} -> {to}\n  {output:?}\n  {expected}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The message about a file that cannot be used.
macro_rules! unusable {
    ($reason:literal) => {
        concat!(
            "kubeconfig kubeconfig cannot be used: ",
            $reason,
            "; give a usable one with --kubeconfig"
        )
    };
}

macro_rules! credentials {
    ($reason:literal) => {
        concat!(
            "the credentials for the cluster cannot be used: ",
            $reason,
            "; check the kubeconfig"
        )
    };
}

#[test]
fn the_usual_file_is_read_to_its_end() {
    reported_on(&[("kind: Config", "kind: Config", UNREACHABLE)]);
}

#[test]
fn fields_of_the_wrong_type_are_reported_with_their_place() {
    reported_on(&[
        ("clusters: [", "clusters: 5 #", unusable!("expected sequence start at line 5, column 11")),
        (
            "clusters: [",
            "clusters: {} #",
            unusable!("expected sequence start at line 5, column 11"),
        ),
        ("users: [", "users: x #", unusable!("expected sequence start at line 6, column 8")),
        (
            "contexts: [",
            "contexts: {} #",
            unusable!("expected sequence start at line 4, column 11"),
        ),
        (
            "current-context: a",
            "current-context: [a]",
            unusable!("expected string scalar at line 3, column 18"),
        ),
        ("user: {}", "user: []", unusable!("expected mapping start at line 6, column 25")),
        (
            "kind: Config",
            "kind: Config\nkind: Config",
            unusable!(
                "duplicate mapping key: kind, set DuplicateKeyPolicy in Options if acceptable at line 3, column 1"
            ),
        ),
    ]);
}

#[test]
fn what_is_named_and_missing_is_reported_by_its_name() {
    reported_on(&[
        ("current-context: a", "x: a", unusable!("has no current context")),
        ("current-context: a", "current-context: b", unusable!("has no context \"b\"")),
        ("current-context: a", "current-context: 5", unusable!("has no context \"5\"")),
        (
            "current-context: a",
            "current-context: \"\\e[31m\\nb\"",
            unusable!("has no context \" [31m b\""),
        ),
        ("context: {cluster: a", "context: {cluster: b", unusable!("has no cluster \"b\"")),
        (
            "user: {}",
            "user: {tokenFile: none}",
            credentials!("token file none: no such file or directory"),
        ),
        (
            "user: {}",
            "user: {client-certificate: none, client-key: none}",
            credentials!("client certificate none: no such file or directory"),
        ),
    ]);
}

#[test]
fn an_invalid_address_is_reported_before_anything_is_sent() {
    let server = "server: 'http://127.0.0.1:1'";
    reported_on(&[
        (server, "server: 5", unusable!("the server \"5\" is no address; write https://HOST:PORT")),
        (
            server,
            "server: localhost:1234",
            unusable!("the server \"localhost:1234\" is no address; write https://HOST:PORT"),
        ),
        (
            server,
            "server: /api",
            unusable!("the server \"/api\" is no address; write https://HOST:PORT"),
        ),
        (
            server,
            "server: ftp://a",
            unusable!("the server \"ftp://a/\" is no address; write https://HOST:PORT"),
        ),
        (
            server,
            "server: not a url",
            unusable!("failed to parse cluster url: invalid uri character"),
        ),
        (server, "server: 'https://'", unusable!("failed to parse cluster url: empty string")),
        (server, "tls-server-name: a", unusable!("cluster url is missing on selected cluster")),
        (
            server,
            "server: 'http://127.0.0.1:1', proxy-url: ':::'",
            unusable!("failed to parse proxy url: invalid authority"),
        ),
        (
            server,
            "server: 'http://127.0.0.1:1', proxy-url: 'ftp://a'",
            credentials!("configured proxy ftp://a/ uses an unsupported protocol"),
        ),
        (
            server,
            "server: 'http://127.0.0.1:1', certificate-authority: none",
            unusable!("certificate authority none: no such file or directory"),
        ),
        (
            server,
            "server: 'http://127.0.0.1:1', certificate-authority-data: '%%%'",
            unusable!("certificate authority: invalid symbol 37, offset 0"),
        ),
        (
            server,
            "server: 'http://127.0.0.1:1', certificate-authority-data: 5",
            unusable!("certificate authority: invalid input length: 1"),
        ),
    ]);
}

#[test]
fn invalid_credentials_are_reported_without_their_content() {
    reported_on(&[
        (
            "user: {}",
            "user: {token: \"secret\\nb\"}",
            unusable!("the token holds a letter that cannot be sent; replace it"),
        ),
        ("user: {}", "user: {as: \"a\\nb\"}", credentials!("failed to parse header value")),
        (
            "user: {}",
            "user: {client-certificate-data: '%%%', client-key-data: aGVsbG8=}",
            credentials!("client certificate: invalid symbol 37, offset 0"),
        ),
        (
            "user: {}",
            "user: {client-certificate-data: aGVsbG8=}",
            credentials!("client key: no base64 data or file"),
        ),
        (
            "user: {}",
            "user: {client-certificate-data: aGVsbG8=, client-key-data: aGVsbG8=}",
            credentials!(
                "identity PEM is missing a private key: the key must be PKCS8 or RSA/PKCS1"
            ),
        ),
    ]);
}

#[test]
fn a_failed_credential_plugin_is_reported_without_its_output() {
    let exec = |rest: &str| {
        format!(
            "user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, {rest}}}}}"
        )
    };
    let fails =
        exec(r#"command: sh, args: ["-c", "echo secret; echo 'log in first' >&2; exit 3"]"#);
    let floods =
        exec(r#"command: sh, args: ["-c", "yes x | head -c 5000000 | tr -d '\\n' >&2; exit 1"]"#);
    reported_on(&[
        (
            "user: {}",
            &exec("command: /bin/false"),
            credentials!("the credential plugin ended with exit status: 1"),
        ),
        (
            "user: {}",
            &fails,
            credentials!("the credential plugin ended with exit status: 3: log in first"),
        ),
        (
            "user: {}",
            &exec("command: no-such-plugin"),
            credentials!("the credential plugin cannot be run: no such file or directory"),
        ),
        (
            "user: {}",
            &exec("command: echo, args: [secret]"),
            credentials!(
                "what the credential plugin answers cannot be read: expected mapping start at line 1, column 1"
            ),
        ),
        (
            "user: {}",
            &exec("command: echo, args: ['{}']"),
            credentials!("exec-plugin response did not contain a status"),
        ),
        (
            "user: {}",
            &exec("args: []"),
            credentials!("command must be specified to use exec authentication plugin"),
        ),
    ]);
    let folder = Folder::new();
    folder.write("pv.yaml", volume("10Gi"));
    folder.write("kubeconfig", kubeconfig(UNUSED_PORT).replace("user: {}", &floods));
    let output = run(&folder);
    assert_eq!((output.code, output.stderr.lines().count()), (2, 1), "{}", output.stderr.len());
    assert!(output.stderr.chars().count() < 450, "{}", output.stderr.len());
}

/// Files that are no kubeconfig at all.
#[test]
fn whatever_the_bytes_are_one_line_reports_it_at_once() {
    let usual = kubeconfig(UNUSED_PORT);
    let many = |part: &str| part.repeat(1_000_000 / part.len()).into_bytes();
    let mut files = vec![
        Vec::new(),
        b"just text".to_vec(),
        b"- a\n".to_vec(),
        b"\0".to_vec(),
        b"\xff\xfe\0".to_vec(),
        b"\xfe\xff\0".to_vec(),
        b"\xff\xfe\0\xd8".to_vec(),
        b"\xef\xbb\xbf\xff".to_vec(),
        b"kind: Config\nname: caf\xe9\n".to_vec(),
        b"a: *a\n".to_vec(),
        many("["),
        many("a: ["),
        many("- "),
        many("z"),
        format!("current-context: {}\n", "z".repeat(1_000_000)).into_bytes(),
        format!("clusters: '{}'\n", "z".repeat(1_000_000)).into_bytes(),
        (0..3_000).flat_map(|depth| format!("{}a:\n", " ".repeat(depth)).into_bytes()).collect(),
    ];
    // A connection that ends early, at every place of the first half, where nothing is usable yet.
    files.extend((0..usual.len() / 2).step_by(9).map(|end| usual.as_bytes()[..end].to_vec()));
    let folder = Folder::new();
    folder.write("pv.yaml", volume("10Gi"));
    for file in files {
        folder.write("kubeconfig", &file);
        let started = Instant::now();
        let output = run(&folder);
        let what = String::from_utf8_lossy(&file[..file.len().min(60)]).into_owned();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{what}: {output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{what}: {output:?}");
        assert!(
            output.stderr.starts_with("error: kubeconfig kubeconfig cannot be used: "),
            "{output:?}"
        );
        assert!(output.stderr.chars().count() < 450, "{what}: {}", output.stderr.len());
        assert!(started.elapsed() < Duration::from_secs(20), "{what}: {:?}", started.elapsed());
    }
}

/// The file that is read where none is named is no better.
#[test]
fn the_usual_place_is_looked_at_as_well() {
    let folder = Folder::new();
    folder.write("pv.yaml", volume("10Gi"));
    folder.write(".kube/config", b"\xff\xfe\0");
    let output = folder.run(&["check", "-f", "pv.yaml", "--live", "cluster"]);
    assert_eq!((output.code, output.stderr.lines().count()), (4, 1), "{output:?}");
    let reported = "is cut off in the middle of a letter; give a kubeconfig with --kubeconfig\n";
    assert!(output.stderr.ends_with(reported), "{output:?}");
}
