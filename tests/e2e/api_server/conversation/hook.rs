//! Webhooks that note every review of volumes, claims and classes, and answer as an annotation of the
//! object shows them.

use std::convert::Infallible;
use std::fs;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::script::order;
use crate::eventually::eventually;
use crate::installed::{MUTATING, VALIDATING, pair, register};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane};

/// What is noted: the reviews in the order in which they came, each with its phase.
type Notes = Arc<Mutex<Vec<Value>>>;

/// The listening webhooks; they end when dropped.
pub(super) struct Hook {
    notes: Notes,
    _runtime: Runtime,
}

impl Hook {
    /// Starts them, registers them and waits until both are asked.
    pub(super) fn registered(plane: &Plane) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let pair = pair();
        let acceptor = acceptor(&pair.files.certificate, &pair.files.key);
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let notes = Notes::default();
        runtime.spawn(listen(listener, acceptor, Arc::clone(&notes)));
        let entries = [
            ("MutatingWebhookConfiguration", "mutating", MUTATING),
            ("ValidatingWebhookConfiguration", "validating", VALIDATING),
        ];
        for (kind, phase, collection) in entries {
            register(plane, collection, &registration(kind, phase, port, &pair.ca));
        }
        let hook = Self { notes, _runtime: runtime };
        hook.await_both(plane);
        hook
    }

    /// The reviews since the last call.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn await_both(&self, plane: &Plane) {
        let path = "/apis/storage.k8s.io/v1/storageclasses?dryRun=All";
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "poll"}, "provisioner": "a.b",
        });
        eventually("both webhooks are asked", Duration::from_secs(30), || {
            self.take();
            plane.request(ADMIN, Method::POST, path, Body::json(&class));
            match self.take().len() {
                2 => Ok(()),
                count => Err(format!("{count} of two")),
            }
        });
    }
}

fn acceptor(certificate: &std::path::Path, key: &std::path::Path) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(&fs::read(certificate).unwrap()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(&fs::read(key).unwrap()).unwrap();
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
    TlsAcceptor::from(Arc::new(config.unwrap()))
}

async fn listen(listener: TcpListener, acceptor: TlsAcceptor, notes: Notes) {
    while let Ok((socket, _)) = listener.accept().await {
        let (acceptor, notes) = (acceptor.clone(), Arc::clone(&notes));
        tokio::spawn(async move {
            // A handshake that fails shows as a review that never comes.
            let Ok(stream) = acceptor.accept(socket).await else { return };
            let service = service_fn(move |request| answer(request, Arc::clone(&notes)));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            drop(connection.await);
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    notes: Notes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let phase = request.uri().path().trim_matches('/').to_owned();
    let body = request.into_body().collect().await;
    let body = body.map(Collected::to_bytes).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let noted = json!({"phase": phase, "review": review});
    notes.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
    let answer = json!({
        "apiVersion": review["apiVersion"], "kind": review["kind"],
        "response": verdict(&phase, &review["request"]),
    });
    let mut reply = Response::new(Full::from(answer.to_string()));
    let json = hyper::header::HeaderValue::from_static("application/json");
    reply.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(reply)
}

fn verdict(phase: &str, request: &Value) -> Value {
    let order = order(phase, request);
    let mut response = json!({
        "uid": request["uid"], "allowed": order.denial().is_none(), "warnings": order.warnings(),
    });
    if let Some(status) = order.denial() {
        response["status"] = status;
    }
    if let Some(labels) = order.edit() {
        let patch = json!([{"op": "add", "path": "/metadata/labels", "value": labels}]);
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(BASE64_STANDARD.encode(patch.to_string()));
    }
    response
}

fn registration(kind: &str, phase: &str, port: u16, ca: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": phase},
        "webhooks": [{
            "name": format!("{phase}.recorder.test"), "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/{phase}"),
                "caBundle": BASE64_STANDARD.encode(ca),
            },
            "rules": [{
                "operations": ["*"], "apiGroups": ["", "storage.k8s.io"], "apiVersions": ["v1"],
                "resources": ["persistentvolumes", "persistentvolumes/status",
                              "persistentvolumeclaims", "persistentvolumeclaims/status",
                              "storageclasses"],
            }],
        }],
    })
}
