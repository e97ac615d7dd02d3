//! Generated clusters and changes, in the notation of fixtures.
//!
//! Every name and size is a word of its own, so that a leak of one shows in a text.

use bindery::rules::{Persona, Send};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

pub(crate) const VOLUMES: [&str; 3] = ["vol-otter", "vol-panda", "vol-tapir"];
pub(crate) const CLAIMS: [&str; 3] = ["ns-quokka/heron", "ns-walrus/heron", "ns-quokka/ibis"];
const CLASSES: [&str; 3] = ["ember", "frost", "granite"];
const ATTRIBUTES: [&str; 2] = ["velvet", "linen"];
const SIZES: [&str; 4] = ["5Gi", "7Gi", "11Gi", "13Gi"];
const DRIVER: &str = "disk.example.com";

/// Words that an answer to a claim's request may only take from the request.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    let parts = CLAIMS.iter().flat_map(|key| key.split('/'));
    let names = VOLUMES.into_iter().chain(parts).chain(CLASSES).chain(ATTRIBUTES).chain(SIZES);
    names.chain([POD, REASON, "vol-new", "new-claim"])
}

/// The name of every generated pod.
pub(crate) const POD: &str = "pod-lemur";
/// Why a generated exemption was given.
pub(crate) const REASON: &str = "zephyr";

/// A cluster, what is known of it, and a change.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// In the notation of fixtures.
    pub(crate) given: String,
    pub(crate) send: Send,
    pub(crate) by: Persona,
    pub(crate) knowledge: Knowledge,
}

/// How much of the cluster the webhook knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knowledge {
    /// The order in which the view was filled.
    pub(crate) order: u64,
    /// One bit an object: whether the view lacks it.
    pub(crate) hidden: u8,
    /// Whether live reads are answered.
    pub(crate) is_connected: bool,
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let change = prop_oneof![6 => (cluster(), send()), 1 => crowd()];
    (change, persona(), knowledge()).prop_map(|((given, send), by, knowledge)| Case {
        given,
        send,
        by,
        knowledge,
    })
}

/// Several volumes that are reserved for one claim, and that claim or one more volume for it.
fn crowd() -> impl Strategy<Value = (String, Send)> {
    let volume = (size(), modes(), volume_options(false));
    let claim = (size(), modes(), option::of(class())).prop_map(|(size, modes, class)| {
        let class = class.map(|class| format!("class={class}")).unwrap_or_default();
        Send::Create(format!("claim ns-quokka/new-claim {size} {modes} {class}").leak())
    });
    let rival = Just(Send::Create("volume vol-new 5Gi RWO for=ns-quokka/new-claim"));
    (vec(volume, 3), prop_oneof![claim, rival]).prop_map(|(volumes, send)| {
        let line = |(name, (size, modes, options))| {
            format!(
                "volume {name} {size} {modes} {options} for=ns-quokka/new-claim phase=Available"
            )
        };
        let lines: Vec<String> = VOLUMES.into_iter().zip(volumes).map(line).collect();
        (lines.join("\n"), send)
    })
}

fn knowledge() -> impl Strategy<Value = Knowledge> {
    let hidden = prop_oneof![3 => Just(0), 1 => any::<u8>()];
    (any::<u64>(), hidden, prop::bool::weighted(0.8))
        .prop_map(|(order, hidden, is_connected)| Knowledge { order, hidden, is_connected })
}

fn persona() -> impl Strategy<Value = Persona> {
    prop_oneof![
        4 => Just(Persona::Admin),
        4 => Just(Persona::Tenant),
        2 => Just(Persona::Driver),
        1 => select(vec![
            Persona::Binder,
            Persona::Scheduler,
            Persona::VolumeProtection,
            Persona::ClaimProtection,
            Persona::GarbageCollector,
            Persona::AttachDetach,
        ]),
    ]
}

/// The lines of a cluster: classes, then pairs or claims, then volumes, then pods.
fn cluster() -> impl Strategy<Value = String> {
    let classes = subsequence(
        vec![
            "class ember expand",
            "class frost wait provisioner=disk.example.com",
            "class granite",
        ],
        2..=3,
    );
    let places = (0..3).map(place).collect::<Vec<_>>();
    let pod = option::of((select(CLAIMS.to_vec()), any::<bool>()));
    (classes, places, pod).prop_map(|(classes, places, pod)| {
        let mut lines: Vec<String> = classes.into_iter().map(str::to_owned).collect();
        let (first, second): (Vec<_>, Vec<_>) = places.into_iter().unzip();
        lines.extend(first.into_iter().chain(second).flatten());
        if let Some((key, has_node)) = pod {
            let (namespace, claim) = key.split_once('/').unwrap();
            let node = if has_node { " node=n1" } else { "" };
            lines.push(format!("pod {namespace}/{POD} claim={claim}{node}"));
        }
        lines.join("\n")
    })
}

