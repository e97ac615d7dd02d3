//! What must hold of whatever is rendered: labels, hardened pods, and an installation that neither blocks a
//! node nor leaves something behind.

use std::collections::BTreeSet;

use bindery::model::Quantity;
use serde_json::{Value, json};

use super::helm::{NAMESPACE, Rendering, rendered, set, sets, text};

/// The specs of all pods of a rendering, the test's included, each with the name of what it is of.
pub(crate) fn pods(rendering: &Rendering) -> Vec<(String, Value)> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let templates =
        ["Deployment", "DaemonSet"].into_iter().flat_map(|kind| rendering.of_kind(kind));
    let of_templates =
        templates.map(|object| (name(object), object["spec"]["template"]["spec"].clone()));
    let alone = rendering.of_kind("Pod").into_iter();
    of_templates.chain(alone.map(|object| (name(object), object["spec"].clone()))).collect()
}

/// Whether a pod is one of the local static provisioner.
pub(crate) fn is_local(pod: &Value) -> bool {
    pod["containers"][0]["name"] == "local"
}

fn containers(pod: &Value) -> &[Value] {
    assert_eq!(pod.get("initContainers"), None, "the checks look at containers only");
    pod["containers"].as_array().expect("containers")
}

#[test]
fn every_object_has_the_recommended_labels() {
    for (name, rendering) in sets() {
        for object in &rendering.objects {
            let labels = &object["metadata"]["labels"];
            let own = if name == "named" { "pairs" } else { "bindery" };
            for (key, value) in [
                ("app.kubernetes.io/name", own),
                ("app.kubernetes.io/instance", "rel"),
                ("app.kubernetes.io/version", env!("CARGO_PKG_VERSION")),
                ("app.kubernetes.io/part-of", "bindery"),
                ("app.kubernetes.io/managed-by", "Helm"),
                ("helm.sh/chart", concat!("bindery-", env!("CARGO_PKG_VERSION"))),
            ] {
                assert_eq!(labels[key], value, "{name}: {} lacks {key}", object["metadata"]);
            }
            let component = labels["app.kubernetes.io/component"].as_str();
            assert!(component.is_some_and(|word| !word.is_empty()), "{name}: {object}");
        }
    }
}

