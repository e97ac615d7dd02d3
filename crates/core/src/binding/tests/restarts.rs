//! A binder that restarts, in the middle of what it did or on objects that came in another order, ends
//! where it would have ended.

use std::sync::Arc;

use proptest::prelude::*;

use super::world::worlds;
use crate::binding::{
    ListedCollections, Observed, Settlement, View, claim_event, settle, volume_events,
};
use crate::model::{Claim, ClaimKey, Volume};

type State = (Vec<Arc<Volume>>, Vec<Arc<Claim>>);

fn state(view: &View) -> State {
    (view.volumes().cloned().collect(), view.claims().cloned().collect())
}

fn keys(view: &View) -> Vec<ClaimKey> {
    view.claims().map(|claim| claim.key.clone()).collect()
}

/// Every event about the outcome of a cluster.
fn events(view: &View, settlement: &Settlement) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, outcome) in &settlement.claims {
        let claim = view.claim(key).unwrap();
        lines.push(format!("{outcome:?} {:?}", claim_event(view, claim, outcome)));
    }
    for (name, outcome) in &settlement.volumes {
        let volume = view.volume(name).unwrap();
        lines.push(format!("{outcome:?} {:?}", volume_events(volume, outcome)));
    }
    lines
}

proptest! {
    /// Whatever was done before it died, a binder reaches the same end from there. Not while a volume is yet to
    /// be released: a restarted binder reconciles the volumes first, so that a claim later in the queue finds
    /// one that it would have missed, and need not ask a provisioner. It comes to an end all the same.
    #[test]
    fn a_restart_after_any_write_reaches_the_same_end(world in worlds()) {
        let (order, mut whole) = (keys(&world), world.clone());
        let settlement = settle(&mut whole, &order, ListedCollections::everything());
        let last = settlement.writes.iter().rposition(|write| write.unreserves().is_some());
        for done in 0..settlement.writes.len() {
            let mut restarted = world.clone();
            for write in &settlement.writes[..done] {
                restarted.assume(write);
            }
            let again = settle(&mut restarted, &order, ListedCollections::everything());
            if last.is_some_and(|last| done <= last) {
                let rest = settle(&mut restarted, &order, ListedCollections::everything());
                prop_assert_eq!(rest.writes, [], "it is an end");
                continue;
            }
            prop_assert_eq!(state(&restarted), state(&whole), "after {} writes", done);
            prop_assert_eq!(events(&restarted, &again), events(&whole, &settlement));
        }
    }

    /// In which order objects were seen changes nothing, not even what is said of them.
    #[test]
    fn the_order_in_which_objects_are_seen_means_nothing(
        (world, shuffled) in worlds().prop_flat_map(|world| {
            let shuffled = Just(observations(&world)).prop_shuffle();
            (Just(world), shuffled)
        }),
    ) {
        let order = keys(&world);
        let mut other = View::default();
        for observed in shuffled {
            other.apply(observed);
        }
        let mut world = world;
        let ends = [&mut world, &mut other].map(|view| {
            let settlement = settle(view, &order, ListedCollections::everything());
            (state(view), events(view, &settlement), settlement.writes)
        });
        prop_assert_eq!(&ends[0], &ends[1]);
    }
}

fn observations(view: &View) -> Vec<Observed> {
    let volumes = view.volumes().cloned().map(Observed::Volume);
    let claims = view.claims().cloned().map(Observed::Claim);
    let classes = view.classes().cloned().map(Observed::Class);
    let pods = view.pods().cloned().map(Observed::Pod);
    volumes.chain(claims).chain(classes).chain(pods).collect()
}
