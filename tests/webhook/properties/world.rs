//! A generated cluster with a real service in front of it: the real view, the real live reads
//! through kube's client, no sockets.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use bindery::api::volume::Wanted;
use bindery::binding::Observed;
use bindery::client::resource::ResourceKind;
use bindery::client::shared_store::SharedStore;
use bindery::rules::{Endpoint, Policy, RULES};
use bindery::telemetry::metrics::WebhookMetrics;
use bindery::webhook::lines::UserLines;
use bindery::webhook::read_dispatcher::ReadDispatcher;
use bindery::webhook::service::Service;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::shared::generated::{Knowledge, REASON, VOLUMES};
use crate::stage::Scene;

static METRICS: LazyLock<Arc<WebhookMetrics>> =
    LazyLock::new(|| Arc::new(WebhookMetrics::new().unwrap()));

/// These tests do not wait: what is not answered at once fails.
const LEFT: Duration = Duration::from_secs(10);

pub(super) struct World {
    pub(super) scene: Scene,
    pub(super) service: Service,
}

/// Runs one case on a runtime of its own.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().unwrap();
    }
    RUNTIME.with(|runtime| runtime.block_on(work))
}

impl World {
    pub(super) fn of(given: &str, knowledge: Knowledge) -> Self {
        let scene = Scene::of(given);
        date_exemptions(&scene);
        let shared = Arc::new(SharedStore::default());
        shared.apply(observed(&scene, knowledge));
        let reader = if knowledge.is_connected {
            ReadDispatcher::new(scene.client(), Handle::current())
        } else {
            ReadDispatcher::disconnected()
        };
        let policy = Arc::new(ArcSwap::from_pointee(Policy::default()));
        let metrics = Arc::clone(&METRICS);
        Self {
            scene,
            service: Service {
                rules: RULES,
                shared,
                reader,
                policy,
                metrics,
                lines: UserLines::default(),
            },
        }
    }

    /// The `response` of a validating endpoint.
    pub(super) async fn validate(&self, endpoint: Endpoint, review: &Value) -> Value {
        let mut body = review.to_string().into_bytes();
        let asked = self.service.parse(&mut body).unwrap();
        response(&self.service.validate(endpoint, &asked, || LEFT).await)
    }

    /// The `response` of the mutating path.
    pub(super) async fn mutate(&self, review: &Value) -> Value {
        let mut body = review.to_string().into_bytes();
        let asked = self.service.parse(&mut body).unwrap();
        response(&self.service.mutate(&asked, &body, || LEFT).await.unwrap())
    }

    /// Every answer to a review: guard's, advise's and the mutating path's.
    pub(super) async fn all(&self, review: &Value) -> [Value; 3] {
        [
            self.validate(Endpoint::Guard, review).await,
            self.validate(Endpoint::Advise, review).await,
            self.mutate(review).await,
        ]
    }
}

/// Gives every exemption a day to run.
fn date_exemptions(scene: &Scene) {
    static UNTIL: LazyLock<Timestamp> =
        LazyLock::new(|| Timestamp::now() + SignedDuration::from_hours(24));
    for volume in VOLUMES {
        let target = format!("pv/{volume}");
        let Some(object) = scene.object(&target) else { continue };
        let notes = object["metadata"]["annotations"].as_object().into_iter().flatten();
        let dated: Map<String, Value> = notes
            .filter(|(_, value)| *value == REASON)
            .map(|(key, _)| (key.clone(), json!(format!("{} {REASON}", *UNTIL))))
            .collect();
        if !dated.is_empty() {
            scene.patch(&target, json!({"metadata": {"annotations": dated}}));
        }
    }
}

fn response(bytes: &[u8]) -> Value {
    let review: Value = serde_json::from_slice(bytes).unwrap();
    review["response"].clone()
}

/// Returns what the watches delivered, in an order of their own; some objects were seen twice, some not at all.
fn observed(scene: &Scene, knowledge: Knowledge) -> Vec<Observed> {
    let objects = scene.server.with(|cluster| cluster.objects());
    let watched = objects.iter().filter_map(|object| {
        let watched = match object["kind"].as_str()? {
            "PersistentVolume" => ResourceKind::Volumes,
            "PersistentVolumeClaim" => ResourceKind::Claims,
            "StorageClass" => ResourceKind::Classes,
            _ => return None,
        };
        Some(watched.observed_for(Wanted::Storage, &object.to_string()).unwrap())
    });
    let known = watched.enumerate().filter(|(number, _)| knowledge.hidden >> (number % 8) & 1 == 0);
    let mut known: Vec<(u64, Observed)> = known
        .flat_map(|(number, object)| {
            let place = scattered(knowledge.order ^ number as u64);
            let again = (place.is_multiple_of(3)).then(|| (scattered(place), object.clone()));
            again.into_iter().chain([(place, object)])
        })
        .collect();
    known.sort_by_key(|(place, _)| *place);
    known.into_iter().map(|(_, object)| object).collect()
}

/// A number that looks like no order (the finalizer of `SplitMix64`).
fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
