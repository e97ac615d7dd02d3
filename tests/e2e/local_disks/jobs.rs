//! Block devices that Jobs clean, with the real controller of Jobs: however late, often or without success a Job runs, no
//! disk is offered with data on it, and none is cleaned under a claim.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use http::Method;
use serde_json::{Value, json};

use super::doubtful::QUIET;
use super::job_pods::{delete_job, job, no_job, pod, report, start};
use super::process::LocalProvisioner;
use super::scene::{PATIENCE, SECRET, Scene, WAITING_COMMAND};
use crate::eventually::{eventually, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_block_device_is_cleaned_by_a_job_and_offered_again),
    case!(a_killed_provisioner_finds_the_job_again_that_runs),
    case!(a_job_that_starts_after_the_disk_was_offered_touches_nothing),
    case!(a_job_that_only_reports_success_offers_nothing),
    case!(a_failed_job_is_reported_and_created_again),
    case!(a_job_that_starts_after_the_disk_has_a_claim_touches_nothing),
];

/// Fails unless there is a file `go` beside those of the disks.
const FAILING: &str = ", blockCleanerCommand: [sh, -c, 'cd $(dirname $LOCAL_PV_BLKDEVICE)/../files && [ -e go ] && \
     blkdiscard --zeroout $LOCAL_PV_BLKDEVICE']";

/// What the next tenant writes.
const OTHER: &str = "what the next tenant wrote";

/// A node whose block devices Jobs clean.
fn scene<'a>(plane: &'a Plane, case: &str) -> Scene<'a> {
    let mut scene = Scene::new(plane, case);
    scene.files =
        vec![("useJobForCleaning", "yes"), ("jobTolerations", "- {key: disks, operator: Exists}")];
    scene
}

/// A block device whose volume had a claim that wrote `written` in its middle: its volume, which is Released.
#[track_caller]
fn released(scene: &mut Scene<'_>, written: &[u8]) -> Value {
    let device = scene.disks.block_device("disk1", 32);
    let volume = scene.volume("raw/disk1", "Available", "");
    scene.bind("data", &volume);
    let file = File::options().write(true).open(&device).unwrap();
    file.write_all_at(written, (16 << 20) + 777).unwrap();
    file.sync_all().unwrap();
    drop(file);
    scene.delete_claim("data");
    scene.volume("raw/disk1", "Released", "")
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}

/// The process of a Job has the device for itself, and is no pod that uses the disk.
#[track_caller]
fn expect_no_pod_reported(scene: &Scene<'_>, local: &LocalProvisioner) {
    let texts = scene.events("DiskInUse");
    assert!(!texts.iter().any(|text| text.contains("raw/disk1")), "{texts:?} {}", local.log());
}

fn jobs(scene: &Scene<'_>) -> Vec<Value> {
    let path = format!("/apis/batch/v1/namespaces/{}/jobs", scene.pod_namespace);
    let list = scene.plane.get(ADMIN, &path).expect_ok();
    list["items"].as_array().cloned().unwrap_or_default()
}

fn a_block_device_is_cleaned_by_a_job_and_offered_again() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = scene(plane, "job");
    let local = scene.start();
    let volume = released(&mut scene, SECRET.as_bytes());
    let made = job(&scene, &volume, &Value::Null);
    assert_eq!(made["metadata"]["labels"]["pvuuid"], uid(&volume));
    let pod = pod(&scene, &made);
    let spec = &pod["spec"];
    let terms =
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let node = json!({"key": "metadata.name", "operator": "In", "values": [scene.node]});
    assert_eq!(spec.pointer(terms), Some(&json!([{"matchFields": [node]}])));
    let tolerations = spec["tolerations"].as_array().unwrap();
    assert!(
        tolerations.contains(&json!({"key": "disks", "operator": "Exists"})),
        "{tolerations:?}"
    );
    assert_eq!(spec["automountServiceAccountToken"], false);
    // File systems are cleaned by the process, also while a Job is waited for.
    let file_system = scene.written("vol1", "files");
    scene.delete_claim("files");
    scene.volume("fast/vol1", "Available", uid(&file_system));
    assert!(scene.names("fast/vol1").is_empty());
    wait(QUIET);
    assert_eq!(uid(&scene.volume("raw/disk1", "Released", "")), uid(&volume));
    assert!(scene.disks.holds("disk1", SECRET), "nothing but its Job cleans it");
    assert_eq!(start(&pod).end().0, Some(0));
    report(&scene, &pod, "Succeeded");
    scene.volume("raw/disk1", "Available", uid(&volume));
    assert!(!scene.disks.holds("disk1", SECRET) && !scene.disks.holds("disk1", "bindery"));
    no_job(&scene, &volume);
    expect_no_pod_reported(&scene, &local);
}

fn a_killed_provisioner_finds_the_job_again_that_runs() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = scene(plane, "job-killed");
    scene.keys = WAITING_COMMAND;
    let local = scene.start();
    let volume = released(&mut scene, SECRET.as_bytes());
    let made = job(&scene, &volume, &Value::Null);
    let pod = pod(&scene, &made);
    let mut process = start(&pod);
    let begun = scene.disks.path("files/began");
    eventually("the command runs", PATIENCE, || {
        if begun.exists() { Ok(()) } else { Err(local.log()) }
    });
    local.kill();
    let local = scene.start();
    // Another process of the same Job, and one of a Job that takes its place: the first one has the disk.
    let (code, text) = start(&pod).end();
    assert!(code == Some(1) && text.contains("another process cleans the disk"), "{text}");
    delete_job(&scene, &volume);
    wait(QUIET);
    assert!(jobs(&scene).is_empty(), "its process still has the disk: {}", local.log());
    assert_eq!(uid(&scene.volume("raw/disk1", "Released", "")), uid(&volume));
    assert!(process.is_running() && scene.disks.holds("disk1", SECRET));
    File::create(scene.disks.path("files/go")).unwrap();
    assert_eq!(process.end().0, Some(0));
    scene.volume("raw/disk1", "Available", uid(&volume));
    assert!(!scene.disks.holds("disk1", SECRET));
    expect_no_pod_reported(&scene, &local);
}

