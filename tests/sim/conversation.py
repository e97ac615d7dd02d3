"""The conversation that a real API server and the simulated one must answer alike.

Each step is one request. `${name.uid}` and `${name.resourceVersion}` stand for what the latest
reply about the object of that name said; `list` is the latest list.
"""
CORE, STORAGE = "/api/v1", "/apis/storage.k8s.io/v1"
PV, PVC, ALL = CORE + "/persistentvolumes", CORE + "/namespaces/default/persistentvolumeclaims", CORE + "/persistentvolumeclaims"
CLASS, ATTACHMENT = STORAGE + "/storageclasses", STORAGE + "/volumeattachments"
MERGE, JSON = "application/merge-patch+json", "application/json-patch+json"
STEPS = []


def step(method, path, body=None, type=None):
    one = {"method": method, "path": path}
    if body is not None:
        one["body"] = body
    if type:
        one["type"] = type
    STEPS.append(one)


def volume(name, **spec):
    base = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": {"server": "a", "path": "/x"}}
    base.update(spec)
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {k: v for k, v in base.items() if v is not None}}


def claim(name, **spec):
    base = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}, "storageClassName": ""}
    base.update(spec)
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {k: v for k, v in base.items() if v is not None}}


def meta(value, **fields):
    value["metadata"].update(fields)
    return value


def with_status(value, status):
    value["status"] = status
    return value


# Reading what is not there, and paths that do not exist.
step("GET", PV + "/none")
step("GET", PVC + "/none")
step("GET", CLASS + "/none")
step("GET", "/api/v1/nothings")
step("DELETE", PV + "/none")
step("PUT", PV + "/none", volume("none"))
step("PATCH", PV + "/none", {"metadata": {"labels": {"a": "b"}}}, MERGE)
step("GET", PV)

# Creating.
step("POST", PV, with_status(volume("pv-a"), {"phase": "Bound", "message": "forged"}))
step("GET", PV + "/pv-a")
step("POST", PV, volume("pv-a"))
step("POST", PV, meta(volume("pv-b"), resourceVersion="7"))
step("POST", PV, meta(volume("pv-b"), uid="11111111-1111-4111-8111-111111111111"))
step("POST", PV, meta(volume("pv-c"), finalizers=["example.com/hold"], labels={"tier": "gold"}))
step("POST", PV + "?dryRun=All", volume("pv-dry"))
step("GET", PV + "/pv-dry")
step("POST", PVC, with_status(claim("data"), {"phase": "Bound"}))
step("POST", PVC, claim("data"))
step("POST", PVC, meta(claim("wrong"), namespace="other"))
step("POST", CORE + "/namespaces/absent/persistentvolumeclaims", meta(claim("data"), namespace="absent"))
step("POST", PVC, claim("block", volumeMode="Block"))
step("POST", PVC, meta(claim("x"), name=None, generateName="made-"))
step("POST", PVC, meta(claim("x"), name=None))
step("POST", CLASS, {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com"})
step("POST", CLASS, {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "bare"}})
step("POST", ATTACHMENT, {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "att"},
                          "spec": {"attacher": "csi.example.com", "nodeName": "n1", "source": {"persistentVolumeName": "pv-a"}}, "status": {"attached": True}})
step("POST", PV, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "pv-z"}})
step("POST", PV, {"apiVersion": "v2", "kind": "PersistentVolume", "metadata": {"name": "pv-z"}})

# What validation refuses at creation.
step("POST", PV, volume("bad", capacity=None))
step("POST", PV, volume("bad", accessModes=[]))
step("POST", PV, volume("bad", accessModes=["ReadWriteSometimes"]))
step("POST", PV, volume("bad", accessModes=["ReadWriteOncePod", "ReadWriteOnce"]))
step("POST", PV, volume("bad", nfs=None))
step("POST", PV, volume("bad", hostPath={"path": "/a"}))
step("POST", PV, volume("bad", persistentVolumeReclaimPolicy="Keep"))
step("POST", PV, volume("bad", nfs=None, local={"path": "/mnt"}))
step("POST", PV, volume("bad", capacity={"storage": "0"}))
step("POST", PV, volume("bad", volumeMode="Tape"))
step("POST", PV, volume("recycled", persistentVolumeReclaimPolicy="Recycle"))
step("POST", PVC, claim("bad", accessModes=[]))
step("POST", PVC, claim("bad", accessModes=["ReadWriteOncePod", "ReadWriteOnce"]))
step("POST", PVC, claim("bad", accessModes=["Nope"]))
step("POST", PVC, claim("bad", resources=None))
step("POST", PVC, claim("bad", resources={"requests": {"storage": "-1Gi"}}))
step("POST", PVC, claim("bad", volumeMode="Tape"))

