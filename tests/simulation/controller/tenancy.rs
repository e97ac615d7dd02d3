//! The tenant's label that the controller gives with a reservation: across a crash, and when the claim is gone.

use std::sync::Arc;
use std::time::Duration;

use bindery::config::Configuration;
use bindery::controller::mode::ControllerMode;
use bindery::model::TenantLabel;
use bindery::model::annotations::TENANT;
use bindery_sim::{ApiRequest, ApiServer, Method, Phase, RequestUser, ReviewOutcome, Reviewer};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::controller::{Running, VOLUMES, claim, phase, send, server, until, volume};

fn labelling() -> Configuration {
    let mut configuration = Configuration::default();
    configuration.policy.label_volumes(TenantLabel::Auto);
    configuration
}

fn start(server: &ApiServer, configuration: Configuration) -> Running {
    Running::under(
        configuration,
        Client::new(server.clone(), "default"),
        ControllerMode::Full,
        None,
    )
    .0
}

fn claims(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

/// Namespaces of these names, each of this tenant, if it has one.
fn namespaces(server: &ApiServer, tenants: &[(&str, &str)]) {
    for (name, tenant) in tenants {
        let labels = if tenant.is_empty() { json!({}) } else { json!({TENANT: tenant}) };
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        send(server, Method::Post, "/api/v1/namespaces", namespace);
    }
}

fn tenant_of(server: &ApiServer, volume: &str) -> Value {
    let object = send(server, Method::Get, &format!("{VOLUMES}/{volume}"), Value::Null);
    object["metadata"]["labels"][TENANT].clone()
}

/// Deletes a claim; then an administrator clears the reservation of its volume.
async fn free(server: &ApiServer, claim: &str, volume: &str) {
    let patch = |path: String, patch: Value| {
        let response = server.with(|cluster| cluster.handle(ApiRequest::merge_patch(path, patch)));
        assert!(response.code < 300, "{response:?}");
    };
    patch(claim.to_owned(), json!({"metadata": {"finalizers": null}}));
    send(server, Method::Delete, claim, Value::Null);
    until(server, volume, "Released").await;
    patch(volume.to_owned(), json!({"spec": {"claimRef": null}}));
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_cleared_goes_to_no_other_tenant() {
    let server = server();
    namespaces(&server, &[("blue-1", "blue"), ("blue-2", "blue"), ("evil", "red"), ("none", "")]);
    send(&server, Method::Post, VOLUMES, volume("pv-a", "10Gi"));
    let running = start(&server, labelling());
    let (own, volume) = (format!("{}/a", claims("blue-1")), format!("{VOLUMES}/pv-a"));
    send(&server, Method::Post, &claims("blue-1"), claim("a", "5Gi"));
    until(&server, &own, "Bound").await;
    assert_eq!(tenant_of(&server, "pv-a"), "blue");
    for other in ["evil", "none"] {
        send(&server, Method::Post, &claims(other), claim("a", "5Gi"));
    }
    free(&server, &own, &volume).await;
    until(&server, &volume, "Available").await;
    sleep(Duration::from_mins(6)).await;
    for other in ["evil", "none"] {
        assert_eq!(phase(&server, &format!("{}/a", claims(other))), "Pending");
    }
    send(&server, Method::Post, &claims("blue-2"), claim("a", "5Gi"));
    until(&server, &format!("{}/a", claims("blue-2")), "Bound").await;
    assert_eq!(tenant_of(&server, "pv-a"), "blue");
    running.stop().await;
}

/// An unlabelled volume goes to the first claim: the same without the setting.
#[tokio::test(start_paused = true)]
async fn an_unlabelled_volume_goes_to_another_tenant() {
    let server = server();
    namespaces(&server, &[("blue-1", "blue"), ("evil", "red")]);
    send(&server, Method::Post, VOLUMES, volume("pv-a", "10Gi"));
    let running = start(&server, Configuration::default());
    let (own, volume) = (format!("{}/a", claims("blue-1")), format!("{VOLUMES}/pv-a"));
    send(&server, Method::Post, &claims("blue-1"), claim("a", "5Gi"));
    until(&server, &own, "Bound").await;
    assert_eq!(tenant_of(&server, "pv-a"), Value::Null);
    send(&server, Method::Post, &claims("evil"), claim("a", "5Gi"));
    free(&server, &own, &volume).await;
    until(&server, &format!("{}/a", claims("evil")), "Bound").await;
    running.stop().await;
}

/// A controller that gets no further than the reservation, and one that takes over.
#[tokio::test(start_paused = true)]
async fn a_crash_after_the_reservation_leaves_no_volume_without_its_label() {
    let server = server();
    namespaces(&server, &[("blue-1", "blue")]);
    send(&server, Method::Post, VOLUMES, volume("pv-a", "10Gi"));
    let only_first_step: Reviewer = Arc::new(|review| {
        let request = review.request();
        let is_later = review.phase() == Phase::Validating
            && (request["subResource"] == "status"
                || request["resource"]["resource"] == "persistentvolumeclaims");
        Box::pin(async move {
            if !is_later {
                return ReviewOutcome::allow();
            }
            ReviewOutcome::Deny {
                webhook: "later".to_owned(),
                status: Value::Null,
                warnings: Vec::new(),
            }
        })
    });
    send(&server, Method::Post, &claims("blue-1"), claim("a", "5Gi"));
    let available = json!({"status": {"phase": "Available"}});
    let path = format!("{VOLUMES}/pv-a/status");
    let response = server.with(|cluster| cluster.handle(ApiRequest::merge_patch(path, available)));
    assert!(response.code < 300, "{response:?}");
    let held = server.for_user(RequestUser::named("first", &[])).with_reviewer(only_first_step);
    let first = start(&held, labelling());
    let reference = || {
        let object = send(&server, Method::Get, &format!("{VOLUMES}/pv-a"), Value::Null);
        object["spec"]["claimRef"]["name"].clone()
    };
    while reference() != "a" {
        sleep(Duration::from_millis(1)).await;
    }
    first.kill();
    assert_eq!(tenant_of(&server, "pv-a"), "blue");
    assert_eq!(phase(&server, &format!("{}/a", claims("blue-1"))), "Pending");
    // Not even one that labels nothing takes the label off.
    let second = start(&server, Configuration::default());
    until(&server, &format!("{}/a", claims("blue-1")), "Bound").await;
    assert_eq!(tenant_of(&server, "pv-a"), "blue");
    second.stop().await;
}
