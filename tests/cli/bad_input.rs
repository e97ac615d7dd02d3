//! Every wrong flag, file, object and cluster: one sentence, the right code, nothing else.

use std::fmt::Write as _;
use std::net::TcpListener;

use crate::{Folder, LIVE, Output, volume};

/// One row: arguments, standard input, code, the whole of standard error.
struct Row {
    arguments: &'static [&'static str],
    input: &'static str,
    code: i32,
    sentence: &'static str,
}

const fn row(
    arguments: &'static [&'static str],
    input: &'static str,
    sentence: &'static str,
) -> Row {
    Row { arguments, input, code: 2, sentence }
}

const PIPE: &[&str] = &["check", "-f", "-"];

const ROWS: &[Row] = &[
    row(
        &["chek"],
        "",
        "unrecognized subcommand 'chek'; a similar subcommand exists: 'check'; see --help",
    ),
    row(
        &["check", "--filenam", "x"],
        "",
        "unexpected argument '--filenam' found; a similar argument exists: '--filename'; see --help",
    ),
    row(
        &["check", "-f"],
        "",
        "a value is required for '--filename <PATH>' but none was supplied; see --help",
    ),
    row(
        &["check", "-f", "pv.yaml", "-o", "xml"],
        "",
        "invalid value 'xml' for '--output <FORMAT[=PATH]>': known formats are text, wide, json, yaml, junit, sarif, github, markdown and html; see --help",
    ),
    row(
        &["check", "-f", "pv.yaml", "-o", "json="],
        "",
        "invalid value 'json=' for '--output <FORMAT[=PATH]>': a path must follow '='; see --help",
    ),
    row(
        &["check", "-f", "pv.yaml", "--fail-on", "all"],
        "",
        "invalid value 'all' for '--fail-on <RESULT>' [possible values: warn, unverified]; see --help",
    ),
    row(
        &["check", "-f", "pv.yaml", "--apply", "force"],
        "",
        "invalid value 'force' for '--apply <HOW>' [possible values: server, client, replace]; see --help",
    ),
    row(
        &["check", "-f", "pv.yaml", "--request-timeout", "soon"],
        "",
        "invalid value 'soon' for '--request-timeout <TIME>': expected a time like 10s, 5m or 24h; see --help",
    ),
    row(
        &["webhook"],
        "",
        "the following required arguments were not provided: --tls-cert-file <FILE> --tls-private-key-file <FILE>; see --help",
    ),
    row(
        &["webhook", "--tls-cert-file", "a", "--tls-private-key-file", "b", "--listen", "nowhere"],
        "",
        "invalid value 'nowhere' for '--listen <ADDRESS>': invalid socket address syntax; see --help",
    ),
    row(
        &["controller", "--leader-elect-lease-duration", "10s"],
        "",
        "--leader-elect-lease-duration 10s, --leader-elect-renew-deadline 10s and --leader-elect-retry-period 2s do not go together: a lease has to last longer than its holder writes after the last renewal; leave them out for 15s, 10s and 2s",
    ),
    row(
        &["generate", "webhooks"],
        "",
        "the following required arguments were not provided: --url <BASE>; see --help",
    ),
    row(
        &["generate", "webhooks", "--url", "https://a", "--service", "b/c"],
        "",
        "the argument '--url <BASE>' cannot be used with '--service <NAMESPACE/NAME>'; see --help",
    ),
    row(
        &["generate", "webhooks", "--url", "http://a"],
        "",
        "--url http://a: the API server calls https only; write https://HOST:PORT",
    ),
    row(
        &["generate", "webhooks", "--service", "a"],
        "",
        "--service a: is not a Service; write NAMESPACE/NAME",
    ),
    row(
        &["generate", "webhooks", "--url", "https://a", "--ca-file", "none"],
        "",
        "none: cannot be read: no such file or directory; check the path",
    ),
    row(
        &["generate", "webhooks", "--url", "https://a", "--ca-file", "text.txt"],
        "",
        "text.txt: holds no certificate; give the CA certificate in PEM",
    ),
    row(
        &["generate", "completion", "tcsh"],
        "",
        "invalid value 'tcsh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]; a similar value exists: 'zsh'; see --help",
    ),
    row(
        &["rule", "no-such-rule"],
        "",
        "there is no rule or mutation \"no-such-rule\"; `bindery rule` lists them",
    ),
    row(
        &["certs", "--dns", "bücher"],
        "",
        "no certificate could be created: Invalid IA5String: 'bücher'; --dns takes host names without port or scheme",
    ),
    row(
        &["certs", "--ip", "1.2.3"],
        "",
        "invalid value '1.2.3' for '--ip <ADDRESS>': invalid IP address syntax; see --help",
    ),
    row(
        &["certs", "--out", "pv.yaml/x"],
        "",
        "pv.yaml/x: cannot be made: not a directory; check --out",
    ),
    row(&["check"], "", "nothing to check; give manifests with -f, or an object with --delete"),
    row(
        &["check", "-f", "pv.yaml", "-o", "text", "-o", "json"],
        "",
        "two outputs go to standard output; send one to a file, as in -o json=report.json",
    ),
    row(
        &["check", "-f", "-", "--old", "-"],
        "",
        "standard input is given twice; it can be read once; use a file for one",
    ),
    row(
        &["check", "--delete", "pv"],
        "",
        "--delete pv: is not an object; write pvc/NAMESPACE/NAME, or pv, ns, sc, node, volumeattachment, csidriver or volumesnapshotcontent with /NAME",
    ),
    row(
        &["check", "--delete", "pod/x"],
        "",
        "--delete pod/x: is not an object; write pvc/NAMESPACE/NAME, or pv, ns, sc, node, volumeattachment, csidriver or volumesnapshotcontent with /NAME",
    ),
    row(
        &["check", "--delete", "pv/a/b"],
        "",
        "--delete pv/a/b: is not an object; write pvc/NAMESPACE/NAME, or pv, ns, sc, node, volumeattachment, csidriver or volumesnapshotcontent with /NAME",
    ),
    row(
        &["check", "-f", "none.yaml"],
        "",
        "none.yaml: cannot be read: no such file or directory; check the path",
    ),
    row(&["check", "-f", "latin.yaml"], "", "latin.yaml:2:10: is not UTF-8; save it as UTF-8"),
    row(
        &["check", "-f", "pv.yaml", "-f", "again.yaml"],
        "",
        "again.yaml:2:1: pv/pv-a is given twice, first at pv.yaml:1:1; remove one",
    ),
    row(
        &["check", "-f", "pv.yaml", "--config", "none.yaml"],
        "",
        "none.yaml: cannot be read: no such file or directory; check the path",
    ),
    row(
        &["check", "-f", "pv.yaml", "--config", "config.yaml"],
        "",
        "config.yaml:3:1: unknown key \"rule\"; known are apiVersion, kind, profile, rules, mutations, tenancy, overrides, trusted, ownController, exemptions, recycler, trash, moves\nerror: config.yaml:4:10: profile must be audit, warn, baseline or strict",
    ),
    row(
        &["controller", "--config", "recycler.yaml"],
        "",
        "recycler.yaml:4:58: recycler.podTemplate has no container, so that nothing would be removed; give it one under spec.containers\nerror: recycler.yaml:5:14: unknown key \"iscsi\"; known are nfs, hostPath",
    ),
    row(
        &["check", "-f", "pv.yaml", "-o", "json=none/report.json"],
        "",
        "none/report.json: cannot be written: no such file or directory; check the folder",
    ),
    row(
        &["check", "-f", "pv.yaml", "--live", "none.yaml"],
        "",
        "none.yaml: cannot be read: no such file or directory; check the path",
    ),
    row(
        &["check", "-f", "pv.yaml", "--live", "cluster", "--live", "live.yaml"],
        "",
        "--live takes files or the cluster, not both; leave one out",
    ),
    row(
        &["check", "-f", "pv.yaml", "--live", "-"],
        "a: [",
        "stdin:1:4: not readable as YAML: unclosed bracket '['; make a new dump",
    ),
    row(
        &["check", "-f", "pv.yaml", "--live", "-"],
        "{\"kind\": \"List\", \"items\": [",
        "stdin:1:27: is not readable as JSON; make a new dump",
    ),
    row(
        &["check", "-f", "pv.yaml", "--live", "-"],
        "kind: PersistentVolume\nmetadata: {name: x}\nspec: {capacity: {storage: 1Gx}}\n",
        "stdin: pv/x cannot be read: 'x' at byte 2 has no place in an amount; write digits, then a suffix, as in 10Gi; make a new dump",
    ),
    row(
        PIPE,
        "",
        "stdin: is empty; the command before the pipe gave nothing, or give a file with -f",
    ),
    row(
        PIPE,
        " \n\n",
        "stdin: is empty; the command before the pipe gave nothing, or give a file with -f",
    ),
    row(
        PIPE,
        "kind: PersistentVolume\nspec: [1\n",
        "stdin:2:7: not readable as YAML: unclosed bracket '['; correct the file",
    ),
    row(
        PIPE,
        "kind: A\nkind: B\n",
        "stdin:2:1: key \"kind\" is given twice, first at 1:1; correct the file",
    ),
    row(PIPE, "a: 1\n", "stdin:1:1: the object has no kind; add apiVersion and kind"),
    row(PIPE, "- kind: Pod\n", "stdin:1:1: expected an object, got a list; correct the file"),
    row(PIPE, "just text\n", "stdin:1:1: expected an object, got text; correct the file"),
    row(
        PIPE,
        "kind: PersistentVolume\nspec: {}\n",
        "stdin:1:1: the PersistentVolume has no name; add metadata.name",
    ),
    row(
        PIPE,
        "apiVersion: v2\nkind: PersistentVolume\nmetadata: {name: x}\n",
        "stdin:1:1: PersistentVolume is judged in apiVersion v1 only; correct apiVersion",
    ),
    row(
        PIPE,
        "kind: PersistentVolume\nmetadata:\n  name: x\n  annotations:\n    pv.kubernetes.io/a: yes\n",
        "stdin:5:25: metadata.annotations.pv.kubernetes.io/a is boolean `true`, expected text; correct the field",
    ),
    row(
        PIPE,
        "kind: PersistentVolume\nmetadata: {name: x}\nspec:\n  capacity:\n    storage: 10Gx\n",
        "stdin:5:14: spec.capacity.storage: 'x' at byte 3 has no place in an amount; write digits, then a suffix, as in 10Gi; correct the field",
    ),
    row(
        PIPE,
        "kind: PersistentVolumeClaim\nmetadata: {name: x}\nspec:\n  accessModes:\n  - ReadWriteOnce\n  - 0777\n",
        "stdin:6:5: spec.accessModes[1] is integer `511`, expected text; correct the field",
    ),
    row(
        PIPE,
        "kind: List\nitems:\n- kind: PersistentVolumeClaim\n  metadata: {name: x}\n  spec: {resources: {requests: {storage: [1]}}}\n",
        "stdin:5:42: spec.resources.requests.storage is a list, expected an amount such as 10Gi; correct the field",
    ),
    row(
        PIPE,
        "a: &a [*a]\n",
        "stdin:1:8: an alias inside the value that it stands for; correct the file",
    ),
    row(
        PIPE,
        "a: *b\n",
        "stdin:1:4: not readable as YAML: while parsing node, found unknown anchor; correct the file",
    ),
    row(
        PIPE,
        "{\"kind\": \"PersistentVolume\",\n \"metadata\": {\"name\": \"x\"},\n \"spec\": {\"claimRef\": 5}}",
        "stdin:3:23: spec.claimRef is integer `5`, expected a map; correct the field",
    ),
    row(
        PIPE,
        "{\"kind\": \"AdmissionReview\"}",
        "stdin:1:1: expected an AdmissionReview of admission.k8s.io/v1, got \"AdmissionReview\" of \"\"; correct the input",
    ),
    row(
        PIPE,
        "{\"apiVersion\": \"admission.k8s.io/v1\", \"kind\": \"AdmissionReview\", \"request\": {\"uid\": \"u\"}}",
        "stdin:1:1: operation \"\" is not judged here; register CREATE, UPDATE and DELETE only; correct the input",
    ),
    row(
        PIPE,
        "{\"apiVersion\": \"admission.k8s.io/v1\", \"kind\": \"AdmissionReview\", \"request\": {\"uid\": \"u\", \"operation\": \"CREATE\", \"resource\": {\"version\": \"v1\", \"resource\": \"pods\"}}}",
        "stdin:1:1: CREATE comes without request.object; correct the input",
    ),
    row(
        PIPE,
        "{\"apiVersion\": \"admission.k8s.io/v1\", \"kind\": \"AdmissionReview\", \"request\": {\"uid\": \"u\", \"operation\": \"DELETE\", \"resource\": {\"version\": \"v1\", \"resource\": \"persistentvolumes\"}}}",
        "stdin:1:1: DELETE comes without request.oldObject; correct the input",
    ),
    row(
        PIPE,
        "{\"apiVersion\": \"admission.k8s.io/v1\", \"kind\": \"AdmissionReview\", \"request\": {\"uid\": \"u\", \"operation\": \"CREATE\", \"resource\": {\"version\": \"v1\", \"resource\": \"persistentvolumes\"}, \"object\": {\"spec\": 5}}}",
        "stdin:1:196: spec is integer `5`, expected a map; correct the field",
    ),
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("pv.yaml", volume("10Gi"));
    folder.write("again.yaml", format!("# a comment\n{}", volume("5Gi")));
    folder.write("live.yaml", LIVE);
    folder.write("latin.yaml", b"kind: Pod\nname: caf\xe9\n");
    folder.write("config.yaml", "apiVersion: bindery.dev/v1\nkind: Config\nrule: {}\nprofile: x\n");
    folder.write(
        "recycler.yaml",
        "apiVersion: bindery.dev/v1\nkind: Config\nrecycler:\n  podTemplate: {spec: {volumes: [{name: a}], containers: []}}\n  timeouts: {iscsi: {}}\n",
    );
    folder.write("text.txt", "no certificate");
    folder.write("kubeconfig", "clusters: 5\n");
    folder
}

