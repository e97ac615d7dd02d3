//! Who comes first has the volume, though its decision waits for a reply.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Stage, pv, pvc};
use crate::binding::{LiveReads, Observed, Read, ReadResult, Write};
use crate::client::send::WriteOutcome;
use crate::controller::reconciler::Task;
use crate::model::annotations::{BOUND_BY_CONTROLLER, STORAGE_PROVISIONER};
use crate::model::{
    BindingMode, Claim, ClaimKey, Class, ClassName, ClassRequest, DefaultMark, Expansion,
    NodeAffinity, Provisioner, Quantity, Reservation, ResourceVersion, Uid, Volume, VolumeName,
};

fn fast() -> ClassName {
    ClassName::new("fast")
}

fn of_fast(claim: Claim) -> Claim {
    Claim { class_field: ClassRequest::Named(fast()), ..claim }
}

/// A volume of the class.
fn volume(name: &str) -> Volume {
    Volume { class_field: Some(fast()), ..pv(name, 1, "1Gi", "Available") }
}

fn answer(class: ReadResult<Class>) -> LiveReads {
    LiveReads { classes: [(fast(), class)].into(), ..LiveReads::default() }
}

/// There is no object of the class.
fn absent() -> LiveReads {
    answer(ReadResult::NotFound)
}

/// The read fails.
fn failed() -> LiveReads {
    answer(ReadResult::Failed)
}

/// The class leaves the choice to the scheduler.
fn delayed() -> LiveReads {
    answer(ReadResult::Found(Arc::new(Class {
        name: fast(),
        provisioner: Provisioner::Static,
        binding_mode: BindingMode::WaitForFirstConsumer,
        expansion: Expansion::NotAllowed,
        default: DefaultMark::Unmarked,
        allowed_topologies: NodeAffinity::Unrestricted,
    })))
}

/// The next write, where every read finds nothing.
fn write_after_reads(stage: &mut Stage) -> Write {
    loop {
        match stage.next() {
            Some(Task::Send(write)) => return write,
            Some(Task::Read(asked)) => stage.reconciler.on_answer(&asked, &absent(), stage.now),
            other => panic!("neither a write nor a read: {other:?}"),
        }
    }
}

/// Returns who gets a volume by this write.
fn served(write: &Write) -> &str {
    let Write::Reserve { claim, .. } = write else { panic!("not reserved: {write:?}") };
    &claim.name.name
}

#[test]
fn who_waits_for_the_same_read_is_served_in_turn() {
    let claims = [pvc("a", 3, 9), pvc("b", 4, 5), pvc("z", 5, 1)].map(of_fast);
    let mut stage = Stage::of(&["v", "w"].map(volume), &claims);
    let live = absent();
    // The oldest asks first; the others ask while that read is on its way, and wait for the next.
    let asked = stage.read();
    assert!(stage.next().is_none());
    stage.reconciler.on_answer(&asked, &live, stage.now);
    let again = stage.read();
    assert_eq!(again.read, Read::Class(fast()));
    assert_eq!(served(&stage.write()), "z");
    stage.reconciler.on_answer(&again, &live, stage.now);
    assert_eq!(served(&stage.write()), "b");
}

/// An older claim that waits for a read of its class, and a younger one that names the volume which the
/// older will be given.
fn two_claims_for_one() -> Stage {
    let names = Claim { volume: Some(VolumeName::new("v")), ..pvc("names", 4, 5) };
    Stage::of(&[volume("v")], &[of_fast(pvc("chooses", 3, 1)), of_fast(names)])
}

#[test]
fn who_names_a_volume_waits_until_an_older_claim_has_read_what_it_needs() {
    let mut stage = two_claims_for_one();
    let asked = stage.read();
    assert!(stage.next().is_none(), "the older claim comes first");
    // What brings the younger one back meanwhile does not help it.
    let names = stage.reconciler.view().claim(&ClaimKey::new("db", "names")).unwrap();
    let version = Some(ResourceVersion::new("101"));
    let seen = Claim { version, ..Claim::clone(names) };
    stage.see(Observed::Claim(Arc::new(seen)));
    assert!(stage.next().is_none());
    stage.reconciler.on_answer(&asked, &absent(), stage.now);
    let write = stage.write();
    assert_eq!(served(&write), "chooses");
    stage.store(&write, 102);
    assert_eq!(write_after_reads(&mut stage).label(), "volume_phase", "the pair is carried on");
}

