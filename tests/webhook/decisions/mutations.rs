//! Mutations at their edges, as a table: what one field of the object is afterwards.

use bindery::rules::mutations::{MUTATIONS, all_on};
use bindery::rules::{Persona, Policy, RULES, Send, Trusted};
use serde_json::Value;

use super::{NO_UID, RESERVE, claim, volume};
use crate::stage::{Gate, Scene, Stage, apply};

/// The cluster, who sends what, and a place of the object with its value after the mutation.
type Mutated = (&'static str, Persona, Send, &'static str, &'static str);

const NOTES: &str = "/metadata/annotations/";
const EXPORTED: &str = "claim db/data 10Gi RWO class=none-such \
    annotation=kubectl.kubernetes.io/last-applied-configuration:x \
    annotation=volume.kubernetes.io/selected-node:n1 \
    annotation=volume.kubernetes.io/storage-provisioner:a \
    annotation=volume.beta.kubernetes.io/storage-provisioner:b";
const BOUND_BEFORE: &str = "claim db/data 10Gi RWO class=none-such \
    annotation=pv.kubernetes.io/bind-completed:yes \
    annotation=volume.kubernetes.io/selected-node:n1 \
    annotation=volume.kubernetes.io/storage-provisioner:a \
    annotation=volume.beta.kubernetes.io/storage-provisioner:b";

const STRIPPED: &[Mutated] = &[
    ("", Persona::Tenant, Send::Create(EXPORTED), "volume.kubernetes.io~1selected-node", ""),
    ("", Persona::Tenant, Send::Create(EXPORTED), "volume.kubernetes.io~1storage-provisioner", ""),
    (
        "",
        Persona::Tenant,
        Send::Create(EXPORTED),
        "volume.beta.kubernetes.io~1storage-provisioner",
        "",
    ),
    ("", Persona::Tenant, Send::Create(BOUND_BEFORE), "volume.kubernetes.io~1selected-node", ""),
    (
        "",
        Persona::Tenant,
        Send::Create(BOUND_BEFORE),
        "volume.beta.kubernetes.io~1storage-provisioner",
        "",
    ),
];

const PAIR: &str = "pair pv-a db/data 10Gi RWO annotation=pv.kubernetes.io/bound-by-controller:yes \
    annotation=pv.kubernetes.io/other:yes";

const RESTORED: &[Mutated] = &[
    // The claim is gone.
    (
        "volume pv-a 10Gi RWO phase=Bound dead=db/data",
        Persona::Admin,
        volume(NO_UID),
        "/spec/claimRef/uid",
        "",
    ),
    // It does not point back, or is going.
    (
        "claim db/data 10Gi RWO class=\nvolume pv-a 10Gi RWO phase=Bound held=db/data",
        Persona::Admin,
        volume(NO_UID),
        "/spec/claimRef/uid",
        "",
    ),
    (
        "claim db/data 10Gi RWO class= volume=pv-a annotation=pv.kubernetes.io/bind-completed:yes \
         terminating\nvolume pv-a 10Gi RWO phase=Bound held=db/data",
        Persona::Admin,
        volume(NO_UID),
        "/spec/claimRef/uid",
        "",
    ),
    // One of two of the binder's annotations stays: the rest is intended.
    (
        PAIR,
        Persona::Admin,
        volume(
            r#"{"metadata":{"finalizers":null,"annotations":{"pv.kubernetes.io/other":null}},"spec":{"claimRef":null}}"#,
        ),
        "/spec/claimRef",
        "",
    ),
    // The protection stays.
    (
        PAIR,
        Persona::Admin,
        volume(r#"{"metadata":{"annotations":null},"spec":{"claimRef":null}}"#),
        "/spec/claimRef",
        "",
    ),
    // It is given another name.
    (
        PAIR,
        Persona::Admin,
        volume(r#"{"spec":{"claimRef":{"name":"copy","uid":null,"resourceVersion":null}}}"#),
        "/spec/claimRef/name",
        "\"copy\"",
    ),
    (
        PAIR,
        Persona::Admin,
        claim(r#"{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":null}}}"#),
        "/metadata/annotations/pv.kubernetes.io~1bind-completed",
        "",
    ),
    // The uid stays away where the name does, and the other way round.
    (
        PAIR,
        Persona::Admin,
        volume(
            r#"{"metadata":{"finalizers":null,"annotations":null},"spec":{"claimRef":{"uid":null}}}"#,
        ),
        "/metadata/annotations/pv.kubernetes.io~1other",
        "\"yes\"",
    ),
];

const LABELLED: &[Mutated] = &[(
    "namespace db bindery.dev/tenant:blue\nvolume pv-a 10Gi RWO phase=Available for=db/data\n\
     claim db/data 10Gi RWO class=",
    Persona::Scheduler,
    volume(RESERVE),
    "/metadata/labels/bindery.dev~1tenant",
    "\"blue\"",
)];

/// The object as the API server goes on with it.
async fn mutated(stage: &Stage, scene: &Scene, send: &Send, by: Persona) -> Value {
    let review = scene.begin(send, by, "").review();
    let answer = stage.mutate(review.body()).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    let mut object = review.request()["object"].clone();
    apply(&answer, &mut object);
    object
}

#[tokio::test]
async fn each_mutation_leaves_what_the_row_has() {
    for row in [STRIPPED, RESTORED, LABELLED].into_iter().flatten() {
        let (given, by, send, place, value) = row;
        let place =
            if place.starts_with('/') { (*place).to_owned() } else { format!("{NOTES}{place}") };
        let expected: Option<Value> =
            (!value.is_empty()).then(|| serde_json::from_str(value).unwrap());
        let scene = Scene::of(given);
        let stage = Stage::under(all_on(), &scene, RULES).await;
        let object = mutated(&stage, &scene, send, *by).await;
        assert_eq!(object.pointer(&place).cloned(), expected, "{row:?}: {object}");
        // The same where the watch has shown no claim, or no namespace.
        for shut in ["/api/v1/persistentvolumeclaims?", "/api/v1/namespaces?"] {
            let gate = Gate::closed(shut);
            let stage = Stage::starting(gate.client(&scene.server), all_on(), RULES);
            let object = mutated(&stage, &scene, send, *by).await;
            assert_eq!(
                object.pointer(&place).cloned(),
                expected,
                "{row:?} without {shut}: {object}"
            );
        }
    }
}

/// Every mutation that the pages show is made by a webhook that has only just been started, too.
#[tokio::test]
async fn what_no_watch_has_shown_is_mutated_all_the_same() {
    for mutation in MUTATIONS {
        for example in mutation.mutated.iter().chain(mutation.unchanged) {
            let scene = Scene::of(example.given);
            let seen = Stage::under(all_on(), &scene, RULES).await;
            let expected = mutated(&seen, &scene, &example.send, example.by).await;
            for shut in ["/api/v1/persistentvolumeclaims?", "/api/v1/namespaces?"] {
                let gate = Gate::closed(shut);
                let stage = Stage::starting(gate.client(&scene.server), all_on(), RULES);
                let object = mutated(&stage, &scene, &example.send, example.by).await;
                assert_eq!(object, expected, "{}: {}, without {shut}", mutation.id, example.title);
            }
        }
    }
}

#[tokio::test]
async fn a_trusted_binder_takes_back_what_it_wrote() {
    let scene = Scene::of(PAIR);
    let trusted = Trusted {
        binders: vec!["system:serviceaccount:storage:disk-driver".to_owned()],
        ..Trusted::default()
    };
    let stage = Stage::under(Policy { trusted, ..Policy::default() }, &scene, RULES).await;
    let all =
        volume(r#"{"metadata":{"finalizers":null,"annotations":null},"spec":{"claimRef":null}}"#);
    let object = mutated(&stage, &scene, &all, Persona::Driver).await;
    assert_eq!(object["spec"]["claimRef"], Value::Null);
    let object = mutated(&stage, &scene, &all, Persona::Admin).await;
    assert_eq!(object["spec"]["claimRef"]["name"], "data");
}
