//! Who is taken for a provisioner: accounts that are known as one, never objects that look provisioned.

use bindery::rules::{Endpoint, Policy, RULES, Send, Trusted};
use bindery_sim::{ApiRequest, Method, Phase, RequestUser};
use serde_json::{Value, json};

use crate::stage::{Scene, Stage, apply};

const DRIVER: &str = "disk.example.com";
const ACCOUNT: &str = "system:serviceaccount:csi:external-provisioner";

/// The commonest volume of all, as `kubectl get pv -o yaml` shows it, under the names and with the marks that
/// drivers give it. `{}` is its claim.
const SHAPES: [&str; 4] = [
    // external-provisioner.
    "volume pvc-dead0000-0000-4000-8000-000000000000 10Gi RWO policy=Delete csi=disk.example.com {} \
     annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
     finalizer=external-provisioner.volume.kubernetes.io/finalizer",
    // `--volume-name-prefix`.
    "volume vault-4711 10Gi RWO policy=Delete csi=disk.example.com {} \
     annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
     finalizer=external-provisioner.volume.kubernetes.io/finalizer",
    // Older sidecars put no finalizer.
    "volume pvc-dead0000-0000-4000-8000-000000000000 10Gi RWO policy=Delete csi=disk.example.com {} \
     annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
    // An attached one.
    "volume pvc-dead0000-0000-4000-8000-000000000000 10Gi RWO policy=Delete csi=disk.example.com {} \
     annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
     finalizer=external-provisioner.volume.kubernetes.io/finalizer finalizer=external-attacher/disk-example-com",
];

/// A claim that was handed to the driver's provisioner and waits for its volume.
const WAITING: &str = "claim db/data 10Gi RWO class=none-such \
    annotation=volume.kubernetes.io/storage-provisioner:disk.example.com";

/// What became of a volume's creation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It is created as it was sent; the warnings.
    Created(usize),
    /// It is created without the uid of its claim.
    Mutated,
    /// It is denied with this text.
    Denied(String),
}

/// Creates what `line` says as `user` through every endpoint of the webhook.
async fn create(stage: &Stage, scene: &Scene, line: String, user: &RequestUser) -> Outcome {
    let send = Send::Create(line.leak());
    let review = scene.begin_by(&send, user.clone(), "").review();
    let mutations = stage.mutate(review.body()).await;
    assert_eq!(mutations["allowed"], true, "{mutations}");
    let mut object = review.request()["object"].clone();
    apply(&mutations, &mut object);
    let is_mutated = object["spec"]["claimRef"]["uid"] == Value::Null;
    let review = scene.admit(review, Some(object)).review();
    let answer = stage.validate(Endpoint::Advise, review.body()).await;
    if answer["allowed"] == json!(false) {
        return Outcome::Denied(answer["status"]["message"].as_str().unwrap().to_owned());
    }
    if is_mutated {
        return Outcome::Mutated;
    }
    Outcome::Created(answer["warnings"].as_array().map_or(0, Vec::len))
}

fn account(name: &str) -> RequestUser {
    let namespace = name.split(':').nth(2).unwrap();
    RequestUser::named(
        name,
        &["system:serviceaccounts", &format!("system:serviceaccounts:{namespace}")],
    )
}

fn put_lease(scene: &Scene, namespace: &str, name: &str) {
    scene.ensure_namespace(namespace);
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let lease = json!({"metadata": {"name": name}, "spec": {"holderIdentity": "provisioner-0"}});
    let response =
        scene.server.with(|cluster| cluster.handle(ApiRequest::new(Method::Post, path, lease)));
    assert!(response.code < 300, "{response:?}");
}

