//! Decisions at the edges of rules and mutations that their own examples do not reach: a phase, a mark, a half of a
//! condition. Each row is there because a change of the code in that place was once noticed by no test.

mod mutations;

use bindery::rules::{Endpoint, Mode, Persona, Policy, RULES, Send, Trusted, find};
use serde_json::{Value, json};

use crate::stage::{Gate, Scene, Stage, endpoints};

/// What a rule says of a change where it is to deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Denied,
    Warned,
    Nothing,
}

/// The rule, the cluster, who sends what, and what the rule says of it.
type Row = (&'static str, &'static str, Persona, Send, Said);

const fn volume(patch: &'static str) -> Send {
    Send::Merge { target: "pv/pv-a", patch }
}

const fn claim(patch: &'static str) -> Send {
    Send::Merge { target: "pvc/db/data", patch }
}

const RESERVE: &str =
    r#"{"spec":{"claimRef":{"namespace":"db","name":"data","uid":"{uid:db/data}"}}}"#;
const FREE: &str = r#"{"spec":{"claimRef":null}}"#;
const NO_UID: &str = r#"{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}"#;
const NAME_A: &str = r#"{"spec":{"volumeName":"pv-a"}}"#;

const DELETIONS: &[Row] = &[
    (
        "claim-delete-destroys-data",
        "pair pv-a db/data 10Gi RWO policy=Recycle",
        Persona::Tenant,
        Send::Delete("pvc/db/data"),
        Said::Denied,
    ),
    // The volume is reserved for another claim.
    (
        "claim-delete-destroys-data",
        "volume pv-a 10Gi RWO policy=Delete phase=Available for=qa/other\n\
         claim db/data 10Gi RWO class= volume=pv-a",
        Persona::Tenant,
        Send::Delete("pvc/db/data"),
        Said::Nothing,
    ),
];

const CREATIONS: &[Row] = &[
    // The claim was never bound: there is nothing that it has lost.
    (
        "volume-substitution",
        "claim db/data 10Gi RWO class= volume=pv-a",
        Persona::Admin,
        Send::Create("volume pv-a 10Gi ROX"),
        Said::Nothing,
    ),
    // It is reserved for the claim, which has lost another volume.
    (
        "volume-substitution",
        "lost pv-a db/data 10Gi RWO",
        Persona::Admin,
        Send::Create("volume pv-b 10Gi RWO mode=Block for=db/data"),
        Said::Nothing,
    ),
    (
        "ignored-data-source",
        "volume pv-a 10Gi RWO phase=Available",
        Persona::VolumeViewer,
        Send::Create("claim db/data 10Gi RWO class= volume=pv-a snapshot=monday"),
        Said::Nothing,
    ),
    // It waits for a default class.
    (
        "ignored-data-source",
        "",
        Persona::Tenant,
        Send::Create("claim db/data 10Gi RWO snapshot=monday"),
        Said::Nothing,
    ),
    // That the class is unknown, another rule says.
    (
        "ignored-data-source",
        "",
        Persona::Tenant,
        Send::Create("claim db/data 10Gi RWO class=none-such snapshot=monday"),
        Said::Nothing,
    ),
    (
        "ignored-data-source",
        "class manual",
        Persona::Tenant,
        Send::Create("claim db/data 10Gi RWO class=manual snapshot=monday"),
        Said::Denied,
    ),
    (
        "ignored-by-prebind",
        "volume pv-a 10Gi RWO phase=Available",
        Persona::VolumeViewer,
        Send::Create("claim db/data 10Gi RWO volume=pv-a selector=tier:gold snapshot=monday"),
        Said::Denied,
    ),
    (
        "ignored-by-prebind",
        "volume pv-a 10Gi RWO phase=Available\nclaim db/data 10Gi RWO class= selector=tier:gold",
        Persona::VolumeViewer,
        claim(NAME_A),
        Said::Denied,
    ),
];

const RELEASED: &[Row] = &[
    (
        "released-volume-reuse",
        "volume pv-a 10Gi RWO phase=Failed dead=db/data",
        Persona::Admin,
        volume(FREE),
        Said::Denied,
    ),
    // The claim is still there: what that means, `bound-volume-claim-ref` says.
    (
        "released-volume-reuse",
        "claim db/data 10Gi RWO class= volume=pv-a\nvolume pv-a 10Gi RWO phase=Released held=db/data",
        Persona::Admin,
        volume(FREE),
        Said::Nothing,
    ),
    (
        "released-volume-reuse",
        "claim db/data 10Gi RWO class= volume=pv-a terminating\n\
         volume pv-a 10Gi RWO phase=Released held=db/data",
        Persona::Admin,
        volume(FREE),
        Said::Nothing,
    ),
];

