//! Pairs on their way from one control plane to another, each beside its own in-tree binder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hyper::Method;
use serde_json::{Value, json};

use super::interrupted::cuts;
use super::scene::{PATIENCE, Printed, Scene, bindery, strict};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[
    case!(pairs_move_to_another_cluster_and_the_former_one_cannot_delete_them),
    case!(a_hand_over_and_an_import_that_are_cut_off_are_resumed),
    case!(everything_that_stands_against_an_import_is_reported_before_its_first_write),
    case!(what_cannot_be_exported_is_reported),
    case!(our_own_rules_pass_an_import),
    case!(disks_that_exist_are_adopted),
];

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const DRIVERS: &str = "/apis/storage.k8s.io/v1/csidrivers";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const DRIVER: &str = "disk.example.com";

/// Writes of the import of a pair.
const WRITES: usize = 3;

/// A cluster with pairs, another one, and the file between them.
struct Clusters {
    scene: Scene<'static>,
    other: Plane,
    folder: tempfile::TempDir,
}

impl Clusters {
    /// Two clusters; the first has the StorageClass of its pairs.
    fn new(case: &str) -> Self {
        let scene = Scene::new(Plane::shared(Peers::WithBinder), case);
        scene.objects.create(CLASSES, &class(scene.objects.namespace()));
        let other = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
        Self { scene, other, folder: tempfile::tempdir().unwrap() }
    }

    /// The same, and the other one has all that the pairs need.
    fn ready(case: &str) -> Self {
        let clusters = Self::new(case);
        clusters.prepare();
        clusters
    }

    fn prepare(&self) {
        let namespace = self.namespace();
        self.create(CLASSES, &class(namespace));
        self.create(DRIVERS, &installed(DRIVER));
        self.create("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
    }

    fn namespace(&self) -> &str {
        self.scene.objects.namespace()
    }

    /// Creates an object in the other cluster.
    fn create(&self, collection: &str, object: &Value) {
        self.other.request(ADMIN, Method::POST, collection, Body::json(object)).expect_ok();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, file: &Path, objects: &[&str]) -> Printed {
        let arguments = [&["export", "-o", file.to_str().unwrap()], objects].concat();
        self.scene.bindery(&arguments)
    }

    fn import(&self, file: &Path, options: &[&str]) -> Printed {
        bindery(&self.other.kubeconfig(ADMIN), &import(file, options))
    }

    /// The pair, once the other cluster has it.
    #[track_caller]
    fn expect_imported(&self, name: &str, policy: &str) {
        let (namespace, volume_name) = (self.namespace(), self.scene.objects.name(name));
        let claim = self.other.get(ADMIN, &claim_path(namespace, name)).expect_ok();
        let volume = self.other.get(ADMIN, &volume_path(&volume_name)).expect_ok();
        assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
        assert_eq!(claim["spec"]["volumeName"], volume_name, "{claim}");
        assert_eq!(claim["metadata"]["labels"]["app"], name, "{claim}");
        assert_eq!(volume["status"]["phase"], "Bound", "{volume}");
        assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"], "{volume}");
        assert_eq!(volume["spec"]["csi"]["volumeHandle"], volume_name, "{volume}");
        assert_eq!(volume["spec"]["csi"]["driver"], DRIVER, "{volume}");
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], policy, "{volume}");
        assert_eq!(volume.pointer("/metadata/annotations/bindery.dev~1import"), None, "{volume}");
    }
}

fn import<'a>(file: &'a Path, options: &[&'a str]) -> Vec<&'a str> {
    [&["import", "-f", file.to_str().unwrap()], options].concat()
}

fn class(name: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": DRIVER,
    })
}

/// What an installed driver creates.
fn installed(name: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name},
        "spec": {"attachRequired": true},
    })
}

fn items(plane: &Plane, path: &str) -> Vec<Value> {
    let list = plane.get(ADMIN, path).expect_ok();
    list["items"].as_array().unwrap().clone()
}

