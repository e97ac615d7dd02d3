//! The health port through the life of a webhook: before its view is complete, while it serves,
//! and on its way out.

use std::fs;
use std::time::Duration;

use bindery::api::installation::GUARD_PROBE_DENIAL;
use bindery::rules::{Endpoint, Persona, RULES, Send};
use bindery::webhook::transport::tls::PairFiles;
use serde_json::json;

use crate::stage::{Gate, Scene, Stage, post};
use crate::transport::fixture::{TestCa, eventually, log_lines};

#[tokio::test]
async fn it_is_ready_when_every_resource_was_listed_and_not_before() {
    for (held, missing) in [
        ("/storageclasses", "storageclasses"),
        ("/persistentvolumes", "persistentvolumes"),
        ("/api/", "persistentvolumes, persistentvolumeclaims, namespaces"),
        ("/", "persistentvolumes, persistentvolumeclaims, storageclasses, namespaces"),
    ] {
        let scene = Scene::of("class fast\npair pv-a db/data 10Gi RWO");
        let gate = Gate::closed(held);
        let stage = Stage::start(gate.client(&scene.server), RULES, Duration::ZERO);
        let waits = format!("not listed yet: {missing}\n");
        let ready = stage.until("/readyz", |reply| reply.body == waits).await;
        assert_eq!((ready.status, stage.probe("/startupz").await), (503, ready.clone()));
        assert_eq!(stage.probe("/livez").await.status, 200);
        assert_eq!(stage.metric("bindery_cache_synced").await, 0);
        gate.open();
        stage.until_ready().await;
        assert_eq!(stage.probe("/startupz").await.body, "ok\n");
        assert_eq!(stage.metric("bindery_cache_synced").await, 1);
    }
}

#[tokio::test]
async fn it_stays_ready_when_its_watches_are_cut() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let gate = Gate::closed("watch=");
    gate.open();
    let stage = Stage::start(gate.client(&scene.server), RULES, Duration::ZERO);
    stage.until_ready().await;
    gate.close();
    let before = gate.held();
    scene.server.end_watches();
    eventually("no watch comes back", || gate.held() >= before + 3).await;
    assert_eq!(stage.probe("/readyz").await.status, 200);
    let review = scene.unmutated(&Send::Delete("pv/pv-a"), Persona::Admin, "");
    assert_eq!(stage.validate(Endpoint::Guard, review.body()).await["allowed"], false);
}

/// Every client denies an expired certificate: probes send them to another replica.
#[tokio::test]
async fn it_is_not_ready_while_its_certificate_has_expired() {
    let scene = Scene::empty();
    let folder = tempfile::tempdir().unwrap();
    let file = |name| folder.path().join(name);
    let pair =
        PairFiles { certificate: file("tls.crt"), key: file("tls.key"), host: None, callers: None };
    let ca = TestCa::new();
    let write = |until| {
        let (certificate, key) = ca.issue(2020, until);
        fs::write(&pair.certificate, certificate).unwrap();
        fs::write(&pair.key, key).unwrap();
    };
    write(2021);
    let stage = Stage::serving(pair.clone(), scene.client(), RULES, Duration::ZERO);
    stage.until("/metrics", |reply| reply.body.contains("\nbindery_cache_synced 1\n")).await;
    let ready = stage.probe("/readyz").await;
    let reported = (ready.status, ready.body.as_str());
    assert_eq!(reported, (503, "the serving certificate has expired\n"));
    assert_eq!(stage.probe("/startupz").await, ready);
    assert_eq!(stage.probe("/livez").await.status, 200, "a restart would not renew it");
    write(2060);
    stage.until_ready().await;
}

#[tokio::test]
async fn a_denial_is_one_log_line_that_holds_no_object() {
    assert_eq!(log_lines("pv-logged"), 0);
    let scene = Scene::of("pair pv-logged db/data 10Gi RWO annotation=example.com/secret:hush");
    let stage = Stage::before(&scene).await;
    let review = scene.unmutated(&Send::Delete("pv/pv-logged"), Persona::Admin, "");
    stage.post("/validate/guard", &review.body().to_string()).await.response();
    assert_eq!(log_lines("pv-logged"), 1);
    let reported = "kind=\"PersistentVolume\" name=\"pv-logged\" \
                rules=\"bound-volume-delete=denied\" decision=\"denied\" dry_run=false withheld=0";
    assert_eq!(log_lines(reported), 1);
    assert_eq!(log_lines("sentence=\"PV \\\"pv-logged\\\" is bound to PVC"), 1);
    assert_eq!(log_lines("hush"), 0);
}

