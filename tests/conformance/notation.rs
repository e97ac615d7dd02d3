//! The compact lines about objects, as API objects.
//!
//! A line is a name, a size, a phase, then words in any order; what is not said is as in Kubernetes'
//! test framework: access modes RWO and ROX, volume mode Filesystem, policy Retain, no class. A claim
//! is written `name/uid`, another namespace than `default` before it with a colon. A bound claim
//! reports its own request and access modes, unless `has` says otherwise.

use serde_json::{Map, Value, json};

const NAMESPACE: &str = "default";

/// What annotations are called in a line.
const ANNOTATIONS: [(&str, &str); 9] = [
    ("bound-by-controller", "pv.kubernetes.io/bound-by-controller"),
    ("bind-completed", "pv.kubernetes.io/bind-completed"),
    ("provisioned-by", "pv.kubernetes.io/provisioned-by"),
    ("migrated-to", "pv.kubernetes.io/migrated-to"),
    ("selected-node", "volume.kubernetes.io/selected-node"),
    ("legacy-class", "volume.beta.kubernetes.io/storage-class"),
    ("stable-storage-provisioner", "volume.kubernetes.io/storage-provisioner"),
    ("beta-storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"),
    ("pre-resize", "volume.alpha.kubernetes.io/pre-resize-capacity"),
];

/// The lines of a field; `none` is no line.
pub(crate) fn lines(field: &str) -> impl Iterator<Item = &str> {
    field.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "none")
}

/// A volume: `NAME SIZE PHASE`, then words.
pub(crate) fn volume(line: &str) -> Value {
    let (line, message) = match line.split_once(" message=") {
        Some((line, message)) => (line, Some(message)),
        None => (line, None),
    };
    let mut words = line.split_whitespace();
    let mut next = || words.next().unwrap_or_else(|| panic!("{line:?} is too short"));
    let (name, size, phase) = (next(), next(), next());
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "resourceVersion": "1"},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                 "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
                 "gcePersistentDisk": {"pdName": "disk"}},
        "status": {"message": message},
    });
    if phase != "-" {
        volume["status"]["phase"] = json!(phase);
    }
    for word in words {
        volume_word(&mut volume, word);
    }
    volume
}

fn volume_word(volume: &mut Value, word: &str) {
    let (key, value) = word.split_once('=').unwrap_or((word, "yes"));
    let spec = &mut volume["spec"];
    match key {
        "claimRef" => spec["claimRef"] = reference(value),
        "policy" => spec["persistentVolumeReclaimPolicy"] = json!(value),
        "csi" => spec["csi"] = json!({"driver": value, "volumeHandle": "disk"}),
        "affinity" => spec["nodeAffinity"] = affinity(value),
        "labels" => volume["metadata"]["labels"] = pairs(value),
        "finalizers" => {
            volume["metadata"]["finalizers"] = value.split(',').collect::<Vec<_>>().into();
        }
        "terminating" => {
            volume["metadata"]["deletionTimestamp"] = json!("2020-02-18T10:30:30Z");
        }
        _ => common_word(volume, word, key, value),
    }
    if key == "csi" {
        let spec = volume["spec"].as_object_mut().expect("a map");
        spec.remove("gcePersistentDisk");
    }
}

/// A claim: `NAME/UID SIZE PHASE`, then words.
pub(crate) fn claim(line: &str) -> Value {
    let mut words = line.split_whitespace();
    let mut next = || words.next().unwrap_or_else(|| panic!("{line:?} is too short"));
    let (identity, size, phase) = (next(), next(), next());
    let (namespace, name, uid) = identity_of(identity);
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": "1"},
        "spec": {"resources": {"requests": {"storage": size}},
                 "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "volumeMode": "Filesystem"},
        "status": {"phase": phase},
    });
    if phase == "Bound" {
        claim["status"]["accessModes"] = claim["spec"]["accessModes"].clone();
        claim["status"]["capacity"] = claim["spec"]["resources"]["requests"].clone();
    }
    for word in words {
        claim_word(&mut claim, word);
    }
    claim
}

fn claim_word(claim: &mut Value, word: &str) {
    let (key, value) = word.split_once('=').unwrap_or((word, "yes"));
    match key {
        "volumeName" => claim["spec"]["volumeName"] = json!(value),
        "selector" => claim["spec"]["selector"] = json!({"matchLabels": pairs(value)}),
        "has" => claim["status"]["capacity"] = json!({"storage": value}),
        "has-attributes-class" => {
            claim["status"]["currentVolumeAttributesClassName"] = json!(value);
        }
        "data-source" => {
            claim["spec"]["dataSource"] = json!({"kind": "VolumeSnapshot", "name": "test-snap"});
        }
        "storage-provisioner" => {
            for prefix in ["volume.kubernetes.io", "volume.beta.kubernetes.io"] {
                let key = format!("{prefix}/storage-provisioner");
                claim["metadata"]["annotations"][key] = json!(value);
            }
        }
        _ => common_word(claim, word, key, value),
    }
}

