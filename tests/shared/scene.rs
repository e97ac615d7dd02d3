//! A cluster in memory, filled from a fixture, and the writes of examples to it.

use base64::Engine;
use bindery::api::fixture::{FixtureObject, parse, with_uids};
use bindery::api::review::parse_request;
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::{Endpoint, Persona, Policy, ReadAccess, Send};
use bindery_sim::{
    ApiRequest, ApiServer, ClusterState, Method, Phase, Progress, RequestUser, Response, Review,
    ReviewOutcome,
};
use kube::Client;
use serde_json::{Value, json};

/// A cluster as a fixture describes it, with an API server that answers.
pub(crate) struct Scene {
    pub(crate) server: ApiServer,
}

/// Where a write stands when it was sent.
pub(crate) enum Sent {
    /// The API server asks about it.
    Asked(Box<Review>),
    /// The API server answered by itself.
    Answered(Response),
}

impl Sent {
    /// The review; fails if the API server rejected the write by itself.
    pub(crate) fn review(self) -> Review {
        match self {
            Self::Asked(review) => *review,
            Self::Answered(response) => panic!("the API server answered by itself: {response:?}"),
        }
    }
}

impl From<Progress> for Sent {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Review(review) => Self::Asked(review),
            Progress::Done(response) => Self::Answered(response),
        }
    }
}

impl Scene {
    /// The cluster that `given` describes. Lines are taken one by one, so that a line can speak of
    /// the uid of a claim above it.
    pub(crate) fn of(given: &str) -> Self {
        let scene = Self::empty();
        for line in given.lines() {
            for item in scene.read(line) {
                scene.put(&item);
            }
        }
        scene
    }

    /// A cluster without any storage.
    pub(crate) fn empty() -> Self {
        let now = "2026-11-21T05:00:00Z".parse().unwrap();
        Self { server: ApiServer::new(ClusterState::new(7, now)) }
    }

