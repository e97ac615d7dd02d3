//! The local static provisioner: what its pods see of the node and may do there, and the configuration that they read.
//!
//! Not here: what it may do in the cluster (`rights`), and values that are wrong by themselves (`rejected`).

use std::collections::BTreeSet;
use std::fs;

use bindery::disks::{DiskCleaner, OnContent, OnManualDelete};
use bindery::local::configuration::{LocalConfiguration, OfferedMode, read};
use serde_json::{Value, json};

use super::helm::{Rendering, rendered, set, sets, template, text};

/// The name, the pod and the container of each `DaemonSet`.
fn daemons(rendering: &Rendering) -> Vec<(String, Value, Value)> {
    let of = |daemon: &&Value| {
        let pod = daemon["spec"]["template"]["spec"].clone();
        let container = pod["containers"][0].clone();
        (daemon["metadata"]["name"].as_str().unwrap_or_default().to_owned(), pod, container)
    };
    rendering.of_kind("DaemonSet").iter().map(of).collect()
}

/// All `DaemonSets` of all sets.
fn all() -> Vec<(String, Value, Value)> {
    let all: Vec<_> = sets().iter().flat_map(|(_, rendering)| daemons(rendering)).collect();
    assert!(all.len() >= 4, "{} DaemonSets", all.len());
    all
}

