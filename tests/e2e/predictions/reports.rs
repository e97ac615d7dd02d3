//! The findings of `bindery scan` as policy reports of a real API server, written with the rights that the chart gives.
//!
//! The kinds are those of `OpenReports` v0.2.1 and of wgpolicyk8s.io/v1alpha2, as far as they validate what is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::installation::install::rights::apply;
use crate::metrics;
use crate::no_false_denials::world::{VOLUMES, World};
use crate::page::Shell;
use crate::plane::persona::{ADMIN, STORAGE_ADMIN, TENANT};
use crate::plane::process::{Process, Program};
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(reports_are_the_findings_of_a_scan_until_they_are_gone),
    case!(the_api_that_is_installed_has_the_reports),
    case!(a_report_has_room_for_the_most_severe_of_many_findings),
    case!(a_reporter_starts_on_the_last_good_configuration),
];

/// The installation, and its namespace.
const NAME: &str = "bindery";

const PATIENCE: Duration = Duration::from_mins(1);

const OPEN: &str = "openreports.io/v1alpha1";
const POLICY: &str = "wgpolicyk8s.io/v1alpha2";

/// `bindery reporter` as a process, with the account of the chart. Dropping it ends it.
struct Reporter(Option<Process>);

impl Reporter {
    fn start(plane: &Plane) -> Self {
        Self::start_with(plane, &[])
    }

    fn start_with(plane: &Plane, more: &[String]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let kubeconfig = plane.account_kubeconfig(NAME, "bindery-reporter");
        let kubeconfig = kubeconfig.display().to_string();
        let arguments = [
            "reporter",
            "--interval=200ms",
            "--health-listen=127.0.0.1:0",
            "--kubeconfig",
            &kubeconfig,
        ];
        let program = Program {
            binary: Path::new(env!("CARGO_BIN_EXE_bindery")),
            arguments: arguments.iter().map(ToString::to_string).chain(more.to_vec()).collect(),
            folder,
            log: folder.join(format!("reporter-{number}.log")),
            environment: Vec::new(),
        };
        Self(Some(Process::spawn("bindery reporter", &program).unwrap()))
    }

    fn log(&self) -> String {
        self.0.as_ref().map(Process::log_text).unwrap_or_default()
    }

    fn metric(&self, name: &str, labels: &[&str]) -> u64 {
        metrics::sum(&metrics::scrape(&self.log()), name, labels)
    }

    /// Waits until a scan began after this call, and was complete.
    #[track_caller]
    fn await_scan(&self) {
        self.await_outcome("outcome=\"ok\"");
    }

    /// Waits until a scan began after this call, and ended so.
    #[track_caller]
    fn await_outcome(&self, outcome: &str) {
        let scans = || self.metric("bindery_scans_total", &[outcome]);
        let before = scans();
        eventually("two more scans", PATIENCE, || {
            if scans() >= before + 2 { Ok(()) } else { Err(self.log()) }
        });
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            process.stop(PATIENCE);
        }
    }
}

/// A plane with the chart's account, and a Namespace with a class.
fn plane() -> Plane {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    apply(&plane, "restricted", "reports.enabled=true", &["rbac-reporter.yaml"]);
    plane
}

