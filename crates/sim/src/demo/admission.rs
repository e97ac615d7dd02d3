//! The API server's side of admission: which endpoints of the registration a review is sent to, over
//! TLS, and what becomes of the answers.
//!
//! As kube-apiserver does it: mutating endpoints one after another, each on the object that the last
//! one left; then the validating ones; the failure policy decides where no webhook answers. Not here:
//! calling a mutating endpoint a second time after a later one, and calling validating ones side by
//! side; neither changes a verdict of ours.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

use super::error::DemoError;
use crate::{Phase, Review, ReviewOutcome, Reviewer};
use bindery::api::registration::{Registration, WebhookTarget, is_registered, name};
use bindery::api::review;
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::judging::rule::address;
use bindery::rules::{Endpoint, Parameters, Policy, ReadAccess};

/// The registered endpoints and how they are reached.
pub(super) struct AdmissionChain {
    client: Client,
    mutating: Vec<Registered>,
    validating: Vec<Registered>,
    tally: Mutex<ReviewTally>,
    denied: Mutex<Option<Value>>,
}

/// What passed between API server and webhook since it was last asked.
#[derive(Debug, Default)]
pub(super) struct ReviewTally {
    /// How many reviews were answered.
    pub(super) reviews: usize,
    /// Whether an answer changed the object.
    pub(super) is_patched: bool,
    /// Calls that failed, whatever the failure policy made of them.
    pub(super) failures: Vec<String>,
}

/// One endpoint, as its configuration says.
struct Registered {
    endpoint: Endpoint,
    name: String,
    target: String,
    timeout: Duration,
    is_failing_closed: bool,
}

/// What an API server makes of an answer.
struct Answer {
    is_allowed: bool,
    status: Value,
    warnings: Vec<String>,
    patch: Option<json_patch::Patch>,
}

impl AdmissionChain {
    /// Reads the registration for the webhook at `base`, whose certificate the CA signed.
    pub(super) fn new(base: &str, ca_pem: &str) -> Result<Self, DemoError> {
        let registration = Registration {
            target: WebhookTarget::Url(base.to_owned()),
            ca_pem: ca_pem.to_owned(),
            own_controller: OWN_CONTROLLER.to_owned(),
            namespace_labels: Parameters::default().namespace_labels,
            tenant_label: Parameters::default().tenant_label.as_str().to_owned(),
        };
        let mutating = registration.mutating().webhooks.unwrap_or_default().into_iter();
        let validating = registration.validating().webhooks.unwrap_or_default().into_iter();
        let mutating = mutating.map(|hook| {
            Registered::new(
                hook.name,
                hook.client_config.url,
                hook.timeout_seconds,
                hook.failure_policy.as_deref(),
            )
        });
        let validating = validating.map(|hook| {
            Registered::new(
                hook.name,
                hook.client_config.url,
                hook.timeout_seconds,
                hook.failure_policy.as_deref(),
            )
        });
        Ok(Self {
            client: client(base, ca_pem)?,
            mutating: mutating.collect::<Result<_, _>>()?,
            validating: validating.collect::<Result<_, _>>()?,
            tally: Mutex::default(),
            denied: Mutex::default(),
        })
    }

    /// It as the simulated server asks it.
    pub(super) fn reviewer(self: &Arc<Self>) -> Reviewer {
        let admission = Arc::clone(self);
        Arc::new(move |review: Arc<Review>| {
            let admission = Arc::clone(&admission);
            let outcome: Pin<Box<dyn Future<Output = ReviewOutcome> + Send>> =
                Box::pin(async move { admission.outcome(&review).await });
            outcome
        })
    }

    /// Returns what happened since the last time.
    pub(super) fn take_tally(&self) -> ReviewTally {
        std::mem::take(&mut self.tally())
    }

    /// The first review that was denied, if any was.
    pub(super) fn first_denied(&self) -> Option<Value> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn outcome(&self, review: &Review) -> ReviewOutcome {
        let endpoints = match review.phase() {
            Phase::Mutating => &self.mutating,
            Phase::Validating => &self.validating,
        };
        let mut body = review.body().clone();
        let mut is_patched = false;
        let mut warnings = Vec::new();
        for endpoint in endpoints {
            if !endpoint.is_sent(&body) {
                continue;
            }
            let answer = match self.put_to(endpoint, &mut body).await {
                Ok(answer) => answer,
                Err(error) => {
                    self.tally().failures.push(format!("{}: {error}", endpoint.name));
                    if endpoint.is_failing_closed {
                        return ReviewOutcome::Fail { webhook: endpoint.name.clone(), error };
                    }
                    continue;
                }
            };
            is_patched |= answer.patch.is_some();
            warnings.extend(answer.warnings);
            if !answer.is_allowed {
                self.remember(&body);
                let webhook = endpoint.name.clone();
                return ReviewOutcome::Deny { webhook, status: answer.status, warnings };
            }
        }
        self.tally().is_patched |= is_patched;
        let object = is_patched.then(|| body["request"]["object"].take());
        ReviewOutcome::Allow { object, warnings }
    }