/// What the program reads from the `ConfigMap` that a pod mounts.
#[track_caller]
fn configuration(rendering: &Rendering, pod: &Value) -> LocalConfiguration {
    let volumes = pod["volumes"].as_array().expect("volumes");
    let names = volumes.iter().filter_map(|volume| volume["configMap"]["name"].as_str());
    let [name] = names.collect::<Vec<_>>()[..] else { panic!("one ConfigMap is mounted") };
    let folder = tempfile::tempdir().expect("a folder");
    for (key, text) in rendering.object("ConfigMap", name)["data"].as_object().expect("keys") {
        fs::write(folder.path().join(key), text.as_str().expect("text")).expect("a file");
    }
    read(folder.path()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_program_reads_every_configuration_and_sees_its_folders() {
    for (name, rendering) in sets() {
        for (_, pod, container) in daemons(rendering) {
            let configuration = configuration(rendering, &pod);
            assert!(!configuration.classes.is_empty(), "{name}");
            for (class, folders) in &configuration.classes {
                let (host, inside) = (folders.host_dir.display(), folders.mount_dir.display());
                let mounts = container["volumeMounts"].as_array().expect("mounts");
                let mounts = mounts.iter().filter(|mount| mount["mountPath"] == inside.to_string());
                let [mount] = mounts.collect::<Vec<_>>()[..] else { panic!("{name}: {class}") };
                assert_eq!(path(&pod, &mount["name"]), Some(host.to_string()), "{name}: {class}");
                // What is mounted there later is seen too. In /dev nothing is.
                let is_dev = mount["name"] == "dev";
                assert_eq!(mount["mountPropagation"] == "HostToContainer", !is_dev, "{name}");
                assert!(
                    is_dev || mount.get("readOnly").is_none(),
                    "{name}: it could not be cleaned"
                );
            }
        }
    }
}

/// The schema takes the keys that the program knows, and no other.
#[test]
fn the_schema_has_the_keys_of_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let unknown = "a: {hostDir: /a, mountDir: /a, unknown: 1}";
    fs::write(folder.path().join("storageClassMap"), unknown).expect("a file");
    let error = read(folder.path()).expect_err("it has an unknown key").to_string();
    let (_, known) = error.split_once("known are ").expect("it lists them");
    let known: BTreeSet<&str> = known.split(", ").collect();
    let schema: Value =
        serde_json::from_str(&text("charts/bindery/values.schema.json")).expect("it is JSON");
    let classes = &schema["definitions"]["discoveryClasses"]["patternProperties"];
    let class = classes.as_object().and_then(|patterns| patterns.values().next());
    let class = class.expect("a class")["properties"].as_object().expect("keys");
    assert_eq!(class.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
}

/// The folder of the node that a volume is.
fn path(pod: &Value, volume: &Value) -> Option<String> {
    let volumes = pod["volumes"].as_array().expect("volumes");
    let volume = volumes.iter().find(|one| one["name"] == *volume)?;
    volume["hostPath"]["path"].as_str().map(str::to_owned)
}

#[test]
fn values_reach_the_configuration() {
    let rendering = set("local-pools");
    let [(_, nvme, _), (_, hdd, _)] = &daemons(rendering)[..] else { panic!("two pools") };
    let (nvme, hdd) = (configuration(rendering, nvme), configuration(rendering, hdd));
    for pool in [&nvme, &hdd] {
        assert_eq!(pool.node_labels, ["topology.kubernetes.io/zone"]);
        assert_eq!(pool.labels["cost"], "7");
        assert!(pool.is_owned_by_node && pool.is_named_by_node_only);
        assert_eq!(pool.removed_taint(), Some("disks.example.com/not-ready"));
    }
    let cleaners = (nvme.block_cleaner, hdd.block_cleaner);
    assert_eq!(cleaners, (DiskCleaner::Job, DiskCleaner::Process));
    assert_eq!(nvme.job_tolerations, [json!({"key": "storage", "operator": "Exists"})]);
    let raw = &nvme.classes["raw"];
    assert_eq!(
        (raw.mode, &raw.cleaner[..]),
        (OfferedMode::Block, &["/bin/wipe".into(), "2".into()][..])
    );
    let fast = &nvme.classes["fast"];
    assert_eq!((fast.mode, fast.fs_type.as_str()), (OfferedMode::Filesystem, "xfs"));
    assert!(fast.overwrites_free_space);
    assert_eq!(fast.policy.on_manual_delete, OnManualDelete::Clean);
    let slow = &hdd.classes["slow"];
    assert_eq!(
        (slow.access_mode.as_str(), slow.policy.on_content),
        ("ReadWriteOncePod", OnContent::Offer)
    );
    let plain = configuration(set("local"), &daemons(set("local"))[0].1);
    assert_eq!(plain.removed_taint(), None);
    assert!(plain.labels.is_empty() && plain.node_labels.is_empty() && !plain.is_owned_by_node);
    let folder = &plain.classes["fast-disks"];
    assert_eq!(folder.host_dir, folder.mount_dir, "mountDir is hostDir if left out");
}

/// Root of the node in as little as there is: three capabilities, or privileged where devices are opened.
#[test]
fn a_pod_is_privileged_only_where_it_is_said() {
    for (name, pod, container) in all() {
        let security = &container["securityContext"];
        assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", "{name}");
        for key in ["hostPID", "hostIPC", "hostNetwork", "shareProcessNamespace"] {
            assert_eq!(pod.get(key), None, "{name}");
        }
        if name == "rel-bindery-local-nvme" {
            assert_eq!(security["privileged"], true, "{name}");
            continue;
        }
        assert_eq!(security["privileged"], false, "{name}");
        assert_eq!(security["allowPrivilegeEscalation"], false, "{name}");
        let capabilities = json!({"drop": ["ALL"], "add": ["DAC_OVERRIDE", "FOWNER", "SYS_ADMIN"]});
        assert_eq!(security["capabilities"], capabilities, "{name}");
    }
}

#[test]
fn nothing_else_of_the_node_is_mounted() {
    let defaults = ["/dev", "/var/lib/kubelet", "/var/lib/bindery/local", "/etc/machine-id"];
    let others = ["/dev", "/var/snap/kubelet", "/srv/bindery"];
    for (set_name, daemon, own, folders) in [
        ("local", "rel-bindery-local", &defaults[..], &["/mnt/disks"][..]),
        ("local-pools", "rel-bindery-local-nvme", &others[..], &["/mnt/fast"][..]),
        ("local-pools", "rel-bindery-local-hdd", &others[..], &["/mnt/disks"][..]),
    ] {
        let all = daemons(set(set_name));
        let (_, pod, container) =
            all.iter().find(|(name, ..)| name == daemon).expect("it is there");
        let volumes = pod["volumes"].as_array().expect("volumes");
        let paths = volumes.iter().filter_map(|volume| volume["hostPath"]["path"].as_str());
        let mut expected = own.to_vec();
        expected.extend(folders);
        assert_eq!(paths.collect::<BTreeSet<_>>(), expected.into_iter().collect(), "{daemon}");
        let mounts = container["volumeMounts"].as_array().expect("mounts");
        let is_written = |mount: &&Value| mount.get("readOnly").is_none();
        let written =
            mounts.iter().filter(is_written).filter_map(|mount| path(pod, &mount["name"]));
        let mut expected: BTreeSet<String> = folders.iter().map(ToString::to_string).collect();
        expected.insert(own[2].to_owned());
        assert_eq!(written.collect::<BTreeSet<_>>(), expected, "{daemon}");
        // Disks in use are seen by the mounts that the kubelet makes later.
        let kubelet = mounts.iter().find(|mount| mount["mountPath"] == own[1]).expect("a kubelet");
        assert_eq!(kubelet["mountPropagation"], "HostToContainer", "{daemon}");
        // Kubernetes would create the file of the default in /dev of the node.
        let message = container["terminationMessagePath"].as_str().unwrap_or_default();
        assert!(message.starts_with("/run/"), "{daemon}: {message}");
    }
}

#[test]
fn each_pool_is_on_its_nodes_and_replaces_its_own_pods() {
    let rendering = set("local-pools");
    let mut selectors = BTreeSet::new();
    for (daemon, pool, tolerations, memory) in [
        (
            "rel-bindery-local-nvme",
            "nvme",
            json!([{"key": "storage", "operator": "Exists", "effect": "NoSchedule"},
                   {"key": "disks.example.com/not-ready", "operator": "Exists"}]),
            "256Mi",
        ),
        (
            "rel-bindery-local-hdd",
            "hdd",
            json!([{"key": "disks.example.com/not-ready", "operator": "Exists"}]),
            "128Mi",
        ),
    ] {
        let daemon = rendering.object("DaemonSet", daemon);
        let labels = &daemon["spec"]["selector"]["matchLabels"];
        assert_eq!(labels["bindery.dev/local-pool"], pool);
        assert!(selectors.insert(labels.to_string()), "{pool} has the pods of another pool");
        let pod = &daemon["spec"]["template"]["spec"];
        assert_eq!(pod["tolerations"], tolerations, "{pool}");
        let nodes = &pod["nodeSelector"];
        assert_eq!(
            (&nodes["disks"], &nodes["kubernetes.io/os"]),
            (&json!("local"), &json!("linux"))
        );
        assert_eq!(nodes["pool"] == "nvme", pool == "nvme", "{nodes}");
        assert_eq!(pod["containers"][0]["resources"]["limits"]["memory"], memory, "{pool}");
        let update = &daemon["spec"]["updateStrategy"];
        let expected = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}});
        assert_eq!(*update, expected, "two pods of a node would lock each other out");
    }
    let on_delete = rendered(&[
        "--values",
        "tests/chart/sets/local.yaml",
        "--set",
        "local.updateStrategy.type=OnDelete",
    ]);
    let update = &on_delete.of_kind("DaemonSet")[0]["spec"]["updateStrategy"];
    assert_eq!(*update, json!({"type": "OnDelete"}));
}