    /// kube's client of this cluster.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.server.clone(), "default")
    }

    /// The objects of one line of the notation, uids of claims filled in.
    fn read(&self, line: &str) -> Vec<FixtureObject> {
        parse(&self.with_uids(line)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// `text` with the uids of this cluster's claims in it.
    pub(crate) fn with_uids(&self, text: &str) -> String {
        with_uids(text, |key| {
            let claim = self.object(&format!("pvc/{key}"))?;
            Some(claim["metadata"]["uid"].as_str()?.to_owned())
        })
    }

    /// The stored object, if there is one.
    pub(crate) fn object(&self, target: &str) -> Option<Value> {
        let response = self.handle(ApiRequest::new(Method::Get, path(target), Value::Null));
        (response.code == 200).then(|| response.object().unwrap().clone())
    }

    /// Changes a stored object by a merge patch, without any review.
    pub(crate) fn patch(&self, target: &str, patch: Value) {
        let response = self.handle(ApiRequest::merge_patch(path(target), patch));
        assert!(response.code < 300, "{target}: {response:?}");
    }

    fn handle(&self, request: ApiRequest) -> Response {
        self.server.with(|cluster| cluster.handle(request))
    }

    /// Stores an object with its status, and asks for its deletion if it is to be terminating.
    fn put(&self, item: &FixtureObject) {
        let done = |response: Response| assert!(response.code < 300, "{item:?}: {response:?}");
        let text = self.with_uids(&item.object.to_string());
        let object: Value = serde_json::from_str(&text).unwrap();
        self.make_namespace(&object);
        let status = object["status"].clone();
        done(self.handle(ApiRequest::new(Method::Post, collection(&item.target), object)));
        let path = path(&item.target);
        if !status.is_null() {
            let merged = json!({"status": status});
            done(self.handle(ApiRequest::merge_patch(format!("{path}/status"), merged)));
        }
        if item.is_terminating {
            done(self.handle(ApiRequest::new(Method::Delete, path, Value::Null)));
        }
    }

    fn make_namespace(&self, object: &Value) {
        if let Some(name) = object["metadata"]["namespace"].as_str() {
            self.ensure_namespace(name);
        }
    }

    /// Creates the namespace unless it exists.
    pub(crate) fn ensure_namespace(&self, name: &str) {
        if self.object(&format!("ns/{name}")).is_none() {
            let namespace = json!({"metadata": {"name": name}});
            self.handle(ApiRequest::new(Method::Post, "/api/v1/namespaces", namespace));
        }
    }

    /// The HTTP request that `send` stands for.
    fn request(&self, send: &Send, query: &str) -> ApiRequest {
        let patch = |target, part, patch| {
            let patch = serde_json::from_str(&self.with_uids(patch)).unwrap();
            ApiRequest::merge_patch(format!("{}{part}{query}", path(target)), patch)
        };
        match *send {
            Send::Create(line) => {
                let items = self.read(line);
                let [item] = &*items else { panic!("one object a creation: {line}") };
                let object = self.with_uids(&item.object.to_string());
                let object: Value = serde_json::from_str(&object).unwrap();
                self.make_namespace(&object);
                ApiRequest::new(Method::Post, collection(&item.target) + query, object)
            }
            Send::Merge { target, patch: text } => patch(target, "", text),
            Send::MergeStatus { target, patch: text } => patch(target, "/status", text),
            Send::Delete(target) => {
                ApiRequest::new(Method::Delete, path(target) + query, Value::Null)
            }
        }
    }

    /// Begins a write: what the mutating endpoints are asked. `query` is `?dryRun=All` or empty.
    pub(crate) fn begin(&self, send: &Send, by: Persona, query: &str) -> Sent {
        self.begin_by(send, user(by), query)
    }

    /// The same by any user.
    pub(crate) fn begin_by(&self, send: &Send, user: RequestUser, query: &str) -> Sent {
        let request = self.request(send, query).by(user);
        self.server.with(|cluster| cluster.begin(request)).into()
    }

    /// Goes on with a write after its mutating review, `patched` being the mutated object: what the
    /// validating endpoints are asked.
    pub(crate) fn admit(&self, review: Review, patched: Option<Value>) -> Sent {
        assert_eq!(review.phase(), Phase::Mutating);
        let outcome = ReviewOutcome::Allow { object: patched, warnings: Vec::new() };
        self.server.with(|cluster| cluster.resume(review, outcome)).into()
    }

    /// Goes through with a write that all endpoints let pass.
    pub(crate) fn finish(&self, review: Review) {
        assert_eq!(review.phase(), Phase::Validating);
        match self.server.with(|cluster| cluster.resume(review, ReviewOutcome::allow())) {
            Progress::Done(response) => assert!(response.code < 300, "{response:?}"),
            Progress::Review(review) => panic!("asks again: {review:?}"),
        }
    }

    /// Returns what the validating endpoints are asked about a write that is not mutated.
    pub(crate) fn unmutated(&self, send: &Send, by: Persona, query: &str) -> Review {
        let review = self.begin(send, by, query).review();
        self.admit(review, None).review()
    }
}

/// The validating endpoints that the registrations send this review to.
pub(crate) fn endpoints(body: &Value) -> Vec<Endpoint> {
    let text = body.to_string();
    let request = parse_request(text.as_bytes(), &Policy::default()).unwrap();
    Endpoint::VALIDATING
        .into_iter()
        .filter(|endpoint| {
            let access = access(&request.change.user.name);
            reaches(*endpoint, &request.change, OWN_CONTROLLER, access)
        })
        .collect()
}

/// Returns what the user of a persona may read.
fn access(name: &str) -> ReadAccess {
    let is_blind = |persona: &Persona| user(*persona).name == name;
    let blind = [Persona::Tenant, Persona::NamespaceAdmin, Persona::ClaimProtection];
    if blind.iter().any(is_blind) { ReadAccess::Namespaces } else { ReadAccess::Volumes }
}

/// Applies the JSON Patch of an answer, if it has one.
pub(crate) fn apply(answer: &Value, object: &mut Value) {
    let Some(patch) = answer["patch"].as_str() else {
        assert_eq!(answer["patchType"], Value::Null);
        return;
    };
    assert_eq!(answer["patchType"], "JSONPatch");
    let patch = base64::engine::general_purpose::STANDARD.decode(patch).unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
    json_patch::patch(object, &patch).unwrap_or_else(|error| panic!("{error}: {patch}"));
}

/// As whom a persona is authenticated.
pub(crate) fn user(persona: Persona) -> RequestUser {
    let account = |namespace: &str, name: &str| {
        let group = format!("system:serviceaccounts:{namespace}");
        let groups = ["system:serviceaccounts", &group, "system:authenticated"];
        RequestUser::named(format!("system:serviceaccount:{namespace}:{name}"), &groups)
    };
    match persona {
        Persona::Admin => RequestUser::admin(),
        Persona::Tenant => RequestUser::named("alice", &["system:authenticated"]),
        Persona::VolumeViewer => RequestUser::named("victor", &["system:authenticated"]),
        Persona::NamespaceAdmin => RequestUser::named("nora", &["system:authenticated"]),
        Persona::Binder => account("kube-system", "persistent-volume-binder"),
        Persona::Scheduler => {
            RequestUser::named("system:kube-scheduler", &["system:authenticated"])
        }
        Persona::VolumeProtection => account("kube-system", "pv-protection-controller"),
        Persona::ClaimProtection => account("kube-system", "pvc-protection-controller"),
        Persona::GarbageCollector => account("kube-system", "generic-garbage-collector"),
        Persona::AttachDetach => account("kube-system", "attachdetach-controller"),
        Persona::Driver => account("storage", "disk-driver"),
    }
}

fn collection(target: &str) -> String {
    let path = path(target);
    let (collection, _name) = path.rsplit_once('/').unwrap();
    collection.to_owned()
}

/// The path of a target such as `pv/NAME` or `pvc/NAMESPACE/NAME`.
fn path(target: &str) -> String {
    match target.split('/').collect::<Vec<_>>()[..] {
        ["pv", name] => format!("/api/v1/persistentvolumes/{name}"),
        ["sc", name] => format!("/apis/storage.k8s.io/v1/storageclasses/{name}"),
        ["node", name] => format!("/api/v1/nodes/{name}"),
        ["volumeattachment", name] => format!("/apis/storage.k8s.io/v1/volumeattachments/{name}"),
        ["volumesnapshotcontent", name] => {
            format!("/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents/{name}")
        }
        ["csidriver", name] => format!("/apis/storage.k8s.io/v1/csidrivers/{name}"),
        ["ns", name] => format!("/api/v1/namespaces/{name}"),
        ["pvc", namespace, name] => {
            format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
        }
        ["pod", namespace, name] => format!("/api/v1/namespaces/{namespace}/pods/{name}"),
        _ => panic!("no target: {target}"),
    }
}