/// The API server does not store an empty list: Argo CD would find it missing for ever, and every apply would write.
#[test]
fn no_object_has_an_empty_list() {
    fn has_one(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.is_empty() || items.iter().any(has_one),
            Value::Object(fields) => fields.values().any(has_one),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    for (name, rendering) in sets() {
        for object in &rendering.objects {
            assert!(!has_one(object), "{name}: {object}");
        }
    }
}

#[test]
fn common_labels_are_on_everything() {
    for object in &set("named").objects {
        assert_eq!(object["metadata"]["labels"]["example.com/team"], "storage", "{object}");
        assert_eq!(object["metadata"]["labels"]["cost"], "7", "{object}");
        let template = &object["spec"]["template"]["metadata"]["labels"];
        assert!(template.is_null() || template["cost"] == "7", "{object}");
    }
}

/// What selects pods never changes with a version: it could not be upgraded.
#[test]
fn selectors_hold_no_version() {
    for (name, rendering) in sets() {
        for owner in
            ["Deployment", "DaemonSet"].into_iter().flat_map(|kind| rendering.of_kind(kind))
        {
            let spec = &owner["spec"];
            let selector = spec["selector"]["matchLabels"].as_object().expect("labels");
            let keys = selector.keys().map(String::as_str);
            let keys: Vec<&str> = keys.filter(|key| *key != "bindery.dev/local-pool").collect();
            let component = "app.kubernetes.io/component";
            assert_eq!(keys, [component, "app.kubernetes.io/instance", "app.kubernetes.io/name"]);
            for (key, value) in selector {
                assert_eq!(&spec["template"]["metadata"]["labels"][key], value, "{name}");
            }
        }
    }
}

/// The profile "restricted" of Pod Security; `hostNetwork` is the one value that leaves it. Not here: pods that mount
/// folders of their node (`local`).
#[test]
fn every_pod_is_restricted() {
    for (name, rendering) in sets() {
        for (owner, pod) in pods(rendering).into_iter().filter(|(_, pod)| !is_local(pod)) {
            let whose = format!("{name}: {owner}");
            let security = &pod["securityContext"];
            assert_eq!(security["runAsNonRoot"], true, "{whose}");
            assert_eq!(pod["nodeSelector"]["kubernetes.io/os"], "linux", "{whose}");
            assert_eq!(security["runAsUser"], 65532, "{whose}");
            assert_eq!(security["runAsGroup"], 65532, "{whose}");
            assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault", "{whose}");
            for key in ["hostPID", "hostIPC", "shareProcessNamespace"] {
                assert_eq!(pod.get(key), None, "{whose}");
            }
            let may_be_of_host = ["private-control-plane", "host-network"].contains(&name.as_str())
                && owner == "rel-bindery";
            assert_eq!(pod.get("hostNetwork").is_some(), may_be_of_host, "{whose}");
            for volume in pod["volumes"].as_array().into_iter().flatten() {
                let is_allowed = volume.get("configMap").or(volume.get("secret")).is_some();
                assert!(is_allowed, "{whose}: {volume}");
            }
            for container in containers(&pod) {
                let security = &container["securityContext"];
                assert_eq!(security["allowPrivilegeEscalation"], false, "{whose}");
                assert_eq!(security["readOnlyRootFilesystem"], true, "{whose}");
                assert_eq!(security["privileged"], false, "{whose}");
                assert_eq!(security["capabilities"], json!({"drop": ["ALL"]}), "{whose}");
                for port in container["ports"].as_array().into_iter().flatten() {
                    assert_eq!(port.get("hostPort"), None, "{whose}");
                }
            }
        }
    }
}

/// `OpenShift` gives each namespace a range of users, and admits no pod that names another.
#[test]
fn a_platform_may_give_user_and_group() {
    let nothing = r#"{"runAsUser": null, "runAsGroup": null, "fsGroup": null}"#;
    let rendering = rendered(&["--set-json", &format!("pod.securityContext={nothing}")]);
    let expected = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    let pods = pods(&rendering);
    assert!(pods.len() >= 2);
    for (owner, pod) in pods {
        assert_eq!(pod["securityContext"], expected, "{owner}");
    }
}

/// Where Prometheus scrapes, it has to reach the port of the node.
#[test]
fn metrics_of_pods_in_the_network_of_their_node_are_open_only_if_they_are_scraped() {
    let host = "pod.hostNetwork=true,webhook.port=10260";
    let listens = |more: &str| {
        let (_, pod) = pods(&rendered(&["--set", &format!("{host}{more}")])).remove(0);
        pod["containers"][0]["args"].to_string().contains("[::]:8081")
    };
    assert!(!listens(""));
    assert!(listens(",metrics.service.enabled=true"));
    assert!(listens(",metrics.serviceMonitor.enabled=true"));
}

#[test]
fn extra_arguments_volumes_and_a_client_ca_reach_the_pods() {
    let values = [
        "--set-json",
        r#"pod.extraVolumes=[{"name": "scratch", "emptyDir": {}}]"#,
        "--set-json",
        r#"pod.extraVolumeMounts=[{"name": "scratch", "mountPath": "/scratch"}]"#,
        "--set-json",
        r#"webhook.extraArgs=["--threads=2"]"#,
        "--set-json",
        r#"controller.extraArgs=["--leader-elect-retry-period=3s"]"#,
        "--set-json",
        r#"webhook.clientCA={"configMap": "callers", "names": ["kube-apiserver"]}"#,
    ];
    let (_, pod) = pods(&rendered(&values)).remove(0);
    let [webhook, controller] = containers(&pod) else { panic!("two containers") };
    for (container, argument) in
        [(webhook, "--threads=2"), (controller, "--leader-elect-retry-period=3s")]
    {
        assert!(container["args"].as_array().expect("arguments").contains(&json!(argument)));
        let mounts = container["volumeMounts"].as_array().expect("mounts");
        assert!(mounts.contains(&json!({"name": "scratch", "mountPath": "/scratch"})));
    }
    let arguments = webhook["args"].to_string();
    let required =
        r#""--client-ca-file","/etc/bindery/client-ca/ca.crt","--client-name","kube-apiserver""#;
    assert!(arguments.contains(required), "{arguments}");
    let volumes = pod["volumes"].as_array().expect("volumes");
    assert!(volumes.contains(&json!({"name": "client-ca", "configMap": {"name": "callers"}})));
    assert!(volumes.contains(&json!({"name": "scratch", "emptyDir": {}})));
}

#[test]
fn every_container_says_what_it_uses() {
    for (name, rendering) in sets() {
        for (owner, pod) in pods(rendering) {
            for container in containers(&pod) {
                let resources = &container["resources"];
                for kind in ["cpu", "memory"] {
                    assert!(resources["requests"][kind].is_string(), "{name}: {owner}");
                }
                assert!(resources["limits"]["memory"].is_string(), "{name}: {owner}");
                assert_eq!(resources["limits"].get("cpu"), None, "{name}: a limit delays answers");
                // The image is nothing but the program: arguments, never a command.
                assert_eq!(container.get("command"), None, "{name}: {owner}");
                assert_eq!(container.get("lifecycle"), None, "{name}: there is no shell");
            }
            let has_priority = match name.as_str() {
                "private-control-plane" => owner == "rel-bindery",
                "local-pools" => owner != "rel-bindery-doctor",
                _ => false,
            };
            assert_eq!(pod.get("priorityClassName").is_some(), has_priority, "{name}: {owner}");
        }
    }
}

/// A container that uses more than it requests is the first that its node ends when memory is short. What is measured with so many
/// PVs and PVCs is on the page about capacity.
#[test]
fn requests_hold_what_a_large_cluster_takes() {
    let page = text("docs/how-to/operate.md");
    let row = page.lines().find(|line| line.starts_with("| 100,000 |")).expect("a row");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, _, webhook, controller, limit, _] = cells[..] else { panic!("the cells of {row}") };
    let bytes = |quantity: &str| Quantity::parse(quantity).expect("a quantity").rounded_up_units();
    let measured = |cell: &str| bytes(&cell.replace(" MB", "M"));
    let (_, pod) = pods(set("defaults")).remove(0);
    let [of_webhook, of_controller] = containers(&pod) else { panic!("two containers") };
    for (container, measured) in
        [(of_webhook, measured(webhook)), (of_controller, measured(controller))]
    {
        let name = &container["name"];
        let of = |kind: &str| bytes(container["resources"][kind]["memory"].as_str().expect("text"));
        assert!(measured > 10_000_000, "{name}: {measured} bytes are measured");
        assert!(of("requests") >= measured, "{name} requests less than {measured} bytes");
        assert_eq!(of("limits"), bytes(limit), "{name}: the limit of the page is the chart's");
    }
}