#[test]
fn who_named_a_volume_gets_it_once_the_older_claim_does_not_take_it() {
    for (what, live) in [("its class delays it", delayed()), ("the read fails", failed())] {
        let mut stage = two_claims_for_one();
        let asked = stage.read();
        stage.reconciler.on_answer(&asked, &live, stage.now);
        assert_eq!(served(&stage.write()), "names", "{what}");
    }
}

#[test]
fn a_volume_that_its_claim_does_not_take_is_offered_to_a_pending_one() {
    let mut stage =
        Stage::of(&[volume("v")], &[of_fast(pvc("old", 3, 1)), of_fast(pvc("young", 4, 2))]);
    // The younger asks after the first read was sent, and reads first that its class does not exist.
    let first = stage.read();
    assert!(stage.next().is_none());
    stage.reconciler.on_answer(&first, &failed(), stage.now);
    // It has found nothing when the older gives up; the volume looks for it.
    assert_eq!(served(&write_after_reads(&mut stage)), "young");
}

#[test]
fn a_claim_that_names_a_volume_waits_while_the_volume_reads() {
    let names = Claim { volume: Some(VolumeName::new("v")), ..pvc("names", 4, 5) };
    // One claim waits for any volume of its class, the other for this one.
    let mut stage = Stage::of(&[], &[of_fast(pvc("waits", 3, 1)), of_fast(names)]);
    let mut nothing = absent();
    nothing.volumes.insert(VolumeName::new("v"), ReadResult::NotFound);
    for asked in [stage.read(), stage.read()] {
        stage.reconciler.on_answer(&asked, &nothing, stage.now);
    }
    assert!(stage.next().is_none());
    let version = Some(ResourceVersion::new("200"));
    stage.see(Observed::Volume(Arc::new(Volume { version, ..volume("v") })));
    let asked = stage.read();
    assert_eq!(asked.read, Read::Class(fast()));
    assert!(stage.next().is_none(), "the volume asks first");
    stage.reconciler.on_answer(&asked, &absent(), stage.now);
    assert_eq!(served(&stage.write()), "waits");
}

#[test]
fn a_claim_that_is_marked_first_has_its_turn_all_the_same() {
    let mut moved = pvc("moved", 3, 1);
    moved.annotations.insert(STORAGE_PROVISIONER, "kubernetes.io/aws-ebs");
    let mut stage = Stage::of(&[pv("v", 1, "1Gi", "Available")], &[moved, pvc("young", 4, 2)]);
    let mark = stage.write();
    assert_eq!(mark.label(), "migrate_claim");
    stage.store(&mark, 101);
    assert_eq!(served(&stage.write()), "moved");
}

/// A volume that is reserved for claim `first`.
fn left(name: &str, size: &str) -> Volume {
    let mut volume = pv(name, 1, size, "Available");
    volume.reservation = Reservation::Held(ClaimKey::new("db", "first"), Uid::new("u-first"));
    volume.annotations.insert(BOUND_BY_CONTROLLER, "yes");
    volume
}

/// As `plan` says it, in whatever order the replies come.
#[test]
fn of_the_volumes_that_come_free_together_the_best_serves_who_waits() {
    for reverses in [false, true] {
        let waits = Claim { request: Quantity::parse("8Gi").unwrap(), ..pvc("waits", 3, 2) };
        let volumes = [left("kept", "1Gi"), left("later-1", "9Gi"), left("later-2", "8Gi")];
        let mut stage = Stage::of(&volumes, &[pvc("first", 2, 1), waits]);
        let mut version = 200;
        let mut served = Vec::new();
        loop {
            let mut writes = stage.writes();
            if writes.is_empty() {
                break;
            }
            if reverses {
                writes.reverse();
            }
            for write in writes {
                if let Write::Reserve { volume, .. } = &write {
                    served.push(volume.name.to_string());
                }
                stage.store(&write, version);
                version += 1;
            }
        }
        assert_eq!(served, ["later-2"], "{reverses}");
    }
}