#[tokio::test]
async fn an_exported_volume_is_no_ones_provisioning() {
    let scene = Scene::empty();
    let stage = Stage::before(&scene).await;
    for shape in SHAPES {
        let line = || shape.replace("{}", "dead=db/data");
        for person in [RequestUser::admin(), RequestUser::named("jane", &["system:authenticated"])]
        {
            assert_eq!(create(&stage, &scene, line(), &person).await, Outcome::Mutated, "{shape}");
        }
        for program in [ACCOUNT, "system:serviceaccount:flux-system:kustomize-controller"] {
            let outcome = create(&stage, &scene, line(), &account(program)).await;
            let Outcome::Denied(text) = outcome else { panic!("{program}: {outcome:?}") };
            assert!(text.starts_with("[stale-claim-ref] "), "{text}");
            let way = format!(
                "\nIf \"{program}\" is the provisioner of \"{DRIVER}\", add it to trusted.provisioners"
            );
            assert!(text.contains(&way), "{text}");
        }
    }
}

/// Neither by its Lease nor by what it writes: the configuration, or the API server's own controllers, make it known.
#[tokio::test]
async fn a_provisioner_that_says_nothing_of_itself_is_known_by_name() {
    let trusted = Trusted { provisioners: vec![ACCOUNT.to_owned()], ..Trusted::default() };
    let policy = Policy { trusted, ..Policy::default() };
    let scene = Scene::empty();
    let stage = Stage::under(policy, &scene, RULES).await;
    let silent = "volume vault-4711 10Gi RWO policy=Delete csi=disk.example.com dead=db/data";
    let marked = SHAPES[0].replace("{}", "dead=db/data");
    let binder = "system:serviceaccount:kube-system:persistent-volume-binder";
    for (line, program) in [(silent, ACCOUNT), (&marked, binder)] {
        let outcome = create(&stage, &scene, line.to_owned(), &account(program)).await;
        assert!(matches!(outcome, Outcome::Created(1..)), "{program}: {outcome:?}");
    }
}

/// The claim went while its storage was made: nothing may keep the volume from being registered, so that its
/// driver deletes the storage.
#[tokio::test]
async fn a_known_provisioner_registers_what_it_has_made() {
    let trusting = Policy {
        trusted: Trusted { provisioners: vec![ACCOUNT.to_owned()], ..Trusted::default() },
        ..Policy::default()
    };
    let elsewhere = ("kube-system", "disk-example-com");
    for (policy, lease, program, is_known) in [
        (trusting, None, ACCOUNT, true),
        (Policy::default(), Some(("csi", "disk-example-com")), ACCOUNT, true),
        (Policy::default(), Some(("csi", "disk.example.com")), ACCOUNT, true),
        (Policy::default(), Some(elsewhere), ACCOUNT, false),
        (Policy::default(), Some(("csi", "tape-example-com")), ACCOUNT, false),
    ] {
        let scene = Scene::empty();
        if let Some((namespace, name)) = lease {
            put_lease(&scene, namespace, name);
        }
        let stage = Stage::under(policy, &scene, RULES).await;
        for shape in SHAPES {
            let line = shape.replace("{}", "dead=db/data");
            let outcome = create(&stage, &scene, line, &account(program)).await;
            match outcome {
                Outcome::Created(warnings) => {
                    assert!(is_known && warnings > 0, "{shape}: {lease:?}");
                }
                Outcome::Denied(_) => assert!(!is_known, "{shape}: {lease:?}"),
                Outcome::Mutated => panic!("stripped: {shape}: {lease:?}"),
            }
        }
    }
}

#[tokio::test]
async fn the_user_who_creates_the_awaited_volume_is_its_provisioner() {
    // Another volume has the same handle, which a rule denies to everybody else.
    let scene =
        Scene::of(&format!("{WAITING}\nvolume other 10Gi RWO csi=disk.example.com handle=shared"));
    let stage = Stage::before(&scene).await;
    let line = |claim: &str| {
        format!(
            "{} handle=shared",
            SHAPES[0].replace("{}", claim).replace("dead0000-0000-4000-8000-000000000000", "new")
        )
    };
    let by_account = create(&stage, &scene, line("held=db/data"), &account(ACCOUNT)).await;
    assert!(matches!(by_account, Outcome::Created(1..)), "{by_account:?}");
    let by_person = create(&stage, &scene, line("held=db/data"), &RequestUser::admin()).await;
    assert!(matches!(by_person, Outcome::Denied(_)), "{by_person:?}");
    // The annotation names another provisioner.
    let other = line("held=db/data").replace("provisioned-by:disk", "provisioned-by:tape");
    let by_other = create(&stage, &scene, other, &account(ACCOUNT)).await;
    assert!(matches!(by_other, Outcome::Denied(_)), "{by_other:?}");
}

