//! What `check` says of deletions that take data along: of claims, of namespaces, and by a StatefulSet.

use serde_json::Value;

use crate::{Folder, LIVE, Output};

/// The pair of [`LIVE`], provisioned: its volume goes with its claim.
fn provisioned() -> String {
    LIVE.replace("persistentVolumeReclaimPolicy: Retain", "persistentVolumeReclaimPolicy: Delete")
}

/// The same with a pod that uses the claim.
fn used() -> String {
    provisioned().replace(
        "kind: PodList\nitems: []",
        "kind: PodList\nitems:\n- metadata: {name: main, namespace: db}\n  \
         spec: {nodeName: n1, volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}",
    )
}

/// Result and message of each finding.
fn reported(output: &Output) -> Vec<(String, String)> {
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let findings = report["findings"].as_array().expect("findings").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    findings.map(|finding| (text(&finding["result"]), text(&finding["message"]))).collect()
}

fn delete(live: &str, target: &str) -> Vec<(String, String)> {
    let folder = Folder::new();
    folder.write("live.yaml", live);
    reported(&folder.run(&["check", "--delete", target, "--live", "live.yaml", "-o", "json"]))
}

#[test]
fn deleting_a_claim_shows_what_else_goes_and_who_uses_it() {
    let warned = |users: &str| {
        let text = format!(
            "[claim-delete-destroys-data] 20Gi on PV \"pv-a\" (policy Delete) would be deleted with PVC \"data\"{users}; set persistentVolumeReclaimPolicy to Retain first"
        );
        ("warned".to_owned(), text)
    };
    assert_eq!(delete(LIVE, "pvc/db/data"), []);
    assert_eq!(delete(&provisioned(), "pvc/db/data"), [warned("")]);
    let both = delete(&used(), "pvc/db/data");
    assert!(both[0].1.starts_with("[claim-delete-in-use] "), "{both:?}");
    assert_eq!(both[1..], [warned(" (used by main)")]);
    // Without pods the data goes all the same.
    let used = used();
    let (no_pods, _) = used.split_once("---\napiVersion: v1\nkind: PodList").unwrap();
    let unsure = delete(no_pods, "pvc/db/data");
    assert!(unsure.contains(&warned(" (its pods are unknown)")), "{unsure:?}");
}

/// A manifest that goes from a repository names no volume: the stored claim does.
#[test]
fn a_manifest_that_goes_takes_along_what_the_stored_claim_has() {
    let folder = Folder::new();
    folder.write("live.yaml", provisioned());
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: db}\n\
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}\n";
    folder.write("old/claim.yaml", claim);
    folder.write("new/other.yaml", claim.replace("name: data", "name: other"));
    let arguments = ["check", "--old", "old", "-f", "new", "--live", "live.yaml", "-o", "json"];
    let reported = reported(&folder.run(&arguments));
    assert!(
        reported.iter().any(|(result, text)| result == "warned"
            && text.starts_with("[claim-delete-destroys-data] 20Gi on PV \"pv-a\"")),
        "{reported:?}"
    );
}

#[test]
fn a_claim_whose_volume_is_not_shown_is_not_clean() {
    let (_, claim) = LIVE.split_once("- apiVersion: v1\n  kind: PersistentVolumeClaim").unwrap();
    let claims =
        format!("kind: List\nitems:\n- apiVersion: v1\n  kind: PersistentVolumeClaim{claim}");
    for target in ["pvc/db/data", "ns/db"] {
        let reported = delete(&claims, target);
        assert!(
            reported.iter().any(|(result, _)| result == "unverified"),
            "{target}: {reported:?}"
        );
    }
    let pods = "apiVersion: v1\nkind: PodList\nitems: []\n";
    let reported = delete(pods, "pvc/db/data");
    assert!(reported.iter().any(|(result, _)| result == "unverified"), "{reported:?}");
}

#[test]
fn a_deletion_is_not_clean_where_the_input_is_all_there_is() {
    let folder = Folder::new();
    let claim = "kind: PersistentVolumeClaim\nmetadata: {name: data, namespace: db}\nspec: {volumeName: pv-a}\n";
    let volume = |policy: &str| {
        format!(
            "---\nkind: PersistentVolume\nmetadata: {{name: pv-a}}\nspec: {{persistentVolumeReclaimPolicy: {policy}}}\n"
        )
    };
    let kept = volume("Retain");
    folder.write("kept.yaml", format!("{claim}{kept}"));
    folder.write("kept-volume.yaml", &kept);
    folder.write("lost.yaml", format!("{claim}{}", volume("Delete")));
    folder.write("lost-volume.yaml", volume("Delete"));
    for (arguments, expected) in [
        (&["--delete", "pvc/db/data"][..], "unverified"),
        (&["--delete", "ns/db"], "unverified"),
        (&["--old", "lost.yaml", "-f", "lost-volume.yaml"], "unverified"),
        (&["--old", "kept.yaml", "-f", "kept-volume.yaml"], "clean"),
    ] {
        let output = folder.run(&[&["check"], arguments].concat());
        assert!(output.stdout.contains(expected), "{arguments:?}: {output:?}");
        assert_eq!(output.stdout.contains("unverified"), expected == "unverified", "{output:?}");
    }
}

