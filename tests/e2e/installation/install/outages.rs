//! What an installation does while it cannot reach the API server, or that its store: it answers who reaches it, reports
//! how old its knowledge is, and is up to date soon after.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::json;

use super::load::{BOUND, bind_a_pair};
use super::site::{self, Site};
use crate::caller::Call;
use crate::eventually::{eventually, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane, REACHED_AT};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[case!(it_answers_whatever_is_away)];

/// How soon after an outage everything is as before.
const RECOVERY: Duration = Duration::from_secs(5);

fn it_answers_whatever_is_away() {
    let long = Duration::from_secs(if extent().is_full { 60 } else { 8 });
    let site = Site::install(&["webhook.replicas=2"]);
    let asker = Asker::new(&site);
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "touched"}, "provisioner": "example.com/absent"});
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    site.plane.request(ADMIN, Method::POST, classes, Body::json(&class)).expect_ok();
    let plane = site.plane;
    outage(&site, &asker, "the API server was killed", || {
        let answered = meanwhile(&site, &asker, || plane.restart_api_server(long));
        answered.unwrap_or_else(|error| panic!("{error}"));
    });
    // Its Secrets are older than what the new API server remembers: they are followed all the same.
    let before = reads_of_secrets(&site);
    wait(Duration::from_secs(2));
    let reads = reads_of_secrets(&site) - before;
    assert!(reads < 20, "{reads} requests for Secrets in two seconds");
    outage(&site, &asker, "etcd was killed", || {
        let answered = meanwhile(&site, &asker, || plane.restart_etcd(Duration::from_secs(3)));
        answered.unwrap_or_else(|error| panic!("{error}"));
        eventually("the API server reads again", Duration::from_secs(30), || {
            let reply = plane.get(ADMIN, "/api/v1/persistentvolumes?limit=1");
            if reply.code == 200 { Ok(()) } else { Err(reply.to_string()) }
        });
    });
    outage(&site, &asker, "the way to the API server was cut", || {
        cut(&site, "add");
        // On its way when it is cut: what is sent again after pauses of the kernel's must not be waited for.
        mark(plane, "meanwhile");
        meanwhile(&site, &asker, || wait(long));
        let ages = ages(&site);
        // Reported correctly, but for what was on its way when it began.
        let least = long.saturating_sub(Duration::from_secs(2));
        assert!(ages.iter().all(|age| *age >= least), "{ages:?} after {long:?}");
        cut(&site, "del");
    });
}

/// Cuts the way between the pods and the API server, or mends it. Both directions: what the API server sends into a way
/// that is cut in one only, it holds to be lost, and sends again when its own pauses are over.
fn cut(site: &Site, verb: &str) {
    let run = |program: &str, words: &str| {
        let status = Command::new(program).args(words.split(' ')).status();
        assert!(status.is_ok_and(|status| status.success()), "{program} {words}");
    };
    for pod in site.node.running() {
        let (network, address) = (pod.network, &pod.address);
        let route = format!("ip route {verb} blackhole {REACHED_AT}/32");
        run("nsenter", &format!("--net=/proc/{network}/ns/net {route}"));
        run("ip", &format!("rule {verb} from {REACHED_AT} to {address} blackhole"));
    }
}

/// Lets it happen; then all is as before within the time for recovery.
fn outage(site: &Site, asker: &Asker, what: &str, happen: impl FnOnce()) {
    let before = site.node.processes();
    happen();
    let over = Instant::now();
    site.await_denial();
    let denied = over.elapsed();
    let changed = touch(site);
    // After etcd was away the API server takes up to a minute to send its own watchers anything.
    let (touched, shown) = (over.elapsed(), Instant::now());
    eventually("all watches show a change", Duration::from_mins(1), || {
        let ages = ages(site);
        // The clock of the ages has whole seconds.
        let since = changed.elapsed() + Duration::from_secs(1);
        if ages.iter().all(|age| *age <= since) { Ok(()) } else { Err(format!("{ages:?}")) }
    });
    let received = shown.elapsed();
    println!(
        "{what}: denied {denied:?} after it; the API server shows what is new after {touched:?}, and every watch \
         {received:?} later"
    );
    asker.ask_all(site);
    assert!(denied <= RECOVERY && received <= RECOVERY, "{what}");
    assert_eq!(site.node.processes(), before, "{what}: nothing was restarted");
}

