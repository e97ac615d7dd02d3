//! The binding core's writes on the real API server, without anybody else who binds: what it stores is
//! what the core assumed.

use bindery::binding::{Evidence, LiveReads, Next, View, Write, decide_claim, decide_volume};
use bindery::cluster::resource::Watched;
use bindery::k8s::write::merge_patch;
use bindery::model::{Claim, ClaimKey, Volume, VolumeName};
use hyper::Method;
use serde_json::{Value, json};

use crate::plane::persona::{ADMIN, TENANT};
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] =
    &[case!(four_writes_bind_a_pair), case!(a_write_on_an_older_version_is_refused)];

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
        for (watched, path) in [(Watched::Volumes, &self.volume), (Watched::Claims, &self.claim)] {
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
                live.answer_from(&view, wanted);
            }
        }
        panic!("the same reads are wanted again")
    }
}

/// Everything but the version, which only the server knows.
fn told(view: &View) -> (Vec<Volume>, Vec<Claim>) {
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
        let patch = merge_patch(&write);
        plane()
            .request(ADMIN, Method::PATCH, &patch.path, Body::merge_patch(&patch.body))
            .expect_ok();
        assert_eq!(told(&couple.view()), told(&assumed), "{write:?}");
        count += 1;
        assert!(count < 10, "no end: {write:?}");
    }
    // The volume becomes Available, then the four steps.
    assert_eq!(count, 5);
    let namespace = objects.namespace();
    let listed = plane().kubectl(TENANT, &["-n", namespace, "get", "pvc", "data"], "").expect_ok();
    assert!(listed.contains("Bound"), "{listed}");
}

fn a_write_on_an_older_version_is_refused() {
    let objects = plane().objects("late-writes");
    let couple = Couple::of(&objects.volume("pv", &json!({})), &objects.claim("data", &json!({})));
    let write = couple.next().unwrap();
    let patch = merge_patch(&write);
    let send =
        || plane().request(ADMIN, Method::PATCH, &patch.path, Body::merge_patch(&patch.body));
    send().expect_ok();
    send().expect_refused(409);
}
