//! Two seconds in which more is asked of the webhook than it can answer: what users see of it.
//!
//! Two ways of being too much. Reviews find no place: the webhook says so, and the API server asks again. Or
//! the webhook gets no time, as under a limit of its container: calls queue before it. Either way each user
//! gets the answer of the rules, later. Not here: how much later (`benches/webhook`).

use std::fs;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use bindery::api::registration::{Registration, WebhookTarget};
use bindery::rules::Parameters;
use bindery::rules::judging::filter::OWN_CONTROLLER;
use bindery::webhook::transport::Limits;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::{eventually, wait};
use crate::installed::{Installed, Pair, Registered, VALIDATING, pair, register};
use crate::plane::persona::{ADMIN, BINDERY};
use crate::plane::process::{Process, Program};
use crate::plane::start::free_port;
use crate::plane::{Body, Peers, Plane, Reply, volume_path};
use crate::runner::{Case, alone};

pub(crate) const CASES: &[Case] = &[
    // A review that finds no place three times in its three seconds is noticed: beside other cases each one keeps its
    // place so long that some do.
    alone!(shed_reviews_are_retried_unnoticed),
    // All of them have to call within the time that the API server gives the first.
    alone!(calls_that_pile_up_before_a_webhook_without_time_are_all_answered),
];

/// How long users ask.
const BURST: Duration = Duration::from_secs(2);

/// How long the machine may take to do what takes a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns what is asked: the one is allowed, the other is denied for the claim that holds the volume, which is read
/// live. Kubernetes: a dry run passes admission and stores nothing.
fn allowed() -> Value {
    json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
}

fn denied() -> Value {
    json!({"spec": {"capacity": {"storage": "1Mi"}}})
}

/// An error with the reply, unless it is what the rules say.
fn check(reply: &Reply, is_allowed: bool) -> Result<(), String> {
    let is_right = if is_allowed {
        reply.code == 200
    } else {
        reply.code == 403 && reply.text.contains("[bound-volume-capacity]")
    };
    if is_right { Ok(()) } else { Err(reply.to_string()) }
}

/// As many users as `hands` ask again and again for two seconds, and all begin at once. How many answers there
/// were, and those that the rules do not give.
fn burst(plane: &Plane, path: &str, hands: usize) -> (usize, Vec<String>) {
    let begin = &Barrier::new(hands);
    let ask = move |hand: usize| {
        let (mut asked, mut wrong) = (0, Vec::new());
        begin.wait();
        let end = Instant::now() + BURST;
        while Instant::now() < end {
            let is_allowed = (hand + asked).is_multiple_of(2);
            let change = if is_allowed { allowed() } else { denied() };
            let reply = plane.try_request(ADMIN, Method::PATCH, path, Body::merge_patch(&change));
            wrong.extend(reply.and_then(|reply| check(&reply, is_allowed)).err());
            asked += 1;
        }
        (asked, wrong)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..hands).map(|hand| scope.spawn(move || ask(hand))).collect();
        let mut all = (0, Vec::new());
        for thread in threads {
            let (asked, wrong) = thread.join().unwrap();
            all.0 += asked;
            all.1.extend(wrong);
        }
        all
    })
}

/// Waits until the API server asks the webhook.
fn await_asked(plane: &Plane, path: &str) {
    eventually("the webhook is asked", PATIENCE, || {
        let reply = plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(&denied()));
        check(&reply, false)
    });
}

fn shed_reviews_are_retried_unnoticed() {
    const PLACES: usize = 8;
    let plane = &Plane::start(Peers::Alone).unwrap();
    // They go with their plane: the registration that stays would deny that they are deleted.
    let objects = ManuallyDrop::new(plane.objects("places"));
    objects.bound_pair("data", &json!({}), &json!({}));
    let path = format!("{}?dryRun=All", volume_path(&objects.name("data")));
    let limits = Limits { reviews: PLACES, ..Limits::reviews() };
    let webhook = Installed::within(limits, plane, Registered::Validating);
    await_asked(plane, &path);
    let (asked, wrong) = burst(plane, &path, 3 * PLACES);
    let shed = webhook.metric("bindery_requests_rejected_total{reason=\"reviews_full\"}");
    println!("{asked} answers with {PLACES} places, {shed} times there was none");
    assert!(wrong.is_empty(), "{} of {asked}: {}", wrong.len(), wrong[0]);
    assert!(shed > 0.0, "there always was a place: nothing was shown");
}