#[test]
fn deleting_a_namespace_is_warned_about_by_default() {
    let reported = delete(&provisioned(), "ns/db");
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!(reported[0].0, "warned");
    assert!(
        reported[0].1.starts_with("[namespace-delete-bound-claims] PVC \"data\" in"),
        "{reported:?}"
    );
    assert_eq!(delete(LIVE, "ns/db"), []);
}

/// A set of these replicas, with this in its spec and in the spec of its template.
fn set(replicas: u64, spec: &str, template: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db, namespace: db}}\nspec:\n  replicas: {replicas}\n{spec}  \
         volumeClaimTemplates:\n  - metadata: {{name: data}}\n    spec:\n      accessModes: [ReadWriteOnce]\n      \
         {template}\n      resources: {{requests: {{storage: 1Gi}}}}\n"
    )
}

const FAST: &str = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: disk.example.com\n";

const RETENTION: &str =
    "  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}\n";

#[test]
fn a_set_that_deletes_its_claims_is_warned_about_where_the_data_goes_with_them() {
    let check = |class: &str, spec: &str, replicas| {
        let folder = Folder::new();
        folder.write("class.yaml", class);
        folder.write("set.yaml", set(replicas, spec, "storageClassName: fast"));
        let arguments = ["check", "-f", "class.yaml", "-f", "set.yaml", "-o", "json"];
        reported(&folder.run(&arguments))
    };
    let expected = "[claim-delete-destroys-data] StatefulSet \"db\" deletes PVCs like \"data-db-0\" when it is \
        deleted (whenDeleted: Delete in persistentVolumeClaimRetentionPolicy), and their data with them (policy \
        Delete); use Retain there, or a StorageClass with reclaimPolicy Retain";
    // Once, however many they are.
    assert_eq!(check(FAST, RETENTION, 3), [("warned".to_owned(), expected.to_owned())]);
    assert_eq!(check(FAST, "", 3), []);
    assert_eq!(check(&format!("{FAST}reclaimPolicy: Retain\n"), RETENTION, 3), []);
    let unknown = check(&FAST.replace("name: fast", "name: slow"), RETENTION, 1);
    assert!(unknown[0].1.contains("where the reclaim policy of the PV is Delete"), "{unknown:?}");
}

#[test]
fn a_set_that_goes_takes_its_claims_along_if_it_says_so() {
    let live = used()
        .replace("name: data,", "name: data-db-0,")
        .replace("name: data}", "name: data-db-0}");
    let live = live.replace("claimName: data}", "claimName: data-db-0}");
    let check = |before: &str, after: Option<&str>| {
        let folder = Folder::new();
        folder.write("live.yaml", &live);
        folder.write("before.yaml", before);
        folder.write("after.yaml", after.unwrap_or("kind: ConfigMap\nmetadata: {name: a}\n"));
        let arguments =
            ["check", "--old", "before.yaml", "-f", "after.yaml", "--live", "live.yaml"];
        reported(&folder.run(&[&arguments[..], &["-o", "json"]].concat()))
    };
    let destroys = |reported: &[(String, String)]| {
        reported.iter().any(|(_, text)| text.contains("would be deleted with PVC \"data-db-0\""))
    };
    let of = |spec: &str, replicas| set(replicas, spec, "storageClassName: fast");
    let scaled = RETENTION
        .replace("Deleted: Delete", "Deleted: Retain")
        .replace("Scaled: Retain", "Scaled: Delete");
    assert!(destroys(&check(&of(RETENTION, 1), None)));
    assert!(!destroys(&check(&of("", 1), None)));
    assert!(!destroys(&check(&of(RETENTION, 1), Some(&of(RETENTION, 0)))));
    assert!(destroys(&check(&of(&scaled, 1), Some(&of(&scaled, 0)))));
    // A set that stays is shown with the claims that it has.
    let stays = check(&of("", 1), Some(&of(RETENTION, 1)));
    assert!(stays.iter().any(|(_, text)| text.contains("(policy Delete)")), "{stays:?}");
}

#[test]
fn one_volume_is_not_named_for_all_replicas() {
    let check = |replicas| {
        let folder = Folder::new();
        folder.write("set.yaml", set(replicas, "", "volumeName: pv-a"));
        reported(&folder.run(&["check", "-f", "set.yaml", "-o", "json"]))
    };
    let denied = check(2);
    let expected =
        "[prebind-taken] StatefulSet \"db\" names PV \"pv-a\" in the volumeClaimTemplate of 2 pods";
    assert!(denied[0].0 == "denied" && denied[0].1.starts_with(expected), "{denied:?}");
    assert!(check(1).iter().all(|(result, _)| result != "denied"));
}