/// The program reads its configuration once.
#[test]
fn another_configuration_means_other_pods() {
    let mark = |more: &[&str]| {
        let values = ["--values", "tests/chart/sets/local.yaml"];
        let rendering = rendered(&[&values[..], more].concat());
        let template = rendering.of_kind("DaemonSet")[0]["spec"]["template"].clone();
        template["metadata"]["annotations"]["bindery.dev/configuration"].to_string()
    };
    let usual = mark(&[]);
    assert_eq!(mark(&["--set", "webhook.replicas=3"]), usual);
    assert_ne!(mark(&["--set", "local.classes.fast-disks.onContent=offer"]), usual);
    assert_ne!(mark(&["--set", "local.setPVOwnerRef=true"]), usual);
}

#[test]
fn created_classes_wait_for_a_pod() {
    let classes = set("local").of_kind("StorageClass");
    let [class] = classes[..] else { panic!("one StorageClass") };
    assert_eq!(class["metadata"]["name"], "fast-disks");
    assert_eq!(class["volumeBindingMode"], "WaitForFirstConsumer");
    assert_eq!(
        (&class["provisioner"], &class["reclaimPolicy"]),
        (&json!("kubernetes.io/no-provisioner"), &json!("Delete"))
    );
    assert!(set("local-pools").of_kind("StorageClass").is_empty(), "only if it is said");
    // A class of several pools is one object.
    let pools = r#"local={"enabled": true, "createStorageClasses": true, "pools": [
        {"name": "a", "classes": {"x": {"hostDir": "/a"}, "y": {"hostDir": "/b"}}},
        {"name": "b", "classes": {"x": {"hostDir": "/a"}}}]}"#;
    assert_eq!(rendered(&["--set-json", pools]).of_kind("StorageClass").len(), 2);
}