fn common_word(object: &mut Value, word: &str, key: &str, value: &str) {
    let text = if value == "\"\"" { "" } else { value };
    if let Some((_, annotation)) = ANNOTATIONS.iter().find(|(short, _)| *short == key) {
        object["metadata"]["annotations"][*annotation] = json!(text);
        return;
    }
    match key {
        "class" => object["spec"]["storageClassName"] = json!(text),
        "attributes-class" => object["spec"]["volumeAttributesClassName"] = json!(text),
        "mode" if value == "nil" => object["spec"]["volumeMode"] = Value::Null,
        "mode" => object["spec"]["volumeMode"] = json!(value),
        "modes" => object["spec"]["accessModes"] = value.split('+').map(access_mode).collect(),
        _ => panic!("{word:?} means nothing"),
    }
}

/// A class: `NAME MODE`, then `provisioner=`, `created=`, `default=`.
pub(crate) fn class(line: &str) -> Value {
    let mut words = line.split_whitespace();
    let mut next = || words.next().unwrap_or_else(|| panic!("{line:?} is too short"));
    let (name, mode) = (next(), next());
    let mut class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "resourceVersion": "1"},
    });
    if mode != "-" {
        class["volumeBindingMode"] = json!(mode);
    }
    for word in words {
        match word.split_once('=').unwrap_or((word, "true")) {
            ("provisioner", name) => class["provisioner"] = json!(name),
            ("created", time) => class["metadata"]["creationTimestamp"] = json!(time),
            ("default", value) => {
                let key = "storageclass.kubernetes.io/is-default-class";
                class["metadata"]["annotations"][key] = json!(value.trim_matches('"'));
            }
            _ => panic!("{word:?} means nothing"),
        }
    }
    class
}

/// A pod: `NAME PHASE CLAIM`, the claim that it uses.
pub(crate) fn pod(line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, phase, claim] = words[..] else { panic!("{line:?} is not a pod") };
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": NAMESPACE, "name": name},
        "spec": {"volumes": [{"name": "vol1", "persistentVolumeClaim": {"claimName": claim}}]},
        "status": {"phase": phase},
    })
}

/// `a:b,c:d`.
pub(crate) fn pairs(text: &str) -> Value {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once(':').unwrap_or_else(|| panic!("{pair:?} is no pair"));
        (key.to_owned(), json!(value))
    };
    Value::Object(text.split(',').map(pair).collect::<Map<_, _>>())
}

fn identity_of(text: &str) -> (&str, &str, Option<&str>) {
    let (namespace, rest) = text.split_once(':').unwrap_or((NAMESPACE, text));
    match rest.split_once('/') {
        Some((name, uid)) => (namespace, name, Some(uid)),
        None => (namespace, rest, None),
    }
}

/// The reference to a claim. Without a name there is no namespace either: the reference is incomplete.
fn reference(text: &str) -> Value {
    let (namespace, name, uid) = identity_of(text);
    if name.is_empty() {
        return json!({"uid": uid});
    }
    json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace,
           "name": name, "uid": uid})
}

fn access_mode(short: &str) -> Value {
    json!(match short {
        "RWO" => "ReadWriteOnce",
        "ROX" => "ReadOnlyMany",
        "RWX" => "ReadWriteMany",
        "RWOP" => "ReadWriteOncePod",
        _ => panic!("{short:?} is no access mode"),
    })
}

/// Terms parted by `|`, expressions by `&`, values by `,`: `key1:a,b&key2:c|key3:d`. `any` is an
/// affinity that requires nothing, `none` one without a term, `empty` one whose term is empty.
fn affinity(text: &str) -> Value {
    let expression = |text: &str| {
        let (key, values) = text.split_once(':').unwrap_or_else(|| panic!("{text:?} has no key"));
        json!({"key": key, "operator": "In", "values": values.split(',').collect::<Vec<_>>()})
    };
    let term = |text: &str| {
        let expressions: Vec<Value> = text.split('&').map(expression).collect();
        json!({"matchExpressions": expressions})
    };
    let terms: Vec<Value> = match text {
        "any" => return json!({}),
        "none" => Vec::new(),
        "empty" => vec![json!({"matchExpressions": []})],
        _ => text.split('|').map(term).collect(),
    };
    json!({"required": {"nodeSelectorTerms": terms}})
}