#[test]
fn an_image_can_be_given_by_its_digest_alone() {
    for (owner, pod) in pods(set("named")) {
        for container in containers(&pod) {
            let image = container["image"].as_str().unwrap_or_default();
            let expected = "registry.example.com:5000/storage/bindery@sha256:0123456789abcdef";
            assert!(image.starts_with(expected), "{owner}: {image}");
            assert_eq!(container["imagePullPolicy"], "Always", "{owner}");
        }
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry"}]), "{owner}");
    }
    let image = |arguments: &[&str]| {
        let (_, pod) = pods(&rendered(arguments)).remove(0);
        pod["containers"][0]["image"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(image(&[]), concat!("bindery:", env!("CARGO_PKG_VERSION")));
    assert_eq!(image(&["--set", "image.tag=dev"]), "bindery:dev");
}

/// A pod that is broken must never keep its node from being drained, and one is always left of two.
#[test]
fn the_budget_never_holds_a_node_for_a_broken_pod() {
    for (name, rendering) in sets() {
        let mut budgeted = Vec::new();
        for budget in rendering.of_kind("PodDisruptionBudget") {
            let spec = &budget["spec"];
            assert_eq!(spec["unhealthyPodEvictionPolicy"], "AlwaysAllow", "{name}");
            assert_eq!(spec["maxUnavailable"], 1, "{name}");
            assert_eq!(spec.get("minAvailable"), None, "{name}");
            budgeted.push(spec["selector"].to_string());
        }
        budgeted.sort();
        // The webhook and the controller have one each; the node cleanup waits a minute before it acts.
        let deployments = rendering.of_kind("Deployment").into_iter();
        let own = ["rel-bindery", "rel-bindery-controller", "rel-pairs"];
        let own = deployments
            .filter(|deployment| own.iter().any(|name| deployment["metadata"]["name"] == *name));
        let mut selectors: Vec<String> =
            own.map(|deployment| deployment["spec"]["selector"].to_string()).collect();
        selectors.sort();
        assert_eq!(budgeted, selectors, "{name}");
    }
}

/// A new pod answers before an old one goes, and an old one has the time that it needs to go.
#[test]
fn a_restart_leaves_no_gap() {
    for (name, rendering) in sets() {
        for deployment in rendering.of_kind("Deployment") {
            let update = &deployment["spec"]["strategy"]["rollingUpdate"];
            assert_eq!(update, &json!({"maxSurge": 1, "maxUnavailable": 0}), "{name}");
            let pod = &deployment["spec"]["template"]["spec"];
            // The reporter answers no one: what it scans an hour later is the same.
            let is_reporter = pod["containers"][0]["name"] == "reporter";
            let replicas = deployment["spec"]["replicas"].as_u64();
            assert!(replicas >= Some(2) || (is_reporter && replicas == Some(1)), "{name}");
            let grace = pod["terminationGracePeriodSeconds"].as_u64().expect("a number");
            let container = &containers(pod)[0];
            let arguments = container["args"].as_array().expect("arguments");
            if container["name"] == "webhook" {
                let at = arguments.iter().position(|one| one == "--drain-delay").expect("a delay");
                let delay = arguments[at + 1].as_str().unwrap_or_default().trim_end_matches('s');
                assert_eq!(
                    delay.parse::<u64>().ok().map(|delay| delay + 20),
                    Some(grace),
                    "{name}"
                );
            }
            for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
                assert!(container[probe]["httpGet"]["path"].is_string(), "{name}: {probe}");
            }
        }
    }
    let grace = &pods(set("private-control-plane"))[0].1["terminationGracePeriodSeconds"];
    assert_eq!(grace, 35);
}

/// What keeps the controller from its work must not take the webhook out of service.
#[test]
fn a_controller_beside_the_webhook_has_no_probe_of_readiness() {
    for name in ["defaults", "full-sidecar"] {
        let (_, pod) = pods(set(name)).remove(0);
        let [_, controller] = containers(&pod) else { panic!("{name}: two containers") };
        assert_eq!(controller["name"], "controller");
        assert_eq!(controller.get("readinessProbe"), None, "{name}");
        assert_eq!(controller.get("startupProbe"), None, "{name}");
        assert_eq!(controller["livenessProbe"]["httpGet"]["path"], "/livez", "{name}");
    }
}

#[test]
fn probes_name_ports_that_are_open() {
    for (name, rendering) in sets() {
        for (owner, pod) in pods(rendering) {
            let mut numbers = BTreeSet::new();
            for container in containers(&pod) {
                let ports = container["ports"].as_array().cloned().unwrap_or_default();
                for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
                    let Some(probe) = container.get(probe) else { continue };
                    let port = &probe["httpGet"]["port"];
                    let host = pod.get("hostNetwork").map(|_| json!("127.0.0.1"));
                    assert_eq!(probe["httpGet"].get("host"), host.as_ref(), "{name}: {owner}");
                    assert!(ports.iter().any(|open| open["name"] == *port), "{name}: {owner}");
                }
                for port in ports {
                    assert!(numbers.insert(port["containerPort"].to_string()), "{name}: {port}");
                    let arguments = container["args"].to_string();
                    // In the network of the node, probes and metrics are that node's alone.
                    let is_hosts = pod.get("hostNetwork").is_some() && port["name"] != "https";
                    let address = if is_hosts { "127.0.0.1" } else { "[::]" };
                    let listens = format!("\"{address}:{}\"", port["containerPort"]);
                    assert!(arguments.contains(&listens), "{name}: nothing listens on {port}");
                }
            }
        }
    }
}