# Writing.
step("PUT", PV + "/pv-a", meta(volume("pv-a"), labels={"a": "1"}))
step("PUT", PV + "/pv-a", meta(volume("pv-a"), labels={"a": "2"}, resourceVersion="1"))
step("PUT", PV + "/pv-a", meta(volume("pv-a"), labels={"a": "3"}, resourceVersion="${pv-a.resourceVersion}"))
step("GET", PV + "/pv-a")
step("PUT", PV + "/pv-a", meta(volume("pv-a"), labels={"a": "3"}, resourceVersion="${pv-a.resourceVersion}"))
step("GET", PV + "/pv-a")
step("PUT", PV + "/pv-a", meta(volume("pv-a"), labels={"a": "4"}, uid="22222222-2222-4222-8222-222222222222"))
step("PUT", PV + "/pv-a", volume("pv-other"))
step("PUT", PV + "/pv-a", with_status(volume("pv-a"), {"phase": "Bound"}))
step("PATCH", PV + "/pv-a", {"metadata": {"labels": {"b": "5", "a": None}}}, MERGE)
step("PATCH", PV + "/pv-a", {"metadata": {"labels": {"b": "5"}}}, MERGE)
step("PATCH", PV + "/pv-a", {"metadata": {"resourceVersion": "1", "labels": {"b": "6"}}}, MERGE)
step("PATCH", PV + "/pv-a", {"metadata": {"uid": "22222222-2222-4222-8222-222222222222", "labels": {"b": "6"}}}, MERGE)
step("GET", PV + "/pv-a")
step("PATCH", PV + "/pv-a", {"metadata": {"uid": "${pv-a.uid}", "resourceVersion": "${pv-a.resourceVersion}", "labels": {"b": "7"}}}, MERGE)
step("PATCH", PV + "/pv-a", {"metadata": {"name": "pv-other"}}, MERGE)
step("PATCH", PV + "/pv-a", [{"op": "replace", "path": "/metadata/labels/b", "value": "8"}], JSON)
step("PATCH", PV + "/pv-a", [{"op": "test", "path": "/metadata/labels/b", "value": "9"}], JSON)
step("PATCH", PV + "/pv-a", [{"op": "remove", "path": "/metadata/labels/none"}], JSON)
step("PATCH", PV + "/pv-a", {"not": "a list"}, JSON)
step("PATCH", PV + "/pv-a", {"metadata": {"labels": {"b": "9"}}}, "text/plain")
step("PATCH", PV + "/pv-a?dryRun=All", {"metadata": {"labels": {"dry": "run"}}}, MERGE)
step("GET", PV + "/pv-a")
step("PATCH", PV + "/pv-a", {"spec": {"nfs": {"path": "/y"}}}, MERGE)
step("PATCH", PV + "/pv-a", {"spec": {"volumeMode": "Block"}}, MERGE)
step("PATCH", PV + "/pv-a", {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Delete"}}, MERGE)
step("PATCH", PV + "/pv-a", {"spec": {"claimRef": {"namespace": "default", "name": "data", "uid": "${data.uid}"}}}, MERGE)
step("PATCH", PV + "/pv-a", {"spec": {"claimRef": {"uid": None}}}, MERGE)
step("PATCH", PV + "/pv-a", {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}}}}, MERGE)
step("PATCH", PV + "/pv-a", {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z", "generation": 9}}, MERGE)
step("PATCH", PV + "/pv-a", {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}, MERGE)
step("PATCH", CLASS + "/fast", {"provisioner": "other.example.com"}, MERGE)
step("PATCH", CLASS + "/fast", {"reclaimPolicy": "Retain"}, MERGE)
step("PATCH", CLASS + "/fast", {"allowVolumeExpansion": True}, MERGE)
step("PATCH", CLASS + "/fast", {"volumeBindingMode": "WaitForFirstConsumer"}, MERGE)
step("PATCH", ATTACHMENT + "/att", {"spec": {"nodeName": "n2"}}, MERGE)
step("PATCH", ATTACHMENT + "/att/status", {"status": {"attached": True}}, MERGE)

# The status subresource.
step("PATCH", PV + "/pv-a/status", {"status": {"phase": "Available"}}, MERGE)
step("PATCH", PV + "/pv-a/status", {"status": {"phase": "Available"}}, MERGE)
step("PATCH", PV + "/pv-a/status", {"status": {"phase": "Bound"}, "spec": {"capacity": {"storage": "99Gi"}}, "metadata": {"labels": {"via": "status"}}}, MERGE)
step("PUT", PV + "/pv-a/status", with_status(volume("pv-a"), {"phase": "Bound"}))
step("GET", PV + "/pv-a/status")
step("POST", PV + "/pv-a/status", volume("pv-a"))
step("GET", CLASS + "/fast/status")

# Claims.
step("PATCH", PVC + "/data", {"spec": {"accessModes": ["ReadWriteMany"]}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"resources": {"requests": {"storage": "6Gi"}}}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"storageClassName": "fast"}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"volumeMode": "Block"}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"volumeName": "pv-a"}, "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"volumeName": "pv-b"}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"volumeName": None}}, MERGE)
step("PATCH", PVC + "/data/status", {"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"resources": {"requests": {"storage": "20Gi"}}}}, MERGE)
step("PATCH", PVC + "/data", {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}, MERGE)
step("POST", PVC, claim("classless", storageClassName=None))
step("PATCH", PVC + "/classless", {"spec": {"storageClassName": "fast"}}, MERGE)
step("PATCH", PVC + "/classless", {"spec": {"storageClassName": "slow"}}, MERGE)
step("POST", PVC, meta(claim("legacy", storageClassName=None), annotations={"volume.beta.kubernetes.io/storage-class": "old"}))
step("PATCH", PVC + "/legacy", {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "new"}}}, MERGE)
step("PATCH", PVC + "/legacy", {"spec": {"storageClassName": "old"}}, MERGE)
step("POST", PVC, claim("copy", dataSource={"kind": "PersistentVolumeClaim", "name": "data"}))
step("PATCH", PVC + "/legacy/status", {"spec": {"volumeName": "pv-c"}, "status": {"phase": "Lost"}}, MERGE)

