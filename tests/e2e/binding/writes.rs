//! The binding core's writes on the real API server, without another binder: what it stores is
//! what the core assumed.

use bindery::api::write::{WritePatch, write_patch};
use bindery::binding::{
    Evidence, ListedCollections, LiveReads, Next, View, Write, decide_claim, decide_volume,
};
use bindery::client::resource::ResourceKind;
use bindery::model::{Claim, ClaimKey, Volume, VolumeName};
use hyper::Method;
use serde_json::{Value, json};

use crate::plane::persona::{ADMIN, TENANT};
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(four_writes_bind_a_pair),
    case!(a_write_on_an_older_version_is_rejected),
    case!(a_change_of_finalizers_leaves_those_of_others),
];

fn plane() -> &'static Plane {
    Plane::shared(Peers::WithoutBinder)
}

/// One volume and one claim, as the API server has them.
struct Couple {
    volume: String,
    claim: String,
    name: VolumeName,
    key: ClaimKey,
}

impl Couple {
    fn of(volume: &Value, claim: &Value) -> Self {
        let text = |object: &Value, field: &str| {
            object["metadata"][field].as_str().unwrap_or_default().to_owned()
        };
        let (namespace, name) = (text(claim, "namespace"), text(claim, "name"));
        Self {
            volume: volume_path(&text(volume, "name")),
            claim: claim_path(&namespace, &name),
            name: VolumeName::new(text(volume, "name")),
            key: ClaimKey::new(namespace, name),
        }
    }

    fn view(&self) -> View {
        let mut view = View::default();
        for (watched, path) in
            [(ResourceKind::Volumes, &self.volume), (ResourceKind::Claims, &self.claim)]
        {
            let object = plane().get(ADMIN, path).expect_ok();
            view.apply(watched.observed(&object.to_string()).unwrap());
        }
        view
    }

    /// The next write for either.
    fn next(&self) -> Option<Write> {
        let view = self.view();
        let mut live = LiveReads::default();
        for _ in 0..4 {
            let evidence = Evidence::new(&view, &live);
            let nexts = [
                decide_volume(&evidence, &self.name).next,
                decide_claim(&evidence, &self.key).next,
            ];
            let mut reads = Vec::new();
            for next in nexts {
                match next {
                    Next::Write(write) => return Some(write),
                    Next::Read(wanted) => reads.push(wanted),
                    Next::Settled | Next::Reclaim(_) => {}
                }
            }
            if reads.is_empty() {
                return None;
            }
            for wanted in &reads {
                live.answer_from(&view, ListedCollections::everything(), wanted);
            }
        }
        panic!("the same reads are wanted again")
    }
}

/// Everything but the version, which only the server knows.
fn reported(view: &View) -> (Vec<Volume>, Vec<Claim>) {
    let volumes = view.volumes().map(|volume| Volume { version: None, ..Volume::clone(volume) });
    let claims = view.claims().map(|claim| Claim { version: None, ..Claim::clone(claim) });
    (volumes.collect(), claims.collect())
}

fn four_writes_bind_a_pair() {
    let objects = plane().objects("writes");
    let couple = Couple::of(&objects.volume("pv", &json!({})), &objects.claim("data", &json!({})));
    let mut count = 0;
    while let Some(write) = couple.next() {
        let mut assumed = couple.view();
        assumed.assume(&write);
        let patch = write_patch(&write);
        plane().request(ADMIN, Method::PATCH, &patch.path, body(&patch)).expect_ok();
        assert_eq!(reported(&couple.view()), reported(&assumed), "{write:?}");
        count += 1;
        assert!(count < 10, "no end: {write:?}");
    }
    // The volume becomes Available, then the four steps.
    assert_eq!(count, 5);
    let namespace = objects.namespace();
    let listed = plane().kubectl(TENANT, &["-n", namespace, "get", "pvc", "data"], "").expect_ok();
    assert!(listed.contains("Bound"), "{listed}");
}

fn a_write_on_an_older_version_is_rejected() {
    let objects = plane().objects("late-writes");
    let couple = Couple::of(&objects.volume("pv", &json!({})), &objects.claim("data", &json!({})));
    let write = couple.next().unwrap();
    let patch = write_patch(&write);
    let send = || plane().request(ADMIN, Method::PATCH, &patch.path, body(&patch));
    send().expect_ok();
    send().expect_denied(409);
}

/// A volume of a plug-in that moved loses the finalizer of the plug-in, one of a plug-in that did not
/// loses that of a driver; neither loses another, and a write that comes too late changes nothing.
fn a_change_of_finalizers_leaves_those_of_others() {
    const IN_TREE: &str = "kubernetes.io/pv-controller";
    const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";
    let objects = plane().objects("migration");
    let claim = objects.claim("data", &json!({}));
    for (name, provisioner, before, after) in [
        ("moved", "kubernetes.io/gce-pd", json!([IN_TREE]), json!([])),
        ("stayed", "kubernetes.io/host-path", json!([IN_TREE, EXTERNAL]), json!([IN_TREE])),
    ] {
        let with_theirs = |finalizers: &Value| {
            let own = finalizers.as_array().cloned().unwrap_or_default();
            let theirs = ["theirs.example/z", "theirs.example/a"].map(|name| json!(name));
            [&theirs[..], &own, &[json!("kubernetes.io/pv-protection")]].concat()
        };
        let overlay = json!({
            "metadata": {
                "annotations": {"pv.kubernetes.io/provisioned-by": provisioner},
                "finalizers": with_theirs(&before),
            },
            "spec": {"persistentVolumeReclaimPolicy": "Delete"},
        });
        let couple = Couple::of(&objects.volume(name, &overlay), &claim);
        let write = couple.next().unwrap();
        assert!(matches!(write, Write::MigrateVolume { .. }), "{write:?}");
        let mut assumed = couple.view();
        assumed.assume(&write);
        let patch = write_patch(&write);
        let send = || plane().request(ADMIN, Method::PATCH, &patch.path, body(&patch));
        send().expect_ok();
        send().expect_denied(409);
        assert_eq!(reported(&couple.view()), reported(&assumed), "{write:?}");
        let stored = plane().get(ADMIN, &couple.volume).expect_ok();
        let sorted = |names: &[Value]| {
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            names.sort();
            names
        };
        let finalizers = stored["metadata"]["finalizers"].as_array().unwrap();
        assert_eq!(sorted(finalizers), sorted(&with_theirs(&after)));
    }
}

fn body(patch: &WritePatch) -> Body {
    Body::raw(patch.content_type, patch.body.to_string())
}
