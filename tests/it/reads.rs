//! Live reads: what proves that an object is absent, and what proves nothing.

use std::convert::Infallible;
use std::time::Duration;

use bindery::binding::{Confirmation, LiveReads, Lookup, Read};
use bindery::binding::{Evidence, View};
use bindery::cluster::reads::read;
use bindery::model::{ClaimKey, Pod};
use bindery::sim::{Method, Request};
use http::StatusCode;
use kube::Client;
use kube::client::Body;
use serde_json::json;

use crate::stage::Scene;

/// What was read of claim `db/data` through `client`: whether that settles it, and whether it is
/// known to be absent.
async fn read_claim(client: &Client) -> (Confirmation, bool) {
    let key = ClaimKey::new("db", "data");
    let wanted = [Read::Claim(key.clone())];
    let mut live = LiveReads::default();
    read(client, &wanted, Duration::from_secs(10), &mut live).await;
    let view = View::default();
    let is_absent = matches!(Evidence::new(&view, &live).claim(&key), Lookup::Absent);
    (live.confirmation(&wanted[0]), is_absent)
}

/// Something that answers every request by itself, as a proxy whose backend is gone does.
fn answering(status: StatusCode, body: &'static str) -> Client {
    let service = tower::service_fn(move |_request: http::Request<Body>| async move {
        let answer =
            http::Response::builder().status(status).body(Body::from(body.as_bytes().to_vec()));
        Ok::<_, Infallible>(answer.unwrap())
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn the_api_server_proves_presence_and_absence() {
    let absent = Scene::of("claim db/other 1Gi RWO");
    assert_eq!(read_claim(&absent.client()).await, (Confirmation::Settled, true));
    let present = Scene::of("claim db/data 1Gi RWO");
    assert_eq!(read_claim(&present.client()).await, (Confirmation::Settled, false));
}

/// Pods come in pages, of which each may hold one that uses the claim; nodes with their labels.
#[tokio::test]
async fn all_pods_of_a_claim_and_their_node_are_read() {
    let users = [0, 40, 119];
    let pod = |number: usize| {
        let (claim, node) = if users.contains(&number) { ("data", "n1") } else { ("other", "n2") };
        format!("pod db/p-{number:03} claim={claim} node={node}\n")
    };
    let scene = Scene::of(&(0..120).map(pod).collect::<String>());
    let node = json!({"metadata": {"name": "n1", "labels": {"zone": "a"}}});
    let made = Request::new(Method::Post, "/api/v1/nodes", node);
    let answer = scene.server.with(|cluster| cluster.handle(made));
    assert_eq!(answer.code, 201, "{answer:?}");
    let key = ClaimKey::new("db", "data");
    let nodes = ["n1", "n2"].map(|name| Read::Node(name.into()));
    let wanted = [&nodes[..], &[Read::LivePods(key.clone())]].concat();
    let mut live = LiveReads::default();
    read(&scene.client(), &wanted, Duration::from_secs(10), &mut live).await;
    let view = View::default();
    let evidence = Evidence::new(&view, &live);
    let pods = evidence.live_pods(&key).present().expect("a list");
    let told = |pod: &Pod| format!("{} {}", pod.key.name, pod.node.as_deref().unwrap_or_default());
    let expected = users.map(|number| format!("p-{number:03} n1"));
    assert_eq!(pods.iter().map(told).collect::<Vec<_>>(), expected);
    let zone = evidence.node("n1").present().map(|node| node.labels.get("zone"));
    assert_eq!(zone, Some(Some("a")));
    assert_eq!(evidence.node("n2"), Lookup::Absent);
    let refusing = answering(StatusCode::FORBIDDEN, "{}");
    read(&refusing, &wanted, Duration::from_secs(10), &mut live).await;
    assert!(wanted.iter().all(|read| live.confirmation(read) == Confirmation::Failed));
}

/// The words of the API server prove absence, not the number: whatever stands in front of it knows
/// the number too.
#[tokio::test]
async fn a_404_of_anything_but_the_api_server_proves_nothing() {
    for body in [
        "",
        "404 page not found\n",
        "<html><body><h1>404 Not Found</h1></body></html>",
        r#"{"error":"no route"}"#,
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"gone","code":404}"#,
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"gone","reason":"Unknown","code":404}"#,
    ] {
        let client = answering(StatusCode::NOT_FOUND, body);
        assert_eq!(read_claim(&client).await, (Confirmation::Failed, false), "{body}");
    }
    let expected = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"persistentvolumeclaims \"data\" not found","reason":"NotFound","code":404}"#;
    let client = answering(StatusCode::NOT_FOUND, expected);
    assert_eq!(read_claim(&client).await, (Confirmation::Settled, true));
}