# Lists.
step("GET", PV)
step("GET", PV + "?limit=2")
step("GET", PV + "?limit=2&continue=${list.continue}")
step("GET", PV + "?limit=2&resourceVersion=0")
step("GET", PV + "?continue=nonsense&limit=2")
step("GET", PV + "?resourceVersion=0&labelSelector=tier%3Dgold")
step("GET", PV + "?labelSelector=tier")
step("GET", PV + "?labelSelector=!tier")
step("GET", PV + "?labelSelector=tier+in+(gold,silver)")
step("GET", PV + "?labelSelector=tier+notin+(gold)")
step("GET", PV + "?labelSelector=tier!%3Dgold&limit=1")
step("GET", PV + "?fieldSelector=metadata.name%3Dpv-c")
step("GET", PV + "?fieldSelector=metadata.name!%3Dpv-c")
step("GET", PV + "?fieldSelector=spec.capacity%3D1")
step("GET", PV + "?resourceVersion=999999999")
step("GET", PV + "?resourceVersion=1&resourceVersionMatch=NotOlderThan")
step("GET", PV + "?resourceVersionMatch=NotOlderThan")
step("GET", PV + "?resourceVersion=abc")
step("GET", PV + "?resourceVersion=0&resourceVersionMatch=Exact")
step("GET", PV + "?sendInitialEvents=true")
step("GET", ALL)
step("GET", PVC)
step("GET", CORE + "/namespaces/absent/persistentvolumeclaims")
step("GET", PV + "/pv-a?resourceVersion=999999999")

