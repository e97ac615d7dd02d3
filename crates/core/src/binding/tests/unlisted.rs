//! Less input never yields more conclusions: of a world of which objects are missing, every outcome is that of the whole
//! world, or not known.

use std::sync::Arc;

use proptest::prelude::*;

use super::world::worlds;
use crate::binding::{
    ClaimOutcome, Collection, ListedCollections, ObjectKey, Observed, View, VolumeOutcome, settle,
};
use crate::model::ClaimKey;

/// The kinds that may be missing, in part.
const KINDS: [Collection; 3] = [Collection::Volumes, Collection::Claims, Collection::Classes];

/// `view` without the objects of kinds that are not listed and that `hidden` has a bit for.
fn part(view: &View, listed: &ListedCollections, hidden: u32) -> View {
    let mut bits = (0..).map(|place| hidden >> (place % 32) & 1 == 1);
    let mut is_seen = |collection| listed.has(collection) || !bits.next().unwrap_or_default();
    let mut part = View::default();
    for volume in view.volumes().filter(|_| is_seen(Collection::Volumes)) {
        part.apply(Observed::Volume(Arc::clone(volume)));
    }
    for claim in view.claims().filter(|_| is_seen(Collection::Claims)) {
        part.apply(Observed::Claim(Arc::clone(claim)));
    }
    for class in view.classes().filter(|_| is_seen(Collection::Classes)) {
        part.apply(Observed::Class(Arc::clone(class)));
    }
    view.pods().for_each(|pod| part.apply(Observed::Pod(Arc::clone(pod))));
    part
}

/// An outcome as a plan reports it: how a claim lost its volume, or in which way it is in conflict with another, may
/// change with what others get.
fn same(outcome: &ClaimOutcome) -> String {
    if let ClaimOutcome::Unfit(name, _) | ClaimOutcome::Taken(name) = outcome {
        return format!("conflict {name}");
    }
    let is_lost = matches!(outcome, ClaimOutcome::Lost(_));
    if is_lost { "lost".to_owned() } else { format!("{outcome:?}") }
}

proptest! {
    #[test]
    fn of_a_part_nothing_is_said_that_the_whole_denies(
        world in worlds(),
        kinds in proptest::sample::subsequence(KINDS.to_vec(), 0..KINDS.len()),
        hidden in prop_oneof![Just(u32::MAX), any::<u32>()],
    ) {
        let mut listed = ListedCollections::default();
        kinds.into_iter().chain([Collection::Pods]).for_each(|kind| listed.add(kind));
        let order: Vec<ClaimKey> = world.claims().map(|claim| claim.key.clone()).collect();
        let (mut part, mut whole) = (part(&world, &listed, hidden), world);
        let truth = settle(&mut whole, &order, ListedCollections::everything());
        let order: Vec<ClaimKey> = part.claims().map(|claim| claim.key.clone()).collect();
        let reported = settle(&mut part, &order, &listed);
        for (key, outcome) in &reported.claims {
            let is_open = reported.missing.contains_key(&ObjectKey::Claim(key.clone()));
            prop_assert_eq!(*outcome == ClaimOutcome::Unknown, is_open, "{} {:?}", key, outcome);
            if !is_open {
                let truth = truth.claim(key).map(same);
                prop_assert_eq!(Some(same(outcome)), truth, "{} {:?}", key, &listed);
            }
        }
        for (name, outcome) in &reported.volumes {
            let is_open = reported.missing.contains_key(&ObjectKey::Volume(name.clone()));
            prop_assert_eq!(*outcome == VolumeOutcome::ClaimUnknown, is_open, "{} {:?}", name, outcome);
            if !is_open {
                prop_assert_eq!(Some(outcome), truth.volume(name), "{} {:?}", name, &listed);
            }
        }
    }
}