fn pairs_move_to_another_cluster_and_the_former_one_cannot_delete_them() {
    let count = if extent().is_full { 500 } else { 20 };
    let clusters = Clusters::ready("clusters");
    let names: Vec<String> = (0..count).map(|index| format!("data-{index}")).collect();
    for name in &names {
        clusters.scene.pair(name);
    }
    let namespace = clusters.namespace();
    let (file, whole) = (clusters.file("export.yaml"), format!("ns/{namespace}"));
    let before = Instant::now();
    clusters.export(&file, &[&whole, "--hand-over"]).expect_ok();
    let exported = before.elapsed();
    let text = std::fs::read_to_string(&file).unwrap();
    for word in ["resourceVersion", "managedFields", "creationTimestamp", "bind-completed"] {
        assert!(!text.contains(word), "{word} is in the export: {text}");
    }
    let before = Instant::now();
    let printed = clusters.import(&file, &[]).expect_ok();
    println!(
        "{count} pairs: exported in {} ms, imported in {} ms",
        exported.as_millis(),
        before.elapsed().as_millis()
    );
    assert_eq!(printed.matches('✓').count(), count * WRITES, "{printed}");
    for name in &names {
        clusters.expect_imported(name, "Delete");
    }
    let claims = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims");
    let lost = items(&clusters.other, &claims).into_iter();
    assert_eq!(lost.filter(|claim| claim["status"]["phase"] == "Lost").count(), 0);
    let again = clusters.import(&file, &[]).expect_ok();
    assert_eq!(again.matches("nothing is left to do").count(), count, "{again}");
    expect_kept(&clusters, &claims, count);
}

