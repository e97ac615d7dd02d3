//! A claim that asks for a copy of a data source, beside a volume that fits it but for the data.

use super::schemas::expect_valid;
use crate::{ALL_LISTED, Folder};

const STATE: &str = "kind: List
items:
- kind: PersistentVolume
  metadata: {name: pv-a}
  spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], nfs: {server: a, path: /a}}
  status: {phase: Available}
- kind: PersistentVolumeClaim
  metadata: {name: copy, namespace: db, uid: u1}
  spec:
    accessModes: [ReadWriteOnce]
    storageClassName: ''
    resources: {requests: {storage: 10Gi}}
    dataSourceRef: {kind: PersistentVolumeClaim, name: data}
  status: {phase: Pending}
";

#[test]
fn plan_explain_and_scan_give_it_no_volume_without_the_data_and_say_why() {
    let folder = Folder::new();
    folder.write("state.yaml", format!("{STATE}{ALL_LISTED}"));
    let planned = folder.run(&["plan", "-f", "state.yaml"]).stdout;
    assert!(planned.contains("0/1 volumes fit: 1 without the data source's content"), "{planned}");
    let explained = folder.run(&["explain", "pvc/db/copy", "-f", "state.yaml"]).stdout;
    assert!(explained.contains("not provisioned from the data source of the PVC"), "{explained}");
    let json = folder.run(&["explain", "pvc/db/copy", "-f", "state.yaml", "-o", "json"]).stdout;
    expect_valid("explanation", &serde_json::from_str(&json).expect("JSON"));
    let scanned = folder.run(&["scan", "-f", "state.yaml"]).stdout;
    assert!(scanned.contains("[ignored-data-source] PVC \"copy\" requests"), "{scanned}");
}

#[test]
fn it_has_the_volume_that_is_reserved_for_it_or_that_it_names() {
    for (from, to) in [
        (
            "accessModes: [ReadWriteOnce], nfs",
            "accessModes: [ReadWriteOnce], claimRef: {namespace: db, name: copy}, nfs",
        ),
        ("storageClassName: ''", "storageClassName: ''\n    volumeName: pv-a"),
    ] {
        let folder = Folder::new();
        folder.write("state.yaml", format!("{}{ALL_LISTED}", STATE.replace(from, to)));
        let planned = folder.run(&["plan", "-f", "state.yaml"]).stdout;
        assert!(planned.contains("binds") && planned.contains("pv-a"), "{planned}");
    }
}