/// Makes a kind of reports, and waits until it is served.
fn install(plane: &Plane, version: &str, plural: &str, kind: &str) {
    let (group, version_name) = version.split_once('/').unwrap();
    let scope = if plural.starts_with("cluster") { "Cluster" } else { "Namespaced" };
    let text = json!({"type": "string"});
    let integer = json!({"type": "integer"});
    let reference = json!({"type": "object", "properties": {
        "apiVersion": text, "kind": text, "namespace": text, "name": text, "uid": text}});
    let result = json!({"type": "object", "required": ["policy"], "properties": {
        "source": text, "policy": text, "rule": text, "category": text, "message": text,
        "scored": {"type": "boolean"},
        "severity": {"type": "string", "enum": ["high", "low", "medium"]},
        "result": {"type": "string", "enum": ["pass", "fail", "warn", "error", "skip"]},
        "properties": {"type": "object", "additionalProperties": text},
        "resources": {"type": "array", "items": reference},
        "timestamp": {"type": "object", "required": ["nanos", "seconds"], "properties": {
            "nanos": {"type": "integer", "format": "int32"},
            "seconds": {"type": "integer", "format": "int64"}}},
    }});
    let mut properties = json!({
        "apiVersion": text, "kind": text, "metadata": {"type": "object"}, "scope": reference,
        "summary": {"type": "object", "properties": {
            "pass": integer, "fail": integer, "warn": integer, "error": integer, "skip": integer}},
        "results": {"type": "array", "items": result},
    });
    if version == OPEN {
        properties["source"] = text;
    }
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope,
            "names": {"plural": plural, "kind": kind, "listKind": format!("{kind}List"),
                "singular": kind.to_lowercase()},
            "versions": [{"name": version_name, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    plane.request(ADMIN, Method::POST, crds, Body::json(&crd)).expect_ok();
    eventually(&format!("{plural} are served"), PATIENCE, || {
        let reply = plane.get(ADMIN, &format!("/apis/{version}/{plural}"));
        if reply.code == 200 { Ok(()) } else { Err(reply.to_string()) }
    });
}

fn install_open(plane: &Plane) {
    install(plane, OPEN, "reports", "Report");
    install(plane, OPEN, "clusterreports", "ClusterReport");
}

fn install_policy(plane: &Plane) {
    install(plane, POLICY, "policyreports", "PolicyReport");
    install(plane, POLICY, "clusterpolicyreports", "ClusterPolicyReport");
}

/// A PV has this disk of a driver; who has it too is denied.
fn disk(handle: &str) -> Value {
    json!({"spec": {"nfs": null, "csi": {"driver": "disk.example.com", "volumeHandle": handle}}})
}

/// A PV with the storage of another, and a PVC of a StorageClass that does not exist.
fn make_hazards(world: &World<'_>) {
    let twice = disk("twice");
    for name in ["one", "two"] {
        world.volume(name, &twice);
    }
    world.claim("stuck", &json!({"spec": {"storageClassName": "none-such"}}));
}

/// All reports of one of the kinds.
fn reports(plane: &Plane, version: &str, plural: &str) -> Vec<Value> {
    let list = plane.get(ADMIN, &format!("/apis/{version}/{plural}")).expect_ok();
    list["items"].as_array().cloned().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Kind, Namespace, name, rule, result and message of each result.
fn results(reports: &[Value]) -> BTreeSet<[String; 6]> {
    let results = reports.iter().flat_map(|report| report["results"].as_array().unwrap());
    let said = |result: &Value| {
        let (object, finding) = (&result["resources"][0], &result["properties"]["finding"]);
        let (rule, message) = (&result["rule"], &result["message"]);
        [&object["kind"], &object["namespace"], &object["name"], rule, finding, message].map(text)
    };
    results.map(said).collect()
}

/// The same of what `bindery scan` prints.
fn scanned(plane: &Plane) -> BTreeSet<[String; 6]> {
    let shell = Shell { plane, folder: plane.home(), user: ADMIN };
    let output = shell.output("bindery scan -o json");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            ["kind", "namespace", "name", "rule", "result", "message"]
                .map(|key| text(&finding[key]))
        })
        .collect()
}

/// Waits until the reports say what a scan says, and returns that.
#[track_caller]
fn await_agreement(plane: &Plane, reporter: &Reporter) -> BTreeSet<[String; 6]> {
    eventually("reports agree with a scan", PATIENCE, || {
        let mut all = reports(plane, OPEN, "reports");
        all.extend(reports(plane, OPEN, "clusterreports"));
        let (reported, scanned) = (results(&all), scanned(plane));
        if reported == scanned {
            Ok(scanned)
        } else {
            Err(format!("{reported:?}\n{scanned:?}\n{}", reporter.log()))
        }
    })
}

fn reports_are_the_findings_of_a_scan_until_they_are_gone() {
    let plane = plane();
    let world = World::new(&plane, "db");
    install_open(&plane);
    make_hazards(&world);
    // What others report in the Namespace stays, whatever label it has.
    let own = format!("/apis/{OPEN}/namespaces/db/reports");
    let foreign = json!({"apiVersion": OPEN, "kind": "Report",
        "metadata": {"name": "foreign", "labels": {"app.kubernetes.io/managed-by": "bindery"}}});
    world.post(ADMIN, &own, &foreign).expect_ok();
    let reporter = Reporter::start(&plane);
    let found = eventually("the hazards are found", PATIENCE, || {
        let found = scanned(&plane);
        if found.len() >= 3 { Ok(found) } else { Err(format!("{found:?}")) }
    });
    let report = world.await_that(&format!("{own}/bindery-scan"), "written", |_| true);
    assert_eq!(report["source"], "bindery");
    assert_eq!(report["summary"]["warn"], 1, "{report}");
    assert_eq!(report["results"][0]["policy"], "unknown-class", "{report}");
    assert_eq!(report["results"][0]["result"], "warn");
    let volumes = format!("/apis/{OPEN}/clusterreports/bindery-scan");
    let on_volumes = world.await_that(&volumes, "written", |_| true);
    assert_eq!(on_volumes["summary"]["fail"], 2, "{on_volumes}");
    // Nothing is new: nothing is written.
    reporter.await_scan();
    let version = |path: &str| world.get(path)["metadata"]["resourceVersion"].clone();
    let stored = (version(&format!("{own}/bindery-scan")), version(&volumes));
    reporter.await_scan();
    assert_eq!((version(&format!("{own}/bindery-scan")), version(&volumes)), stored);
    let high = reporter.metric("bindery_scan_findings", &["rule=\"duplicate-backend\"", "high"]);
    assert_eq!(high, 2, "{}", metrics::scrape(&reporter.log()));
    // The foreign report has no results to compare.
    assert!(world.get(&format!("{own}/foreign"))["results"].is_null());
    world.delete(ADMIN, &format!("{own}/foreign")).expect_ok();
    assert_eq!(await_agreement(&plane, &reporter), found);
    // What a person changes in a report is corrected.
    let forged = json!({"summary": {"fail": 77}, "results": []});
    world.patch(ADMIN, &volumes, &forged).expect_ok();
    await_agreement(&plane, &reporter);
    world.await_that(&volumes, "corrected", |report| report["summary"]["fail"] == 2);
    world.delete(STORAGE_ADMIN, &world.volume_path("two")).expect_ok();
    world.until_gone(&volumes);
    assert_eq!(reports(&plane, OPEN, "reports").len(), 1);
    assert!(!reporter.log().contains("WARN"), "{}", reporter.log());
    // While not every object is read, a finding that is missing proves nothing: neither reports nor metrics change.
    let all = take_rights(&world, |rule| rule["resources"] == json!(["statefulsets"]));
    eventually("sets cannot be listed", PATIENCE, || match reporter.log() {
        log if log.contains("not every object can be read") => Ok(()),
        log => Err(log),
    });
    let is_stuck = || reporter.metric("bindery_scan_findings", &["rule=\"unknown-class\""]);
    let ended = || reporter.metric("bindery_scan_timestamp_seconds", &[]);
    let before = ended();
    world.delete(TENANT, &world.claim_path("stuck")).expect_ok();
    reporter.await_outcome("failed");
    assert_eq!(reports(&plane, OPEN, "reports").len(), 1);
    assert_eq!((is_stuck(), ended()), (1, before));
    world.patch(ADMIN, ROLE, &json!({"rules": all})).expect_ok();
    world.until_gone(&format!("{own}/bindery-scan"));
}

/// The rights of the chart's account.
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/bindery-reporter";

/// Takes one of its rules away from the account, and returns all of them as they were.
#[track_caller]
fn take_rights(world: &World<'_>, is_taken: fn(&Value) -> bool) -> Value {
    let rules = world.get(ROLE)["rules"].clone();
    let mut fewer = rules.clone();
    let taken = fewer.as_array_mut().unwrap().extract_if(.., |rule| is_taken(rule)).count();
    assert_eq!(taken, 1, "{rules}");
    world.patch(ADMIN, ROLE, &json!({"rules": fewer})).expect_ok();
    rules
}

fn the_api_that_is_installed_has_the_reports() {
    let plane = plane();
    let world = World::new(&plane, "db");
    make_hazards(&world);
    let reporter = Reporter::start(&plane);
    eventually("the findings are in the metrics", PATIENCE, || {
        let count = reporter.metric("bindery_scan_findings", &[]);
        if count >= 3 { Ok(()) } else { Err(reporter.log()) }
    });
    reporter.await_scan();
    assert!(reporter.log().contains("neither openreports.io"), "{}", reporter.log());
    assert_eq!(reporter.metric("bindery_scans_total", &["failed"]), 0, "{}", reporter.log());
    let (code, stderr) = once(&plane);
    assert!(code == 4 && stderr.contains("so no report was written"), "{code}: {stderr}");
    install_policy(&plane);
    let old = format!("/apis/{POLICY}/namespaces/db/policyreports/bindery-scan");
    let old_volumes = format!("/apis/{POLICY}/clusterpolicyreports/bindery-scan");
    for path in [&old, &old_volumes] {
        let report = world.await_that(path, "written", |_| true);
        assert_eq!(report["results"][0]["source"], "bindery", "{report}");
    }
    // What cannot be written anew stays where it is.
    let all = take_rights(&world, |rule| {
        rule["apiGroups"] == json!(["openreports.io"]) && rule["resourceNames"].is_array()
    });
    install_open(&plane);
    eventually("the new reports are denied", PATIENCE, || match reporter.log() {
        log if log.contains("policy reports were not written or deleted") => Ok(()),
        log => Err(log),
    });
    reporter.await_outcome("failed");
    for path in [&old, &old_volumes] {
        world.get(path);
    }
    world.patch(ADMIN, ROLE, &json!({"rules": all})).expect_ok();
    let new = format!("/apis/{OPEN}/namespaces/db/reports/bindery-scan");
    for path in [new, format!("/apis/{OPEN}/clusterreports/bindery-scan")] {
        world.await_that(&path, "written", |_| true);
    }
    for path in [&old, &old_volumes] {
        world.until_gone(path);
    }
    assert_eq!(once(&plane).0, 0);
}

/// One scan, as a `CronJob` makes it: its exit code and what it says.
fn once(plane: &Plane) -> (i32, String) {
    let kubeconfig = plane.account_kubeconfig(NAME, "bindery-reporter");
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["reporter", "--once", "--kubeconfig"])
        .arg(kubeconfig)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), stderr)
}