# Watches (one second each).
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=0")
step("GET", PV + "?watch=true&timeoutSeconds=1")
step("GET", PV + "?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
step("GET", PV + "?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
step("GET", PV + "?watch=true&timeoutSeconds=1&sendInitialEvents=true")
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersionMatch=NotOlderThan&resourceVersion=1")
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=abc")
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=0&labelSelector=tier%3Dgold")
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Dpv-b")
step("GET", PV)
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=${list.resourceVersion}")
step("GET", PVC + "?watch=true&timeoutSeconds=1&resourceVersion=0")
step("PATCH", PV + "/pv-b", {"metadata": {"labels": {"tier": "gold"}}}, MERGE)
step("PATCH", PV + "/pv-b", {"metadata": {"labels": {"tier": "gold", "x": "y"}}}, MERGE)
step("PATCH", PV + "/pv-b", {"metadata": {"labels": {"tier": "iron"}}}, MERGE)
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=${list.resourceVersion}")
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=${list.resourceVersion}&labelSelector=tier%3Dgold")

# Deleting.
step("DELETE", PV + "/pv-a", {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "22222222-2222-4222-8222-222222222222"}})
step("DELETE", PV + "/pv-a", {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"resourceVersion": "1"}})
step("DELETE", PV + "/pv-a?dryRun=All")
step("GET", PV + "/pv-a")
step("DELETE", PV + "/pv-a", {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": "${pv-a.uid}"}})
step("DELETE", PV + "/pv-a")
step("POST", PV, meta(volume("pv-d"), labels={"run": "1"}, generation=4, selfLink="/x", creationTimestamp="2020-01-01T00:00:00Z", deletionTimestamp="2020-01-01T00:00:00Z"))
step("DELETE", PV + "/pv-d?dryRun=All")
step("GET", PV + "/pv-d")
step("DELETE", PV + "/pv-d", {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "${pv-d.uid}", "resourceVersion": "${pv-d.resourceVersion}"}})
step("DELETE", PV + "/pv-d")
step("GET", PV + "/pv-d")
step("PATCH", PV + "/pv-d", {"metadata": {"deletionTimestamp": None, "labels": {"still": "here"}}}, MERGE)
step("PATCH", PV + "/pv-d", {"metadata": {"finalizers": ["kubernetes.io/pv-protection", "example.com/new"]}}, MERGE)
step("PATCH", PV + "/pv-d", {"spec": {"claimRef": {"name": "late", "namespace": "default"}}}, MERGE)
step("PATCH", PV + "/pv-d/status?dryRun=All", {"metadata": {"finalizers": None}}, MERGE)
step("GET", PV + "/pv-d")
step("PATCH", PV + "/pv-d/status", {"metadata": {"finalizers": None}}, MERGE)
step("GET", PV + "/pv-d")
step("POST", PV, volume("pv-d"))
step("PUT", PV + "/pv-d", volume("pv-d"))
step("DELETE", PV + "/pv-d", {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})
step("DELETE", PV + "/pv-d")
step("DELETE", CLASS + "/fast")
step("DELETE", CLASS + "/fast")
step("DELETE", PV + "/pv-b", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"})
step("DELETE", PV + "/pv-c", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"})
step("PUT", PVC + "/block", meta(claim("block", volumeMode="Block"), finalizers=[]))
step("DELETE", PVC + "/block")
step("DELETE", PVC + "/data")
step("DELETE", PVC + "/data")
step("DELETE", PVC + "?labelSelector=none%3Dsuch")
step("DELETE", PVC + "?dryRun=All")
step("DELETE", PVC)
step("GET", PVC)
step("PATCH", PVC + "/data", {"metadata": {"finalizers": None}}, MERGE)
step("GET", PVC + "/data")
step("GET", PVC + "?watch=true&timeoutSeconds=1&resourceVersion=${list.resourceVersion}")

# Namespaces and pods.
POD, SPACE = CORE + "/namespaces/shop/pods", CORE + "/namespaces"
step("POST", SPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
step("GET", SPACE + "/shop")
step("POST", POD, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "free"}, "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 30}})
step("POST", POD, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "placed"}, "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 30}})
step("GET", CORE + "/pods?fieldSelector=spec.nodeName%3Dn1")
step("DELETE", POD + "/free")
step("DELETE", POD + "/placed")
step("DELETE", POD + "/placed")
step("DELETE", POD + "/placed", {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
step("GET", POD + "/placed")
step("POST", CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}})
step("DELETE", CORE + "/nodes/n1")
step("DELETE", SPACE + "/shop")
step("GET", SPACE + "/shop")
step("POST", CORE + "/namespaces/shop/persistentvolumeclaims", meta(claim("late"), namespace="shop"))
step("PUT", SPACE + "/shop/finalize", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}, "spec": {"finalizers": []}})
step("GET", SPACE + "/shop")

# What webhooks answer.
MUTATING, VALIDATING = "recorder.test/mutating", "recorder.test/validating"


def told(name, **orders):
    return meta(volume(name), annotations={"recorder.test/" + phase: order for phase, order in orders.items()})


for order in ("deny", "deny-422", "deny-bare"):
    step("POST", PV, told("hooked", mutating=order))
    step("POST", PV, told("hooked", validating=order))
step("POST", PV, told("hooked", mutating="edit"))
step("POST", PV, told("hooked-too", mutating="warn", validating="warn"))
step("PATCH", PV + "/hooked", {"metadata": {"labels": {"edited": None, "mine": "1"}}, "spec": {"storageClassName": "x"}}, MERGE)
step("PATCH", PV + "/hooked", {"metadata": {"annotations": {MUTATING: None, VALIDATING: "deny"}}}, MERGE)
step("PATCH", PV + "/hooked?dryRun=All", {"metadata": {"annotations": {VALIDATING: "deny-422"}}}, MERGE)
step("PATCH", PV + "/hooked/status", {"metadata": {"annotations": {MUTATING: "deny-bare"}}, "status": {"phase": "Bound"}}, MERGE)
step("PUT", PV + "/hooked", told("hooked"))
step("GET", PV + "/hooked")
step("PATCH", PV + "/hooked-too", {"metadata": {"annotations": {MUTATING: None, VALIDATING: None}}}, MERGE)
for name in ("one", "two", "three"):
    step("POST", PVC, claim(name))
step("PATCH", PVC + "/one/status?fieldManager=me", {"status": {"phase": "Bound"}}, MERGE)
step("GET", PVC)
step("DELETE", PVC + "?labelSelector=a%3Db")
step("DELETE", PVC + "?fieldSelector=metadata.name%3Done", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"})
step("GET", PVC + "/one")

# Classes: the default one, growth, immutable parameters.
DEFAULT = "storageclass.kubernetes.io/is-default-class"


def storage_class(name, default=None, **fields):
    annotations = {DEFAULT: default} if default else {}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name, "annotations": annotations}, "provisioner": "a.b", **fields}


step("POST", CLASS, storage_class("grow", "true", allowVolumeExpansion=True, parameters={"k": "v"}))
step("POST", CLASS, storage_class("later", volumeBindingMode="WaitForFirstConsumer", reclaimPolicy="Retain"))
step("POST", CLASS, storage_class("wrong", volumeBindingMode="Never"))
step("PATCH", CLASS + "/grow", {"parameters": {"k": "w"}}, MERGE)
step("PATCH", CLASS + "/grow", {"mountOptions": ["ro"]}, MERGE)
step("POST", PVC, claim("defaulted", storageClassName=None))
step("POST", PVC, claim("chosen", storageClassName=""))
step("PATCH", PVC + "/defaulted", {"spec": {"resources": {"requests": {"storage": "6Gi"}}}}, MERGE)
step("PATCH", PVC + "/defaulted/status", {"status": {"phase": "Bound", "capacity": {"storage": "5Gi"}}}, MERGE)
step("PATCH", PVC + "/defaulted", {"spec": {"resources": {"requests": {"storage": "8Gi"}}}}, MERGE)
step("PATCH", PVC + "/defaulted", {"spec": {"resources": {"requests": {"storage": "6Gi"}}}}, MERGE)
step("PATCH", PVC + "/defaulted", {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}, MERGE)
step("PATCH", PVC + "/defaulted", {"spec": {"volumeAttributesClassName": "quick"}}, MERGE)
step("PATCH", PVC + "/defaulted/status", {"status": {"currentVolumeAttributesClassName": "quick"}}, MERGE)
step("PATCH", PVC + "/defaulted", {"spec": {"volumeAttributesClassName": None}}, MERGE)
step("PATCH", PVC + "/chosen", {"spec": {"volumeAttributesClassName": "quick"}}, MERGE)
step("PATCH", PVC + "/chosen", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}, "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "33333333-3333-4333-8333-333333333333"}]}}, MERGE)
step("PUT", PVC + "/chosen", claim("chosen", storageClassName=""))
step("PUT", PVC + "/chosen", meta(claim("chosen", storageClassName=""), namespace=None))
step("PUT", PVC + "/chosen", meta(claim("chosen", storageClassName=""), namespace="other"))
step("PUT", PVC + "/chosen", claim("chosen", storageClassName="", accessModes=[]))
step("PUT", PVC + "/chosen/status", with_status(meta(claim("chosen"), resourceVersion="1"), {"phase": "Bound"}))
step("PUT", PVC + "/chosen/status", with_status(meta(claim("chosen"), uid="22222222-2222-4222-8222-222222222222"), {"phase": "Bound"}))
step("PUT", PVC + "/chosen/status", with_status(claim("chosen", accessModes=["ReadWriteMany"]), {"phase": "Bound"}))
step("PUT", PVC + "/chosen", {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "chosen"}})

