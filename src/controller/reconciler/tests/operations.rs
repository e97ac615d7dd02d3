//! How long drivers took is counted once they are done, and what no driver does as an error.

use std::sync::Arc;
use std::time::Duration;

use super::{Stage, gone, held, pv, pvc};
use crate::api::class::class;
use crate::binding::{LiveReads, Observed, Write};
use crate::client::resource::ResourceKind;
use crate::controller::reconciler::{EndedOperation, Task, VolumeOperation};
use crate::model::{
    Backend, Claim, ClaimKey, ClassName, ClassRequest, ReclaimPolicy, Reservation, ResourceVersion,
    Uid, Volume,
};

/// Sees a class `fast` of driver `csi.example`.
fn with_class(stage: &mut Stage) {
    let text = r#"{"metadata":{"name":"fast"},"provisioner":"csi.example"}"#;
    let observed = Observed::Class(Arc::new(class(text).unwrap()));
    stage.reconciler.on_object(observed, &ResourceVersion::new("101"), stage.now);
}

fn fast() -> ClassName {
    ClassName::new("fast")
}

/// Stores every write, and answers every read by `live`.
fn run(stage: &mut Stage, live: &LiveReads) -> Vec<Write> {
    let mut writes = Vec::new();
    while let Some(task) = stage.next() {
        match task {
            Task::Send(write) => {
                stage.store(&write, 200 + u32::try_from(writes.len()).unwrap());
                writes.push(write);
            }
            Task::Read(asked) => stage.reconciler.on_answer(&asked, live, stage.now),
            Task::Record(_) => {}
            Task::Check(_) | Task::Recycle(_) => panic!("{task:?}"),
        }
    }
    writes
}

#[test]
fn a_volume_was_made_once_its_claim_is_bound() {
    let mut stage = Stage::of(&[], &[]);
    with_class(&mut stage);
    let claim = Claim { class_field: ClassRequest::Named(fast()), ..pvc("c", 102, 0) };
    stage.see(Observed::Claim(Arc::new(claim)));
    run(&mut stage, &LiveReads::default());
    assert_eq!(stage.reconciler.take_ended(), []);
    stage.now += Duration::from_secs(7);
    let reservation = Reservation::Held(ClaimKey::new("db", "c"), Uid::new("u-c"));
    let made = Volume { class_field: Some(fast()), reservation, ..pv("a", 150, "1Gi", "Pending") };
    stage.see(Observed::Volume(Arc::new(made)));
    run(&mut stage, &LiveReads::default());
    let took = Some(Duration::from_secs(7));
    let (plugin, operation) = ("csi.example".into(), VolumeOperation::Provision);
    assert_eq!(stage.reconciler.take_ended(), [EndedOperation { plugin, operation, took }]);
    assert_eq!(stage.reconciler.take_ended(), []);
}

#[test]
fn a_volume_was_deleted_once_it_is_gone_and_what_no_driver_deletes_is_an_error() {
    let of_driver = Volume {
        policy: ReclaimPolicy::Delete,
        backend: Backend::Csi("csi.example".into()),
        class_field: Some(fast()),
        ..held(102)
    };
    let without_driver = Volume { backend: Backend::Other, ..of_driver.clone() };
    for (volume, expected) in [
        (of_driver, ("csi.example", Some(Duration::from_secs(3)))),
        (without_driver, ("N/A", None)),
    ] {
        let mut stage = Stage::of(&[], &[]);
        with_class(&mut stage);
        stage.see(Observed::Volume(Arc::new(volume)));
        run(&mut stage, &gone());
        stage.now += Duration::from_secs(3);
        let identity =
            ResourceKind::Volumes.identities(stage.reconciler.view()).pop_first().unwrap();
        let (gone, version) = (ResourceKind::Volumes.gone(&identity), ResourceVersion::new("300"));
        stage.reconciler.on_object(gone, &version, stage.now);
        let (plugin, took) = (expected.0.into(), expected.1);
        let operation = VolumeOperation::Delete;
        assert_eq!(stage.reconciler.take_ended(), [EndedOperation { plugin, operation, took }]);
    }
}
