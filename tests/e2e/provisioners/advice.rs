//! A user who follows a message literally still has the data: each careless request meets a bound disk whose
//! policy is Delete, and its advice is followed, and the advice that following it meets, until the disk would be gone.
//!
//! The words of an advice are few, and their order is that of the steps. A step whose words are not known here is none:
//! what a message asks for besides (other storage, another name) deletes nothing. Not here: that every text says Retain
//! before it says delete (`cli::example`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::scene::{Beside, Scene, patch_volume, play};
use crate::moves::bindery;
use crate::no_false_denials::world::VOLUMES;
use crate::plane::persona::{ADMIN, ARRANGER, STORAGE_ADMIN, TENANT};
use crate::plane::{Reply, volume_path};
use crate::sidecars::DRIVER;

pub(super) fn advice_that_is_followed_word_by_word_keeps_the_data() {
    for beside in Beside::due(&[Beside::Baseline, Beside::Strict]) {
        play(beside, followed);
    }
}

/// A claim with its volume, which has the name of its disk.
struct Held<'a> {
    scene: &'a Scene<'a>,
    claim: String,
    volume: String,
    /// The volumes whose data is needed.
    needed: Vec<String>,
}

/// A careless request: the rule that objects, the steps of its advice, what has to be so before, and the request, with
/// its query.
struct Careless {
    rule: &'static str,
    /// Nothing where the advice is to leave things as they are.
    steps: &'static [Step],
    before: fn(&Held<'_>),
    send: fn(&Held<'_>, &str) -> Reply,
}

const CARELESS: [Careless; 11] = [
    Careless {
        rule: "bound-volume-delete",
        steps: &[Step::Retain, Step::DeleteClaim, Step::Retry],
        before: nothing,
        send: |held, query| held.delete_volume(query),
    },
    Careless {
        rule: "bound-volume-access-modes",
        steps: &[],
        before: nothing,
        send: |held, query| held.edit(query, &json!({"spec": {"accessModes": ["ReadWriteMany"]}})),
    },
    Careless {
        rule: "bound-volume-capacity",
        steps: &[],
        before: nothing,
        send: |held, query| held.edit(query, &json!({"spec": {"capacity": {"storage": "1Mi"}}})),
    },
    Careless {
        rule: "bound-volume-claim-ref",
        steps: &[Step::Transfer],
        before: nothing,
        send: |held, query| held.edit(query, &json!({"spec": {"claimRef": {"name": "another"}}})),
    },
    Careless {
        rule: "orphan-owner",
        steps: &[],
        before: nothing,
        send: |held, query| {
            let node = json!({"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "gone"});
            held.edit(query, &json!({"metadata": {"ownerReferences": [node]}}))
        },
    },
    Careless {
        rule: "protection-finalizer",
        steps: &[Step::Retain, Step::Retry],
        before: nothing,
        send: |held, query| held.edit(query, &json!({"metadata": {"finalizers": null}})),
    },
    Careless {
        rule: "duplicate-backend",
        steps: &[],
        before: nothing,
        send: |held, query| held.second_volume(query),
    },
    Careless {
        rule: "claim-delete-destroys-data",
        steps: &[Step::Retain, Step::Retry],
        before: nothing,
        send: |held, query| held.delete_claim(query),
    },
    Careless {
        rule: "claim-delete-in-use",
        steps: &[Step::Retain, Step::DeletePods, Step::Retry],
        before: |held| held.use_in_a_pod(),
        send: |held, query| held.delete_claim(query),
    },
    Careless {
        rule: "released-volume-policy",
        steps: &[],
        before: |held| held.release(),
        send: |held, query| {
            held.edit(query, &json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}))
        },
    },
    // The last: a user who follows its advice ends the namespace.
    Careless {
        rule: "namespace-delete-bound-claims",
        steps: &[Step::Retain, Step::Retry],
        before: nothing,
        send: |held, query| held.delete_namespace(query),
    },
];

fn nothing(_: &Held<'_>) {}

fn followed(scene: &Scene<'_>) {
    let mut kept = BTreeMap::new();
    for careless in &CARELESS {
        let claim = careless.rule.to_owned();
        scene.world.claim(&claim, &json!({}));
        let volume = scene.bound(&claim);
        kept.insert(volume.clone(), careless.rule);
        let needed = kept.keys().cloned().collect();
        let held = Held { scene, claim, volume, needed };
        (careless.before)(&held);
        let said = said(&(careless.send)(&held, "?dryRun=All"));
        assert!(said.contains(&format!("[{}]", careless.rule)), "{}: {said}", careless.rule);
        let own: Vec<&str> =
            said.lines().filter(|line| line.contains(&format!("[{}]", careless.rule))).collect();
        assert_eq!(steps(&own.join("\n")), careless.steps, "{own:?}");
        held.obey(&said, &|| (careless.send)(&held, ""), 0);
        if careless.rule != "namespace-delete-bound-claims" {
            await_provisioner(scene);
        }
        let disks = scene.storage.disks();
        for (disk, rule) in &kept {
            assert!(
                disks.contains_key(disk),
                "{rule}, beside {:?}: its disk is gone",
                scene.beside
            );
        }
    }
    let kept: Vec<&str> = kept.keys().map(String::as_str).collect();
    scene.world.until_gone(&namespace_path(scene));
    scene.until_disks(&kept);
}

/// Waits until the provisioner has seen to all that came before: to a claim that came and went after it.
fn await_provisioner(scene: &Scene<'_>) {
    scene.world.claim("after", &json!({}));
    let volume = scene.bound("after");
    scene.give_up("after");
    scene.until_gone(&volume);
}

/// Returns what a reply says for Bindery: why it was denied, or what it was warned of.
fn said(reply: &Reply) -> String {
    let denial = reply.json["message"].as_str().filter(|_| reply.code == 403);
    let texts = denial.into_iter().chain(reply.warnings.iter().map(String::as_str));
    texts.filter(|text| text.contains('[')).collect::<Vec<_>>().join("\n")
}

/// What an advice asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Retain,
    Transfer,
    DeleteClaim,
    DeletePods,
    DeleteVolume,
    Retry,
}

/// The words for each step, as messages use them.
const WORDS: [(&str, Step); 13] = [
    ("run `bindery retain", Step::Retain),
    ("run `bindery transfer", Step::Transfer),
    ("to Retain", Step::Retain),
    ("set Retain", Step::Retain),
    ("delete PVC", Step::DeleteClaim),
    ("delete the PVC", Step::DeleteClaim),
    ("delete the pod", Step::DeletePods),
    ("stop the pods", Step::DeletePods),
    ("then delete it", Step::DeleteVolume),
    ("retry", Step::Retry),
    ("first, or keep the finalizer", Step::Retry),
    // What was asked for follows what comes first.
    ("Retain first", Step::Retry),
    ("pods first", Step::Retry),
];

/// The steps of all advice in a text, each where it is named first; the request is sent again at the end. Advice is
/// what follows the fact, without the exemption.
fn steps(said: &str) -> Vec<Step> {
    let advice = said.lines().filter_map(|message| Some(message.split_once("; ")?.1));
    let mut steps: Vec<Step> = Vec::new();
    for advice in advice {
        let found = |(words, step): &(&str, Step)| Some((advice.find(words)?, *step));
        let mut found: Vec<(usize, Step)> = WORDS.iter().filter_map(found).collect();
        found.sort_unstable_by_key(|(at, _)| *at);
        steps.extend(found.into_iter().map(|(_, step)| step));
    }
    let is_retried = steps.contains(&Step::Retry);
    let mut taken = Vec::new();
    for step in steps {
        if step != Step::Retry && !taken.contains(&step) {
            taken.push(step);
        }
    }
    taken.extend(is_retried.then_some(Step::Retry));
    taken
}

impl Held<'_> {
    /// Does what was said; where that meets advice, follows it and does it again.
    fn obey(&self, said: &str, retry: &dyn Fn() -> Reply, depth: usize) {
        assert!(depth < 4, "advice goes round: {said}");
        for step in steps(said) {
            self.insist(step, said, retry, depth);
        }
    }

    fn insist(&self, step: Step, said: &str, retry: &dyn Fn() -> Reply, depth: usize) {
        let send = || match step {
            Step::Retain => self.retain(said),
            Step::Transfer => {
                self.run(&command(said, "transfer").unwrap());
                self.edit("", &json!({}))
            }
            Step::DeleteClaim => self.delete_claim(""),
            Step::DeletePods => self.scene.world.delete(TENANT, &self.pod_path()),
            Step::DeleteVolume => self.delete_volume(""),
            Step::Retry => retry(),
        };
        let reply = send();
        if reply.code == 403 {
            self.obey(&self::said(&reply), &send, depth + 1);
        } else {
            assert!((200..300).contains(&reply.code) || reply.code == 404, "{step:?}: {reply}");
        }
        if step == Step::DeleteClaim && depth == 0 {
            self.scene.world.until_gone(&self.scene.world.claim_path(&self.claim));
        }
    }

    /// Runs a command of an advice, word by word.
    fn run(&self, arguments: &[&str]) {
        bindery(&self.scene.world.plane.kubeconfig(ADMIN), arguments).expect_ok();
    }

    /// Keeps the data of the volume, or of all that is needed.
    fn retain(&self, said: &str) -> Reply {
        if let Some(arguments) = command(said, "retain") {
            self.run(&arguments);
            return self.edit("", &json!({}));
        }
        let policy = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
        if said.contains("on the PVs that are needed") {
            for volume in &self.needed {
                let reply = self.scene.world.patch(STORAGE_ADMIN, &volume_path(volume), &policy);
                // The object of one went, as was meant.
                assert!(reply.code == 200 || reply.code == 404, "{reply}");
            }
        }
        self.edit("", &policy)
    }

    fn edit(&self, query: &str, patch: &Value) -> Reply {
        let path = format!("{}{query}", volume_path(&self.volume));
        self.scene.world.patch(STORAGE_ADMIN, &path, patch)
    }

    fn delete_volume(&self, query: &str) -> Reply {
        let path = format!("{}{query}", volume_path(&self.volume));
        self.scene.world.delete(STORAGE_ADMIN, &path)
    }

    fn delete_claim(&self, query: &str) -> Reply {
        let path = format!("{}{query}", self.scene.world.claim_path(&self.claim));
        self.scene.world.delete(TENANT, &path)
    }

    fn delete_namespace(&self, query: &str) -> Reply {
        self.scene.world.delete(ADMIN, &format!("{}{query}", namespace_path(self.scene)))
    }

    /// A second volume on the same disk.
    fn second_volume(&self, query: &str) -> Reply {
        let csi = json!({"driver": DRIVER, "volumeHandle": self.volume});
        let more = json!({"spec": {"csi": csi, "nfs": null}});
        let second = self.scene.world.volume_of("second", &more);
        self.scene.world.post(STORAGE_ADMIN, &format!("{VOLUMES}{query}"), &second)
    }

    fn pod_path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}", self.scene.world.name, self.claim)
    }

    /// A pod that runs somewhere uses the claim.
    fn use_in_a_pod(&self) {
        let world = &self.scene.world;
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.claim},
            "spec": {
                "nodeName": "somewhere", "containers": [{"name": "main", "image": "none"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": self.claim}}],
            },
        });
        let pods = format!("/api/v1/namespaces/{}/pods", world.name);
        world.post(ARRANGER, &pods, &pod).expect_ok();
    }

    /// The claim is given up, and the data is kept.
    fn release(&self) {
        patch_volume(
            self.scene,
            &self.volume,
            &json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}),
        );
        self.scene.give_up(&self.claim);
        self.scene.world.until(&volume_path(&self.volume), "Released");
    }
}

/// The words of the command of this verb that a text names, without the program.
fn command<'a>(said: &'a str, verb: &'a str) -> Option<Vec<&'a str>> {
    let (_, text) = said.split_once(&format!("`bindery {verb} "))?;
    let (arguments, _) = text.split_once('`')?;
    Some(std::iter::once(verb).chain(arguments.split_whitespace()).collect())
}

fn namespace_path(scene: &Scene<'_>) -> String {
    format!("/api/v1/namespaces/{}", scene.world.name)
}