/// Every name that an object refers to is that of another one, or one that the user provides.
#[test]
fn what_pods_mount_exists() {
    for (name, rendering) in sets() {
        for (owner, pod) in pods(rendering) {
            for volume in pod["volumes"].as_array().into_iter().flatten() {
                if let Some(map) = volume["configMap"]["name"].as_str() {
                    rendering.object("ConfigMap", map);
                }
                if let Some(secret) = volume["secret"]["secretName"].as_str() {
                    let is_made = rendering
                        .of_kind("Certificate")
                        .iter()
                        .any(|certificate| certificate["spec"]["secretName"] == secret);
                    assert!(is_made || secret == "bindery-serving", "{name}: {owner}: {secret}");
                }
            }
            let account = pod["serviceAccountName"].as_str().expect("an account");
            rendering.object("ServiceAccount", account);
            assert_eq!(pod["automountServiceAccountToken"], true, "{name}: {owner}");
        }
        for account in rendering.of_kind("ServiceAccount") {
            assert_eq!(account["automountServiceAccountToken"], false, "{name}");
        }
    }
}

/// Lease and Secrets are empty: a value that a template gives would be put back at every upgrade.
#[test]
fn what_the_controller_keeps_is_rendered_empty() {
    for (name, rendering) in sets() {
        for lease in rendering.of_kind("Lease") {
            assert_eq!(lease.get("spec"), None, "{name}");
        }
        let last_good = "rel-bindery-config-last-good"
            .replace("rel-bindery", if name == "named" { "rel-pairs" } else { "rel-bindery" });
        let maps = rendering.of_kind("ConfigMap");
        let kept = maps.iter().find(|map| map["metadata"]["name"] == last_good.as_str());
        let wants_controller = !["webhook-only", "policies-instead"].contains(&name.as_str());
        assert_eq!(kept.is_some(), wants_controller, "{name}");
        assert!(kept.is_none_or(|map| map.get("data").is_none()), "{name}");
        for secret in rendering.of_kind("Secret") {
            assert_eq!(secret["type"], "Opaque", "{name}");
            assert!(secret.get("data").is_none() && secret.get("stringData").is_none(), "{name}");
        }
        let has_controller = !rendering.of_kind("Lease").is_empty();
        assert_eq!(has_controller, wants_controller, "{name}");
        let by_us = !name.starts_with("cert-manager")
            && !["provided", "webhook-only", "policies-instead"].contains(&name.as_str());
        assert_eq!(rendering.of_kind("Secret").len(), if by_us { 2 } else { 0 }, "{name}");
    }
}