fn a_report_has_room_for_the_most_severe_of_many_findings() {
    const COUNT: usize = 1_100;
    let plane = plane();
    let world = World::new(&plane, "db");
    install_open(&plane);
    // Each has the share of the one before, of which a rule warns.
    for number in 0..COUNT {
        let path = json!({"spec": {"nfs": {"path": format!("/{}", number / 2)}}});
        let volume = world.volume_of(&number.to_string(), &path);
        world.post(STORAGE_ADMIN, VOLUMES, &volume).expect_ok();
    }
    // By name they are the last.
    for name in ["x", "y"] {
        world.volume(name, &disk("twice"));
    }
    let reporter = Reporter::start(&plane);
    let path = format!("/apis/{OPEN}/clusterreports/bindery-scan");
    let report = world.await_that(&path, "complete", |report| report["summary"]["warn"] == COUNT);
    let results = report["results"].as_array().unwrap();
    // By their bytes, not all have room; the last one counts the others.
    let shown = results.len() - 1;
    assert!((500..=1_000).contains(&shown), "{shown}");
    let left_out = COUNT + 2 - shown;
    assert_eq!((&results[0]["result"], &results[1]["result"]), (&json!("fail"), &json!("fail")));
    let last = &results[shown];
    assert_eq!(last["properties"]["leftOut"], left_out.to_string(), "{last}");
    eventually("what is left out is counted", PATIENCE, || {
        let counted = reporter.metric("bindery_scan_findings_left_out", &[]);
        if usize::try_from(counted) == Ok(left_out) { Ok(()) } else { Err(reporter.log()) }
    });
    assert!(report.to_string().len() < 768 * 1024, "{}", report.to_string().len());
}