/// Both prefer the small volume, and nothing is decided in the same moment: each reply is followed by the decisions that it allows.
#[test]
fn of_two_volumes_that_come_free_together_none_is_left_over_whichever_reply_comes_first() {
    let asking = |name, version, created, size| Claim {
        request: Quantity::parse(size).unwrap(),
        ..pvc(name, version, created)
    };
    for takes_last in [false, true] {
        let volumes = [left("kept", "1Gi"), left("large", "9Gi"), left("small", "2Gi")];
        for second in ["9Gi", "2Gi"] {
            let claims =
                [pvc("first", 2, 1), asking("old", 3, 2, "2Gi"), asking("wide", 4, 3, second)];
            let mut stage = Stage::of(&volumes, &claims);
            let mut sent: Vec<Write> = Vec::new();
            let mut reserved = BTreeMap::new();
            let mut version = 200;
            loop {
                sent.extend(stage.writes());
                if sent.is_empty() {
                    break;
                }
                let write = sent.remove(if takes_last { sent.len() - 1 } else { 0 });
                if let Write::Reserve { volume, claim, .. } = &write {
                    reserved.insert(volume.name.to_string(), claim.name.name.to_string());
                }
                stage.store(&write, version);
                version += 1;
            }
            let of = |volume: &str| reserved.get(volume).map(String::as_str);
            assert_eq!(
                (of("small"), of("large")),
                (Some("old"), Some("wide")),
                "{takes_last} {second}"
            );
        }
    }
}

#[test]
fn a_volume_assumed_for_a_claim_whose_write_is_rejected_is_offered_to_others() {
    let default = Class {
        name: fast(),
        provisioner: Provisioner::Static,
        binding_mode: BindingMode::Immediate,
        expansion: Expansion::NotAllowed,
        default: DefaultMark::Marked { created: "2026-01-01T00:00:00Z".into() },
        allowed_topologies: NodeAffinity::Unrestricted,
    };
    let classless = Claim { class_field: ClassRequest::Unset, ..pvc("old", 2, 0) };
    let mut stage = Stage::of(&[volume("v")], &[classless, of_fast(pvc("young", 3, 1))]);
    stage.reconciler.on_object(
        Observed::Class(Arc::new(default)),
        &ResourceVersion::new("50"),
        stage.now,
    );
    let write = stage.write();
    assert_eq!(
        (write.label(), write.object()),
        ("set_class", super::key("old")),
        "the volume is assumed for it"
    );
    stage.reconciler.on_write_outcome(
        &write,
        WriteOutcome::Rejected("forbidden".to_owned()),
        stage.now,
    );
    let Write::Reserve { claim, .. } = stage.write() else { panic!("not reserved") };
    assert_eq!(&*claim.name.name, "young");
}

/// In a burst each answer completes a batch of claims; the last must not go first.
#[test]
fn claims_are_served_in_the_order_in_which_their_reads_were_answered() {
    let classes = [fast(), ClassName::new("slow"), ClassName::new("slower")];
    let names = [("a", "c"), ("b", "d"), ("e", "f")];
    let (mut volumes, mut claims) = (Vec::new(), Vec::new());
    for ((class, (volume_name, claim_name)), created) in classes.iter().zip(names).zip(1..) {
        let class_field = ClassRequest::Named(class.clone());
        claims.push(Claim { class_field, ..pvc(claim_name, 10 + created, created) });
        volumes.push(Volume { class_field: Some(class.clone()), ..volume(volume_name) });
    }
    let mut stage = Stage::of(&volumes, &claims);
    let asked = [stage.read(), stage.read(), stage.read()];
    for (asked, class) in asked.iter().zip(classes) {
        let classes = [(class, ReadResult::NotFound)].into();
        let absent = LiveReads { classes, ..LiveReads::default() };
        stage.reconciler.on_answer(asked, &absent, stage.now);
    }
    let reserved = stage.writes().into_iter().map(|write| {
        let Write::Reserve { claim, .. } = write else { panic!("not reserved: {write:?}") };
        claim.name.name.to_string()
    });
    assert_eq!(reserved.collect::<Vec<_>>(), ["c", "d", "f"]);
}
