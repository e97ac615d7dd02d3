//! Declaring that a machine does not run while it does.

use super::judging::detaching::declares_off;
use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "out-of-service-taint",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Nodes, Operation::Update)]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "The taint `node.kubernetes.io/out-of-service` is set on a node that is Ready.",
        consequence: "Kubernetes deletes the pods of the node without waiting for them, and detaches their disks at \
            once, although the machine runs and writes to them. A second node attaches the disks, and two machines \
            write to one file system.",
        instead: "To empty a node that runs, use `kubectl drain`. If the machine is to be replaced, turn it off, wait \
            until the node is not Ready, then set the taint. Remove the taint before the machine starts again.",
    },
    denied: &[Example::new("declaring a node out of service that is Ready")
        .given("node n1 ready")
        .merges("node/n1", DECLARED)
        .then(&[Fact::Is(
            "node/n1",
            "/spec/taints/0/key",
            "\"node.kubernetes.io/out-of-service\"",
        )])],
    allowed: &[
        Example::new("declaring a node out of service that is not Ready")
            .given("node n1 unreachable")
            .merges("node/n1", DECLARED),
        Example::new("another taint on a node that is Ready").given("node n1 ready").merges(
            "node/n1",
            r#"{"spec":{"taints":[{"key":"example.com/maintenance","effect":"NoSchedule"}]}}"#,
        ),
        Example::new("removing the taint from a node that is Ready again")
            .given("node n1 ready out-of-service")
            .merges("node/n1", r#"{"spec":{"taints":[]}}"#),
    ],
    check,
};

const DECLARED: &str = r#"{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}"#;

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::Node(transition) = &change.subject else { return Vec::new() };
    if !declares_off(transition) {
        return Vec::new();
    }
    let text = format!(
        "node \"{}\" is Ready, so its machine runs; with this taint its pods are deleted and their disks detached at \
         once, and a second node would write to disks to which this one still writes; drain the node, or turn its \
         machine off and wait until the node is not Ready",
        transition.latest().node.name
    );
    vec![Violation::new("spec.taints", text)]
}
