//! Reviews through the whole service, without a socket: an answer with the uid of the request, or one line
//! that says why there is none.
//!
//! Every rule and every mutation is on, before a cluster in which there is something to find (`scene.json`). No live
//! read is answered. Not here: requests around the body (`tests/webhook/wire`).

use std::cell::Cell;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::Engine;
use bindery::api::review::ReviewError;
use bindery::api::volume::Wanted;
use bindery::client::resource::ResourceKind;
use bindery::client::shared_store::SharedStore;
use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{Endpoint, Mode, Parameters, Policy, RULES, Switch, Unlisted};
use bindery::telemetry::metrics::WebhookMetrics;
use bindery::webhook::lines::UserLines;
use bindery::webhook::read_dispatcher::ReadDispatcher;
use bindery::webhook::service::Service;
use serde_json::Value;

use super::{Decoder, Outcome, check_reason};

/// The decoder, with words of its format.
pub(crate) const DECODER: Decoder = Decoder {
    name: "review",
    check,
    words: &[
        "CREATE",
        "UPDATE",
        "DELETE",
        "status",
        "pv-a",
        "pv-b",
        "data",
        "db",
        "Bound",
        "Released",
        "Delete",
        "Recycle",
        "10Gi",
        "5Gi",
        "ReadWriteOnce",
        "Block",
        "std",
        "object",
        "oldObject",
        "claimRef",
        "metadata",
        "annotations",
        "finalizers",
        "pv.kubernetes.io/bind-completed",
        "u-data",
    ],
};

/// How often one review may wait for live reads: four rounds for each endpoint that it is judged for.
const ROUNDS_MAX: usize = 8;

/// How much longer than its review an answer may be: every rule may name the object, each name is cut at
/// 1 KiB, and a mutation repeats part of the object.
const ANSWER_BYTES_EACH: usize = 40;

/// What an answer takes that repeats nothing.
const ANSWER_BYTES: usize = 32 * 1024;

static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let shared = Arc::new(SharedStore::default());
    let objects: Vec<Value> =
        serde_json::from_str(include_str!("../scene.json")).expect("a list of objects");
    shared.apply(objects.iter().map(|object| {
        let watched = match object["kind"].as_str() {
            Some("PersistentVolume") => ResourceKind::Volumes,
            Some("PersistentVolumeClaim") => ResourceKind::Claims,
            Some("StorageClass") => ResourceKind::Classes,
            _ => ResourceKind::Namespaces,
        };
        watched.observed_for(Wanted::Storage, &object.to_string()).expect("it is sound")
    }));
    let policy = Policy {
        modes: RULES.iter().map(|rule| (rule.id.to_owned(), Mode::Deny)).collect(),
        mutations: MUTATIONS.iter().map(|mutation| (mutation.id.to_owned(), Switch::On)).collect(),
        parameters: Parameters { unlisted: Unlisted::Deny, ..Parameters::default() },
        ..Policy::default()
    };
    Service {
        rules: RULES,
        shared,
        reader: ReadDispatcher::disconnected(),
        policy: Arc::new(ArcSwap::from_pointee(policy)),
        metrics: Arc::new(WebhookMetrics::new().expect("metrics of its own")),
        lines: UserLines::default(),
    }
});

/// The body of a review.
fn check(input: &[u8]) -> Outcome {
    let service = &*SERVICE;
    let judged = |endpoint| {
        answered(input, |body, left| {
            let asked = service.parse(body)?;
            Ok(at_once(service.validate(endpoint, &asked, left)))
        })
    };
    let (guard, advise) = (judged(Endpoint::Guard), judged(Endpoint::Advise));
    let mutated = answered(input, |body, left| {
        let asked = service.parse(body)?;
        at_once(service.mutate(&asked, body, left))
    });
    match (guard, advise, mutated) {
        (Ok(guard), Ok(advise), Ok(mutated)) => {
            let body = serde_json::from_slice::<Value>(input).ok();
            for answer in [&guard, &advise, &mutated] {
                check_answer(answer, input, body.as_ref());
            }
            assert_eq!(judged(Endpoint::Advise).ok().as_ref(), Some(&advise), "judged otherwise");
            Outcome::Read
        }
        (Err(guard), Err(advise), Err(mutated)) => {
            check_reason(&guard);
            assert!(guard == advise && advise == mutated, "{guard}\n{advise}\n{mutated}");
            Outcome::Rejected
        }
        answers => panic!("the paths do not agree: {answers:?}"),
    }
}

/// The answer to a copy of `input`, or the message that rejects it.
fn answered(
    input: &[u8],
    ask: impl FnOnce(&mut [u8], &dyn Fn() -> Duration) -> Result<Vec<u8>, ReviewError>,
) -> Result<Vec<u8>, String> {
    let rounds = Cell::new(0);
    let left = || {
        rounds.set(rounds.get() + 1);
        Duration::from_secs(1)
    };
    let answer = ask(&mut input.to_vec(), &left).map_err(|error| error.line());
    assert!(rounds.get() <= ROUNDS_MAX, "{} rounds of reads", rounds.get());
    answer
}

/// Returns what `work` comes to. Without a cluster there is nothing to wait for.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("a review waits for nothing"),
    }
}

fn check_answer(answer: &[u8], input: &[u8], body: Option<&Value>) {
    assert!(answer.len() <= ANSWER_BYTES + ANSWER_BYTES_EACH * input.len(), "{}", answer.len());
    let review: Value = serde_json::from_slice(answer).expect("an answer is JSON");
    assert_eq!(
        (&review["kind"], &review["apiVersion"]),
        (&"AdmissionReview".into(), &"admission.k8s.io/v1".into())
    );
    let response = &review["response"];
    let is_allowed = response["allowed"].as_bool().expect("a verdict");
    assert_eq!(response["status"].is_null(), is_allowed, "{response}");
    assert!(is_allowed || response["status"]["code"] == 403, "{response}");
    for warning in response["warnings"].as_array().into_iter().flatten() {
        let text = warning.as_str().expect("text");
        assert!(text.chars().count() <= 256 && !text.contains(char::is_control), "{text:?}");
    }
    let message = response["status"]["message"].as_str().unwrap_or_default();
    assert!(!message.contains(|letter: char| letter.is_control() && letter != '\n'), "{message:?}");
    let Some(body) = body else { return };
    assert_eq!(response["uid"], body["request"]["uid"], "{response}");
    if let Some(patch) = response["patch"].as_str() {
        assert!(is_allowed && response["patchType"] == "JSONPatch", "{response}");
        check_patch(patch, &body["request"]["object"]);
    }
}

/// A patch that does not apply would make the API server deny an allowed change.
fn check_patch(patch: &str, object: &Value) {
    let text = base64::engine::general_purpose::STANDARD.decode(patch).expect("base64");
    let patch: json_patch::Patch = serde_json::from_slice(&text).expect("a patch");
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &patch).unwrap_or_else(|error| panic!("{patch}: {error}"));
    assert_ne!(&patched, object, "a patch that does nothing: {patch}");
}
