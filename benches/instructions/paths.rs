//! The paths that a review takes, from a part of it to the whole.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bindery::api::claim::claim;
use bindery::api::review::{
    AdmissionRequest, AdmissionResponse, parse_request, prepare, response_bytes,
};
use bindery::api::volume::{Wanted, volume};
use bindery::binding::{Evidence, LiveReads, Observed};
use bindery::client::shared_store::SharedStore;
use bindery::rules::{Endpoint, Policy, Question, RULES, judge};
use bindery::telemetry::metrics::WebhookMetrics;
use bindery::webhook::lines::UserLines;
use bindery::webhook::read_dispatcher::ReadDispatcher;
use bindery::webhook::service::Service;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::served;

/// The recorded review: an administrator has a bound PV kept after its PVC.
pub(crate) const REVIEW: &str = include_str!("../data/allowed.json");

/// What one thread does for a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// All of it, over TLS.
    Tls,
    /// All of it, without TLS.
    Plain,
    /// Bytes to bytes, without a socket.
    Service,
    /// Bytes to a change.
    Read,
    /// The same of a review whose objects have a name and nothing else.
    ReadBare,
    /// A change to a judgement.
    Judge,
    /// A judgement to bytes.
    Answer,
}

impl Path {
    const ALL: [Self; 7] = [
        Self::Tls,
        Self::Plain,
        Self::Service,
        Self::Read,
        Self::ReadBare,
        Self::Judge,
        Self::Answer,
    ];

    /// Its name on the command line of the counted process.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Plain => "plain",
            Self::Service => "service",
            Self::Read => "read",
            Self::ReadBare => "read-bare",
            Self::Judge => "judge",
            Self::Answer => "answer",
        }
    }

    /// The path of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|path| path.name() == name)
    }

    /// Whether a thread beside the first does the work.
    pub(crate) fn is_served(self) -> bool {
        match self {
            Self::Tls | Self::Plain => true,
            Self::Service | Self::Read | Self::ReadBare | Self::Judge | Self::Answer => false,
        }
    }

    /// Runs so many reviews.
    pub(crate) fn run(self, times: u64) -> Result<(), String> {
        match self {
            Self::Tls => served::run(served::Transport::Tls, service()?, times),
            Self::Plain => served::run(served::Transport::Plain, service()?, times),
            Self::Service => validate(&service()?, times),
            Self::Read => read_often(REVIEW, times),
            Self::ReadBare => read_often(&bare()?, times),
            Self::Judge => judge_often(times),
            Self::Answer => {
                for _ in 0..times {
                    black_box(response_bytes("uid", black_box(&AdmissionResponse::default())));
                }
                Ok(())
            }
        }
    }
}

/// The objects of the review, old and new.
fn objects() -> Result<Value, String> {
    let review: Value = serde_json::from_str(REVIEW).map_err(|error| error.to_string())?;
    Ok(review["request"].clone())
}

/// The review with nothing in its objects.
fn bare() -> Result<String, String> {
    let mut review: Value = serde_json::from_str(REVIEW).map_err(|error| error.to_string())?;
    for object in ["object", "oldObject"] {
        review["request"][object] = json!({"metadata": {"name": "pv-orders-0"}});
    }
    Ok(review.to_string())
}

/// The cluster of the review: the PV as it is stored, and the PVC that has it.
fn store() -> Result<SharedStore, String> {
    let stored = objects()?["oldObject"].to_string();
    let read = volume(&stored, Wanted::Storage).map_err(|error| error.to_string())?;
    let holder = json!({
        "metadata": {"name": "data", "uid": "48538823-193d-4d7a-8914-d300ecc119bc"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "pv-orders-0",
            "resources": {"requests": {"storage": "100Gi"}},
        },
        "status": {"phase": "Bound"},
    });
    let holder = claim(&holder.to_string(), "default").map_err(|error| error.to_string())?;
    let store = SharedStore::default();
    store.apply([Observed::Volume(Arc::new(read.volume)), Observed::Claim(Arc::new(holder))]);
    Ok(store)
}

/// A service that knows this cluster.
fn service() -> Result<Service, String> {
    Ok(Service {
        rules: RULES,
        shared: Arc::new(store()?),
        reader: ReadDispatcher::disconnected(),
        policy: Arc::new(ArcSwap::from_pointee(Policy::default())),
        metrics: Arc::new(WebhookMetrics::new().map_err(|error| error.to_string())?),
        lines: UserLines::default(),
    })
}

fn validate(service: &Service, times: u64) -> Result<(), String> {
    let runtime =
        Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
    let left = || Duration::from_secs(1);
    runtime.block_on(async {
        for _ in 0..times {
            let mut body = REVIEW.as_bytes().to_vec();
            let review = service.parse(&mut body).map_err(|error| error.to_string())?;
            black_box(service.validate(Endpoint::Guard, &review, left).await);
        }
        Ok(())
    })
}

fn read(body: &mut [u8], policy: &Policy) -> Result<AdmissionRequest, String> {
    let read = prepare(body).and_then(|()| parse_request(body, policy));
    read.map_err(|error| error.to_string())
}

fn read_often(review: &str, times: u64) -> Result<(), String> {
    let policy = Policy::default();
    for _ in 0..times {
        let mut body = review.as_bytes().to_vec();
        black_box(read(&mut body, &policy)?);
    }
    Ok(())
}

fn judge_often(times: u64) -> Result<(), String> {
    let (policy, store) = (Policy::default(), store()?);
    let request = read(&mut REVIEW.as_bytes().to_vec(), &policy)?;
    let question = Question {
        endpoint: Endpoint::Guard,
        change: &request.change,
        policy: &policy,
        now: jiff::Timestamp::UNIX_EPOCH,
    };
    for _ in 0..times {
        let (view, live) = (store.view(), LiveReads::default());
        black_box(judge(RULES, black_box(question), &Evidence::new(&view, &live)));
    }
    Ok(())
}