#[test]
fn a_quota_has_room_for_a_pod_of_each_node() {
    let quota = |name: &str| set(name).of_kind("ResourceQuota")[0]["spec"].clone();
    let (alone, with) = (quota("private-control-plane"), quota("local-pools"));
    let classes = "/scopeSelector/matchExpressions/0/values";
    assert_eq!(
        (&alone["hard"]["pods"], alone.pointer(classes)),
        (&json!("100"), Some(&json!(["system-cluster-critical"])))
    );
    let both = json!(["system-cluster-critical", "system-node-critical"]);
    assert_eq!((&with["hard"]["pods"], with.pointer(classes)), (&json!("5100"), Some(&both)));
}

/// The Jobs run the program of the pod that creates them, in its namespace, and where it runs.
#[test]
fn jobs_have_the_image_of_the_pod_and_tolerate_what_it_does() {
    let all = daemons(set("local-pools"));
    for (name, _, container) in &all {
        let value = |name: &str| {
            let variables = container["env"].as_array().expect("variables");
            variables.iter().find(|variable| variable["name"] == name).cloned()
        };
        let arguments = container["args"].to_string();
        let is_used = name == "rel-bindery-local-nvme";
        assert_eq!(
            arguments.contains("\"--job-service-account\",\"rel-bindery-local-job\""),
            is_used
        );
        let image = value("JOB_CONTAINER_IMAGE").map(|variable| variable["value"].clone());
        assert_eq!(image, is_used.then(|| container["image"].clone()), "{name}");
        let namespace = value("MY_NAMESPACE").map(|it| it["valueFrom"]["fieldRef"].clone());
        let own = json!({"fieldPath": "metadata.namespace"});
        assert_eq!(namespace, is_used.then_some(own), "{name}");
    }
    let tolerations = |values: &[&str]| {
        let rendering = rendered(&[&["--values", "tests/chart/sets/local.yaml"], values].concat());
        configuration(&rendering, &daemons(&rendering)[0].1).job_tolerations
    };
    let (used, own) = ("local.useJobForCleaning=true", "local.tolerations[0].key=a");
    let other = "local.jobTolerations[0].key=b";
    assert!(tolerations(&["--set", own]).is_empty());
    assert_eq!(tolerations(&["--set", used, "--set", own]), [json!({"key": "a"})]);
    let both = ["--set", used, "--set", own, "--set", other];
    assert_eq!(tolerations(&both), [json!({"key": "b"})]);
}

/// Settings of `local`, and what they are rejected with: a schema does not compare values.
const CONTRADICTIONS: &[(&str, &str)] = &[
    (
        "{}",
        "local.enabled: no StorageClass has a discovery folder, and no disk would be found; set local.classes or local.pools",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/a"}}, "pools": [{"name": "p", "classes": {"a": {"hostDir": "/a"}}}]}"#,
        "local.classes: each pool of local.pools has classes of its own",
    ),
    (
        r#"{"pools": [{"name": "p", "classes": {"a": {"hostDir": "/a"}}}, {"name": "p", "classes": {"b": {"hostDir": "/b"}}}]}"#,
        "local.pools: two pools have the name \"p\", and both would be one DaemonSet",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/mnt"}, "b": {"hostDir": "/mnt/b"}}}"#,
        "local.classes: hostDir /mnt/b of StorageClass \"b\" overlaps with /mnt of \"a\": a disk would be offered twice",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/mnt/a"}, "b": {"hostDir": "/mnt"}}}"#,
        "hostDir /mnt of StorageClass \"b\" overlaps with /mnt/a of \"a\"",
    ),
    (
        r#"{"pools": [{"name": "p", "classes": {"a": {"hostDir": "/a", "mountDir": "/x"}, "b": {"hostDir": "/b", "mountDir": "/x"}}}]}"#,
        "local.pools, \"p\": mountDir /x of StorageClass \"b\" overlaps with /x of \"a\"",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/a"}, "b": {"hostDir": "/a", "namePattern": "*"}}}"#,
        "hostDir /a of StorageClass \"b\" overlaps with /a of \"a\"",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/a", "volumeMode": "Block"}}}"#,
        "local.classes: StorageClass \"a\" has volumeMode Block, and only a privileged container may open block devices",
    ),
    (
        r#"{"privileged": true, "pools": [{"name": "p", "privileged": false, "classes": {"a": {"hostDir": "/a", "volumeMode": "Block"}}}]}"#,
        "set privileged: true for this pool",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/a", "overwriteFreeSpace": true}}}"#,
        "local.classes: StorageClass \"a\" has overwriteFreeSpace",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/var/lib"}}}"#,
        "mountDir /var/lib of StorageClass \"a\" overlaps with /var/lib/kubelet, which the pod needs itself",
    ),
    (
        r#"{"classes": {"a": {"hostDir": "/sys/disks"}}}"#,
        "mountDir /sys/disks of StorageClass \"a\" overlaps with /sys",
    ),
];

