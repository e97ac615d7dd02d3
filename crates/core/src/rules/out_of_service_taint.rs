//! Declaring that a machine does not run while it does.

use super::judging::detaching::{declares_off, is_program};
use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "out-of-service-taint",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Nodes, Operation::Update)]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A person sets the taint `node.kubernetes.io/out-of-service` on a node that is Ready. Service accounts \
            are warned: programs that fence nodes set it after they have restarted the machine.",
        consequence: "The attach/detach controller no longer waits until disks are unmounted: it detaches them while \
            pods on the node write to them, and with the effect NoExecute the pods are evicted. A second node attaches \
            the disks, and two machines write to one file system.",
        instead: "To empty a node that runs, use `kubectl drain`. If the machine is to be replaced, turn it off, wait \
            until the node is not Ready, then set the taint. Remove it once the pods run elsewhere and the machine \
            works again.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        variables: &[
            (
                "isDeclared",
                "!oldObject.?spec.?taints.orValue([]).exists(t, t.?key.orValue('') == \
                 'node.kubernetes.io/out-of-service') && object.?spec.?taints.orValue([]).exists(t, \
                 t.?key.orValue('') == 'node.kubernetes.io/out-of-service') && \
                 oldObject.?status.?conditions.orValue([]).exists(c, c.?type.orValue('') == 'Ready' && \
                 c.?status.orValue('') == 'True')",
            ),
        ],
        violations: &[PolicyViolation {
            found: "variables.isDeclared && !variables.isProgram",
            sentence: "node \"{name}\" is Ready, so its machine runs; with this taint Kubernetes detaches disks \
                without waiting until they are unmounted, and a second node would write to disks to which this one \
                still writes; drain the node, or turn its machine off and wait until the node is not Ready",
        }],
        warnings: &[PolicyViolation {
            found: "variables.isDeclared && variables.isProgram",
            sentence: "node \"{name}\" is Ready, so its machine runs; with this taint Kubernetes detaches disks \
                without waiting until they are unmounted, and a second node would write to disks to which this one \
                still writes; drain the node, or turn its machine off and wait until the node is not Ready",
        }],
        ..PolicyText::of(Resource::Nodes)
    }]),
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
        "node \"{}\" is Ready, so its machine runs; with this taint Kubernetes detaches disks without waiting until they \
         are unmounted, and a second node would write to disks to which this one still writes; drain the node, or turn \
         its machine off and wait until the node is not Ready",
        transition.latest().node.name
    );
    let violation = Violation::new("spec.taints", text);
    vec![if is_program(change) { violation.as_warning() } else { violation }]
}
