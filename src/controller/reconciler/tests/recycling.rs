//! Volumes that are recycled: what is kept of them, and for how long.

use std::sync::Arc;
use std::time::Duration;

use super::{Stage, Task};
use crate::api::volume::Wanted;
use crate::api::volume::volume;
use crate::binding::{LiveReads, Observed, ReadResult, Recycling};
use crate::controller::reconciler::{RecycleOrder, Recycled};
use crate::model::{ClaimKey, ResourceVersion, Uid, Volume, VolumeName};

/// A volume whose claim is gone and whose storage is to be emptied.
fn released(uid: &str, version: u32) -> Volume {
    let text = format!(
        r#"{{"metadata":{{"name":"a","uid":"{uid}","resourceVersion":"{version}"}},"spec":{{"capacity":
        {{"storage":"1Gi"}},"accessModes":["ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Recycle",
        "nfs":{{"server":"a","path":"/"}},"claimRef":{{"namespace":"db","name":"c","uid":"u-c"}}}},
        "status":{{"phase":"Released"}}}}"#
    );
    volume(&text, Wanted::Both).unwrap().volume
}

/// The next order, where every read finds the volume as it is seen, and no pod that uses it.
fn order(stage: &mut Stage) -> Option<RecycleOrder> {
    let mut live = LiveReads::default();
    live.claims.insert(ClaimKey::new("db", "c"), ReadResult::NotFound);
    live.live_pods.insert(ClaimKey::new("db", "c"), ReadResult::Found(Arc::new(Vec::new())));
    for version in 200..220 {
        let volume = stage.reconciler.view().volume(&VolumeName::new("a")).cloned();
        let volume = volume.map_or(ReadResult::NotFound, ReadResult::Found);
        live.volumes.insert(VolumeName::new("a"), volume);
        match stage.next()? {
            Task::Recycle(order) => return Some(order),
            Task::Read(asked) => stage.reconciler.on_answer(&asked, &live, stage.now),
            Task::Record(notice) => stage.reconciler.on_recorded(&notice, true, stage.now),
            Task::Send(write) => stage.store(&write, version),
            other @ Task::Check(_) => panic!("nothing was lost: {other:?}"),
        }
    }
    panic!("it does not come to rest")
}

fn fail(stage: &mut Stage, order: RecycleOrder) {
    let end = Recycled::Ended(Recycling::Failed("no".into()));
    stage.reconciler.on_recycled(order, end, stage.now);
}

#[test]
fn another_volume_of_the_same_name_does_not_wait_for_the_failures_of_the_first() {
    let mut stage = Stage::of(&[released("one", 1)], &[]);
    let first = order(&mut stage).expect("it is to be emptied");
    fail(&mut stage, first);
    assert_eq!(order(&mut stage), None, "it has just failed");
    stage.see(Observed::Volume(Arc::new(released("another", 301))));
    let next = order(&mut stage).expect("this one has not");
    assert_eq!(next.uid, Some(Uid::new("another")));
}

#[test]
fn nothing_is_kept_of_a_volume_that_is_gone() {
    for is_at_work in [false, true] {
        let mut stage = Stage::of(&[released("one", 1)], &[]);
        let first = order(&mut stage).expect("it is to be emptied");
        if !is_at_work {
            fail(&mut stage, first.clone());
        }
        let gone = Observed::VolumeGone(VolumeName::new("a"));
        stage.reconciler.on_object(gone, &ResourceVersion::new("300"), stage.now);
        if is_at_work {
            fail(&mut stage, first);
        }
        assert!(stage.reconciler.recyclers.is_empty(), "at work: {is_at_work}");
        stage.now += Duration::from_secs(1);
        assert_eq!(order(&mut stage), None);
    }
}