/// That a claim waits for its volume is shown by either annotation, and only until it has one.
#[tokio::test]
async fn a_claim_waits_until_it_names_a_volume() {
    let beta = WAITING.replace("volume.kubernetes.io", "volume.beta.kubernetes.io");
    let named = format!("{WAITING} volume=other");
    for (waiting, is_awaited) in [(WAITING, true), (&beta, true), (&named, false)] {
        let scene = Scene::of(&format!(
            "{waiting}\nvolume other 10Gi RWO csi=disk.example.com handle=shared"
        ));
        let stage = Stage::before(&scene).await;
        let line = SHAPES[1].replace("{}", "held=db/data handle=shared");
        let outcome = create(&stage, &scene, line, &account(ACCOUNT)).await;
        assert_eq!(matches!(outcome, Outcome::Created(1..)), is_awaited, "{waiting}: {outcome:?}");
    }
}

/// The account of one driver's chart is no provisioner of another driver; of a plug-in of Kubernetes, the driver that
/// serves it now counts.
#[tokio::test]
async fn an_account_is_the_provisioner_of_its_own_driver() {
    const LOCAL: &str = "system:serviceaccount:any:local-path-provisioner-service-account";
    for (provisioner, migrated, program, is_known) in [
        ("rancher.io/local-path", None, LOCAL, true),
        (DRIVER, None, LOCAL, false),
        (DRIVER, None, ACCOUNT, true),
        (DRIVER, Some(""), ACCOUNT, true),
        (DRIVER, Some("tape.example.com"), ACCOUNT, false),
        ("", None, ACCOUNT, false),
        ("kubernetes.io/disk", None, ACCOUNT, false),
        ("kubernetes.io/disk", Some(DRIVER), ACCOUNT, true),
    ] {
        let scene = Scene::empty();
        put_lease(&scene, "csi", "disk-example-com");
        let stage = Stage::before(&scene).await;
        let marked =
            migrated.map(|driver| format!(" annotation=pv.kubernetes.io/migrated-to:{driver}"));
        let line = format!(
            "volume vault-4711 10Gi RWO policy=Delete csi={DRIVER} dead=db/data \
             annotation=pv.kubernetes.io/provisioned-by:{provisioner}{}",
            marked.unwrap_or_default()
        );
        let outcome = create(&stage, &scene, line, &account(program)).await;
        let what = format!("{provisioner} {migrated:?} by {program}: {outcome:?}");
        assert_eq!(matches!(outcome, Outcome::Created(_)), is_known, "{what}");
        assert_eq!(matches!(outcome, Outcome::Denied(_)), !is_known, "{what}");
    }
}

/// `handleProtectionFinalizer` of the provisioners' library, when a driver is rolled back to a version that puts no
/// finalizer.
#[tokio::test]
async fn only_its_provisioner_takes_the_finalizer_off_a_bound_volume() {
    const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
    let given = format!(
        "pair pv-a db/data 10Gi RWO policy=Delete csi={DRIVER} \
         annotation=pv.kubernetes.io/provisioned-by:{DRIVER} finalizer={FINALIZER}"
    );
    let send = Send::Merge {
        target: "pv/pv-a",
        patch: r#"{"metadata":{"finalizers":["kubernetes.io/pv-protection"]}}"#,
    };
    for (namespace, is_allowed) in [("csi", true), ("tapes", false)] {
        let scene = Scene::of(&given);
        put_lease(&scene, namespace, "disk-example-com");
        let stage = Stage::before(&scene).await;
        let mut sent = scene.begin_by(&send, account(ACCOUNT), "").review();
        if sent.phase() == Phase::Mutating {
            sent = scene.admit(sent, None).review();
        }
        let answer = stage.validate(Endpoint::Guard, sent.body()).await;
        assert_eq!(answer["allowed"], is_allowed, "{namespace}: {answer}");
    }
}
