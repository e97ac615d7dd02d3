//! A small notation for clusters, one object a line, and the API objects that it stands for.
//!
//! The examples of rules are written in it, and every level of tests, the demo and the reference
//! pages read them from it. It is not a format for users.
//!
//! ```text
//! class  NAME [wait] [expand] [default] [provisioner=P]
//! volume NAME SIZE MODES [options]
//! claim  NAMESPACE/NAME SIZE MODES [options]
//! pair   VOLUME NAMESPACE/NAME SIZE MODES [options]     a volume and a claim bound to each other
//! lost   VOLUME NAMESPACE/NAME SIZE MODES [options]     a claim whose volume is gone
//! pod    NAMESPACE/NAME claim=NAME [node=NODE]
//! node   NAME [ready|unreachable] [out-of-service]      its kubelet answers, or does not
//! namespace NAME [KEY:VALUE]                            with this label
//! attachment NAME VOLUME NODE [pending] [terminating]   attached, unless it is pending
//! driver NAME
//! content NAME POLICY NAMESPACE/NAME                    of this VolumeSnapshot
//! ```
//!
//! `{uid:NAMESPACE/NAME}` stands for the uid of that claim, wherever it occurs.

use serde_json::{Map, Value, json};

use crate::model::OUT_OF_SERVICE;

/// An object of a fixture.
#[derive(Clone, Debug, PartialEq)]
pub struct FixtureObject {
    /// `pv/NAME`, `pvc/NAMESPACE/NAME`, `sc/NAME`, `node/NAME`, `ns/NAME`, `pod/NAMESPACE/NAME`,
    /// `volumeattachment/NAME`, `csidriver/NAME` or `volumesnapshotcontent/NAME`.
    pub target: String,
    /// The object, with status; uids of claims are still written `{uid:…}`.
    pub object: Value,
    /// Whether its deletion has been asked for.
    pub is_terminating: bool,
}

/// A line that is not of the notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}: {text:?}")]
pub struct FixtureError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: &'static str,
    /// The line.
    pub text: String,
}

/// The uid of a claim that does not exist.
pub const DEAD_UID: &str = "dead0000-0000-4000-8000-000000000000";

/// Reads the notation; claims come before the volumes that hold them.
pub fn parse(text: &str) -> Result<Vec<FixtureObject>, FixtureError> {
    let mut items = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((kind, words)) = words.split_first() else { continue };
        let made = match *kind {
            "class" => class(words).map(|item| vec![item]),
            "volume" => volume(words).map(|item| vec![item]),
            "claim" => claim(words).map(|item| vec![item]),
            "pair" => pair(words),
            "lost" => lost(words).map(|item| vec![item]),
            "node" => node(words).map(|item| vec![item]),
            "namespace" => namespace(words).map(|item| vec![item]),
            "pod" => pod(words).map(|item| vec![item]),
            "attachment" => attachment(words).map(|item| vec![item]),
            "driver" => driver(words).map(|item| vec![item]),
            "content" => content(words).map(|item| vec![item]),
            _ => Err("unknown kind of object"),
        };
        let error = |reason| FixtureError { line: index + 1, reason, text: line.to_owned() };
        items.extend(made.map_err(error)?);
    }
    Ok(items)
}

/// Replaces every `{uid:NAMESPACE/NAME}` in `text` by what `uid_of` gives for it.
pub fn with_uids(text: &str, uid_of: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{uid:") {
        let Some((key, after)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str(&uid_of(key).unwrap_or_else(|| DEAD_UID.to_owned()));
        rest = after;
    }
    out.push_str(rest);
    out
}

type Parsed<T> = Result<T, &'static str>;

fn class(words: &[&str]) -> Parsed<FixtureObject> {
    let (name, options) = words.split_first().ok_or("a class needs a name")?;
    let mut object = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate",
        "reclaimPolicy": "Delete",
    });
    for option in options {
        match option.split_once('=') {
            Some(("provisioner", driver)) => object["provisioner"] = json!(driver),
            None if *option == "wait" => {
                object["volumeBindingMode"] = json!("WaitForFirstConsumer");
            }
            None if *option == "expand" => object["allowVolumeExpansion"] = json!(true),
            None if *option == "default" => {
                let mark = "storageclass.kubernetes.io/is-default-class:true";
                annotate(&mut object, mark)?;
            }
            _ => return Err("unknown option of a class"),
        }
    }
    Ok(FixtureObject { target: format!("sc/{name}"), object, is_terminating: false })
}

