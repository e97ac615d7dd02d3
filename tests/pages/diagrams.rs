//! Diagrams that are made from the rules and the registrations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{Mode, RULES};
use serde_json::Value;

use super::page::page;
use super::{expect_current, root};

/// A step in the life of a PersistentVolume, and the rules and mutations that look at it.
struct Edge {
    from: &'static str,
    to: &'static str,
    what: &'static str,
    ids: &'static [&'static str],
}

const LIFE: [Edge; 10] = [
    Edge {
        from: "new((PV))",
        to: "available",
        what: "the PV is created",
        ids: &[
            "stale-claim-ref",
            "repair-stale-claim-ref",
            "orphan-owner",
            "volume-substitution",
            "duplicate-backend",
            "recycle-policy",
            "static-volume-delete-policy",
            "host-path-volume",
            "local-volume-immediate-class",
            "unreachable-node-affinity",
        ],
    },
    Edge {
        from: "claim((PVC))",
        to: "pending",
        what: "the PVC is created",
        ids: &[
            "unknown-class",
            "static-claim-default-class",
            "ignored-data-source",
            "forged-binder-annotations",
            "strip-binder-annotations",
            "legacy-class",
            "return-from-trash",
            "tenant-selector",
            "delayed-binding",
        ],
    },
    Edge {
        from: "pending",
        to: "bound",
        what: "the PVC names a PV",
        ids: &["missing-volume", "ignored-by-prebind", "foreign-namespace-volume", "prebind-taken"],
    },
    Edge {
        from: "available",
        to: "bound",
        what: "the PV is reserved and bound",
        ids: &[
            "prebind-incomplete",
            "prebind-class",
            "prebind-volume-mode",
            "prebind-capacity",
            "prebind-access-modes",
            "prebind-attributes-class",
            "oversized-volume",
            "foreign-namespace-binding",
            "tenant-label",
            "namespace-tenant-label",
        ],
    },
    Edge {
        from: "bound",
        to: "bound",
        what: "the PV or the PVC is edited or applied again",
        ids: &[
            "bound-volume-claim-ref",
            "bound-volume-capacity",
            "bound-volume-access-modes",
            "bound-volume-class",
            "bound-volume-node-affinity",
            "bound-volume-annotations",
            "bound-volume-reclaim-policy",
            "move-record",
            "bound-volume-mount-options",
            "bound-volume-labels",
            "bound-volume-attributes-class",
            "protection-finalizer",
            "status-forgery",
            "restore-binding",
        ],
    },
    Edge {
        from: "bound",
        to: "bound",
        what: "its attachment, node, class, driver or snapshot goes",
        ids: &[
            "volume-attachment-delete",
            "out-of-service-taint",
            "node-delete-local-data",
            "storage-class-delete-in-use",
            "csi-driver-delete-in-use",
            "snapshot-content-policy",
        ],
    },
    Edge {
        from: "bound",
        to: "released",
        what: "the PVC is deleted",
        ids: &[
            "claim-delete-in-use",
            "claim-delete-destroys-data",
            "namespace-delete-bound-claims",
        ],
    },
    Edge { from: "bound", to: "gone", what: "the PV is deleted", ids: &["bound-volume-delete"] },
    Edge {
        from: "released",
        to: "available",
        what: "claimRef is removed",
        ids: &["released-volume-reuse"],
    },
    Edge {
        from: "released",
        to: "gone",
        what: "the PV is reclaimed",
        ids: &["released-volume-policy", "trash-record"],
    },
];

/// Returns how the rule of `id` acts in the profile `baseline`.
fn acts(id: &str) -> Option<&'static str> {
    let mode = RULES.iter().find(|rule| rule.id == id).map(|rule| match rule.mode {
        Mode::Deny => "denied",
        Mode::Warn => "warned",
        Mode::Audit => "counted",
        Mode::Off => "off",
    });
    mode.or_else(|| MUTATIONS.iter().any(|mutation| mutation.id == id).then_some("mutated"))
}

fn life() -> String {
    let mut text = String::from(
        "flowchart TD\n  available([Available])\n  pending([PVC Pending])\n  bound([Bound])\n  released([Released])\n  \
         gone([Deleted])\n",
    );
    for Edge { from, to, what, ids } in &LIFE {
        let mut by_act: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for id in *ids {
            by_act
                .entry(acts(id).unwrap_or_else(|| panic!("{id} is no rule")))
                .or_default()
                .push(id);
        }
        let lines: Vec<String> = by_act
            .iter()
            .map(|(act, ids)| format!("<i>{act}:</i> {}", ids.join("<br/>")))
            .collect();
        let _ = writeln!(text, "  {from} -->|\"<b>{what}</b><br/>{}\"| {to}", lines.join("<br/>"));
    }
    text
}

#[test]
fn every_rule_is_on_one_edge_of_the_life_of_a_volume() {
    let known =
        RULES.iter().map(|rule| rule.id).chain(MUTATIONS.iter().map(|mutation| mutation.id));
    for id in known {
        let count = LIFE.iter().flat_map(|edge| edge.ids).filter(|on| **on == id).count();
        assert_eq!(count, 1, "{id}: put it on one edge of the life of a PersistentVolume");
    }
}

/// The page with `diagram` between its marks of `name`.
fn with_diagram(text: &str, name: &str, diagram: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->\n"));
    let (before, rest) =
        text.split_once(&begin).unwrap_or_else(|| panic!("the page has no mark {name}"));
    let (_, after) = rest.split_once(&end).expect("the page has the second mark");
    format!("{before}{begin}```mermaid\n{diagram}```\n{end}{after}")
}

#[test]
fn the_life_of_a_volume_is_current() {
    let path = "docs/explanation/binding.md";
    expect_current(path, &with_diagram(&page(path).text, "life", &life()));
}

/// The webhooks as they are registered, each with its failure policy and how many rules act there.
fn architecture() -> String {
    let text = std::fs::read_to_string(root().join("charts/bindery/files/registrations.json"));
    let list: Value =
        serde_json::from_str(&text.expect("the chart has registrations")).expect("JSON");
    let mut edges = String::new();
    for configuration in list["items"].as_array().expect("items") {
        for webhook in configuration["webhooks"].as_array().expect("webhooks") {
            let name = webhook["name"].as_str().unwrap_or_default();
            let policy = match webhook["failurePolicy"].as_str() {
                Some("Fail") => "fails closed",
                Some("Ignore") => "fails open",
                other => panic!("{name}: {other:?}"),
            };
            let _ = writeln!(edges, "  api -->|\"{name}<br/>{policy}\"| webhook");
        }
    }
    format!(
        "flowchart LR\n  people[\"kubectl, GitOps,<br/>controllers, drivers\"] -->|writes| api[kube-apiserver]\n\
         {edges}  subgraph bindery[Bindery]\n    webhook[\"webhook<br/>stateless, 2 replicas\"]\n    \
         controller[\"controller<br/>one leader\"]\n    core{{\"binding core<br/>pure, no I/O\"}}\n    \
         webhook --- core\n    controller --- core\n    cli[\"command line<br/>check, plan, explain, scan\"] --- core\n  \
         end\n  controller -->|\"watches; events; in prebind and full also binds\"| api\n  \
         cli -->|\"reads a cluster, a dump or manifests\"| api\n"
    )
}

#[test]
fn the_architecture_is_current() {
    expect_current(
        "README.md",
        &with_diagram(&page("README.md").text, "architecture", &architecture()),
    );
}