# Volumes: the rest of what may and may not change.
AFFINITY = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "In", "values": ["linux"]}]}]}}
step("POST", PV, volume("disk", nfs=None, local={"path": "/mnt"}, nodeAffinity=AFFINITY))
step("PATCH", PV + "/disk", [{"op": "replace", "path": "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/key", "value": "kubernetes.io/os"}], JSON)
step("PATCH", PV + "/disk", [{"op": "replace", "path": "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/key", "value": "other"}], JSON)
step("PATCH", PV + "/disk", {"spec": {"nodeAffinity": None}}, MERGE)
step("PATCH", PV + "/disk", {"spec": {"local": None, "hostPath": {"path": "/mnt"}}}, MERGE)
step("PATCH", PV + "/disk", {"spec": {"capacity": None}}, MERGE)
step("PATCH", PV + "/disk", {"spec": {"accessModes": ["ReadWriteOncePod"], "storageClassName": "other", "mountOptions": ["ro"]}}, MERGE)
step("PATCH", PV + "/disk", {"spec": {"persistentVolumeReclaimPolicy": "Recycle"}}, MERGE)
step("POST", PV, volume("csi", nfs=None, csi={"driver": "d.example.com", "volumeHandle": "h"}, volumeAttributesClassName="quick"))
step("PATCH", PV + "/csi", {"spec": {"csi": {"controllerExpandSecretRef": {"name": "s", "namespace": "default"}}}}, MERGE)
step("PATCH", PV + "/csi", {"spec": {"csi": {"controllerExpandSecretRef": {"name": "t", "namespace": "default"}}}}, MERGE)
step("PATCH", PV + "/csi", {"spec": {"csi": {"volumeHandle": "i"}}}, MERGE)
step("PATCH", PV + "/csi", {"spec": {"volumeAttributesClassName": "slow"}}, MERGE)
step("PATCH", PV + "/csi", {"spec": {"volumeAttributesClassName": None}}, MERGE)
step("POST", PV, volume("host", nfs=None, hostPath={"path": "/mnt"}))
step("POST", PV, volume("UPPER"))
step("POST", PV, meta(volume("spaced"), namespace="default"))
step("POST", PV, volume("more", capacity={"storage": "1Gi", "memory": "1Gi"}))
step("PATCH", PV + "/host", {"spec": {"claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default", "name": "chosen", "uid": "${chosen.uid}", "resourceVersion": "1"}}, "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}}, MERGE)
step("PATCH", PV + "/host/status", {"status": {"phase": "Bound", "message": ""}}, MERGE)
step("PATCH", PV + "/host/status", {"status": {"phase": "Released", "lastPhaseTransitionTime": "2020-01-01T00:00:00Z"}}, MERGE)
step("PATCH", PV + "/host/status", {"status": {"message": "why"}}, MERGE)
step("PATCH", PV + "/host", {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}}, MERGE)
step("PATCH", PV + "/host", {"spec": {"claimRef": None}, "metadata": {"annotations": None}}, MERGE)
step("PATCH", PV + "/host", [{"op": "test", "path": "/metadata/uid", "value": "${host.uid}"}, {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}], JSON)
step("PATCH", PV + "/host", [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/hold"}], JSON)
step("PATCH", PV + "/host", [{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}], JSON)
step("PATCH", PV + "/host", [], JSON)
step("PATCH", PV + "/host", {}, MERGE)
step("DELETE", PV + "/host", {"apiVersion": "v1", "kind": "DeleteOptions", "orphanDependents": True})
step("DELETE", PV + "/host", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"})
step("PATCH", PV + "/host", [{"op": "replace", "path": "/metadata/finalizers", "value": ["example.com/hold"]}], JSON)
step("PATCH", PV + "/host", {"metadata": {"finalizers": []}}, MERGE)
step("GET", PV + "/host")

# Reading at a version.
step("GET", PV + "?limit=1")
step("POST", PV, volume("aaa"))
step("PATCH", PV + "/csi", {"metadata": {"labels": {"late": "yes"}}}, MERGE)
step("DELETE", PV + "/disk")
step("GET", PV + "?limit=100&continue=${list.continue}")
step("GET", PV + "?resourceVersion=${csi.resourceVersion}&resourceVersionMatch=Exact")
step("GET", PV + "?resourceVersion=${aaa.resourceVersion}&resourceVersionMatch=Exact&limit=2")
step("GET", PV + "?resourceVersion=${aaa.resourceVersion}&limit=3")
step("GET", PV + "?limit=3&resourceVersionMatch=Never&resourceVersion=1")
step("GET", PV + "?watch=true&timeoutSeconds=1&resourceVersion=${aaa.resourceVersion}&allowWatchBookmarks=true")
step("GET", PV + "?watch=true&timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=${aaa.resourceVersion}")
step("GET", PV + "?watch=0&limit=1&labelSelector=late")
step("GET", PV + "?labelSelector=late,late!%3Dno")
step("GET", PV + "?labelSelector=late+maybe")
step("GET", PV + "/csi?resourceVersion=0")
step("DELETE", PV + "?labelSelector=late", {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})
step("POST", CORE + "/persistentvolumeclaims", claim("homeless"))
step("DELETE", CORE + "/persistentvolumeclaims")
step("PUT", PV, volume("x"))
step("GET", CORE + "/persistentvolumeclaims/data")
step("GET", "/apis/storage.k8s.io/v2/storageclasses")
step("DELETE", SPACE + "/default")
step("GET", CORE + "/namespaces/kube-system")
step("PATCH", SPACE + "/default", {"metadata": {"labels": {"a": "b"}}}, MERGE)
step("POST", SPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})

# Empty texts, and what a typed server makes of them.
step("POST", PV, volume("empty", storageClassName="", claimRef={"namespace": "", "name": "x", "uid": "", "kind": ""}))
step("PATCH", PV + "/empty", {"spec": {"claimRef": {"name": ""}}}, MERGE)
step("PATCH", PV + "/empty", {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "", "volume.beta.kubernetes.io/mount-options": "ro"}}}, MERGE)
step("POST", PVC, claim("empty", volumeName=""))
step("POST", PVC, claim("large", resources={"requests": {"storage": "1Ti"}, "limits": {"storage": "2Ti"}}, selector={"matchLabels": {"a": "b"}}))
step("PATCH", PVC + "/large", {"spec": {"selector": None}}, MERGE)
step("DELETE", PV)
step("GET", PV)
