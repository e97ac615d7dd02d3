//! What a tenant who may not read PersistentVolumes learns by naming them in PVCs: one answer at one cost, in every mode.

use std::collections::BTreeSet;
use std::time::Duration;

use bindery::api::review::parse_request;
use bindery::binding::{Evidence, LiveReads, ReadResult as Found, View};
use bindery::model::{Selector, Term, VolumeName};
use bindery::rules::{
    ConfiguredExemption, Endpoint, Mode, Override, Parameters, Persona, Policy, Question, RULES,
    Send, Unlisted, judge,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::stage::{Gate, Scene, Stage, endpoints};

/// The namespace belongs to the tenant blue. All volumes but the last three are none of its business.
const GIVEN: &str = "namespace db bindery.dev/tenant:blue\n\
    class wide expand\n\
    volume pv-class 10Gi RWO class=other phase=Available\n\
    volume pv-size 1Gi RWO phase=Available\n\
    volume pv-rises 1Gi RWO class=wide phase=Available\n\
    volume pv-modes 10Gi ROX phase=Available\n\
    volume pv-block 10Gi RWO mode=Block phase=Available\n\
    volume pv-attrs 10Gi RWO csi=disk.example.com attributes=gold phase=Available\n\
    volume pv-odds 1Gi ROX mode=Block class=odd phase=Available\n\
    volume pv-kept 10Gi RWO phase=Available for=qa/other\n\
    volume pv-left 10Gi RWO phase=Released dead=qa/gone\n\
    volume pv-died 10Gi RWO phase=Released dead=db/data\n\
    volume pv-gone 10Gi RWO terminating\n\
    volume pv-fred 10Gi RWO phase=Available label=bindery.dev/tenant:red\n\
    volume pv-tiny 1Gi RWO phase=Available label=bindery.dev/tenant:red\n\
    volume pv-list 10Gi RWO phase=Available annotation=bindery.dev/allowed-namespaces:qa,red-*\n\
    volume pv-part 10Gi RWO phase=Available\n\
    volume pv-keep 10Gi RWO phase=Available for=qa/other label=bindery.dev/tenant:red\n\
    pair pv-have qa/data 10Gi RWO\n\
    pair pv-hers qa/more 10Gi RWO label=bindery.dev/tenant:red\n\
    volume pv-open 10Gi RWO phase=Available\n\
    volume pv-huge 10Ti RWO phase=Available\n\
    volume pv-mine 1Gi RWO phase=Available label=bindery.dev/tenant:blue";

/// What the tenant may not read and would not get.
const HIDDEN: [&str; 19] = [
    "pv-none", "pv-class", "pv-size", "pv-rises", "pv-modes", "pv-block", "pv-attrs", "pv-odds",
    "pv-kept", "pv-left", "pv-died", "pv-gone", "pv-fred", "pv-tiny", "pv-list", "pv-part",
    "pv-keep", "pv-have", "pv-hers",
];

/// The classes that a claim may ask for: that of most volumes, and that of `pv-rises`.
const CLASSES: [&str; 2] = ["", "wide"];

/// A tenant's write that names the volume, and the endpoint that is asked about it.
fn naming(scene: &Scene, line: &str, by: Persona) -> (Endpoint, Value) {
    let send = Send::Create(line.to_owned().leak());
    let body = scene.unmutated(&send, by, "").body().clone();
    let [endpoint] = endpoints(&body)[..] else { panic!("{line}: {:?}", endpoints(&body)) };
    (endpoint, body)
}

/// The answer as the tenant sees it, without what it wrote into the request.
async fn answer(stage: &Stage, endpoint: Endpoint, body: &Value, volume: &str) -> String {
    let mut answer = stage.validate(endpoint, body).await;
    answer["uid"] = json!("");
    // The API server writes these into its log; no tenant sees them.
    answer["auditAnnotations"] = Value::Null;
    answer.to_string().replace(volume, "VOLUME")
}

/// Policies that differ in everything that could distinguish one case from another.
fn policies() -> Vec<(String, Policy)> {
    let all = |mode: Mode| {
        let modes = RULES.iter().map(|rule| (rule.id.to_owned(), mode)).collect();
        Policy { modes, ..Policy::default() }
    };
    let only = |id: &str, mode: Mode| {
        let modes = [(id.to_owned(), mode)].into();
        Policy { modes, ..Policy::default() }
    };
    let mut overridden = Policy::default();
    overridden.override_modes(vec![Override {
        namespaces: Selector::new(vec![Term::equals("team", "db").unwrap()]),
        modes: [("prebind-class".to_owned(), Mode::Off), ("missing-volume".to_owned(), Mode::Deny)]
            .into(),
    }]);
    let exempted = Policy {
        exemptions: vec![ConfiguredExemption {
            rules: ["prebind-taken", "prebind-capacity", "foreign-namespace-volume"]
                .map(str::to_owned)
                .to_vec(),
            namespaces: vec!["db".to_owned()],
            users: Vec::new(),
            until: Timestamp::now() + SignedDuration::from_hours(1),
            reason: "moving".to_owned(),
        }],
        ..Policy::default()
    };
    let named = [
        ("baseline", Policy::default()),
        ("strict", all(Mode::Deny)),
        ("audit", all(Mode::Audit)),
        ("missing-volume off", only("missing-volume", Mode::Off)),
        ("foreign-namespace-volume off", only("foreign-namespace-volume", Mode::Off)),
        ("prebind-taken off", only("prebind-taken", Mode::Off)),
        ("overridden", overridden),
        ("exempted", exempted),
    ];
    let both = named.into_iter().flat_map(|(name, policy)| {
        [Unlisted::Allow, Unlisted::Deny].map(|unlisted| {
            let parameters = Parameters { unlisted, ..policy.parameters.clone() };
            (format!("{name}, {unlisted:?}"), Policy { parameters, ..policy.clone() })
        })
    });
    both.collect()
}

/// The scene, with exemptions from every rule on some of the volumes.
fn scene() -> Scene {
    let scene = Scene::of(GIVEN);
    scene.patch("ns/db", json!({"metadata": {"labels": {"team": "db"}}}));
    // A reservation that names no namespace.
    scene.patch("pv/pv-part", json!({"spec": {"claimRef": {"name": "data"}}}));
    let until = Timestamp::now() + SignedDuration::from_hours(1);
    let note = |id: &str| (format!("allow.bindery.dev/{id}"), json!(format!("{until} moving")));
    let notes: serde_json::Map<_, _> = RULES.iter().map(|rule| note(rule.id)).collect();
    for volume in ["pv-size", "pv-fred", "pv-have"] {
        scene.patch(&format!("pv/{volume}"), json!({"metadata": {"annotations": notes}}));
    }
    scene
}

/// Answers and numbers of live reads, each once.
async fn reported(
    stage: &Stage,
    gate: &Gate,
    scene: &Scene,
    hidden: &[&str],
) -> BTreeSet<(String, usize)> {
    let mut reported = BTreeSet::new();
    for class in CLASSES {
        for volume in hidden.iter().copied().filter(|name| class.is_empty() || *name == "pv-rises")
        {
            let line = format!("claim db/data 10Gi RWO class={class} volume={volume}");
            let (endpoint, body) = naming(scene, &line, Persona::Tenant);
            assert_eq!(endpoint, Endpoint::Restricted);
            let before = gate.reads();
            let answer = answer(stage, endpoint, &body, volume).await;
            reported.insert((answer, gate.reads() - before));
        }
    }
    reported
}

#[tokio::test]
async fn what_a_tenant_may_not_read_gets_one_answer_at_one_cost_in_every_mode() {
    let scene = scene();
    for (name, policy) in policies() {
        let gate = Gate::closed("/api/v1/");
        gate.open();
        let modes = [
            &policy.modes,
            &policy.overrides.first().map(|one| one.modes.clone()).unwrap_or_default(),
        ]
        .map(|modes| modes.get("missing-volume").copied());
        let unlisted = policy.parameters.unlisted;
        let foreign = policy.modes.get("foreign-namespace-volume").copied();
        let is_exempt = !policy.exemptions.is_empty();
        let stage = Stage::through(gate.client(&scene.server), policy, RULES).await;
        // Where access is not open, what is free is as foreign as the rest.
        let hidden = match unlisted {
            Unlisted::Allow => HIDDEN.to_vec(),
            Unlisted::Deny => [&HIDDEN[..], &["pv-open"]].concat(),
        };
        let reported = reported(&stage, &gate, &scene, &hidden).await;
        assert_eq!(reported.len(), 1, "{name}: {reported:#?}");
        let (answer, reads) = reported.first().unwrap();
        assert_eq!(*reads, 1, "{name}: {answer}");
        let mode = match unlisted {
            Unlisted::Allow => modes[1].or(modes[0]).unwrap_or(Mode::Warn),
            Unlisted::Deny => foreign.unwrap_or(Mode::Deny),
        };
        let is_denied = mode == Mode::Deny && !(is_exempt && unlisted == Unlisted::Deny);
        assert_eq!(answer.contains("\"allowed\":false"), is_denied, "{name}: {answer}");
        let id = if unlisted == Unlisted::Deny { "prebind-taken" } else { "missing-volume" };
        let text = format!("[{id}] PV \\\"VOLUME\\\" is not available to PVC \\\"data\\\"");
        let is_said = is_denied || mode == Mode::Warn;
        assert_eq!(answer.contains(&text), is_said, "{name}: {answer}");
    }
}

/// A watch that has shown nothing yet, and a namespace that it has not shown.
#[tokio::test]
async fn what_no_watch_has_shown_gets_the_same_answer() {
    let scene = scene();
    let seen = Stage::before(&scene).await;
    let lists = Gate::closed("/api/v1/persistentvolumes?");
    let stage = Stage::start(lists.client(&scene.server), RULES, Duration::ZERO);
    for volume in HIDDEN {
        let line = format!("claim db/data 10Gi RWO class= volume={volume}");
        let (endpoint, body) = naming(&scene, &line, Persona::Tenant);
        let answers = [
            answer(&seen, endpoint, &body, volume).await,
            answer(&stage, endpoint, &body, volume).await,
        ];
        assert_eq!(answers[0], answers[1], "{volume}");
        assert!(answers[0].contains("[missing-volume]"), "{answers:?}");
    }
    assert!(lists.held() > 0, "the volumes were listed");
}

/// While permissions cannot be read, nothing is shown of any, whatever the watch has shown; where access is not open, no user gets in.
#[tokio::test]
async fn what_cannot_be_read_gets_one_answer_too() {
    let scene = scene();
    for (unlisted, text) in [
        (Unlisted::Allow, "[missing-volume] could not be checked"),
        (Unlisted::Deny, "[prebind-taken] PV \\\"VOLUME\\\" is not available"),
    ] {
        let parameters = Parameters { unlisted, ..Parameters::default() };
        let policy = Policy { parameters, ..Policy::default() };
        let gate = Gate::closed("/api/v1/persistentvolumes/");
        let stage = Stage::through(gate.client(&scene.server), policy, RULES).await;
        let ask = async |volume: &str| {
            let line = format!("claim db/data 10Gi RWO class= volume={volume}");
            let (endpoint, body) = naming(&scene, &line, Persona::Tenant);
            answer(&stage, endpoint, &body, volume).await
        };
        // At once, as each waits for half of its time.
        let reported = tokio::join!(
            ask("pv-none"),
            ask("pv-have"),
            ask("pv-fred"),
            ask("pv-size"),
            ask("pv-open")
        );
        let reported = BTreeSet::from([reported.0, reported.1, reported.2, reported.3, reported.4]);
        assert_eq!(reported.len(), 1, "{reported:#?}");
        assert!(reported.first().unwrap().contains(text), "{reported:#?}");
    }
}

#[tokio::test]
async fn what_a_tenant_would_get_or_is_marked_for_it_is_judged() {
    let scene = scene();
    let stage = Stage::before(&scene).await;
    for (volume, text) in [
        ("pv-open", ""),
        // That the rest of it is lost would show how large it is.
        ("pv-huge", ""),
        ("pv-mine", "[prebind-capacity] PVC \\\"data\\\" requests 10Gi, but"),
    ] {
        let line = format!("claim db/data 10Gi RWO class= volume={volume}");
        let (endpoint, body) = naming(&scene, &line, Persona::Tenant);
        let reported = answer(&stage, endpoint, &body, volume).await;
        assert_eq!(reported.contains('['), !text.is_empty(), "{volume}: {reported}");
        assert!(reported.contains(text), "{volume}: {reported}");
    }
    let (endpoint, body) =
        naming(&scene, "claim db/data 10Gi RWO class= volume=pv-kept", Persona::VolumeViewer);
    assert_eq!(endpoint, Endpoint::Advise);
    let reported = answer(&stage, endpoint, &body, "pv-kept").await;
    assert!(
        reported.contains("[prebind-taken]") && reported.contains("\"allowed\":false"),
        "{reported}"
    );
}

/// Guard is asked about a patch that takes the protection off and names a volume as well, by any user.
#[tokio::test]
async fn a_patch_that_is_sent_to_guard_reveals_no_more() {
    let scene = Scene::of(
        "pair pv-have qa/data 10Gi RWO\nvolume pv-size 1Gi RWO phase=Available\n\
         claim db/data 10Gi RWO class=",
    );
    let protected = json!({"metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}});
    scene.patch("pvc/db/data", protected);
    let stage = Stage::before(&scene).await;
    let mut reported = BTreeSet::new();
    for volume in ["pv-none", "pv-have", "pv-size"] {
        let patch = json!({"metadata": {"finalizers": null}, "spec": {"volumeName": volume}});
        let send = Send::Merge { target: "pvc/db/data", patch: patch.to_string().leak() };
        let body = scene.unmutated(&send, Persona::Tenant, "").body().clone();
        assert_eq!(endpoints(&body), [Endpoint::Guard]);
        reported.insert(answer(&stage, Endpoint::Guard, &body, volume).await);
    }
    assert_eq!(reported.len(), 1, "{reported:#?}");
    assert!(reported.first().unwrap().contains("[missing-volume]"), "{reported:#?}");
}

/// A class of which only a volume of another tenant is, is unknown.
#[tokio::test]
async fn the_class_of_a_volume_of_others_is_unknown() {
    let scene = Scene::of(
        "namespace db bindery.dev/tenant:blue\n\
         volume pv-a 10Gi RWO class=red-only label=bindery.dev/tenant:red\n\
         volume pv-b 10Gi RWO class=blue-only label=bindery.dev/tenant:blue\n\
         volume pv-c 10Gi RWO class=anybodys",
    );
    let stage = Stage::before(&scene).await;
    for (class, is_known) in
        [("red-only", false), ("nobodys", false), ("blue-only", true), ("anybodys", true)]
    {
        let line = format!("claim db/data 10Gi RWO class={class}");
        let (endpoint, body) = naming(&scene, &line, Persona::Tenant);
        assert_eq!(endpoint, Endpoint::Advise);
        let reported = answer(&stage, endpoint, &body, "pv-").await;
        assert_eq!(!reported.contains("[unknown-class]"), is_known, "{class}: {reported}");
    }
}

/// An unreadable volume is reported like one that does not exist.
#[test]
fn what_exists_and_has_no_readable_form_is_as_absent() {
    let scene = Scene::of("namespace db bindery.dev/tenant:blue");
    let line = "claim db/data 10Gi RWO class= volume=pv-a";
    let text = naming(&scene, line, Persona::Tenant).1.to_string();
    for unlisted in [Unlisted::Allow, Unlisted::Deny] {
        let parameters = Parameters { unlisted, ..Parameters::default() };
        let policy = Policy { parameters, ..Policy::default() };
        let change = parse_request(text.as_bytes(), &policy).unwrap().change;
        let (endpoint, now) = (Endpoint::Restricted, Timestamp::UNIX_EPOCH);
        let question = Question { endpoint, change: &change, policy: &policy, now };
        let reported = [Found::NotFound, Found::Unreadable].map(|answer| {
            let (view, mut live) = (View::default(), LiveReads::default());
            let asked = judge(RULES, question, &Evidence::new(&view, &live)).reads;
            assert_eq!(asked.len(), 2, "the volume and the namespace: {asked:?}");
            live.volumes.insert(VolumeName::new("pv-a"), answer);
            live.namespaces.insert("db".into(), Found::NotFound);
            let judged = judge(RULES, question, &Evidence::new(&view, &live));
            assert_eq!(judged.reads, []);
            (judged.verdict.denial(), judged.verdict.warnings())
        });
        assert_eq!(reported[0], reported[1]);
        let is_reported = format!("{reported:?}").contains("is not available");
        assert!(is_reported, "{reported:?}");
    }
}
