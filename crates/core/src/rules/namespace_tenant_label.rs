//! The tenant label of a namespace, changed by a user who may not write PersistentVolumes.

use super::judging::namespace_labels::changed;
use super::prelude::*;
use crate::model::NamespaceName;
use crate::model::annotations::TENANT;

pub(super) static RULE: Rule = Rule {
    id: "namespace-tenant-label",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::tenancy(Resource::Namespaces, Operation::Create),
        RequestType::tenancy(Resource::Namespaces, Operation::Update),
        RequestType::tenancy(Resource::Namespaces, Operation::UpdateStatus),
        RequestType::tenancy(Resource::Namespaces, Operation::Finalize),
    ]),
    // Its PVCs live on until the namespace is empty, and no deletion waits for a label.
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "The label `bindery.dev/tenant` of a Namespace, or a label by which `overrides` select, is set, \
            changed or removed by an account that may not update PersistentVolumes. The API server's \
            authorizer decides that; for accounts that may, the webhook is not called.",
        consequence: "The label `bindery.dev/tenant` decides which tenant's PVs the PVCs of the Namespace may get, \
            and labels of `overrides` decide the modes of rules there. An account that creates or updates \
            Namespaces could give itself both.",
        instead: "Let an account set the label that may update PersistentVolumes. Or grant the account that \
            labels Namespaces the verb `update` on the resource `namespacelabels` of the API group \
            `bindery.dev`. No such resource exists; only the permission is read.",
    },
    policy: PolicyForm::NotExpressible(
        "Which labels are guarded follows from all rules and overrides of the configuration, and the rule asks the \
         authorizer twice; it stays with the webhook.",
    ),
    denied: &[
        Example::new("creating a namespace with the label of another tenant")
            .by(Persona::NamespaceAdmin)
            .creates("namespace red bindery.dev/tenant:blue")
            .then(&[Fact::Is("ns/red", LABEL, "\"blue\"")]),
        Example::new("giving a namespace to another tenant")
            .given("namespace db bindery.dev/tenant:red")
            .by(Persona::NamespaceAdmin)
            .merges("ns/db", BLUE)
            .then(&[Fact::Is("ns/db", LABEL, "\"blue\"")]),
        Example::new("changing the label through the status of the namespace")
            .given("namespace db bindery.dev/tenant:red")
            .by(Persona::NamespaceAdmin)
            .merges_status("ns/db", BLUE)
            .then(&[Fact::Is("ns/db", LABEL, "\"blue\"")]),
        Example::new("taking a namespace from its tenant")
            .given("namespace db bindery.dev/tenant:red")
            .by(Persona::NamespaceAdmin)
            .merges("ns/db", NONE)
            .then(&[Fact::Lacks("ns/db", LABEL)]),
    ],
    allowed: &[
        Example::new("creating a namespace without a tenant")
            .by(Persona::NamespaceAdmin)
            .creates("namespace red team:qa"),
        Example::new("another label of a tenant's namespace")
            .given("namespace db bindery.dev/tenant:red")
            .by(Persona::NamespaceAdmin)
            .merges("ns/db", r#"{"metadata":{"labels":{"bindery.dev/tenant":"red","team":"qa"}}}"#),
        Example::new("an administrator gives a namespace to a tenant")
            .given("namespace db bindery.dev/tenant:red")
            .merges("ns/db", BLUE),
        Example::new("an administrator creates a namespace for a tenant")
            .creates("namespace red bindery.dev/tenant:red"),
    ],
    check,
};

const LABEL: &str = "/metadata/labels/bindery.dev~1tenant";
const BLUE: &str = r#"{"metadata":{"labels":{"bindery.dev/tenant":"blue"}}}"#;
const NONE: &str = r#"{"metadata":{"labels":{"bindery.dev/tenant":null}}}"#;

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let Some(namespace) = change.namespace() else { return Vec::new() };
    let labels = changed(change);
    labels
        .map(|(key, value)| Violation::new("metadata.labels", denied(namespace, key, value)))
        .collect()
}

/// Repeats only what the request itself says: a user who may write a Namespace need not be able to read it.
fn denied(namespace: &NamespaceName, key: &str, value: Option<&str>) -> String {
    let fact = match value {
        Some(value) => {
            format!("label \"{key}\" of Namespace \"{namespace}\" would be set to \"{value}\"")
        }
        None => format!("label \"{key}\" would be removed from Namespace \"{namespace}\""),
    };
    let consequence = match value.filter(|value| !value.is_empty()) {
        Some(tenant) if key == TENANT => {
            format!("its PVCs could get the PVs of tenant \"{tenant}\"")
        }
        None if key == TENANT => "its PVCs could no longer get the PVs of its tenant".to_owned(),
        Some(_) | None => "overrides select the modes of rules by it".to_owned(),
    };
    format!("{fact}; {consequence}; use an account that may update PersistentVolumes")
}