/// In the profile audit no requester gets a warning, but for the dry run by which `bindery doctor` proves that it is asked.
#[tokio::test]
async fn what_is_audited_is_logged_with_user_operation_and_sentence() {
    assert_eq!(log_lines("pv-audited"), 0);
    let audit = "apiVersion: bindery.dev/v1\nkind: Config\nprofile: audit\n";
    let policy = bindery::config::read(audit, "audit.yaml").unwrap().policy;
    let scene = Scene::of("pair pv-audited db/data 10Gi RWO");
    let stage = Stage::under(policy, &scene, RULES).await;
    let ask = async |send: &Send, query: &str, endpoint| {
        let body = scene.unmutated(send, Persona::Admin, query).body().clone();
        stage.validate(endpoint, &body).await
    };
    let deleted = ask(&Send::Delete("pv/pv-audited"), "", Endpoint::Guard).await;
    assert_eq!((&deleted["allowed"], deleted.get("warnings")), (&json!(true), None), "{deleted}");
    let reported = "operation=\"DELETE\" kind=\"PersistentVolume\" name=\"pv-audited\" \
                rules=\"bound-volume-delete=would_deny\" decision=\"allowed\"";
    assert_eq!(log_lines(reported), 1);
    assert_eq!(log_lines("sentence=\"PV \\\"pv-audited\\\" is bound to PVC"), 1);

    let created =
        ask(&Send::Create("volume pv-a 1Gi RWO hostPath=/srv/a"), "", Endpoint::Advise).await;
    assert_eq!((&created["allowed"], created.get("warnings")), (&json!(true), None), "{created}");
    let text = stage.probe("/metrics").await.body;
    for line in [
        r#"bindery_rule_results_total{result="would_deny",rule="bound-volume-delete"} 1"#,
        r#"bindery_rule_results_total{result="would_warn",rule="host-path-volume"} 1"#,
        r#"bindery_rule_results_total{result="would_deny",rule="host-path-volume"} 0"#,
    ] {
        assert!(text.lines().any(|reported| reported == line), "no {line} in {text}");
    }

    let line = "volume bindery-doctor-canary 1Gi RWO claimRef={\"name\":\"data\"}";
    for (line, query, is_reported) in [
        (line, "?dryRun=All", true),
        (line, "", false),
        ("volume pv-other 1Gi RWO claimRef={\"name\":\"data\"}", "?dryRun=All", false),
    ] {
        let reply = ask(&Send::Create(line), query, Endpoint::Advise).await;
        assert_eq!(reply["allowed"], true, "{reply}");
        let has_warning = reply["warnings"].to_string().contains("[prebind-incomplete] ");
        assert_eq!(has_warning, is_reported, "{line} {query}: {reply}");
    }
}

/// The controller finds out by it whether guard answers, whatever the rules are set to. It is no user's request.
#[tokio::test]
async fn guard_denies_the_probe_in_every_profile_and_does_not_count_it() {
    for profile in ["audit", "strict"] {
        let text = format!("apiVersion: bindery.dev/v1\nkind: Config\nprofile: {profile}\n");
        let policy = bindery::config::read(&text, "profile.yaml").unwrap().policy;
        let scene = Scene::empty();
        let stage = Stage::under(policy, &scene, RULES).await;
        let line = "volume bindery-guard-probe 1Gi RWO";
        for (line, query, endpoint, is_denied) in [
            (line, "?dryRun=All", Endpoint::Guard, true),
            (line, "?dryRun=All", Endpoint::Advise, false),
            (line, "", Endpoint::Guard, false),
            ("volume pv-other 1Gi RWO", "?dryRun=All", Endpoint::Guard, false),
        ] {
            let body = scene.unmutated(&Send::Create(line), Persona::Admin, query).body().clone();
            let reply = stage.validate(endpoint, &body).await;
            let denied = reply["status"]["message"] == GUARD_PROBE_DENIAL;
            assert_eq!((&reply["allowed"], denied), (&json!(!is_denied), is_denied), "{reply}");
        }
        let text = stage.probe("/metrics").await.body;
        let counted = |path: &str| {
            let line = format!("{{decision=\"allowed\",path=\"{path}\"}} ");
            text.lines().find_map(|it| it.split_once(&*line).map(|(_, count)| count.to_owned()))
        };
        assert_eq!(counted("/validate/guard").as_deref(), Some("2"), "{text}");
        assert_eq!(counted("/validate/advise").as_deref(), Some("1"), "{text}");
    }
}

#[tokio::test]
async fn reviews_are_counted_by_path_decision_and_rule() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO\nvolume pv-b 5Gi RWO phase=Available");
    let stage = Stage::before(&scene).await;
    for target in ["pv/pv-a", "pv/pv-b"] {
        let send = Send::Delete(target);
        let review = scene.unmutated(&send, Persona::Admin, "");
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
        // It is there before its first event, or that would be no increase.
        r#"bindery_rule_results_total{result="would_deny",rule="prebind-class"} 0"#,
        r#"bindery_requests_rejected_total{reason="unreadable"} 1"#,
        r#"bindery_live_reads_total{outcome="answered"} 1"#,
        "bindery_admission_duration_seconds_count 5",
        "bindery_panics_total 0",
    ] {
        assert!(text.lines().any(|reported| reported == line), "no {line} in {text}");
    }
}

#[tokio::test]
async fn paths_that_do_not_exist_are_named() {
    let stage = Stage::before(&Scene::empty()).await;
    for (path, status) in [("/", 404), ("/healthz", 404), ("/validate/guard", 404)] {
        assert_eq!(stage.probe(path).await.status, status);
    }
}

/// Twenty reviews wait for live reads, one is half sent; all are answered, no new client learns that
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
    let send = Send::Delete("pv/pv-a");
    let review = scene.unmutated(&send, Persona::Admin, "");
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
    let reply = stage.until("/readyz", |reply| reply.status == 503).await;
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
