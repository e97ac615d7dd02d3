//! `docs/how-to/override.md`, run as it is written: a denied deletion passes by an exemption, by break-glass, and once the
//! webhook is switched off.

use std::time::Duration;

use serde_json::json;

use crate::eventually::eventually;
use crate::installed::{Installed, Registered, with_long_timeout};
use crate::no_false_denials::world::World;
use crate::page::{Shell, fenced};
use crate::plane::persona::{ADMIN, STORAGE_ADMIN};
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(a_denied_change_is_put_through_as_the_page_says)];

const PAGE: &str = include_str!("../../../docs/how-to/override.md");

fn a_denied_change_is_put_through_as_the_page_says() {
    let blocks = fenced(PAGE, "sh");
    let [exempt, break_glass, switch_off] = blocks.as_slice() else {
        panic!("the page has other blocks: {blocks:?}")
    };
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let world = World::new(&plane, "db");
    let _webhook = Installed::on(&plane, Registered::Everything);
    with_long_timeout(&plane);
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

/// Waits until a deletion would be answered so: API servers learn of a registration a moment later.
fn await_delete(world: &World<'_>, path: &str, code: u16) {
    let dry = format!("{path}?dryRun=All");
    eventually(&format!("a deletion is answered {code}"), Duration::from_secs(30), || {
        let reply = world.delete(STORAGE_ADMIN, &dry);
        if reply.code == code { Ok(()) } else { Err(reply.to_string()) }
    });
}
