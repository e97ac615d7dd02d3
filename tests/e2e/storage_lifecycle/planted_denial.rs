//! A webhook that denies one write of each writer, and the same look at the audit log as that which found
//! nothing: it has to find each.
//!
//! It denies what has "planted" in its name or its namespace, so that the scenes can be set by another user.

use std::time::Duration;

use axum::Router;
use axum::routing::post;
use bindery::api::review::{AdmissionResponse, response_bytes};
use bindery::webhook::transport::PortServer;
use serde_json::{Value, json};

use super::actors::{ACTORS, Writer};
use super::scenarios;
use super::tally::Tally;
use super::witness::{by, configuration, entry};
use crate::eventually::eventually;
use crate::installed::{VALIDATING, pair, register, serve};
use crate::no_false_denials::world::{STATIC, VOLUMES, World};
use crate::plane::persona::{self, ARRANGER};
use crate::plane::{Plane, claim_path};

/// How long the slowest of the controllers may take to try.
const PATIENCE: Duration = Duration::from_mins(1);

const MARK: &str = "planted";

/// Fails unless a denial of each writer is found.
pub(super) fn every_writer_is_watched(plane: &Plane) {
    let world = World::of_class(plane, MARK, STATIC, "WaitForFirstConsumer");
    let _server = deny(plane);
    set(&world);
    let seen = |writer: &&Writer, denials: &[String]| {
        denials.iter().any(|denial| {
            denial.starts_with(&format!("{}: ", writer.user)) && denial.contains("planted here")
        })
    };
    eventually("a denial of each writer is found", PATIENCE, || {
        play(&world);
        let tally = Tally::of(&plane.audit_log(), |place| place.contains(MARK) || place == VOLUMES);
        let denials = tally.denials();
        let unseen: Vec<&str> = ACTORS
            .iter()
            .filter(|writer| !seen(writer, &denials))
            .map(|writer| writer.name)
            .collect();
        if unseen.is_empty() { Ok(()) } else { Err(format!("none of {}", unseen.join(", "))) }
    });
    println!("a planted denial is found for each of {} writers", ACTORS.len());
}

/// Serves and registers it.
fn deny(plane: &Plane) -> PortServer {
    let pair = pair();
    let server = serve("planted", &pair, Router::new().route("/", post(denial)));
    let address = server.address();
    let planted = |writer: &Writer| {
        let condition = format!(
            "{} && [request.?namespace.orValue(''), request.?name.orValue('')]\
             .exists(name, name.contains('{MARK}'))",
            by(writer)
        );
        let name = format!("{}.planted.test", writer.name);
        entry(&name, &format!("https://{address}/"), &pair.ca, &condition)
    };
    let entries: Vec<Value> = ACTORS.iter().map(planted).collect();
    register(plane, VALIDATING, &configuration("planted", &entries));
    server
}

async fn denial(body: axum::body::Bytes) -> ([(&'static str, &'static str); 1], Vec<u8>) {
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let uid = review["request"]["uid"].as_str().unwrap_or_default();
    let denied =
        AdmissionResponse { denial: "planted here".to_owned(), ..AdmissionResponse::default() };
    ([("content-type", "application/json")], response_bytes(uid, &denied))
}

/// The namespace whose claims cannot be collected.
const SWEPT: &str = "planted-swept";

/// Gives each of the real ones something to do; they try until it is done.
fn set(world: &World<'_>) {
    let make = |path: &str, object: &Value| world.post(ARRANGER, path, object).expect_ok();
    let claims = claims_of(MARK);
    // For the binder.
    make(VOLUMES, &world.volume_of("idle", &json!({})));
    // For the scheduler, which takes what is available only.
    scenarios::node(world, "planted-node");
    make(VOLUMES, &scenarios::disk(world, "disk", "planted-node"));
    let free = json!({"status": {"phase": "Available"}});
    world.patch(ARRANGER, &format!("{}/status", world.volume_path("disk")), &free).expect_ok();
    make(&claims, &world.claim_of("wanted", &json!({})));
    scenarios::pod(world, "wanted", &json!({}));
    // For the protection of volumes and of claims.
    make(VOLUMES, &world.volume_of("going", &json!({})));
    world.delete(ARRANGER, &world.volume_path("going")).expect_ok();
    make(&claims, &world.claim_of("going", &json!({})));
    world.delete(ARRANGER, &world.claim_path("going")).expect_ok();
    // For the garbage collector.
    let absent = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "absent",
        "uid": "00000000-0000-4000-8000-000000000000"}]);
    make(&claims, &world.claim_of("orphan", &json!({"metadata": {"ownerReferences": absent}})));
    // For the namespace controller.
    world.namespace(SWEPT);
    let inside = world.claim_of("inside", &json!({"metadata": {"namespace": SWEPT}}));
    make(&claims_of(SWEPT), &inside);
    world.delete(ARRANGER, &format!("/api/v1/namespaces/{SWEPT}")).expect_ok();
    // For those that make claims.
    scenarios::templates(world, 2);
}

fn claims_of(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

/// A write of each of those that are played.
fn play(world: &World<'_>) {
    let noted = json!({"metadata": {"annotations": {"example.com/by": "user"}}});
    let volume = world.volume_path("idle");
    for who in [persona::PROVISIONER, persona::RESIZER, persona::ATTACHER, persona::BACKUP] {
        world.patch(who, &volume, &noted);
    }
    let claim = claim_path(MARK, "wanted");
    world.patch(persona::POPULATOR, &claim, &noted);
    world.patch(persona::NODE, &format!("{claim}/status"), &noted);
}