/// The claim and the volume of one number: bound to each other, or each for itself.
fn place(number: usize) -> impl Strategy<Value = (Option<String>, Option<String>)> {
    let (name, key) = (VOLUMES[number], CLAIMS[number]);
    let pair = (size(), modes(), volume_options(false), vec(pair_option(), 0..3)).prop_map(
        move |(size, modes, options, more)| {
            let line = format!("pair {name} {key} {size} {modes} {options} {}", more.join(" "));
            (Some(line), None)
        },
    );
    let claim = (size(), modes(), claim_options())
        .prop_map(move |(size, modes, options)| format!("claim {key} {size} {modes} {options}"));
    let volume = (size(), modes(), volume_options(true))
        .prop_map(move |(size, modes, options)| format!("volume {name} {size} {modes} {options}"));
    prop_oneof![2 => pair, 3 => (option::weighted(0.8, claim), option::weighted(0.8, volume))]
}

fn pair_option() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("claim-terminating".to_owned()),
        Just("volume-terminating".to_owned()),
        select(SIZES.to_vec()).prop_map(|size| format!("request={size}")),
    ]
}

fn size() -> impl Strategy<Value = &'static str> {
    select(SIZES.to_vec())
}

fn modes() -> impl Strategy<Value = &'static str> {
    select(vec!["RWO", "RWX", "RWO,ROX", "ROX,RWX", "RWOP"])
}

fn class() -> impl Strategy<Value = &'static str> {
    select(CLASSES.to_vec())
}

/// A claim that is there or will be, often the same.
fn key() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        2 => Just("ns-quokka/new-claim"),
        2 => Just("ns-quokka/heron"),
        1 => select(CLAIMS.to_vec()),
    ]
}

/// Options of a volume; with a reservation and a phase of its own if it `is_alone`.
fn volume_options(is_alone: bool) -> impl Strategy<Value = String> {
    let reservation = prop_oneof![
        key().prop_map(|key| format!("for={key}")),
        key().prop_map(|key| format!("held={key}")),
        key().prop_map(|key| format!("dead={key}")),
        Just(r#"claimRef={"name":"heron"}"#.to_owned()),
    ];
    let phase = select(vec!["Available", "Bound", "Released", "Failed", "Pending"]);
    let alone = (option::of(reservation), phase, prop::bool::weighted(0.1)).prop_map(
        move |(reservation, phase, terminating)| {
            if !is_alone {
                return String::new();
            }
            let terminating = if terminating { "terminating" } else { "" };
            format!("phase={phase} {} {terminating}", reservation.unwrap_or_default())
        },
    );
    let plain = vec(
        prop_oneof![
            class().prop_map(|class| format!("class={class}")),
            Just("mode=Block".to_owned()),
            select(vec!["Retain", "Delete", "Recycle"])
                .prop_map(|policy| format!("policy={policy}")),
            Just(format!("csi={DRIVER}")),
            select(ATTRIBUTES.to_vec()).prop_map(|name| format!("csi={DRIVER} attributes={name}")),
            Just("finalizer=external-provisioner.volume.kubernetes.io/finalizer".to_owned()),
            Just("finalizer=external-attacher/disk-example-com".to_owned()),
            note(),
            exemption(),
            exemption(),
        ],
        0..4,
    );
    (plain, alone).prop_map(|(plain, alone)| format!("{} {alone}", plain.join(" ")))
}

/// An exemption without its time, which `world` puts before the reason.
fn exemption() -> impl Strategy<Value = String> {
    let rules = vec!["prebind-class", "prebind-capacity", "prebind-taken", "bound-volume-delete"];
    select(rules).prop_map(|rule| format!("annotation=allow.bindery.dev/{rule}:{REASON}"))
}

fn claim_options() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        4 => class().prop_map(|class| format!("class={class}")),
        1 => Just("mode=Block".to_owned()),
        1 => select(ATTRIBUTES.to_vec()).prop_map(|name| format!("attributes={name}")),
        3 => select(VOLUMES.to_vec()).prop_map(|name| format!("volume={name}")),
        2 => note(),
        1 => Just("terminating".to_owned()),
    ];
    vec(plain, 0..4).prop_map(|options| options.join(" "))
}

/// An annotation that has a meaning elsewhere.
fn note() -> impl Strategy<Value = String> {
    notes().prop_map(|(key, value)| format!("annotation={key}:{value}"))
}

fn notes() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(vec![
        ("pv.kubernetes.io/bind-completed", "yes"),
        ("pv.kubernetes.io/bound-by-controller", "yes"),
        ("pv.kubernetes.io/provisioned-by", DRIVER),
        ("volume.kubernetes.io/selected-node", "n1"),
        ("volume.kubernetes.io/storage-provisioner", DRIVER),
        ("volume.beta.kubernetes.io/storage-class", "ember"),
        ("volume.beta.kubernetes.io/storage-class", "frost"),
        ("kubectl.kubernetes.io/last-applied-configuration", "{}"),
        ("bindery.dev/volume-binding-mode", "Immediate"),
        ("example.com/team", "db"),
    ])
}

