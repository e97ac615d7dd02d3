//! Volumes and claims that come all at once: the end is one that some order of arrival has.
//!
//! Every order is played through the core, a state at a time; states that are met twice are followed once.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use bindery::binding::{ListedCollections, Observed, View, settle};
use bindery::client::resource::ResourceKind;
use bindery::model::ClaimKey;
use serde_json::Value;

use super::scenario::{Scenario, scenario};
use super::scene::Scene;
use super::stage::{Binder, Stage, await_quiet};
use super::step::{Act, Step};
use super::{QUIET, seeds};

/// So many objects have few enough orders.
const OBJECTS_COUNT_MAX: usize = 8;

/// Which volume each claim has.
type End = BTreeMap<String, Option<String>>;

pub(super) fn whatever_comes_at_once_ends_as_in_some_order() {
    let stage = Stage::new(Binder::Ours);
    let scenarios: Vec<Scenario> =
        seeds(20, 100).map(scenario).filter(|scenario| !scenario.is_alone).collect();
    for scenario in &scenarios {
        stage.prepare(scenario);
    }
    for scenario in &scenarios {
        thread::scope(|scope| {
            for object in objects(scenario) {
                let (stage, tag) = (&stage, &scenario.tag);
                scope.spawn(move || drop(stage.act(tag, &[Act::Create(object)])));
            }
        });
    }
    let (mut several, mut most) = (0, 0);
    for scenario in &scenarios {
        await_quiet(&[&stage], &scenario.tag, QUIET);
        let scene = stage.scene(scenario);
        let ends = ends(&scene);
        let end = end_of(&scene.view());
        let reported =
            format!("seed {} ends as in no order: {end:?}; orders end as {ends:?}", scenario.seed);
        assert!(ends.contains(&end), "{reported}");
        several += usize::from(ends.len() > 1);
        most = most.max(ends.len());
    }
    println!(
        "{} clusters came at once; the order could matter in {several} of them, with up to {most} ends",
        scenarios.len()
    );
    if scenarios.len() > 15 {
        assert!(several * 5 >= scenarios.len(), "in too few of them the order matters");
    }
}

/// Claims and volumes in equal parts, which fit each other more or less.
fn objects(scenario: &Scenario) -> Vec<Value> {
    let created = scenario.steps.iter().filter_map(Step::created);
    let claims = created.filter(|object| object["kind"] == "PersistentVolumeClaim").cloned();
    let volumes = scenario.volumes.iter().take(OBJECTS_COUNT_MAX / 2).cloned();
    volumes.chain(claims.take(OBJECTS_COUNT_MAX / 2)).collect()
}

/// Every end that some order has.
fn ends(scene: &Scene) -> BTreeSet<End> {
    let mut view = View::default();
    for class in scene.classes.values() {
        view.apply(ResourceKind::Classes.observed(&class.to_string()).unwrap());
    }
    let volumes = scene.volumes.values().map(|volume| (ResourceKind::Volumes, unbound(volume)));
    let claims = scene.claims.values().map(|claim| (ResourceKind::Claims, unbound(claim)));
    let objects: Vec<Observed> = volumes
        .chain(claims)
        .map(|(watched, object)| watched.observed(&object.to_string()).unwrap())
        .collect();
    let (mut ends, mut met) = (BTreeSet::new(), BTreeSet::new());
    follow(&view, &objects, 0, &mut met, &mut ends);
    ends
}

fn follow(
    view: &View,
    objects: &[Observed],
    arrived: u32,
    met: &mut BTreeSet<(u32, String)>,
    ends: &mut BTreeSet<End>,
) {
    let reserved: Vec<_> =
        view.volumes().map(|volume| format!("{:?}", volume.reservation)).collect();
    if !met.insert((arrived, format!("{:?} {reserved:?}", end_of(view)))) {
        return;
    }
    let mut is_last = true;
    for (place, object) in
        objects.iter().enumerate().filter(|(place, _)| arrived & (1 << place) == 0)
    {
        is_last = false;
        let mut next = view.clone();
        next.apply(object.clone());
        let order: Vec<ClaimKey> = next.claims().map(|claim| claim.key.clone()).collect();
        settle(&mut next, &order, ListedCollections::everything());
        follow(&next, objects, arrived | (1 << place), met, ends);
    }
    if is_last {
        ends.insert(end_of(view));
    }
}

fn end_of(view: &View) -> End {
    let volume_of = |claim: &bindery::model::Claim| claim.volume.as_ref().map(ToString::to_string);
    view.claims().map(|claim| (claim.key.to_string(), volume_of(claim))).collect()
}

/// The object as it was made: what binders write is taken off.
fn unbound(object: &Value) -> Value {
    let mut object = object.clone();
    let is_claim = object["kind"] == "PersistentVolumeClaim";
    let annotations = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let chosen = annotations.contains_key("pv.kubernetes.io/bound-by-controller");
    let kept = annotations.into_iter().filter(|(key, _)| {
        !key.starts_with("pv.kubernetes.io/") && !key.ends_with("/storage-provisioner")
    });
    object["metadata"]["annotations"] = kept.collect();
    object["status"] = serde_json::json!({"phase": "Pending"});
    if let Some(spec) = object["spec"].as_object_mut() {
        if is_claim && chosen {
            spec.remove("volumeName");
        }
        if chosen {
            spec.remove("claimRef");
        } else if let Some(reference) = spec.get_mut("claimRef").and_then(Value::as_object_mut) {
            reference.remove("uid");
            reference.remove("resourceVersion");
        }
    }
    object
}