/// Changes something of everything that is watched, and waits until the API server's own caches show it, from which
/// watches are served; when it began to.
fn touch(site: &Site) -> Instant {
    let now = Instant::now();
    let text = format!("{now:?}");
    mark(site.plane, &text);
    for path in watched() {
        eventually("the API server's cache shows it", Duration::from_mins(2), || {
            let object = site.plane.get(ADMIN, &format!("{path}?resourceVersion=0")).expect_ok();
            let seen = &object["metadata"]["annotations"]["touched"];
            if *seen == text { Ok(()) } else { Err(format!("{path}: {seen}")) }
        });
    }
    now
}

/// Writes a text on one object of each kind that is watched.
fn mark(plane: &Plane, text: &str) {
    let patch = Body::merge_patch(&json!({"metadata": {"annotations": {"touched": text}}}));
    for path in watched() {
        plane.request(ADMIN, Method::PATCH, &path, patch.clone()).expect_ok();
    }
}

fn watched() -> [String; 4] {
    [
        format!("/api/v1/persistentvolumes/{BOUND}"),
        format!("/api/v1/namespaces/default/persistentvolumeclaims/{BOUND}"),
        "/apis/storage.k8s.io/v1/storageclasses/touched".to_owned(),
        "/api/v1/namespaces/default".to_owned(),
    ]
}

/// Asks every pod all the time while something goes on; each answers at once, and stays ready.
fn meanwhile<T: Send>(site: &Site, asker: &Asker, happen: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let happening = scope.spawn(happen);
        let mut asked = 0;
        while !happening.is_finished() {
            asker.ask_all(site);
            asked += 1;
            wait(Duration::from_millis(50));
        }
        println!("asked {asked} times meanwhile");
        happening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Who asks pods themselves, as the API server would.
struct Asker {
    bundle: String,
    review: String,
}

impl Asker {
    /// Returns who wants to shrink a bound volume.
    fn new(site: &Site) -> Self {
        let old = bind_a_pair(site.plane);
        let mut new = old.clone();
        new["spec"]["capacity"]["storage"] = json!("1Mi");
        let kind = json!({"group": "", "version": "v1", "kind": "PersistentVolume"});
        let resource = json!({"group": "", "version": "v1", "resource": "persistentvolumes"});
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "a", "kind": kind, "requestKind": kind, "resource": resource,
                "requestResource": resource, "name": old["metadata"]["name"], "operation": "UPDATE",
                "userInfo": {"username": "alice"}, "object": new, "oldObject": old,
            },
        });
        let bundle = site.bundle().expect("all entries trust the same");
        Self { bundle, review: review.to_string() }
    }

    /// Every pod denies, at once, and stays ready.
    fn ask_all(&self, site: &Site) {
        for pod in site.node.running() {
            let address: SocketAddr = format!("{}:8443", pod.address).parse().unwrap();
            let began = Instant::now();
            let answer = Call::connect(address, &self.bundle, &site::installation().host())
                .and_then(|call| call.ask("/validate/guard?timeout=3s", &self.review));
            let took = began.elapsed();
            let answer = answer.unwrap_or_else(|error| panic!("not answered: {error}"));
            assert_eq!(answer["response"]["allowed"], false, "{answer}");
            assert!(took < Duration::from_secs(3), "{took:?}");
            let ready = pod.get(8081, "/readyz");
            assert!(ready.as_ref().is_some_and(|(status, _)| *status == 200), "{ready:?}");
        }
    }
}

/// Returns how often the API server was asked for Secrets, by any user.
fn reads_of_secrets(site: &Site) -> u64 {
    let metrics = site.plane.get(ADMIN, "/metrics").text;
    let lines = metrics.lines().filter(|line| {
        line.starts_with("apiserver_request_total{") && line.contains("resource=\"secrets\"")
    });
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Of each watch of each webhook, how long ago it had an event.
fn ages(site: &Site) -> Vec<Duration> {
    let pods = site.node.running();
    let texts = pods.iter().map(|pod| pod.get(8081, "/metrics").expect("an answer").1);
    let of = |text: String| {
        let lines = text.lines().filter(|line| line.starts_with("bindery_watch_age_seconds{"));
        let age = |line: &str| line.rsplit(' ').next().and_then(|age| age.parse().ok());
        let reported = |line: &str| age(line).unwrap_or_else(|| panic!("{line}"));
        lines.map(|line| Duration::from_secs_f64(reported(line))).collect::<Vec<_>>()
    };
    let ages: Vec<Duration> = texts.flat_map(of).collect();
    assert!(ages.len() >= pods.len() * 3, "{ages:?}");
    ages
}
