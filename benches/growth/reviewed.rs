//! The webhook with a store of so many pairs: start, memory, and reviews of changes to objects all over it.
//!
//! A review is measured from its bytes to those of its answer, as the handlers of the port call it; sockets and TLS, which
//! know no store, are left out, as they would make any growth look small.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bindery::client::resource::ResourceKind;
use bindery::client::shared_store::SharedStore;
use bindery::client::watch::watch_collection;
use bindery::rules::{Endpoint, Policy, RULES};
use bindery::telemetry::metrics::WebhookMetrics;
use bindery::webhook::lines::UserLines;
use bindery::webhook::read_dispatcher::ReadDispatcher;
use bindery::webhook::service::Service;
use kube::Client;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::api_server::ApiServer;
use crate::bound::cluster;
use crate::child::Figures;
use crate::clock::processor_time;
use crate::objects::{self, VolumeState};
use crate::{floors, process};

/// Objects whose changes are reviewed in one round: each of the requests below for each.
const OBJECTS: usize = 500;

/// Rounds; odd, so that the median is one of them.
const ROUNDS: usize = 5;

/// How often it is asked whether everything was taken in.
const POLL: Duration = Duration::from_millis(1);

/// How long nothing happens before the memory is read.
const REST: Duration = Duration::from_millis(500);

/// A request, and where it is sent; none to have it mutated.
type Reviewed = (Option<Endpoint>, String);

/// Measures the webhook over `count` pairs.
pub(crate) fn measure(count: usize, servers: Handle) -> Result<Figures, String> {
    let server = ApiServer::new(cluster(count), servers.clone());
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(async {
        let client = Client::new(server.clone(), "default");
        let service = service(client.clone(), servers)?;
        let id = std::process::id();
        let (before, started, all) = (process::resident(id)?, processor_time(), 2.0 * count as f64);
        let mut watches = JoinSet::new();
        for kind in ResourceKind::JUDGED {
            let shared = Arc::clone(&service.shared);
            watches.spawn(watch_collection(client.clone(), kind, shared, Instant::now()));
        }
        while !service.shared.is_synced() {
            sleep(POLL).await;
        }
        let start = (processor_time() - started) / all;
        sleep(REST).await;
        let bytes = (process::resident(id)? - before) / all;
        let peak_bytes = (process::peak(id)? - before) / all;
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            rounds.push(reviews(&service, count, round).await?);
        }
        server.check()?;
        Ok(Figures::from([
            ("start", start),
            ("bytes", bytes),
            ("peak-bytes", peak_bytes),
            ("review", floors::median(rounds)),
        ]))
    })
}

/// A service as the process makes it, with an empty store.
fn service(client: Client, servers: Handle) -> Result<Service, String> {
    Ok(Service {
        rules: RULES,
        shared: Arc::new(SharedStore::default()),
        reader: ReadDispatcher::new(client, servers),
        policy: Arc::new(ArcSwap::from_pointee(Policy::default())),
        metrics: Arc::new(WebhookMetrics::new().map_err(|error| error.to_string())?),
        lines: UserLines::default(),
    })
}

/// Time per review, in µs.
async fn reviews(service: &Service, count: usize, round: usize) -> Result<f64, String> {
    let step = (count / OBJECTS).max(1);
    // Those that are bound: of fifty the first is not.
    let numbers = (0..OBJECTS).map(|number| (number * step + round) % count);
    let numbers = numbers.filter(|number| objects::is_bound(*number));
    let reviews: Vec<Reviewed> = numbers.flat_map(|number| requests(number, count)).collect();
    let reviews_count = reviews.len() as f64;
    let left = || Duration::from_secs(1);
    let before = processor_time();
    for (endpoint, body) in reviews {
        let mut body = body.into_bytes();
        let review = service.parse(&mut body).map_err(|error| error.to_string())?;
        let answer = if let Some(endpoint) = endpoint {
            service.validate(endpoint, &review, left).await
        } else {
            let answer = service.mutate(&review, &body, left).await;
            answer.map_err(|error| error.to_string())?
        };
        black_box(answer);
    }
    Ok((processor_time() - before) / reviews_count)
}

/// What users do: they annotate a bound volume and a bound claim, and they create another of either.
fn requests(number: usize, count: usize) -> Vec<Reviewed> {
    let state = VolumeState { version: 1, note: "weekly", phase: "Bound", is_bound: true };
    let volume = objects::volume_in(number, state);
    let claim = objects::bound_claim(number, 1, "payments");
    let (new, created) = (count + number, "2027-01-01T00:00:00Z");
    let free = VolumeState { is_bound: false, phase: "Available", ..state };
    let new_volume = objects::volume_in(new, free);
    let new_claim = objects::pending_claim(new, "1Gi", created);
    let (volumes, claims) = ("PersistentVolume", "PersistentVolumeClaim");
    vec![
        (Some(Endpoint::Guard), review(volumes, &volume, &objects::volume(number))),
        (Some(Endpoint::Guard), review(claims, &claim, &objects::claim(number))),
        (None, review(claims, &claim, &objects::claim(number))),
        (Some(Endpoint::Advise), review(volumes, &new_volume, "null")),
        (Some(Endpoint::Advise), review(claims, &new_claim, "null")),
    ]
}

/// The review of an object's update, or of its creation if there is no old one.
fn review(kind: &str, object: &str, old: &str) -> String {
    let operation = if old == "null" { "CREATE" } else { "UPDATE" };
    let resource = kind.to_lowercase() + "s";
    let kind = format!(r#"{{"group":"","version":"v1","kind":"{kind}"}}"#);
    let resource = format!(r#"{{"group":"","version":"v1","resource":"{resource}"}}"#);
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"3774f235-57c9-42e7-a2b2-ad41e8e897fa","kind":{kind},"resource":{resource},"operation":"{operation}","userInfo":{{"username":"alice","groups":["storage-admins","system:authenticated"]}},"object":{object},"oldObject":{old}}}}}"#
    )
}