/// A wrong file neither keeps a reporter from starting nor from scanning: it counts under the last good one.
fn a_reporter_starts_on_the_last_good_configuration() {
    let plane = plane();
    let world = World::new(&plane, "db");
    make_hazards(&world);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, modes: &str| {
        let text = format!("apiVersion: bindery.dev/v1\nkind: Config\nrules: {{modes: {modes}}}\n");
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let wrong = write("config.yaml", "{duplicate-backend: forbid}");
    let last_good = write("last-good.yaml", "{duplicate-backend: audit}");
    let options = [format!("--config={wrong}"), format!("--config-last-good={last_good}")];
    let reporter = Reporter::start_with(&plane, &options);
    let severity = |severity: &str| {
        let labels = ["rule=\"duplicate-backend\"", severity];
        eventually(severity, PATIENCE, || {
            match reporter.metric("bindery_scan_findings", &labels) {
                2 => Ok(()),
                count => Err(format!("{count}\n{}", reporter.log())),
            }
        });
    };
    severity("severity=\"low\"");
    assert_eq!(reporter.metric("bindery_configuration_last_reload_successful", &[]), 0);
    write("config.yaml", "{duplicate-backend: warn}");
    severity("severity=\"medium\"");
    assert_eq!(reporter.metric("bindery_configuration_last_reload_successful", &[]), 1);
}
