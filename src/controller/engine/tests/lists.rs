//! What a list does not show is gone once it is complete.

use std::sync::Arc;

use super::*;

#[test]
fn what_a_list_has_not_shown_is_gone_at_its_end_and_not_before() {
    let mut stage = Stage::of(
        &[pv("kept", 1, "1Gi", "Available"), pv("gone", 2, "1Gi", "Available")],
        &[pvc("c", 3, 1)],
    );
    let now = stage.now;
    stage.engine.begin_list(Watched::Volumes);
    stage.see(Observed::Volume(Arc::new(pv("kept", 1, "1Gi", "Available"))));
    stage.see(Observed::Volume(Arc::new(pv("new", 111, "1Gi", "Available"))));
    stage.engine.begin_list(Watched::Claims);
    let names = |stage: &Stage| -> Vec<String> {
        stage.engine.view().volumes().map(|volume| volume.name.to_string()).collect()
    };
    assert_eq!(names(&stage), ["gone", "kept", "new"], "before its end a list proves nothing");
    stage.engine.end_list(Watched::Volumes, &ResourceVersion::new("120"), now);
    assert_eq!(names(&stage), ["kept", "new"]);
    assert_eq!(stage.engine.view().claims().count(), 1, "another list is under way");
    stage.engine.end_list(Watched::Claims, &ResourceVersion::new("120"), now);
    assert_eq!(stage.engine.view().claims().count(), 0);
}