fn modes(text: &str) -> Parsed<Value> {
    let long = |mode: &str| match mode {
        "RWO" => Ok("ReadWriteOnce"),
        "ROX" => Ok("ReadOnlyMany"),
        "RWX" => Ok("ReadWriteMany"),
        "RWOP" => Ok("ReadWriteOncePod"),
        _ => Err("unknown access mode"),
    };
    Ok(json!(text.split(',').map(long).collect::<Parsed<Vec<_>>>()?))
}

fn volume(words: &[&str]) -> Parsed<FixtureObject> {
    let [name, size, access_modes, options @ ..] = words else {
        return Err("a volume needs name, size and access modes");
    };
    let mut item = FixtureObject {
        target: format!("pv/{name}"),
        object: json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "finalizers": ["kubernetes.io/pv-protection"]},
            "spec": {
                "capacity": {"storage": size}, "accessModes": modes(access_modes)?,
                "volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain",
                "nfs": {"server": "nfs.example.com", "path": format!("/{name}")},
            },
            "status": {"phase": "Pending"},
        }),
        is_terminating: false,
    };
    for option in options {
        volume_option(&mut item, option)?;
    }
    Ok(item)
}

/// Returns what volumes and claims have in common; `unknown` is said of any other option.
fn common_option(item: &mut FixtureObject, option: &str, unknown: &'static str) -> Parsed<()> {
    let object = &mut item.object;
    match option.split_once('=') {
        Some(("class", class)) => object["spec"]["storageClassName"] = json!(class),
        Some(("mode", mode)) => object["spec"]["volumeMode"] = json!(mode),
        Some(("attributes", class)) => object["spec"]["volumeAttributesClassName"] = json!(class),
        Some(("owner", owner)) => own(object, owner)?,
        Some(("annotation", note)) => annotate(object, note)?,
        None if option == "terminating" => item.is_terminating = true,
        _ => return Err(unknown),
    }
    Ok(())
}

fn volume_option(item: &mut FixtureObject, option: &str) -> Parsed<()> {
    let object = &mut item.object;
    match option.split_once('=') {
        Some(("policy", policy)) => {
            object["spec"]["persistentVolumeReclaimPolicy"] = json!(policy);
        }
        Some(("phase", phase)) => object["status"]["phase"] = json!(phase),
        Some(("csi", driver)) => {
            let handle = object["metadata"]["name"].clone();
            source(object, "csi", json!({"driver": driver, "volumeHandle": handle}));
        }
        Some(("handle", handle)) => object["spec"]["csi"]["volumeHandle"] = json!(handle),
        Some(("share", path)) => object["spec"]["nfs"]["path"] = json!(path),
        Some((kind @ ("hostPath" | "local"), path)) => source(object, kind, json!({"path": path})),
        Some(("node", node)) => {
            object["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [
                {"matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
                ]},
            ]}});
        }
        Some(("for", key)) => object["spec"]["claimRef"] = reference(key, None)?,
        Some(("held", key)) => {
            object["spec"]["claimRef"] = reference(key, Some(format!("{{uid:{key}}}")))?;
        }
        Some(("dead", key)) => {
            object["spec"]["claimRef"] = reference(key, Some(DEAD_UID.to_owned()))?;
        }
        Some(("claimRef", text)) => {
            object["spec"]["claimRef"] =
                serde_json::from_str(text).map_err(|_| "claimRef is not JSON")?;
        }
        Some(("label", label)) => {
            let (key, value) = label.split_once(':').ok_or("a label is KEY:VALUE")?;
            object["metadata"]["labels"] = json!({key: value});
        }
        Some(("finalizer", name)) => {
            if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
                list.push(json!(name));
            }
        }
        _ => common_option(item, option, "unknown option of a volume")?,
    }
    Ok(())
}

/// Puts the volume on other storage.
fn source(object: &mut Value, kind: &str, source: Value) {
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("nfs");
        spec.insert(kind.to_owned(), source);
    }
}