const TENANTS: &[Row] = &[
    // Another claim of the same namespace gets it.
    (
        "foreign-namespace-binding",
        "volume pv-a 10Gi RWO phase=Available for=db/other annotation=bindery.dev/allowed-namespaces:qa\n\
         claim db/data 10Gi RWO class=",
        Persona::Scheduler,
        volume(RESERVE),
        Said::Denied,
    ),
    // A namespace that does not exist is no tenant's.
    (
        "foreign-namespace-binding",
        "",
        Persona::Admin,
        Send::Create("volume pv-a 10Gi RWO for=db/data label=bindery.dev/tenant:red"),
        Said::Denied,
    ),
    // No claim gets a volume by the loss of a uid.
    (
        "foreign-namespace-binding",
        "volume pv-a 10Gi RWO phase=Released dead=db/data annotation=bindery.dev/allowed-namespaces:qa",
        Persona::Admin,
        volume(NO_UID),
        Said::Nothing,
    ),
    (
        "foreign-namespace-binding",
        "pair pv-a db/data 10Gi RWO",
        Persona::Admin,
        volume(r#"{"metadata":{"annotations":{"bindery.dev/allowed-namespaces":"qa"}}}"#),
        Said::Warned,
    ),
    (
        "foreign-namespace-binding",
        "pair pv-a db/data 10Gi RWO",
        Persona::Admin,
        volume(r#"{"metadata":{"labels":{"bindery.dev/tenant":"red"}}}"#),
        Said::Warned,
    ),
    // A mark and a reservation in one write.
    (
        "foreign-namespace-binding",
        "volume pv-a 10Gi RWO phase=Available\nclaim db/data 10Gi RWO class=",
        Persona::Admin,
        volume(
            r#"{"metadata":{"labels":{"bindery.dev/tenant":"red"}},"spec":{"claimRef":{"namespace":"db","name":"data"}}}"#,
        ),
        Said::Denied,
    ),
    // A tenant labels a claim that has named its volume before.
    (
        "missing-volume",
        "volume pv-a 10Gi RWO phase=Available for=qa/other\nclaim db/data 10Gi RWO class= volume=pv-a",
        Persona::Tenant,
        claim(r#"{"metadata":{"labels":{"a":"b"}}}"#),
        Said::Nothing,
    ),
    // An account that may not read volumes is shown those that say themselves that they are for the claim.
    (
        "prebind-capacity",
        "volume pv-a 1Gi RWO phase=Available for=db/data",
        Persona::Tenant,
        Send::Create("claim db/data 10Gi RWO class= volume=pv-a"),
        Said::Warned,
    ),
    (
        "prebind-capacity",
        "volume pv-a 1Gi RWO phase=Available annotation=bindery.dev/allowed-namespaces:db",
        Persona::Tenant,
        Send::Create("claim db/data 10Gi RWO class= volume=pv-a"),
        Said::Denied,
    ),
    (
        "prebind-capacity",
        "claim db/data 10Gi RWO class=\nvolume pv-a 1Gi RWO held=db/data",
        Persona::Tenant,
        claim(NAME_A),
        Said::Warned,
    ),
];

/// What a binder that the configuration trusts does, no rule minds.
const TRUSTED: &[Row] = &[
    (
        "released-volume-reuse",
        "volume pv-a 10Gi RWO phase=Released dead=db/data",
        Persona::Driver,
        volume(FREE),
        Said::Nothing,
    ),
    (
        "ignored-by-prebind",
        "volume pv-a 10Gi RWO phase=Available\nclaim db/data 10Gi RWO class= selector=tier:gold",
        Persona::Driver,
        claim(NAME_A),
        Said::Nothing,
    ),
];

/// A policy where this rule denies.
fn insisting_on(rule: &str, trusted: Trusted) -> Policy {
    let modes = [(rule.to_owned(), Mode::Deny)].into();
    Policy { modes, trusted, ..Policy::default() }
}

/// Returns what the rule says through whichever endpoint it is asked; it has to be asked.
async fn said(policy: Policy, row: &Row) -> Said {
    let scene = Scene::of(row.1);
    let stage = Stage::under(policy, &scene, RULES).await;
    said_by(&stage, &scene, row).await
}

async fn said_by(stage: &Stage, scene: &Scene, (id, given, by, send, _): &Row) -> Said {
    let review = scene.unmutated(send, *by, "");
    let endpoints = endpoints(review.body());
    assert!(!endpoints.is_empty(), "the request reaches no endpoint: {id}: {given} {send:?}");
    let mark = format!("[{id}] ");
    let mut said = Said::Nothing;
    for endpoint in endpoints {
        let answer = stage.validate(endpoint, review.body()).await;
        let denial = answer["status"]["message"].as_str().unwrap_or_default();
        if denial.lines().any(|line| line.starts_with(&mark)) {
            said = Said::Denied;
        } else if answer["warnings"].to_string().contains(&mark) {
            said = Said::Warned;
        }
    }
    said
}

#[tokio::test]
async fn each_rule_says_what_the_row_has() {
    let mut wrong = Vec::new();
    for row in [DELETIONS, CREATIONS, RELEASED, TENANTS].into_iter().flatten() {
        let found = said(insisting_on(row.0, Trusted::default()), row).await;
        if found != row.4 {
            wrong.push(format!("{found:?}: {row:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let binders = vec!["system:serviceaccount:storage:disk-driver".to_owned()];
    for row in TRUSTED {
        let trusted = Trusted { binders: binders.clone(), ..Trusted::default() };
        assert_eq!(said(insisting_on(row.0, trusted), row).await, row.4, "{row:?}");
        // Every other user is shown it.
        let found = said(insisting_on(row.0, Trusted::default()), row).await;
        assert_eq!(found, Said::Denied, "{row:?}");
    }
}

/// Claims and classes that no watch has shown are read before anything is denied, or passed over, for them.
#[tokio::test]
async fn each_rule_says_the_same_of_what_no_watch_has_shown() {
    let by_class = CREATIONS.iter().filter(|row| row.0 == "ignored-data-source");
    for (shut, rows) in [
        ("/api/v1/persistentvolumeclaims?", RELEASED.iter().collect::<Vec<_>>()),
        ("/storageclasses?", by_class.collect()),
    ] {
        for row in rows {
            let scene = Scene::of(row.1);
            let gate = Gate::closed(shut);
            let policy = insisting_on(row.0, Trusted::default());
            // Alone, as another rule may read the same.
            let alone = Vec::leak(vec![find(row.0).unwrap()]);
            let stage = Stage::starting(gate.client(&scene.server), policy, alone);
            assert_eq!(said_by(&stage, &scene, row).await, row.4, "{row:?} without {shut}");
        }
    }
}

/// Through `/finalize` as through everything else, and while it is deleted; an empty label opens no tenant's volumes.
#[tokio::test]
async fn a_tenants_label_is_guarded_through_finalize_and_reported_as_it_is() {
    let scene = Scene::of("namespace db bindery.dev/tenant:red");
    let stage = Stage::before(&scene).await;
    for (label, reported) in [
        (json!("blue"), "its PVCs could get the PVs of tenant \"blue\""),
        (json!(""), "its PVCs could no longer get the PVs of its tenant"),
        (Value::Null, "its PVCs could no longer get the PVs of its tenant"),
    ] {
        let patch = json!({"metadata": {"labels": {"bindery.dev/tenant": label}}});
        let send = Send::Merge { target: "ns/db", patch: patch.to_string().leak() };
        let mut body = scene.unmutated(&send, Persona::NamespaceAdmin, "").body().clone();
        for (part, deleted) in [
            ("", Value::Null),
            ("status", Value::Null),
            ("finalize", Value::Null),
            ("finalize", json!("2026-11-21T05:00:00Z")),
        ] {
            body["request"]["subResource"] = json!(part);
            for object in ["object", "oldObject"] {
                body["request"][object]["metadata"]["deletionTimestamp"] = deleted.clone();
            }
            assert!(endpoints(&body).contains(&Endpoint::Tenancy), "{part:?}");
            let answer = stage.validate(Endpoint::Tenancy, &body).await;
            let message = answer["status"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(reported), "{label} by {part:?}: {answer}");
        }
    }
}