fn a_job_that_starts_after_the_disk_was_offered_touches_nothing() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = scene(plane, "job-late");
    let local = scene.start();
    let volume = released(&mut scene, SECRET.as_bytes());
    let first = job(&scene, &volume, &Value::Null);
    let late = pod(&scene, &first);
    delete_job(&scene, &volume);
    let second = job(&scene, &volume, &first["metadata"]["uid"]);
    let pod = pod(&scene, &second);
    assert_eq!(start(&pod).end().0, Some(0));
    report(&scene, &pod, "Succeeded");
    let again = scene.volume("raw/disk1", "Available", uid(&volume));
    scene.bind("next", &again);
    fs::write(scene.disks.path("raw/disk1"), OTHER.repeat(1000)).unwrap();
    let (code, text) = start(&late).end();
    assert!(code == Some(0) && text.contains("nothing was touched"), "{text}");
    assert!(scene.disks.holds("disk1", OTHER), "cleaned under a claim: {text} {}", local.log());
    // Also if the disk is to be cleaned again: that is another cleaning.
    scene.delete_claim("next");
    job(&scene, &again, &second["metadata"]["uid"]);
    let (code, text) = start(&late).end();
    assert!(code == Some(0) && text.contains("nothing was touched"), "{text}");
    assert!(scene.disks.holds("disk1", OTHER));
}

/// What was written is one byte, in the middle: samples miss it.
fn a_job_that_only_reports_success_offers_nothing() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = scene(plane, "job-idle");
    let local = scene.start();
    let volume = released(&mut scene, b"x");
    let first = job(&scene, &volume, &Value::Null);
    report(&scene, &pod(&scene, &first), "Succeeded");
    let reported = scene.event(&local, "VolumeFailedDelete");
    assert!(reported.contains("reports success and has not cleaned the disk"), "{reported}");
    let second = job(&scene, &volume, &first["metadata"]["uid"]);
    assert_eq!(uid(&scene.volume("raw/disk1", "Released", "")), uid(&volume));
    let pod = pod(&scene, &second);
    assert_eq!(start(&pod).end().0, Some(0));
    scene.volume("raw/disk1", "Available", uid(&volume));
    let bytes = fs::read(scene.disks.bytes("disk1")).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0), "offered with data: {}", local.log());
}

fn a_failed_job_is_reported_and_created_again() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = scene(plane, "job-failed");
    scene.keys = FAILING;
    let local = scene.start();
    let volume = released(&mut scene, SECRET.as_bytes());
    let first = job(&scene, &volume, &Value::Null);
    for _ in 0..3 {
        let pod = pod(&scene, &first);
        let (code, text) = start(&pod).end();
        assert!(code == Some(1) && text.contains("blockCleanerCommand sh"), "{text}");
        report(&scene, &pod, "Failed");
    }
    let reported = scene.event(&local, "VolumeFailedDelete");
    assert!(reported.contains("failed to clean the disk: Job has reached"), "{reported}");
    let second = job(&scene, &volume, &first["metadata"]["uid"]);
    assert!(scene.disks.holds("disk1", SECRET));
    File::create(scene.disks.path("files/go")).unwrap();
    assert_eq!(start(&pod(&scene, &second)).end().0, Some(0));
    scene.volume("raw/disk1", "Available", uid(&volume));
    assert!(!scene.disks.holds("disk1", SECRET));
}

/// A person gives a volume to another claim while a Job for its disk has not started.
fn a_job_that_starts_after_the_disk_has_a_claim_touches_nothing() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = scene(plane, "job-given");
    let local = scene.start();
    let volume = released(&mut scene, SECRET.as_bytes());
    let pod = pod(&scene, &job(&scene, &volume, &Value::Null));
    give_to_claim(&scene, &volume);
    let reported = reported_as_given(&scene, &local);
    assert!(reported.contains("back up what the PVC has written"), "{reported}");
    let (code, text) = start(&pod).end();
    assert!(code == Some(0) && text.contains("nothing was touched"), "{text}");
    assert!(scene.disks.holds("disk1", SECRET), "cleaned under a claim: {}", local.log());
}

fn give_to_claim(scene: &Scene<'_>, volume: &Value) {
    let (spec, name) = (&volume["spec"], volume["metadata"]["name"].as_str().unwrap());
    let overlay = json!({"spec": {
        "storageClassName": spec["storageClassName"], "volumeMode": "Block", "volumeName": name,
        "resources": {"requests": {"storage": "1Mi"}},
    }});
    let claim = scene.objects.claim("given", &overlay);
    let reference = json!({
        "namespace": scene.objects.namespace(), "name": "given", "uid": claim["metadata"]["uid"],
        "resourceVersion": null,
    });
    let patch = Body::merge_patch(&json!({"spec": {"claimRef": reference}}));
    scene.plane.request(ADMIN, Method::PATCH, &volume_path(name), patch).expect_ok();
    let path = claim_path(scene.objects.namespace(), "given");
    eventually("the claim is bound", PATIENCE, || {
        let claim = scene.plane.get(ADMIN, &path).expect_ok();
        if claim["status"]["phase"] == "Bound" { Ok(()) } else { Err(claim.to_string()) }
    });
}

#[track_caller]
fn reported_as_given(scene: &Scene<'_>, local: &LocalProvisioner) -> String {
    scene.event(local, "VolumeReservedWhileCleaned")
}