/// A change of an object that may or may not be there.
fn send() -> impl Strategy<Value = Send> {
    let new_key = prop_oneof![2 => Just("ns-quokka/new-claim"), 1 => key()];
    let claim = (new_key, size(), modes(), claim_options()).prop_map(|(key, size, modes, more)| {
        // Nothing is terminating when it is made.
        Send::Create(
            format!("claim {key} {size} {modes} {}", more.replace("terminating", "")).leak(),
        )
    });
    let new_name = prop_oneof![2 => Just("vol-new"), 1 => select(VOLUMES.to_vec())];
    let volume =
        (new_name, size(), modes(), volume_options(true)).prop_map(|(name, size, modes, more)| {
            let more = more.replace("terminating", "");
            Send::Create(format!("volume {name} {size} {modes} {more}").leak())
        });
    let of_volume = (volume_target(), volume_patch())
        .prop_map(|(target, patch)| Send::Merge { target, patch: patch.to_string().leak() });
    let of_claim = (claim_target(), claim_patch())
        .prop_map(|(target, patch)| Send::Merge { target, patch: patch.to_string().leak() });
    let status = (prop_oneof![volume_target(), claim_target()], metadata(), phase()).prop_map(
        |(target, metadata, phase)| {
            let patch = json!({"metadata": metadata, "status": {"phase": phase}});
            Send::MergeStatus { target, patch: patch.to_string().leak() }
        },
    );
    let delete = prop_oneof![volume_target(), claim_target()].prop_map(Send::Delete);
    prop_oneof![6 => claim, 3 => volume, 6 => of_volume, 4 => of_claim, 2 => status, 2 => delete]
}

fn phase() -> impl Strategy<Value = &'static str> {
    select(vec!["Bound", "Available", "Released", "Pending", "Lost"])
}

pub(crate) fn volume_target() -> impl Strategy<Value = &'static str> {
    select(vec!["pv/vol-otter", "pv/vol-panda", "pv/vol-tapir"])
}

pub(crate) fn claim_target() -> impl Strategy<Value = &'static str> {
    select(vec!["pvc/ns-quokka/heron", "pvc/ns-walrus/heron", "pvc/ns-quokka/ibis"])
}

/// A merge patch of some members, each of them made by one of the strategies.
fn members(
    members: impl Strategy<Value = Vec<(&'static str, Value)>>,
) -> impl Strategy<Value = Value> {
    members.prop_map(|members| {
        let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
        Value::Object(members.collect::<Map<_, _>>())
    })
}

fn metadata() -> impl Strategy<Value = Value> {
    let note = prop_oneof![
        notes().prop_map(|(key, value)| json!({key: value})),
        notes().prop_map(|(key, _)| json!({key: null})),
        Just(Value::Null),
    ];
    let finalizers = select(vec![
        json!([]),
        Value::Null,
        json!(["kubernetes.io/pv-protection"]),
        json!(["kubernetes.io/pvc-protection"]),
        json!(["external-attacher/disk-example-com", "example.com/own"]),
    ]);
    members(vec(
        prop_oneof![
            2 => note.prop_map(|note| ("annotations", note)),
            1 => finalizers.prop_map(|finalizers| ("finalizers", finalizers)),
            1 => Just(("labels", json!({"a": "b"}))),
        ],
        0..3,
    ))
}

fn volume_patch() -> impl Strategy<Value = Value> {
    let reference = prop_oneof![
        3 => Just(Value::Null),
        2 => Just(json!({"uid": null})),
        1 => Just(json!({"namespace": null})),
        1 => Just(json!({"kind": "Pod", "namespace": "ns-quokka", "name": "heron"})),
        3 => (key(), any::<bool>()).prop_map(|(key, has_uid)| {
            let (namespace, name) = key.split_once('/').unwrap();
            let uid = if has_uid { json!(format!("{{uid:{key}}}")) } else { Value::Null };
            json!({"namespace": namespace, "name": name, "uid": uid})
        }),
    ];
    let affinity = json!({"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]},
    ]}});
    let spec = members(vec(
        prop_oneof![
            1 => size().prop_map(|size| ("capacity", json!({"storage": size}))),
            1 => Just(("accessModes", json!(["ReadWriteMany"]))),
            1 => class().prop_map(|class| ("storageClassName", json!(class))),
            3 => reference.prop_map(|reference| ("claimRef", reference)),
            1 => select(vec!["Retain", "Delete", "Recycle"])
                .prop_map(|policy| ("persistentVolumeReclaimPolicy", json!(policy))),
            1 => Just(("nodeAffinity", affinity)),
        ],
        0..3,
    ));
    let whole = Just(json!({
        "metadata": {"finalizers": null, "annotations": null}, "spec": {"claimRef": null},
    }));
    prop_oneof![
        6 => (metadata(), spec).prop_map(|(metadata, spec)| json!({"metadata": metadata, "spec": spec})),
        1 => whole,
    ]
}

fn claim_patch() -> impl Strategy<Value = Value> {
    let spec = members(vec(
        prop_oneof![
            2 => select(VOLUMES.to_vec()).prop_map(|name| ("volumeName", json!(name))),
            2 => class().prop_map(|class| ("storageClassName", json!(class))),
            1 => size().prop_map(|size| ("resources", json!({"requests": {"storage": size}}))),
        ],
        0..3,
    ));
    (metadata(), spec).prop_map(|(metadata, spec)| json!({"metadata": metadata, "spec": spec}))
}
