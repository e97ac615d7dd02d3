//! A history of a small cluster, made up from a seed: classes, volumes that are there first, then steps
//! that users and administrators take one at a time.
//!
//! Scenarios do not see each other on a shared server: their classes are their own, and what has no class
//! has an attributes class of the scenario's own, which both binders compare before anything else. A scenario
//! without either is played alone. Not here: how a step is carried out (`step`).

use std::collections::VecDeque;

use bindery_sim::SeededRng;
use serde_json::{Value, json};

use super::step::Step;

/// A cluster and what happens in it.
#[derive(Debug)]
pub(super) struct Scenario {
    /// What made it, and makes it again.
    pub(super) seed: u64,
    /// Its namespace, and what the names of its other objects begin with.
    pub(super) tag: String,
    /// Whether what it asks for could be met by others of its kind.
    pub(super) is_alone: bool,
    /// The class objects that are there from the beginning.
    pub(super) classes: Vec<Value>,
    /// The volumes that are there before the first step.
    pub(super) volumes: Vec<Value>,
    /// What happens then.
    pub(super) steps: Vec<Step>,
}

/// One scenario in so many has objects without class and attributes class, and perhaps a default class.
const ALONE_EACH: u64 = 8;

/// Spellings of the same sizes: each row is one size.
const SIZES: &[&[&str]] = &[
    &["100M", "100e6", "1e8", "100000k"],
    &["1e9", "1G", "1000M"],
    &["1Gi", "1073741824", "1024Mi"],
    &["1.5Gi", "1536Mi", "1610612736"],
    &["5Gi", "5120Mi"],
];

/// No two of them have the same number of modes and a mode in common that a claim could ask for alone:
/// which of two such volumes Kubernetes takes, it leaves to chance.
const MODES: &[&[&str]] = &[
    &["ReadWriteOnce"],
    &["ReadWriteOnce", "ReadOnlyMany"],
    &["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
    &["ReadWriteMany"],
    &["ReadWriteOncePod"],
];

/// The scenario of a seed.
pub(super) fn scenario(seed: u64) -> Scenario {
    let mut author = Author::new(seed);
    let classes = author.kinds.iter().filter_map(|kind| author.class(*kind)).collect();
    let count = 3 + author.rng.below(5);
    let volumes = (0..count).filter_map(|_| author.volume(0)).collect();
    // Those that are played alone wait for each other.
    let count = if author.is_alone { 4 + author.rng.below(3) } else { 7 + author.rng.below(5) };
    let mut steps = Vec::new();
    while (steps.len() as u64) < count {
        steps.extend(author.step());
    }
    Scenario { seed, tag: author.tag, is_alone: author.is_alone, classes, volumes, steps }
}

/// What is known of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No class; in a scenario that is not alone, an attributes class of its own instead.
    None,
    /// A name for which there is no object.
    Bare,
    Static,
    Delayed,
    External,
    ExternalDelayed,
    Migrated,
    Unknown,
    /// The default of a scenario that is alone.
    Default,
}

/// What distinguishes a volume from others for both binders.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    kind: Kind,
    size: usize,
    modes: usize,
    is_block: bool,
    is_gold: bool,
}

struct Known {
    name: String,
    key: Key,
    is_counterpart: bool,
    object: Value,
}

struct Author {
    rng: SeededRng,
    tag: String,
    is_alone: bool,
    kinds: Vec<Kind>,
    volumes: Vec<Known>,
    /// Claims that were made, in order, and whether they were deleted.
    claims: Vec<(String, Value, bool)>,
    numbered: usize,
    /// The steps that have to follow the last.
    consequences: VecDeque<Step>,
}

