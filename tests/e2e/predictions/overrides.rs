//! `docs/how-to/override.md`, run as it is written: a denied deletion passes by an exemption, by break-glass, and once the
//! webhook is switched off.

use std::time::Duration;

use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::installed::{Installed, Registered, with_long_timeout};
use crate::no_false_denials::world::World;
use crate::page::{Shell, fenced};
use crate::plane::persona::{ADMIN, STORAGE_ADMIN, TENANT};
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_denied_change_is_put_through_as_the_page_says),
    case!(a_request_waives_nothing_until_an_administrator_grants_it),
];

const PAGE: &str = include_str!("../../../docs/how-to/override.md");

fn a_denied_change_is_put_through_as_the_page_says() {
    let blocks = fenced(PAGE, "sh");
    let [exempt, list, break_glass, switch_off] = blocks.as_slice() else {
        panic!("the page has other blocks: {blocks:?}")
    };
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let world = World::new(&plane, "db");
    let _webhook = Installed::on(&plane, Registered::Everything);
    with_long_timeout(&plane);
    Shell { plane: &plane, folder: plane.home(), user: ADMIN }.run(list);
    let who = "ME=jane GROUP=system:masters\n";
    for (name, block) in [("a", exempt), ("b", break_glass), ("c", switch_off)] {
        world.pair(name, &json!({}));
        let volume = world.named(name);
        let path = world.volume_path(name);
        await_delete(&world, &path, 403);
        let shell = Shell { plane: &plane, folder: plane.home(), user: ADMIN };
        shell.run(&format!("{who}{}", block.replace("pv-db-0", &volume).replace("NAME", &volume)));
        if block == switch_off {
            await_delete(&world, &path, 200);
            world.delete(STORAGE_ADMIN, &path).expect_ok();
        }
        let stored = world.get(&path);
        assert!(stored["metadata"]["deletionTimestamp"].is_string(), "{stored}");
    }
}

/// Whatever a tenant writes on a claim of his own, only who may write PVs exempts one.
fn a_request_waives_nothing_until_an_administrator_grants_it() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let world = World::new(&plane, "db");
    let _webhook = Installed::on(&plane, Registered::Everything);
    with_long_timeout(&plane);
    world.pair("data", &json!({}));
    let (claim, volume) = (world.claim_path("data"), world.volume_path("data"));
    await_delete(&world, &volume, 403);
    let reason = "it's moving; $(reboot) 'now'";
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let asked = json!({"metadata": {"annotations": {
        "request.bindery.dev/bound-volume-delete": reason,
        // What would exempt a PV, in every place that a tenant may write.
        "allow.bindery.dev/bound-volume-delete": format!("{until} moving"),
    }}});
    world.patch(TENANT, &claim, &asked).expect_ok();
    world.patch(TENANT, &volume, &asked).expect_denied(403);
    let exemptions = || -> Value {
        let shell = Shell { plane: &plane, folder: plane.home(), user: ADMIN };
        let output = shell.output("bindery exemptions -o json");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let listed = exemptions();
    assert_eq!(listed["inForce"], json!([]), "{listed}");
    let [request] = listed["requests"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&request["name"], &request["reason"]), (&json!("data"), &json!(reason)));
    // Still denied, long after every replica has seen the annotations.
    eventually("the webhook has seen the claim", Duration::from_secs(30), || {
        let reply = world.delete(STORAGE_ADMIN, &format!("{volume}?dryRun=All"));
        if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
    });
    let grant = request["grant"].as_str().unwrap();
    // Who may not write PVs cannot grant it.
    let as_tenant = Shell { plane: &plane, folder: plane.home(), user: TENANT };
    assert!(!as_tenant.output(grant).status.success());
    await_delete(&world, &volume, 403);
    Shell { user: ADMIN, ..as_tenant }.run(grant);
    await_delete(&world, &volume, 200);
    let listed = exemptions();
    assert_eq!(listed["requests"], json!([]), "{listed}");
    let granted = &listed["inForce"][0];
    assert_eq!(granted["persistentVolume"], world.named("data"), "{listed}");
    assert_eq!(granted["reason"], format!("{reason} (requested by PVC db/data)"), "{listed}");
}

/// Waits until a deletion would be answered so: API servers learn of a registration a moment later.
fn await_delete(world: &World<'_>, path: &str, code: u16) {
    let dry = format!("{path}?dryRun=All");
    eventually(&format!("a deletion is answered {code}"), Duration::from_secs(30), || {
        let reply = world.delete(STORAGE_ADMIN, &dry);
        if reply.code == code { Ok(()) } else { Err(reply.to_string()) }
    });
}