fn local(settings: &str) -> Result<Rendering, String> {
    let enabled: Value = serde_json::from_str(settings).expect("JSON");
    let mut enabled = json!({"local": enabled});
    enabled["local"]["enabled"] = json!(true);
    template(&["--set-json", &format!("local={}", enabled["local"])])
}

#[test]
fn what_cannot_go_together_is_rejected() {
    for (settings, expected) in CONTRADICTIONS {
        let Err(reported) = local(settings) else { panic!("{settings} is accepted") };
        assert!(reported.contains(expected), "{settings}: expected {expected}: {reported}");
    }
}

/// The neighbours of what is rejected above.
#[test]
fn what_goes_together_is_taken() {
    for settings in [
        r#"{"classes": {"a": {"hostDir": "/mnt/a"}, "b": {"hostDir": "/mnt/ab"}}}"#,
        r#"{"classes": {"a": {"hostDir": "/a", "namePattern": "x*"}, "b": {"hostDir": "/a"}}}"#,
        r#"{"pools": [{"name": "p", "classes": {"a": {"hostDir": "/a"}}}, {"name": "q", "classes": {"a": {"hostDir": "/a"}}}]}"#,
        r#"{"pools": [{"name": "p", "privileged": true, "classes": {"a": {"hostDir": "/a", "volumeMode": "Block"}}}]}"#,
        r#"{"classes": {"a": {"hostDir": "/var/lib", "mountDir": "/disks"}}}"#,
        r#"{"privileged": true, "classes": {"a": {"hostDir": "/dev/disk/by-id", "volumeMode": "Block"}}}"#,
        r#"{"updateStrategy": {"rollingUpdate": {"maxUnavailable": 3}}, "classes": {"a": {"hostDir": "/a"}}}"#,
    ] {
        assert_eq!(local(settings).err(), None, "{settings}");
    }
    assert!(template(&["--set-json", r#"local={"classes": {"a": {"hostDir": "/a"}}}"#]).is_ok());
}

/// A pattern that the schema takes and the program does not is a pod that never starts.
#[test]
fn the_schema_and_the_program_take_the_same_name_patterns() {
    let good = [
        "*", "nvme?n1", "a]", "ab[c]", "[b-d]*", "[^e-g]", "[^^]", "[a^]", "[[]", "a\\*b",
        "[\\]a]", "[x\\-]", "\u{263a}",
    ];
    let bad = ["[", "a[", "[]", "[^]", "[]a]", "[-]", "[x-]", "[a-b-c]", "[^bc", "\\", "[a\\]"];
    let good = good.iter().map(|pattern| (*pattern, true));
    for (pattern, is_taken) in good.chain(bad.iter().map(|pattern| (*pattern, false))) {
        let classes = json!({"a": {"hostDir": "/a", "mountDir": "/a", "namePattern": pattern}});
        let settings = json!({"classes": classes}).to_string();
        assert_eq!(local(&settings).is_ok(), is_taken, "the schema: {pattern}");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("storageClassMap"), classes.to_string()).expect("a file");
        assert_eq!(read(folder.path()).is_ok(), is_taken, "the program: {pattern}");
    }
}