impl Author {
    fn new(seed: u64) -> Self {
        // Neighbouring seeds begin with unlike numbers.
        let mut rng = SeededRng::new(seed.wrapping_mul(0x9e37_79b9));
        let is_alone = seed % ALONE_EACH == 3;
        let mut kinds = if is_alone {
            vec![Kind::None]
        } else {
            vec![Kind::Bare, Kind::Static, Kind::None, Kind::Delayed, Kind::External]
        };
        if is_alone && rng.happens(500) {
            kinds.push(Kind::Default);
        }
        let rare = [Kind::ExternalDelayed, Kind::Migrated, Kind::Unknown];
        kinds.extend(rng.pick(&rare).copied());
        while kinds.len() > 3 {
            let out = rng.below(kinds.len() as u64);
            kinds.remove(usize::try_from(out).unwrap());
        }
        let tag = format!("d{seed}");
        Self {
            rng,
            tag,
            is_alone,
            kinds,
            volumes: Vec::new(),
            claims: Vec::new(),
            numbered: 0,
            consequences: VecDeque::new(),
        }
    }

    fn name(&mut self, letter: char) -> String {
        self.numbered += 1;
        format!("{letter}{}", self.numbered)
    }

    fn class_name(&self, kind: Kind) -> String {
        if kind == Kind::None {
            return String::new();
        }
        format!("{}-{kind:?}", self.tag).to_lowercase()
    }

