//! Live reads: what proves that an object is absent, and what proves nothing.

use std::convert::Infallible;
use std::time::Duration;

use bindery::binding::{Confirmation, LiveReads, Lookup, Read};
use bindery::binding::{Evidence, View};
use bindery::cluster::reads::read;
use bindery::model::ClaimKey;
use http::StatusCode;
use kube::Client;
use kube::client::Body;

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