fn calls_that_pile_up_before_a_webhook_without_time_are_all_answered() {
    // As many as an API server runs at once.
    const HANDS: usize = 600;
    let plane = &Plane::start(Peers::Alone).unwrap();
    let objects = ManuallyDrop::new(plane.objects("standstill"));
    objects.bound_pair("data", &json!({}), &json!({}));
    let path = format!("{}?dryRun=All", volume_path(&objects.name("data")));
    let webhook = Webhook::start(plane);
    await_asked(plane, &path);
    let (asked, wrong) = thread::scope(|scope| {
        let users = scope.spawn(|| burst(plane, &path, HANDS));
        webhook.signal("STOP");
        wait(BURST);
        eventually("every user waits for the webhook", PATIENCE, || {
            let waiting = webhook.connections();
            if waiting >= HANDS { Ok(()) } else { Err(waiting.to_string()) }
        });
        webhook.signal("CONT");
        users.join().unwrap()
    });
    println!("{asked} answers of a webhook before which {HANDS} calls piled up");
    assert!(wrong.is_empty(), "{} of {asked}: {}", wrong.len(), wrong[0]);
    await_asked(plane, &path);
}

/// A webhook process, registered with a plane.
struct Webhook {
    process: Option<Process>,
    port: u16,
    _pair: Pair,
}

impl Webhook {
    fn start(plane: &Plane) -> Self {
        let (pair, port) = (pair(), free_port().unwrap());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let address = format!("127.0.0.1:{port}");
        let program = Program {
            binary: Path::new(env!("CARGO_BIN_EXE_bindery")),
            arguments: vec![
                "webhook".to_owned(),
                format!("--listen={address}"),
                "--health-listen=127.0.0.1:0".to_owned(),
                format!("--tls-cert-file={}", pair.files.certificate.display()),
                format!("--tls-private-key-file={}", pair.files.key.display()),
                format!("--kubeconfig={}", plane.kubeconfig(BINDERY).display()),
            ],
            folder,
            log: folder.join(format!("webhook-{port}.log")),
            environment: Vec::new(),
        };
        let process = Process::spawn("bindery webhook", &program).unwrap();
        eventually("the webhook listens", PATIENCE, || {
            std::net::TcpStream::connect(&address).map_err(|error| error.to_string())
        });
        let registration = Registration {
            target: WebhookTarget::Url(format!("https://{address}")),
            ca_pem: pair.ca.clone(),
            own_controller: OWN_CONTROLLER.to_owned(),
            namespace_labels: Parameters::default().namespace_labels,
            tenant_label: Parameters::default().tenant_label.as_str().to_owned(),
        };
        let mut validating = registration.validating();
        // That no call is lost is to be seen, not how fast the machine is.
        for webhook in validating.webhooks.iter_mut().flatten() {
            webhook.timeout_seconds = Some(30);
        }
        register(plane, VALIDATING, &serde_json::to_value(validating).unwrap());
        Self { process: Some(process), port, _pair: pair }
    }

    /// Connections that clients have to it, accepted or not.
    fn connections(&self) -> usize {
        const ESTABLISHED: &str = "01";
        let (table, port) = (fs::read_to_string("/proc/net/tcp").unwrap(), self.port);
        let peer = format!(":{port:04X}");
        let to_it = |line: &&str| {
            let mut fields = line.split_whitespace().skip(2);
            let is_to_it = fields.next().is_some_and(|address| address.ends_with(&peer));
            is_to_it && fields.next() == Some(ESTABLISHED)
        };
        table.lines().filter(to_it).count()
    }

    fn signal(&self, signal: &str) {
        let id = self.process.as_ref().map_or(0, Process::id).to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{signal} failed");
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(Duration::ZERO);
        }
    }
}
