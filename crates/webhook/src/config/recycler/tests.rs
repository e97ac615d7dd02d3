//! What the recycler's part of a configuration means, and every sentence about a wrong one.

use std::time::Duration;

use super::*;
use crate::config::read;

const HEAD: &str = "apiVersion: bindery.dev/v1\nkind: Config\nrecycler:\n";

fn good(rest: &str) -> Recycler {
    read(&format!("{HEAD}{rest}"), "c.yaml").expect("it reads").recycler
}

fn bad(rest: &str) -> String {
    read(&format!("{HEAD}{rest}"), "c.yaml").expect_err("it does not read").to_string()
}

#[test]
fn every_key_has_its_effect() {
    assert_eq!(good(""), Recycler::default());
    let spelled = "  image: registry.k8s.io/build-image/debian-base:bookworm-v1.0.6\n  timeouts: {nfs: \
                   {minimum: 5m, perGi: 30s}, hostPath: {minimum: 1m, perGi: 30s}}\n";
    assert_eq!(good(spelled), Recycler::default(), "what the README says of the defaults");
    let read = good(
        "  namespace: own-1\n  image: busybox:1.37.0\n  timeouts: {nfs: {minimum: 90s}, hostPath: \
         {minimum: 1s, perGi: 0s}}\n",
    );
    assert_eq!(read.namespace.as_deref(), Some("own-1"));
    assert_eq!(read.template, PodTemplate::built_in("busybox:1.37.0"));
    let default = Recycler::default();
    assert_eq!(read.nfs, Timeout { minimum: Duration::from_secs(90), ..default.nfs });
    let (minimum, per_gibibyte) = (Duration::from_secs(1), Duration::ZERO);
    assert_eq!(read.host_path, Timeout { minimum, per_gibibyte });
}

#[test]
fn a_pod_and_a_pod_template_object_mean_the_same() {
    let spec = "spec: {containers: [{name: a, image: b, volumeMounts: [{name: v, mountPath: /}]}], \
                volumes: [{name: v}]}";
    let metadata = "metadata: {labels: {a: b}}";
    let bare = good(&format!("  podTemplate: {{{metadata}, {spec}}}\n"));
    assert_eq!(bare.template.volume, "v");
    assert_eq!(bare.template.labels["a"], "b");
    assert_eq!(bare.template.spec.keys().collect::<Vec<_>>(), ["containers"]);
    let pod = format!("  podTemplate: {{apiVersion: v1, kind: Pod, {metadata}, {spec}}}\n");
    assert_eq!(good(&pod), bare);
    let object = format!(
        "  podTemplate: {{apiVersion: v1, kind: PodTemplate, metadata: {{name: x}}, template: \
         {{{metadata}, {spec}}}}}\n"
    );
    assert_eq!(good(&object), bare);
}

#[test]
fn all_problems_are_reported_at_once() {
    let message = bad(
        "  namespace: Own\n  image: a\n  podTemplate:\n    apiVersion: v2\n    kind: Job\n\
         \x20   metadata: {name: x, namespace: default, labels: {a: 1}, uid: y}\n    spec:\n\
         \x20     containers: []\n      restartPolicy: Always\n      activeDeadlineSeconds: 60\n\
         \x20     terminationGracePeriodSeconds: 0\n    status: {}\n\
         \x20 timeouts: {nfs: {minimum: 500ms, perGi: -1s, most: 1h}, csi: {}}\n  podTemplates: {}\n",
    );
    insta::assert_snapshot!(message, @r#"
    c.yaml:4:14: recycler.namespace "Own" is no name of a namespace
    c.yaml:5:10: recycler.image is the built-in pod's, which recycler.podTemplate replaces; give the image there
    c.yaml:7:17: apiVersion of recycler.podTemplate must be v1
    c.yaml:8:11: kind of recycler.podTemplate must be Pod
    c.yaml:9:16: each volume has a pod of its own, named after it, in recycler.namespace; remove metadata.name
    c.yaml:9:25: each volume has a pod of its own, named after it, in recycler.namespace; remove metadata.namespace
    c.yaml:9:57: a must be text, not a number
    c.yaml:9:61: unknown key "uid"; known are labels, annotations
    c.yaml:10:5: recycler.podTemplate has no volume; name one first under spec.volumes and mount it: the volume to be recycled is put in its place
    c.yaml:11:19: recycler.podTemplate has no container, so that nothing would be removed; give it one under spec.containers
    c.yaml:12:22: restartPolicy of recycler.podTemplate must be Never: a container that failed is reported, not restarted
    c.yaml:13:7: activeDeadlineSeconds follows from recycler.timeouts; remove it
    c.yaml:14:38: terminationGracePeriodSeconds of recycler.podTemplate must be 1 or more: a pod that is gone must have ended
    c.yaml:15:5: unknown key "status"; known are apiVersion, kind, metadata, spec
    c.yaml:16:29: recycler.timeouts.nfs.minimum must be a time like 5m, at least 1s
    c.yaml:16:43: recycler.timeouts.nfs.perGi must be a time like 30s, or 0s
    c.yaml:16:48: unknown key "most"; known are minimum, perGi
    c.yaml:16:59: unknown key "csi"; known are nfs, hostPath
    c.yaml:17:3: unknown key "podTemplates"; known are namespace, image, podTemplate, timeouts
    "#);
}

#[test]
fn a_template_that_empties_nothing_is_rejected() {
    let nothing = "has no container, so that nothing would be removed";
    let unmounted = "mounts \"v\", the first of spec.volumes, as a whole and writable";
    let with = |mount: &str| {
        format!("{{containers: [{{volumeMounts: [{mount}]}}], volumes: [{{name: v}}]}}")
    };
    for (template, expected) in [
        ("{}".to_owned(), nothing),
        ("{spec: {}}".to_owned(), nothing),
        ("{template: {metadata: {}}}".to_owned(), nothing),
        ("{spec: {containers: [{name: a}]}}".to_owned(), "has no volume; name one first"),
        ("{spec: {containers: [{name: a}], volumes: [{}]}}".to_owned(), "has no volume"),
        (format!("{{spec: {}}}", with("{name: w}")), unmounted),
        (format!("{{spec: {}}}", with("{name: v, readOnly: true}")), unmounted),
        (format!("{{spec: {}}}", with("{name: v, subPath: a}")), unmounted),
        (format!("{{spec: {}}}", with("{name: v, subPathExpr: a}")), unmounted),
    ] {
        let all = bad(&format!("  podTemplate: {template}\n"));
        assert!(all.contains(expected), "{template}: {all}");
    }
    let begun = "{spec: {initContainers: [{volumeMounts: [{name: v}]}], containers: [{name: a}], \
                 volumes: [{name: v}]}}";
    assert_eq!(good(&format!("  podTemplate: {begun}\n")).template.volume, "v");
}