/// All that is in a namespace is in the release's, but for the permission to recycle in another one, so that nothing is left
/// when it is uninstalled; hooks are the test's, which removes them itself.
#[test]
fn nothing_is_left_behind() {
    for (name, rendering) in sets() {
        for object in &rendering.objects {
            let metadata = &object["metadata"];
            let namespace = metadata["namespace"].as_str();
            let recycles = metadata["name"] == "rel-bindery-recycler" && namespace == Some("scrub");
            let is_inside = namespace.is_none_or(|space| space == NAMESPACE);
            assert!(is_inside || recycles, "{name}: {metadata}");
            let annotations = &metadata["annotations"];
            assert_eq!(annotations.get("helm.sh/resource-policy"), None, "{name}: {metadata}");
            if let Some(hook) = annotations.get("helm.sh/hook") {
                assert_eq!(hook, "test", "{name}: {metadata}");
                let deleted = &annotations["helm.sh/hook-delete-policy"];
                assert_eq!(deleted, "before-hook-creation,hook-succeeded", "{name}");
                assert!(metadata["name"].as_str().is_some_and(|name| name.ends_with("-doctor")));
            }
        }
        let mut names = BTreeSet::new();
        for object in &rendering.objects {
            let identity = format!("{} {}", object["kind"], object["metadata"]["name"]);
            assert!(names.insert(identity.clone()), "{name}: {identity} is rendered twice");
        }
    }
}

/// Names fit where Kubernetes allows 63 letters, however long the release's is.
#[test]
fn long_names_are_cut() {
    let release = "a".repeat(53);
    let pool = "p".repeat(30);
    let values =
        "controller.placement=deployment,metrics.serviceMonitor.enabled=true,local.enabled=true";
    let all = format!("{values},local.classes.a.hostDir=/mnt");
    let pools =
        format!("{values},local.pools[0].name={pool},local.pools[0].classes.a.hostDir=/mnt");
    for (values, daemon) in [(all, "-local".to_owned()), (pools, format!("-local-{pool}"))] {
        let arguments = ["template", &release, "charts/bindery", "--set", &values];
        let reported = super::helm::helm(&arguments).expect("it renders");
        let names = reported.lines().filter_map(|line| line.strip_prefix("  name: "));
        for line in names.clone() {
            assert!(line.len() <= 63 && !line.ends_with('-'), "{line}");
        }
        assert!(names.clone().any(|line| line.ends_with(&daemon)), "{daemon}");
    }
}