fn reference(key: &str, uid: Option<String>) -> Parsed<Value> {
    let (namespace, name) = key.split_once('/').ok_or("a claim is NAMESPACE/NAME")?;
    let mut reference = json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": name,
    });
    if let Some(uid) = uid {
        reference["uid"] = json!(uid);
    }
    Ok(reference)
}

fn annotate(object: &mut Value, note: &str) -> Parsed<()> {
    let (key, value) = note.split_once(':').ok_or("an annotation is KEY:VALUE")?;
    let metadata = object["metadata"].as_object_mut().ok_or("an object has metadata")?;
    let notes = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    notes[key] = json!(value);
    Ok(())
}

/// Gives the object an owner: `APIVERSION:KIND:NAME`, with the uid of no object.
fn own(object: &mut Value, owner: &str) -> Parsed<()> {
    let parts: Vec<&str> = owner.split(':').collect();
    let [version, kind, name] = parts.as_slice() else {
        return Err("an owner is APIVERSION:KIND:NAME");
    };
    object["metadata"]["ownerReferences"] =
        json!([{"apiVersion": version, "kind": kind, "name": name, "uid": DEAD_UID}]);
    Ok(())
}

fn claim(words: &[&str]) -> Parsed<FixtureObject> {
    let [key, size, access_modes, options @ ..] = words else {
        return Err("a claim needs namespace/name, size and access modes");
    };
    let (namespace, name) = key.split_once('/').ok_or("a claim is NAMESPACE/NAME")?;
    let mut item = FixtureObject {
        target: format!("pvc/{key}"),
        object: json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "namespace": namespace, "name": name,
                "finalizers": ["kubernetes.io/pvc-protection"],
            },
            "spec": {
                "accessModes": modes(access_modes)?, "volumeMode": "Filesystem",
                "resources": {"requests": {"storage": size}},
            },
            "status": {"phase": "Pending"},
        }),
        is_terminating: false,
    };
    for option in options {
        claim_option(&mut item, option)?;
    }
    Ok(item)
}

fn claim_option(item: &mut FixtureObject, option: &str) -> Parsed<()> {
    let object = &mut item.object;
    match option.split_once('=') {
        Some(("volume", volume)) => object["spec"]["volumeName"] = json!(volume),
        Some(("request", size)) => {
            object["spec"]["resources"]["requests"]["storage"] = json!(size);
        }
        Some(("selector", label)) => {
            let (key, value) = label.split_once(':').ok_or("a selector is KEY:VALUE")?;
            object["spec"]["selector"] = json!({"matchLabels": {key: value}});
        }
        Some(("snapshot", name)) => {
            object["spec"]["dataSource"] = json!({
                "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name,
            });
        }
        _ => common_option(item, option, "unknown option of a claim")?,
    }
    Ok(())
}

/// A claim and a volume in the state in which the binder leaves them.
fn pair(words: &[&str]) -> Parsed<Vec<FixtureObject>> {
    let [volume_name, key, size, access_modes, options @ ..] = words else {
        return Err("a pair needs volume, namespace/name, size and access modes");
    };
    let mut volume = volume(&[volume_name, size, access_modes])?;
    let mut claim = claim(&[key, size, access_modes])?;
    volume_option(&mut volume, &format!("held={key}"))?;
    volume_option(&mut volume, "phase=Bound")?;
    let bound = &mut claim.object;
    bound["spec"]["volumeName"] = json!(volume_name);
    annotate(bound, "pv.kubernetes.io/bind-completed:yes")?;
    annotate(bound, "pv.kubernetes.io/bound-by-controller:yes")?;
    bound["status"] = json!({
        "phase": "Bound", "capacity": {"storage": size}, "accessModes": modes(access_modes)?,
    });
    for option in options {
        match option.split_once('=') {
            Some(("class" | "mode" | "attributes", _)) => {
                volume_option(&mut volume, option)?;
                claim_option(&mut claim, option)?;
            }
            // What the claim asks for by now; its driver is at work.
            Some(("wants", class)) => claim_option(&mut claim, &format!("attributes={class}"))?,
            // What its driver has been asked for; it may ask for something else by now.
            Some(("modifying", class)) => {
                claim.object["status"]["modifyVolumeStatus"] =
                    json!({"status": "InProgress", "targetVolumeAttributesClassName": class});
            }
            Some(("request", _)) => claim_option(&mut claim, option)?,
            None if *option == "claim-terminating" => claim.is_terminating = true,
            None if *option == "volume-terminating" => volume.is_terminating = true,
            _ => volume_option(&mut volume, option)?,
        }
    }
    Ok(vec![claim, volume])
}

