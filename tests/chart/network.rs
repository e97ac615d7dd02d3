//! Network policies: each pod takes connections on the ports that it serves, and on no other.
//!
//! Not here: whether a cluster enforces them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::helm::{Rendering, rendered, set};

/// The rules of a policy that let connections in.
fn ingress(policy: &Value) -> &[Value] {
    assert_eq!(policy["spec"]["policyTypes"][0], "Ingress", "without rules nothing is admitted");
    policy["spec"]["ingress"].as_array().map_or(&[], Vec::as_slice)
}

/// The ports of rules, all of which name some.
fn opened(rules: &[Value]) -> BTreeSet<u64> {
    let ports = rules.iter().flat_map(|rule| rule["ports"].as_array().expect("ports"));
    ports.map(|port| port["port"].as_u64().expect("a number")).collect()
}

/// The names and ports of the containers that a policy is about.
fn served(rendering: &Rendering, policy: &Value) -> Vec<(String, u64)> {
    let selected = policy["spec"]["podSelector"]["matchLabels"].as_object().expect("labels");
    let owners = ["Deployment", "DaemonSet"].into_iter().flat_map(|kind| rendering.of_kind(kind));
    let templates = owners.map(|owner| &owner["spec"]["template"]).filter(|template| {
        selected.iter().all(|(key, value)| template["metadata"]["labels"][key] == *value)
    });
    let containers = templates
        .flat_map(|template| template["spec"]["containers"].as_array().expect("containers"));
    let ports = containers.flat_map(|one| one["ports"].as_array().expect("ports"));
    let port = |port: &Value| {
        let number = port["containerPort"].as_u64().expect("a number");
        (port["name"].as_str().expect("a name").to_owned(), number)
    };
    ports.map(port).collect()
}

/// The webhook's port is the API server's to call; the others have probes, which kubelets reach in any case, and metrics.
#[test]
fn each_pod_takes_connections_on_the_ports_that_it_serves() {
    const LOCAL: &str = "local.enabled=true,local.classes.a.hostDir=/mnt,local.onNodeLoss.a=wait";
    for values in [
        "controller.placement=sidecar",
        "controller.placement=deployment",
        "controller.enabled=false,certs.mode=certManager",
        "policies=instead,controller.placement=deployment",
        "policies=instead,controller.enabled=false",
    ] {
        for is_scraped in [true, false] {
            let more = format!(
                "networkPolicy.enabled=true,metrics.service.enabled={is_scraped},reports.enabled=true,{LOCAL}"
            );
            let rendering = rendered(&["--set", values, "--set", &more]);
            let mut held = 0;
            for policy in rendering.of_kind("NetworkPolicy") {
                let what = format!("{values}, {is_scraped}: {}", policy["metadata"]["name"]);
                assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]), "{what}");
                let served = served(&rendering, policy);
                assert!(!served.is_empty(), "{what} is about no pod");
                let open = served.iter().filter(|(name, _)| name == "https" || is_scraped);
                let open: BTreeSet<u64> = open.map(|(_, port)| *port).collect();
                assert_eq!(opened(ingress(policy)), open, "{what}");
                held += served.len();
            }
            let owners = ["Deployment", "DaemonSet"];
            let owners = owners.into_iter().flat_map(|kind| rendering.of_kind(kind));
            let containers = owners.flat_map(|owner| {
                owner["spec"]["template"]["spec"]["containers"].as_array().expect("containers")
            });
            let all = containers.map(|one| one["ports"].as_array().expect("ports").len());
            assert_eq!(held, all.sum::<usize>(), "{values}: a pod is in no policy");
        }
    }
}

#[test]
fn the_ports_of_each_component_are_these() {
    let ports = |rendering: &Rendering, component: &str| {
        let policy = rendering.object("NetworkPolicy", &format!("rel-bindery-{component}"));
        opened(ingress(policy)).into_iter().collect::<Vec<_>>()
    };
    let full = set("monitoring-full");
    assert_eq!(ports(full, "webhook"), [8081, 8443]);
    assert_eq!(ports(full, "controller"), [8082]);
    assert_eq!(ports(full, "reporter"), [8081]);
    assert_eq!(ports(full, "local"), [8080]);
    assert_eq!(ports(full, "local-node-cleanup"), [8080]);
    let beside = rendered(&["--set", "networkPolicy.enabled=true,metrics.service.enabled=true"]);
    assert_eq!(ports(&beside, "webhook"), [8081, 8082, 8443]);
}

/// The API servers alone reach the webhook, where their addresses are known, and the pods reach only them and DNS.
#[test]
fn addresses_of_the_api_servers_narrow_who_connects() {
    let blocks =
        json!([{"ipBlock": {"cidr": "192.0.2.10/32"}}, {"ipBlock": {"cidr": "2001:db8::10/128"}}]);
    let rendering = set("monitoring-full");
    for policy in rendering.of_kind("NetworkPolicy") {
        let name = &policy["metadata"]["name"];
        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress", "Egress"]), "{name}");
        let egress = policy["spec"]["egress"].as_array().expect("rules");
        let dns =
            json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]});
        assert_eq!(egress, &[json!({"to": blocks}), dns], "{name}");
        for rule in ingress(policy) {
            let from = if rule["ports"][0]["port"] == 8443 {
                blocks.clone()
            } else {
                json!([{"namespaceSelector": {}}])
            };
            assert_eq!(rule["from"], from, "{name}: {rule}");
        }
    }
    let open = set("closed-network").object("NetworkPolicy", "rel-bindery-webhook");
    assert_eq!(ingress(open), [json!({"ports": [{"port": 8443}]})]);
    assert_eq!(open["spec"].get("egress"), None);
    let closed = set("closed-network").object("NetworkPolicy", "rel-bindery-controller");
    assert!(ingress(closed).is_empty(), "{closed}");
}