/// Deletes the claims of the first cluster: its volumes stay.
fn expect_kept(clusters: &Clusters, claims: &str, count: usize) {
    let plane = clusters.scene.plane;
    plane.request(ADMIN, Method::DELETE, claims, Body::none()).expect_ok();
    let prefix = clusters.scene.objects.name("");
    eventually("the volumes are Released and kept", PATIENCE * 4, || {
        let is_kept = |volume: &&Value| {
            volume["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(&prefix))
                && volume["status"]["phase"] == "Released"
                && volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
                && volume["metadata"]["annotations"]["bindery.dev/handed-over"].is_string()
        };
        let kept = items(plane, VOLUMES).iter().filter(is_kept).count();
        if kept == count { Ok(()) } else { Err(format!("{kept} of {count}")) }
    });
    assert_eq!(items(&clusters.other, VOLUMES).len(), count);
}

fn a_hand_over_and_an_import_that_are_cut_off_are_resumed() {
    let clusters = Clusters::ready("import-cut");
    let (source, proxy) = (Proxy::start(clusters.scene.plane), Proxy::start(&clusters.other));
    for (index, trouble) in cuts(WRITES).enumerate() {
        let name = format!("data-{index}");
        clusters.scene.pair(&name);
        let file = clusters.file(&name);
        let claim = format!("pvc/{}/{name}", clusters.namespace());
        let limits = ["--timeout", "1s", "--request-timeout", "5s"];
        let hand_over = ["export", &claim, "--hand-over", "--request-timeout", "5s"];
        source.set(if index % 2 == 0 {
            Trouble::LostAnswer(1)
        } else {
            Trouble::AwayAfterWrites(0)
        });
        let cut = bindery(&source.kubeconfig(clusters.scene.plane, ADMIN), &hand_over);
        assert_ne!(cut.code, Some(0), "{cut:?}");
        clusters.export(&file, &[&claim, "--hand-over"]).expect_ok();
        let kubeconfig = proxy.kubeconfig(&clusters.other, ADMIN);
        proxy.set(trouble);
        let cut = bindery(&kubeconfig, &import(&file, &limits));
        assert_ne!(cut.code, Some(0), "{trouble:?}: {cut:?}");
        expect_safe(&clusters, &name, trouble);
        clusters.import(&file, &[]).expect_ok();
        clusters.expect_imported(&name, "Delete");
    }
}

/// A volume that is there is retained, unless its import has made its last write.
fn expect_safe(clusters: &Clusters, name: &str, trouble: Trouble) {
    let volume = clusters.other.get(ADMIN, &volume_path(&clusters.scene.objects.name(name)));
    let is_ended = trouble == Trouble::LostAnswer(WRITES);
    if volume.code == 404 {
        assert_eq!(trouble, Trouble::AwayAfterWrites(0));
    } else if !is_ended {
        let spec = &volume.expect_ok()["spec"];
        assert_eq!(spec["persistentVolumeReclaimPolicy"], "Retain", "{trouble:?}");
        assert_eq!(spec["claimRef"]["name"], name, "{trouble:?}");
    }
}

/// What is wrong with an import, as one text.
#[track_caller]
fn expect_problems(printed: Printed, sentences: &[&str]) {
    let errors = printed.expect_failed(1);
    for sentence in sentences {
        assert!(errors.contains(sentence), "{sentence}: {errors}");
    }
    assert_eq!(errors.lines().count(), sentences.len(), "{errors}");
}

fn everything_that_stands_against_an_import_is_reported_before_its_first_write() {
    let clusters = Clusters::new("import-problems");
    let namespace = clusters.namespace();
    // Not that of the other cases, which share the first cluster.
    let driver = clusters.scene.objects.name("csi");
    clusters.scene.objects.create(DRIVERS, &installed(&driver));
    let handle = clusters.scene.objects.name("data");
    let csi = json!({"driver": driver, "volumeHandle": handle});
    let volume = json!({"spec": {
        "persistentVolumeReclaimPolicy": "Delete", "nfs": null, "csi": csi,
    }});
    // Texts that YAML 1.1, which kubectl reads, takes for something else without quotes.
    let words = ["yes", "off", "012", "1e3", "12:30:45", "1_000", "null", "~", "0x1F", "=", " "];
    let annotations: serde_json::Map<String, Value> = words
        .iter()
        .enumerate()
        .map(|(index, word)| (format!("example.com/{index}"), json!(word)))
        .collect();
    let claim = json!({"metadata": {"annotations": annotations}});
    clusters.scene.objects.bound_pair("data", &volume, &claim);
    let (file, claim) = (clusters.file("export.yaml"), format!("pvc/{namespace}/data"));
    let exported = clusters.export(&file, &[&claim]);
    assert!(exported.errors.contains("both clusters would own the data"), "{exported:?}");
    exported.expect_ok();
    assert_eq!(clusters.scene.volume("data")["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    let class = format!("StorageClass {namespace:?} does not exist");
    let (owners, missing) =
        ("Delete in both clusters", format!("Namespace {namespace:?} does not"));
    let absent = "the driver is not installed";
    let all = [&*class, owners, absent, &*missing];
    expect_problems(clusters.import(&file, &[]), &all);
    expect_problems(clusters.import(&file, &["--retain"]), &[&*class, absent, &*missing]);
    clusters.prepare();
    let mapped = format!("driver={driver}=other.example.com");
    let other = "CSIDriver \"other.example.com\"";
    expect_problems(clusters.import(&file, &["--retain", "--map", &mapped]), &[other]);
    clusters.create(DRIVERS, &installed(&driver));
    clusters.import(&file, &["--retain", "--dry-run"]).expect_ok();
    let apply = ["apply", "--dry-run=server", "-f", file.to_str().unwrap()];
    clusters.other.kubectl(ADMIN, &apply, "").expect_ok();
    eventually("the export is old", PATIENCE, || {
        let options = ["--retain", "--dry-run", "--max-age", "1s"];
        let errors = clusters.import(&file, &options).errors;
        if errors.contains("set --max-age") { Ok(()) } else { Err(errors) }
    });
    names_and_storage_that_are_taken(&clusters, &file, &csi);
    assert_eq!(items(&clusters.other, VOLUMES).len(), 2, "only the others");
}

fn names_and_storage_that_are_taken(clusters: &Clusters, file: &Path, csi: &Value) {
    let (namespace, name) = (clusters.namespace(), clusters.scene.objects.name("data"));
    let volume = |name: &str, csi: &Value| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "csi": csi, "storageClassName": "none", "persistentVolumeReclaimPolicy": "Retain",
            },
        })
    };
    clusters.create(VOLUMES, &volume("second", csi));
    let same = "and so has PV \"second\"";
    expect_problems(clusters.import(file, &["--retain"]), &[same]);
    let other = json!({"driver": DRIVER, "volumeHandle": "another"});
    clusters.create(VOLUMES, &volume(&name, &other));
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "nothing",
        },
    });
    let claims = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims");
    let taken = "exists, and this import did not create it";
    expect_problems(clusters.import(file, &["--retain"]), &[taken, same]);
    clusters.create(&claims, &claim);
    expect_problems(clusters.import(file, &["--retain"]), &[taken, same]);
}

