//! The generated clusters show everything that can be decided: properties say nothing of what never
//! happens in them.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::world::{next, objects, worlds};
use crate::binding::{FitCheck, Mismatch, Next, View, fit};
use crate::model::{BindingMode, Labels, Node, NonEmpty};

/// Enough that the rarest is there many times over.
const CLUSTERS_COUNT: usize = 1500;

#[test]
fn everything_that_can_be_decided_is_decided_in_some_cluster() {
    let mut runner = TestRunner::deterministic();
    let [mut mismatches, mut outcomes, mut writes] = [(); 3].map(|()| BTreeSet::new());
    for _ in 0..CLUSTERS_COUNT {
        let view = worlds().new_tree(&mut runner).unwrap().current();
        note_mismatches(&view, &mut mismatches);
        note_decisions(view, &mut outcomes, &mut writes);
    }
    let lines =
        [mismatches, outcomes, writes].map(|of| of.into_iter().collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!(lines[0], @r#"
    access_modes
    attributes_class
    claim_elsewhere
    class
    foreign_namespace
    node_affinity
    not_available
    reserved_for_other
    selector
    terminating
    too_small
    volume_mode
    waits_for_consumer
    "#);
    insta::assert_snapshot!(lines[1], @r#"
    claim Bound
    claim BoundDespite
    claim GetsDefaultClass
    claim Lost(Misbound
    claim Lost(Reference
    claim Lost(Unfit
    claim Lost(Volume
    claim NoClass
    claim NoMatchingVolume
    claim NoVolume
    claim Taken
    claim Terminating
    claim Unfit
    claim Unknown
    claim WaitsForConsumer
    claim WaitsForPods
    claim WaitsForProvisioner
    volume AwaitsClaim
    volume Bound
    volume ClaimUnknown
    volume Offered
    volume OtherMode
    volume Released(Administrator
    volume Released(Driver
    volume Released(NoDeleter
    volume Released(Pods
    volume Released(Recycler
    volume Released(UnknownPolicy
    volume Unreserved
    volume Unusable
    "#);
    insta::assert_snapshot!(lines[2], @r#"
    MigrateClaim
    MigrateVolume
    Phase
    Reserve
    SetClass
    SetProvisioner
    SetVolumeName
    Status
    Unreserve
    "#);
}

fn note_mismatches(view: &View, mismatches: &mut BTreeSet<String>) {
    let node = Node { name: "n1".into(), labels: Labels::default() };
    let delayed = FitCheck::Controller(BindingMode::WaitForFirstConsumer);
    for (volume, claim) in view.volumes().flat_map(|v| view.claims().map(move |c| (v, c))) {
        for asker in [delayed, FitCheck::Scheduler(&node)] {
            let found = fit(volume, claim, view.home(claim), asker).err();
            let labels = found.iter().flat_map(NonEmpty::iter).map(Mismatch::label);
            mismatches.extend(labels.map(str::to_owned));
        }
    }
}

/// Decides about every object until nothing is left to write.
fn note_decisions(mut view: View, outcomes: &mut BTreeSet<String>, writes: &mut BTreeSet<String>) {
    loop {
        let mut is_settled = true;
        for object in objects(&view) {
            let next = next(&view, &object, |why| {
                outcomes.insert(variant(&why));
            });
            if let Next::Write(write) = next {
                view.assume(&write);
                writes.insert(variant(&format!("{write:?}")));
                is_settled = false;
            }
        }
        if is_settled {
            return;
        }
    }
}

/// The variant that a value prints as, without what it carries; of a released volume also for what it
/// waits, and of a lost claim how.
fn variant(printed: &str) -> String {
    let end = printed.find(['"', '{', '[']).unwrap_or(printed.len());
    printed[..end].trim_end_matches(['(', ')', ' ']).to_owned()
}