#[test]
fn every_row_is_reported_in_one_sentence() {
    let folder = folder();
    let mut wrong = String::new();
    for row in ROWS {
        let output = folder.run_with(row.arguments, row.input);
        let expected = Output {
            code: row.code,
            stdout: String::new(),
            stderr: format!("error: {}\n", row.sentence),
        };
        if output != expected {
            let arguments = row.arguments;
            let _ = writeln!(wrong, "{arguments:?} {:?}\n  {output:?}\n  {expected:?}", row.input);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn no_temporary_file_is_left_where_writing_fails() {
    let folder = folder();
    // A folder stands where the file should go, so that the last step fails.
    folder.write("report.json/inside", "x");
    let output = folder.run(&["check", "-f", "pv.yaml", "-o", "json=report.json"]);
    assert_eq!(output.code, 2);
    let reported = "error: report.json: cannot be written: is a directory; check the folder\n";
    assert_eq!(output.stderr, reported);
    let names = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
    assert!(names.into_iter().all(|name| !name.contains(".tmp")));
}

/// A kubeconfig of a cluster at this port of this machine.
pub(super) fn kubeconfig(port: u16) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         clusters: [{{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
         users: [{{name: a, user: {{}}}}]\n"
    )
}

const CLUSTER: &[&str] = &[
    "check",
    "-f",
    "pv.yaml",
    "--live",
    "cluster",
    "--kubeconfig",
    "kubeconfig",
    "--request-timeout",
    "1s",
];

#[test]
fn a_cluster_that_is_not_there_is_code_4() {
    let folder = folder();
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    folder.write("kubeconfig", kubeconfig(port));
    let output = folder.run(CLUSTER);
    assert_eq!((output.code, output.stdout.as_str()), (4, ""));
    assert_eq!(
        output.stderr,
        "error: the cluster cannot be reached: connection refused; check --kubeconfig and --context\n"
    );
}

#[test]
fn a_cluster_that_is_silent_is_code_4() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    folder.write("kubeconfig", kubeconfig(port));
    let output = folder.run(CLUSTER);
    assert_eq!((output.code, output.stdout.as_str()), (4, ""));
    assert_eq!(
        output.stderr,
        "error: the cluster did not answer within 1 s; raise --request-timeout or try again\n"
    );
}

#[test]
fn an_unusable_kubeconfig_is_reported_on_one_line() {
    let folder = folder();
    for (name, reported) in [("none", "no such file"), ("kubeconfig", "line 1, column 11")] {
        let arguments = ["check", "-f", "pv.yaml", "--live", "cluster", "--kubeconfig", name];
        let output = folder.run(&arguments);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
        assert!(output.stderr.starts_with(&format!("error: kubeconfig {name} cannot be used: ")));
        assert!(output.stderr.ends_with("; give a usable one with --kubeconfig\n"), "{output:?}");
        assert!(output.stderr.contains(reported), "{output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    }
    let output = folder.run(&["check", "-f", "pv.yaml", "--live", "cluster"]);
    assert_eq!((output.code, output.stderr.lines().count()), (4, 1), "{output:?}");
    assert!(output.stderr.starts_with("error: no cluster is configured: "), "{output:?}");
}