/// A claim as the binder leaves it when its volume is gone.
fn lost(words: &[&str]) -> Parsed<FixtureObject> {
    let made = pair(words)?;
    let mut claim = made.into_iter().next().ok_or("a pair begins with its claim")?;
    claim.object["status"] = json!({"phase": "Lost"});
    Ok(claim)
}

fn node(words: &[&str]) -> Parsed<FixtureObject> {
    let (name, options) = words.split_first().ok_or("a node needs a name")?;
    let mut object = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
    });
    let ready = |status: &str| json!({"conditions": [{"type": "Ready", "status": status}]});
    for option in options {
        match *option {
            "ready" => object["status"] = ready("True"),
            "unreachable" => object["status"] = ready("Unknown"),
            "out-of-service" => {
                let taint =
                    json!({"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"});
                object["spec"] = json!({"taints": [taint]});
            }
            _ => return Err("unknown option of a node"),
        }
    }
    Ok(FixtureObject { target: format!("node/{name}"), object, is_terminating: false })
}

/// The attachment of a volume as its driver leaves it.
fn attachment(words: &[&str]) -> Parsed<FixtureObject> {
    let [name, volume, node, options @ ..] = words else {
        return Err("an attachment needs name, volume and node");
    };
    let mut item = FixtureObject {
        target: format!("volumeattachment/{name}"),
        object: json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": name, "finalizers": ["external-attacher/disk-example-com"]},
            "spec": {
                "attacher": "disk.example.com", "nodeName": node,
                "source": {"persistentVolumeName": volume},
            },
            "status": {"attached": true},
        }),
        is_terminating: false,
    };
    for option in options {
        match *option {
            "pending" => item.object["status"]["attached"] = json!(false),
            "terminating" => item.is_terminating = true,
            _ => return Err("unknown option of an attachment"),
        }
    }
    Ok(item)
}

fn driver(words: &[&str]) -> Parsed<FixtureObject> {
    let [name] = words else { return Err("a driver has a name and nothing else") };
    let object = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name},
        "spec": {"attachRequired": true},
    });
    Ok(FixtureObject { target: format!("csidriver/{name}"), object, is_terminating: false })
}

fn content(words: &[&str]) -> Parsed<FixtureObject> {
    let [name, policy, snapshot] = words else {
        return Err("a content needs name, policy and snapshot");
    };
    let (space, snapshot) = snapshot.split_once('/').ok_or("a snapshot is NAMESPACE/NAME")?;
    let object = json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": name},
        "spec": {
            "deletionPolicy": policy, "driver": "disk.example.com",
            "source": {"snapshotHandle": name},
            "volumeSnapshotRef": {"namespace": space, "name": snapshot},
        },
    });
    let target = format!("volumesnapshotcontent/{name}");
    Ok(FixtureObject { target, object, is_terminating: false })
}

fn namespace(words: &[&str]) -> Parsed<FixtureObject> {
    let (name, labels) = words.split_first().ok_or("a namespace needs a name")?;
    let mut object = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {}},
    });
    for label in labels {
        let (key, value) = label.split_once(':').ok_or("a label is KEY:VALUE")?;
        object["metadata"]["labels"][key] = json!(value);
    }
    Ok(FixtureObject { target: format!("ns/{name}"), object, is_terminating: false })
}

fn pod(words: &[&str]) -> Parsed<FixtureObject> {
    let (key, options) = words.split_first().ok_or("a pod needs namespace/name")?;
    let (namespace, name) = key.split_once('/').ok_or("a pod is NAMESPACE/NAME")?;
    let mut object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name},
        "spec": {"containers": [{"name": "main", "image": "none.example.com/none"}]},
    });
    for option in options {
        match option.split_once('=') {
            Some(("claim", claim)) => {
                object["spec"]["volumes"] =
                    json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
            }
            Some(("node", node)) => object["spec"]["nodeName"] = json!(node),
            _ => return Err("unknown option of a pod"),
        }
    }
    Ok(FixtureObject { target: format!("pod/{key}"), object, is_terminating: false })
}
