//! A label of a namespace that says whose it is, changed by whoever may not write PersistentVolumes.

use super::judging::namespace_labels::changed;
use super::prelude::*;
use crate::model::NamespaceName;
use crate::model::annotations::TENANT;

pub(super) static RULE: Rule = Rule {
    id: "namespace-tenant-label",
    mode: Mode::Deny,
    request_types: &[
        RequestType::tenancy(Resource::Namespaces, Operation::Create),
        RequestType::tenancy(Resource::Namespaces, Operation::Update),
        RequestType::tenancy(Resource::Namespaces, Operation::UpdateStatus),
        RequestType::tenancy(Resource::Namespaces, Operation::Finalize),
    ],
    // Its PVCs live on until the namespace is empty, and no deletion waits for a label.
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "The label `bindery.dev/tenant` of a Namespace, or a label by which `overrides` select, is set, \
            changed or removed by an account that may not update PersistentVolumes. The API server decides \
            that by its authorizer; accounts that may are not asked about.",
        consequence: "The label `bindery.dev/tenant` says which tenant's PersistentVolumes the PVCs of the \
            Namespace may have, and labels of `overrides` say in which modes rules run there. Whoever creates \
            or updates a Namespace could give itself both.",
        instead: "Let an account set the label that may update PersistentVolumes, or grant the account that \
            labels Namespaces the permission for it: verb `update` on the resource `namespacelabels` of the \
            API group `bindery.dev`. Such a resource does not exist; the permission is all that is read.",
    },
    denied: &[
        Example {
            title: "creating a namespace with the label of another tenant",
            given: "",
            by: Persona::NamespaceAdmin,
            send: Send::Create("namespace red bindery.dev/tenant:blue"),
            then: &[Fact::Is("ns/red", LABEL, "\"blue\"")],
        },
        Example {
            title: "giving a namespace to another tenant",
            given: "namespace db bindery.dev/tenant:red",
            by: Persona::NamespaceAdmin,
            send: Send::Merge { target: "ns/db", patch: BLUE },
            then: &[Fact::Is("ns/db", LABEL, "\"blue\"")],
        },
        Example {
            title: "the same through the status of the namespace",
            given: "namespace db bindery.dev/tenant:red",
            by: Persona::NamespaceAdmin,
            send: Send::MergeStatus { target: "ns/db", patch: BLUE },
            then: &[Fact::Is("ns/db", LABEL, "\"blue\"")],
        },
        Example {
            title: "taking a namespace from its tenant",
            given: "namespace db bindery.dev/tenant:red",
            by: Persona::NamespaceAdmin,
            send: Send::Merge { target: "ns/db", patch: NONE },
            then: &[Fact::Lacks("ns/db", LABEL)],
        },
    ],
    allowed: &[
        Example {
            title: "creating a namespace without a tenant",
            given: "",
            by: Persona::NamespaceAdmin,
            send: Send::Create("namespace red team:qa"),
            then: &[],
        },
        Example {
            title: "another label of a tenant's namespace",
            given: "namespace db bindery.dev/tenant:red",
            by: Persona::NamespaceAdmin,
            send: Send::Merge {
                target: "ns/db",
                patch: r#"{"metadata":{"labels":{"bindery.dev/tenant":"red","team":"qa"}}}"#,
            },
            then: &[],
        },
        Example {
            title: "an administrator who gives a namespace to a tenant",
            given: "namespace db bindery.dev/tenant:red",
            by: Persona::Admin,
            send: Send::Merge { target: "ns/db", patch: BLUE },
            then: &[],
        },
        Example {
            title: "an administrator who creates a namespace for a tenant",
            given: "",
            by: Persona::Admin,
            send: Send::Create("namespace red bindery.dev/tenant:red"),
            then: &[],
        },
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

/// Only what the request itself says is repeated: whoever may write a Namespace need not be able to read it.
fn denied(namespace: &NamespaceName, key: &str, value: Option<&str>) -> String {
    let fact = match value {
        Some(value) => {
            format!("label \"{key}\" of Namespace \"{namespace}\" would be set to \"{value}\"")
        }
        None => format!("label \"{key}\" would be removed from Namespace \"{namespace}\""),
    };
    let consequence = match value.filter(|value| !value.is_empty()) {
        Some(tenant) if key == TENANT => {
            format!("its PVCs could take the PersistentVolumes of tenant \"{tenant}\"")
        }
        None if key == TENANT => {
            "its PVCs could no longer have the PersistentVolumes of its tenant".to_owned()
        }
        Some(_) | None => "overrides select by it in which modes rules run there".to_owned(),
    };
    format!("{fact}; {consequence}; ask somebody who may update PersistentVolumes to do it")
}