    /// Asks an endpoint, and applies its mutations to the review's object.
    async fn put_to(&self, endpoint: &Registered, body: &mut Value) -> Result<Answer, String> {
        let answer = self.ask(endpoint, body).await?;
        if let Some(patch) = &answer.patch {
            json_patch::patch(&mut body["request"]["object"], patch)
                .map_err(|error| format!("its patch cannot be applied: {error}"))?;
        }
        Ok(answer)
    }

    /// Sends a review to an endpoint.
    async fn ask(&self, endpoint: &Registered, body: &Value) -> Result<Answer, String> {
        let request = Request::post(&endpoint.target).header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes());
        let request = request.map_err(|error| error.to_string())?;
        let asked = tokio::time::timeout(endpoint.timeout, self.client.request_text(request)).await;
        let text = asked.map_err(|_| "no answer in time".to_owned())?;
        let text = text.map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        self.tally().reviews += 1;
        Answer::read(answer, &body["request"]["uid"])
    }

    fn remember(&self, body: &Value) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        denied.get_or_insert_with(|| body.clone());
    }

    fn tally(&self) -> MutexGuard<'_, ReviewTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    fn new(
        hook: String,
        url: Option<String>,
        seconds: Option<i32>,
        failure_policy: Option<&str>,
    ) -> Result<Self, DemoError> {
        let unknown =
            || DemoError::Client(format!("endpoint {hook} of the registration is unknown"));
        let endpoint = Endpoint::ALL
            .into_iter()
            .find(|endpoint| name(*endpoint) == hook)
            .ok_or_else(unknown)?;
        let url = url.ok_or_else(unknown)?;
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(10);
        // Kubernetes passes to the webhook how long it will wait in the query.
        let target = format!("{url}?timeout={seconds}s");
        let timeout = Duration::from_secs(seconds);
        let is_failing_closed = failure_policy == Some("Fail");
        Ok(Self { endpoint, name: hook, target, timeout, is_failing_closed })
    }

    /// Returns whether the rules and conditions of this endpoint let a review through.
    fn is_sent(&self, body: &Value) -> bool {
        let resource = body["request"]["resource"]["resource"].as_str().unwrap_or_default();
        if !matches!(resource, "persistentvolumes" | "persistentvolumeclaims") {
            return false;
        }
        let text = body.to_string();
        let Ok(request) = review::parse_request(text.as_bytes(), &Policy::default()) else {
            // The webhook will say what is wrong with it.
            return true;
        };
        let (resource, operation) = address(&request.change);
        is_registered(self.endpoint, resource, operation)
            // Everybody who acts here may read volumes.
            && reaches(self.endpoint, &request.change, OWN_CONTROLLER, ReadAccess::Volumes)
    }
}

impl Answer {
    /// Reads an answer as strictly as kube-apiserver does.
    fn read(mut answer: Value, uid: &Value) -> Result<Self, String> {
        let is_review = answer["apiVersion"] == "admission.k8s.io/v1"
            && answer["kind"] == "AdmissionReview"
            && answer["response"]["uid"] == *uid;
        let mut response = answer["response"].take();
        let Some(is_allowed) = response["allowed"].as_bool().filter(|_| is_review) else {
            return Err("the answer is no AdmissionReview of this request".to_owned());
        };
        let patch = match response["patch"].as_str() {
            None => None,
            Some(_) if response["patchType"] != "JSONPatch" => {
                return Err("the patch has no patchType JSONPatch".to_owned());
            }
            Some(text) => Some(patch(text)?),
        };
        let warnings = response["warnings"].as_array().cloned().unwrap_or_default();
        let warnings = warnings.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(Self { is_allowed, status: response["status"].take(), warnings, patch })
    }
}

fn patch(text: &str) -> Result<json_patch::Patch, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

/// An HTTPS client that trusts the CA alone. kube's, as it brings TLS, pooling and HTTP/1.1.
fn client(base: &str, ca_pem: &str) -> Result<Client, DemoError> {
    let reported = |reason: String| DemoError::Client(reason);
    let ca = CertificateDer::from_pem_slice(ca_pem.as_bytes())
        .map_err(|error| reported(error.to_string()))?;
    let base = base.parse().map_err(|error: http::uri::InvalidUri| reported(error.to_string()))?;
    let mut config = Config::new(base);
    config.root_cert = Some(vec![ca.to_vec()]);
    config.default_retry = false;
    Client::try_from(config).map_err(|error| reported(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(response: &Value) -> Result<Answer, String> {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
        });
        Answer::read(review, &json!("u"))
    }

    #[test]
    fn an_answer_to_another_request_is_none() {
        assert!(answer(&json!({"uid": "u", "allowed": true})).is_ok());
        assert!(answer(&json!({"uid": "v", "allowed": true})).is_err());
        assert!(answer(&json!({"uid": "u"})).is_err());
    }

    #[test]
    fn a_patch_is_read_only_with_its_type() {
        let text = STANDARD.encode(r#"[{"op":"remove","path":"/spec"}]"#);
        let with = |kind: &str| {
            answer(&json!({"uid": "u", "allowed": true, "patch": text, "patchType": kind}))
        };
        let read = with("JSONPatch").ok().and_then(|answer| answer.patch);
        assert_eq!(read.map(|patch| patch.0.len()), Some(1));
        assert!(with("").is_err());
    }
}