fn what_cannot_be_exported_is_reported() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "no-export");
    let from = scene.objects.namespace();
    scene.pair("used");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"},
        "spec": {
            "containers": [{"name": "main", "image": "none.example/none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "used"}}],
        },
    });
    scene.plane.kubectl(ADMIN, &["-n", from, "create", "-f", "-"], &pod.to_string()).expect_ok();
    scene.bindery(&["export", "pvc/used", "-n", from]).expect_ok();
    let whole = format!("ns/{from}");
    let used = scene.bindery(&["export", &whole, "--hand-over"]);
    expect_problems(used, &["is used by pods: \"user\""]);
    assert_eq!(scene.volume("used")["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    scene.pair("moving");
    let proxy = Proxy::start(scene.plane);
    let kubeconfig = proxy.kubeconfig(scene.plane, ADMIN);
    proxy.set(Trouble::AwayAfterWrites(1));
    let transfer = ["transfer", "pvc/moving", "--to", scene.to(), "-n", from, "--timeout", "1s"];
    assert_ne!(bindery(&kubeconfig, &transfer).code, Some(0));
    let moving = scene.bindery(&["export", &whole]);
    expect_problems(moving, &["is in the middle of a move"]);
    let none = scene.bindery(&["export", "pvc/none", "pv/none", "-n", from]);
    expect_problems(none, &["/none\" does not exist", "PV \"none\" does not exist"]);
}

fn our_own_rules_pass_an_import() {
    let clusters = Clusters::ready("ruled-import");
    clusters.scene.pair("data");
    let file = clusters.file("export.json");
    let objects = [&*format!("ns/{}", clusters.namespace()), "--hand-over", "--format", "json"];
    clusters.export(&file, &objects).expect_ok();
    let _installed = Installed::under(strict(), &clusters.other, Registered::Everything);
    let probe = json!({
        "metadata": {"name": "probe"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": clusters.namespace(),
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", clusters.namespace());
    clusters.create(&claims, &probe);
    let forged = json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}});
    eventually("the rules are in force", PATIENCE, || {
        let path = format!("{claims}/probe?dryRun=All");
        let reply = clusters.other.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&forged));
        let is_denied = reply.to_string().contains("[forged-binder-annotations]");
        if is_denied { Ok(()) } else { Err(reply.to_string()) }
    });
    clusters.import(&file, &[]).expect_ok();
    clusters.expect_imported("data", "Delete");
}

fn disks_that_exist_are_adopted() {
    // The names of the volumes are not the case's own.
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let scene = Scene::new(&plane, "adopted");
    let (namespace, driver) = (scene.objects.namespace(), scene.objects.name("csi"));
    let claim = format!("{namespace}/data");
    let disk = ["--driver", &driver, "--handle", "vol-1", "--size", "1Gi", "--claim", &claim];
    let adopt = [&["adopt"], &disk[..]].concat();
    expect_problems(scene.bindery(&adopt), &["the driver is not installed"]);
    scene.objects.create(DRIVERS, &installed(&driver));
    let printed = scene.bindery(&adopt).expect_ok();
    assert_eq!(printed.matches('✓').count(), WRITES, "{printed}");
    expect_adopted(&scene, "data");
    let again = scene.bindery(&adopt).expect_ok();
    assert!(again.contains("nothing is left to do"), "{again}");
    let second = format!("driver,handle,size,claim\n{driver},vol-1,1Gi,{namespace}/second\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("disks.csv");
    let table = ["adopt", "--csv", file.to_str().unwrap()];
    std::fs::write(&file, second).unwrap();
    expect_problems(scene.bindery(&table), &["and so has PV \"adopted-"]);
    let rows = ["vol-2,1Gi", "vol-3,2Gi"].iter().zip(["two", "three"]);
    let rows = rows.map(|(row, name)| format!("{driver},{row},{namespace}/{name}\n"));
    std::fs::write(&file, format!("driver,handle,size,claim\n{}", rows.collect::<String>()))
        .unwrap();
    scene.bindery(&table).expect_ok();
    for name in ["two", "three"] {
        expect_adopted(&scene, name);
    }
}

/// The pair of a disk.
#[track_caller]
fn expect_adopted(scene: &Scene<'_>, name: &str) {
    let namespace = scene.objects.namespace();
    let claim = scene.plane.get(ADMIN, &claim_path(namespace, name)).expect_ok();
    let path = volume_path(&format!("adopted-{namespace}-{name}"));
    let volume = scene.plane.get(ADMIN, &path).expect_ok();
    assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
    assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"], "{volume}");
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
}