    fn class(&self, kind: Kind) -> Option<Value> {
        let (provisioner, mode) = match kind {
            Kind::None | Kind::Bare => return None,
            Kind::Static => ("kubernetes.io/no-provisioner", "Immediate"),
            Kind::Delayed => ("kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
            Kind::External | Kind::Default => ("absent.example/disk", "Immediate"),
            Kind::ExternalDelayed => ("absent.example/disk", "WaitForFirstConsumer"),
            Kind::Migrated => ("kubernetes.io/aws-ebs", "Immediate"),
            Kind::Unknown => ("kubernetes.io/absent", "Immediate"),
        };
        let mut class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": self.class_name(kind)},
            "provisioner": provisioner, "volumeBindingMode": mode, "reclaimPolicy": "Delete",
        });
        if kind == Kind::Default {
            let mark = json!({"storageclass.kubernetes.io/is-default-class": "true"});
            class["metadata"]["annotations"] = mark;
        }
        Some(class)
    }

    fn key(&mut self) -> Key {
        let kind = *self.rng.pick(&self.kinds).unwrap();
        let mut below = |bound: usize| usize::try_from(self.rng.below(bound as u64)).unwrap();
        let size = below(SIZES.len());
        let modes = if below(3) == 0 { below(MODES.len()) } else { below(2) };
        let is_block = below(8) == 0;
        Key { kind, size, modes, is_block, is_gold: below(8) == 0 }
    }

    /// The attributes class: a scenario's own where there is no class to keep it apart.
    fn attributes_class(&self, key: &Key) -> Value {
        match (key.kind == Kind::None && !self.is_alone, key.is_gold) {
            (true, true) => json!(format!("{}-own-gold", self.tag)),
            (true, false) => json!(format!("{}-own", self.tag)),
            (false, true) => json!(format!("{}-gold", self.tag)),
            (false, false) => Value::Null,
        }
    }

    fn spelled(&mut self, size: usize) -> Value {
        json!(self.rng.pick(SIZES[size]).unwrap())
    }

    /// A volume; nothing if it would be distinguished from an equal one by what does not count.
    fn volume(&mut self, reserved_rate: u16) -> Option<Value> {
        let key = self.key();
        self.volume_of(key, reserved_rate + 150)
    }

    fn volume_of(&mut self, key: Key, reserved_rate: u16) -> Option<Value> {
        let suffix = self.name('v');
        let name = format!("{}-{suffix}", self.tag);
        let capacity = self.spelled(key.size);
        let reserved = self.rng.happens(reserved_rate);
        if let Some(counterpart) = self.volumes.iter_mut().find(|known| known.key == key) {
            if counterpart.object["spec"]["claimRef"].is_object() || reserved {
                return None;
            }
            counterpart.is_counterpart = true;
            let mut object = counterpart.object.clone();
            object["metadata"]["name"] = json!(name);
            object["spec"]["capacity"]["storage"] = capacity;
            self.volumes.push(Known { name, key, is_counterpart: true, object: object.clone() });
            return Some(object);
        }
        let tier = *self.rng.pick(&["a", "b"]).unwrap();
        let policy = *self.rng.pick(&["Retain", "Retain", "Delete"]).unwrap();
        let mut object = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": {"scenario": self.tag, "tier": tier}},
            "spec": {
                "capacity": {"storage": capacity}, "accessModes": MODES[key.modes],
                "volumeMode": if key.is_block { "Block" } else { "Filesystem" },
                "persistentVolumeReclaimPolicy": policy,
                "storageClassName": self.class_name(key.kind),
                "volumeAttributesClassName": self.attributes_class(&key),
                "csi": {"driver": "absent.example", "volumeHandle": self.tag},
            },
        });
        let is_attributed = object["spec"]["volumeAttributesClassName"].is_string();
        if !is_attributed && !key.is_block && self.rng.happens(400) {
            // Storage that no driver deletes.
            object["spec"]["csi"] = Value::Null;
            let (kind, source) = if self.rng.happens(500) {
                ("nfs", json!({"server": "192.0.2.1", "path": "/"}))
            } else {
                let name = "iqn.2001-04.example:disk";
                ("iscsi", json!({"targetPortal": "192.0.2.1", "iqn": name, "lun": 0}))
            };
            object["spec"][kind] = source;
        }
        if self.rng.happens(150) {
            let host =
                json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["other"]});
            object["spec"]["nodeAffinity"] =
                json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}});
        }
        if reserved {
            object["spec"]["claimRef"] = self.claim_ref();
        }
        self.volumes.push(Known { name, key, is_counterpart: false, object: object.clone() });
        Some(object)
    }

    /// A reservation by name, for a claim that is there or may come.
    fn claim_ref(&mut self) -> Value {
        let number = self.numbered as u64 + 1 + self.rng.below(4);
        let known = self.rng.pick(&self.claims).map(|(name, ..)| name.clone());
        let name = known.unwrap_or_else(|| format!("c{number}"));
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": self.tag, "name": name})
    }

    fn claim(&mut self) -> Value {
        // Most ask for what some volume has, so that they meet.
        let model = self.rng.pick(&self.volumes).map(|known| known.key.clone());
        let key = match model {
            Some(key) if self.rng.happens(800) => key,
            Some(_) | None => self.key(),
        };
        let below = usize::try_from(self.rng.below(key.size as u64 + 1)).unwrap();
        let size = if self.rng.happens(500) { key.size } else { below };
        let request = self.spelled(size);
        let modes = if self.rng.happens(700) { &MODES[key.modes][..1] } else { MODES[key.modes] };
        let name = self.name('c');
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": self.tag},
            "spec": {
                "accessModes": modes, "resources": {"requests": {"storage": request}},
                "volumeMode": if key.is_block { "Block" } else { "Filesystem" },
                "storageClassName": self.class_name(key.kind),
                "volumeAttributesClassName": self.attributes_class(&key),
            },
        });
        if key.kind == Kind::None && self.is_alone && self.rng.happens(600) {
            claim["spec"]["storageClassName"] = Value::Null;
        } else if self.rng.happens(80) {
            let name = claim["spec"]["storageClassName"].take();
            claim["metadata"]["annotations"] =
                json!({"volume.beta.kubernetes.io/storage-class": name});
        }
        if self.rng.happens(200) {
            let tier = *self.rng.pick(&["a", "b"]).unwrap();
            claim["spec"]["selector"] = if self.rng.happens(500) {
                json!({"matchLabels": {"tier": tier}})
            } else {
                json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": [tier]}]})
            };
        }
        if self.rng.happens(150)
            && let Some(volume) = self.unique()
        {
            claim["spec"]["volumeName"] = json!(volume);
        }
        if self.rng.happens(80) {
            claim["metadata"]["finalizers"] = json!(["e2e.bindery.dev/held"]);
            // It goes, and stays for its finalizer, while a volume comes that it could have had.
            self.consequences.push_back(Step::DeleteClaim(name.clone()));
            let volume = self.volume_of(key, 0);
            self.consequences.extend(volume.map(Step::Create));
        }
        self.claims.push((name, claim.clone(), false));
        claim
    }

    /// The name of a volume that no other equals.
    fn unique(&mut self) -> Option<String> {
        let unique: Vec<&Known> =
            self.volumes.iter().filter(|known| !known.is_counterpart).collect();
        self.rng.pick(&unique).map(|known| known.name.clone())
    }

    fn present(&mut self) -> Option<usize> {
        self.among(|(_, _, is_deleted)| !is_deleted)
    }

    fn deleted(&mut self) -> Option<usize> {
        self.among(|(_, _, is_deleted)| *is_deleted)
    }

    fn among(&mut self, which: impl Fn(&(String, Value, bool)) -> bool) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.claims.len()).filter(|place| which(&self.claims[*place])).collect();
        self.rng.pick(&fitting).copied()
    }

    /// The next step; nothing if it has no object.
    fn step(&mut self) -> Option<Step> {
        if let Some(step) = self.consequences.pop_front() {
            return Some(step);
        }
        Some(match self.rng.below(100) {
            0..=44 => Step::Create(self.claim()),
            45..=52 => Step::Create(self.volume(250)?),
            53..=61 => {
                let place = self.present()?;
                self.claims[place].2 = true;
                Step::DeleteClaim(self.claims[place].0.clone())
            }
            62..=66 => {
                let place = self.present()?;
                Step::Recreate(self.claims[place].1.clone())
            }
            67..=72 => Step::Reuse(self.deleted_name()?),
            73..=75 => Step::ReuseForName(self.deleted_name()?),
            76..=78 => self.relabel()?,
            79..=81 => self.grow()?,
            82..=83 => self.change_modes()?,
            84..=87 => {
                let volume = self.unique()?;
                Step::Prebind { volume, claim_ref: self.claim_ref() }
            }
            88..=90 => Step::Name { claim: self.present_name()?, volume: self.unique()? },
            91..=93 => Step::DeleteVolume(self.unique()?),
            94..=95 => Step::Vanish(self.present_name()?),
            96 => Step::Return { claim: self.present_name()?, is_unfit: self.rng.happens(500) },
            97 => Step::Provision(self.present_name()?),
            98 => Step::SelectNode(self.present_name()?),
            _ => {
                let kind = *self.rng.pick(&self.kinds)?;
                Step::DeleteClass(self.class_name(kind))
            }
        })
    }

    fn present_name(&mut self) -> Option<String> {
        let place = self.present()?;
        Some(self.claims[place].0.clone())
    }

    fn deleted_name(&mut self) -> Option<String> {
        let place = self.deleted()?;
        Some(self.claims[place].0.clone())
    }

    fn relabel(&mut self) -> Option<Step> {
        let volume = self.unique()?;
        let tier = *self.rng.pick(&["a", "b"])?;
        Some(Step::Edit { volume, patch: json!({"metadata": {"labels": {"tier": tier}}}) })
    }

    fn grow(&mut self) -> Option<Step> {
        let volume = self.unique()?;
        let size = SIZES.len() - 1;
        self.becomes(&volume, |key| key.size = size)?;
        let storage = self.spelled(size);
        Some(Step::Edit { volume, patch: json!({"spec": {"capacity": {"storage": storage}}}) })
    }

    fn change_modes(&mut self) -> Option<Step> {
        let volume = self.unique()?;
        let modes = usize::try_from(self.rng.below(2)).ok()?;
        self.becomes(&volume, |key| key.modes = modes)?;
        Some(Step::Edit { volume, patch: json!({"spec": {"accessModes": MODES[modes]}}) })
    }

    /// Notes a change of a volume, unless it would come to equal another.
    fn becomes(&mut self, name: &str, change: impl FnOnce(&mut Key)) -> Option<()> {
        let place = self.volumes.iter().position(|known| known.name == name)?;
        let mut key = self.volumes[place].key.clone();
        change(&mut key);
        let is_alone = self.volumes.iter().all(|known| known.name == name || known.key != key);
        is_alone.then(|| self.volumes[place].key = key)
    }
}
