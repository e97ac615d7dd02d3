//! What a list does not show is gone; what cannot be read is neither.

use std::sync::Arc;

use super::*;
use crate::cluster::resource::Identity;
use crate::cluster::watch::Unreadable;
use crate::model::Uid;

fn unreadable(name: &str) -> Unreadable {
    Unreadable {
        identity: Identity { namespace: "".into(), name: name.into() },
        uid: Uid::new(name),
        version: ResourceVersion::new("110"),
        reason: "a reason".to_owned(),
    }
}

#[test]
fn what_a_list_does_not_show_is_gone_and_what_cannot_be_read_is_counted_while_it_is_there() {
    let mut stage = Stage::of(
        &[pv("kept", 1, "1Gi", "Available"), pv("gone", 2, "1Gi", "Available")],
        &[pvc("c", 3, 1)],
    );
    let now = stage.now;
    for name in ["ill", "ill-too"] {
        stage.engine.unreadable(Watched::Volumes, unreadable(name), now);
    }
    stage.engine.begin_list(Watched::Volumes);
    stage.see(Observed::Volume(Arc::new(pv("kept", 1, "1Gi", "Available"))));
    stage.see(Observed::Volume(Arc::new(pv("new", 111, "1Gi", "Available"))));
    stage.engine.unreadable(Watched::Volumes, unreadable("ill"), now);
    stage.engine.begin_list(Watched::Claims);
    let names = |stage: &Stage| -> Vec<String> {
        stage.engine.view().volumes().map(|volume| volume.name.to_string()).collect()
    };
    assert_eq!(names(&stage), ["gone", "kept", "new"], "before its end a list proves nothing");
    stage.engine.end_list(Watched::Volumes, &ResourceVersion::new("120"), now);
    assert_eq!(names(&stage), ["kept", "new"]);
    assert_eq!(stage.engine.unreadable_count(Watched::Volumes), 1);
    assert_eq!(stage.engine.view().claims().count(), 1, "another list is under way");
    stage.engine.end_list(Watched::Claims, &ResourceVersion::new("120"), now);
    assert_eq!(stage.engine.view().claims().count(), 0);
}
