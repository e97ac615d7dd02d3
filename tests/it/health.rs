//! The health port through the life of a webhook: before its view is complete, while it serves,
//! and on its way out.

use std::time::Duration;

use bindery::rules::RULES;

use crate::stage::{Gate, Scene, Stage, post};
use crate::transport::fixture::eventually;

#[tokio::test]
async fn it_is_ready_when_every_resource_was_listed_and_not_before() {
    for (held, missing) in [
        ("/storageclasses", "storageclasses"),
        ("/persistentvolumes", "persistentvolumes"),
        ("/api/", "persistentvolumes, persistentvolumeclaims"),
        ("/", "persistentvolumes, persistentvolumeclaims, storageclasses"),
    ] {
        let scene = Scene::of("class fast\npair pv-a db/data 10Gi RWO");
        let gate = Gate::closed(held);
        let stage = Stage::start(gate.client(&scene.server), RULES, Duration::ZERO);
        let waits = format!("not listed yet: {missing}\n");
        loop {
            let (ready, started) = (stage.probe("/readyz").await, stage.probe("/startupz").await);
            assert_eq!((ready.status, started.status), (503, 503));
            assert_eq!(stage.probe("/livez").await.status, 200);
            if ready.body == waits {
                assert_eq!(stage.metric("bindery_cache_synced").await, 0.0);
                break;
            }
        }
        gate.open();
        stage.until_ready().await;
        assert_eq!(stage.probe("/startupz").await.body, "ok\n");
        assert_eq!(stage.metric("bindery_cache_synced").await, 1.0);
    }
}

#[tokio::test]
async fn it_stays_ready_when_its_watches_are_cut() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let stage = Stage::before(&scene).await;
    scene.server.end_watches();
    for _ in 0..20 {
        assert_eq!(stage.probe("/readyz").await.status, 200);
    }
}

#[tokio::test]
async fn reviews_are_counted_by_path_decision_and_rule() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO\nvolume pv-b 5Gi RWO phase=Available");
    let stage = Stage::before(&scene).await;
    for target in ["pv/pv-a", "pv/pv-b"] {
        let send = bindery::rules::Send::Delete(target);
        let review = scene.unedited(&send, bindery::rules::Persona::Admin, "");
        stage.post("/validate/guard", &review.body().to_string()).await.response();
        stage.mutate(review.body()).await;
    }
    assert_eq!(stage.post("/mutate", "{}").await.status, 400);
    let text = stage.probe("/metrics").await.body;
    for line in [
        r#"bindery_admission_requests_total{decision="allowed",path="/validate/guard"} 1"#,
        r#"bindery_admission_requests_total{decision="denied",path="/validate/guard"} 1"#,
        r#"bindery_admission_requests_total{decision="allowed",path="/mutate"} 2"#,
        r#"bindery_rule_results_total{result="denied",rule="bound-volume-delete"} 1"#,
        r#"bindery_requests_refused_total{reason="unreadable"} 1"#,
        r#"bindery_live_reads_total{outcome="settled"} 1"#,
        "bindery_admission_duration_seconds_count 5",
        "bindery_panics_total 0",
    ] {
        assert!(text.lines().any(|told| told == line), "no {line} in {text}");
    }
}

#[tokio::test]
async fn paths_that_do_not_exist_are_told() {
    let stage = Stage::before(&Scene::empty()).await;
    for (path, status) in [("/", 404), ("/healthz", 404), ("/validate/guard", 404)] {
        assert_eq!(stage.probe(path).await.status, status);
    }
}

/// Twenty reviews wait for live reads, one is half sent; all are answered, nobody new is told that
/// this is the place to go.
#[tokio::test]
async fn a_drain_answers_everything_in_flight() {
    const WAITING: usize = 20;
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    // Live reads only: the watches list the claims of all namespaces.
    let gate = Gate::closed("/namespaces/db/persistentvolumeclaims/data");
    let delay = Duration::from_secs(1);
    let mut stage = Stage::start(gate.client(&scene.server), RULES, delay);
    stage.until_ready().await;
    let send = bindery::rules::Send::Delete("pv/pv-a");
    let review = scene.unedited(&send, bindery::rules::Persona::Admin, "");
    let request = post("/validate/guard", review.body().to_string().as_bytes());

    let mut connections = Vec::new();
    for _ in 0..WAITING {
        let mut connection = stage.connect().await;
        connection.send(&request).await;
        connections.push(connection);
    }
    eventually("all wait for their live reads", || gate.held() == WAITING).await;
    let mut slow = stage.connect().await;
    slow.send(&request[..request.len() - 10]).await;
    let mut idle = stage.connect().await;
    idle.send(&post("/mutate", b"{}")).await;
    assert!(!idle.reply().await.unwrap().contains("connection: close"));

    stage.stop();
    let reply = stage.until_ready_says(503).await;
    assert_eq!(reply.body, "shutting down\n");
    assert_eq!(stage.probe("/livez").await.status, 200);
    // Within the delay requests are taken on old and new connections, which are asked to close.
    idle.send(&post("/mutate", b"{}")).await;
    assert!(idle.reply().await.unwrap().contains("connection: close"));
    assert!(stage.post("/mutate", "{}").await.head.contains("connection: close"));

    slow.send(&request[request.len() - 10..]).await;
    eventually("the last waits as well", || gate.held() == WAITING + 1).await;
    gate.open();
    connections.push(slow);
    for mut connection in connections {
        let reply = connection.reply().await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 200 ") && reply.contains("[bound-volume-delete] "));
    }
    let address = stage.address;
    stage.ended().await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "the port is still open");
}
