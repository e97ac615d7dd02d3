//! Each fault alone, at the rate of every occasion, as kube's client meets it; then all together.

use std::collections::BTreeMap;
use std::time::Duration;

use bindery_sim::faults::{Fault, Faults, FaultyTransport};
use bindery_sim::{ApiServer, ClusterState};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::timeout;

const VOLUMES: &str = "/api/v1/persistentvolumes";
const ALWAYS: u16 = 1000;

/// A server, a client without faults and one with them.
struct World {
    server: ApiServer,
    well: Api<PersistentVolume>,
    faulty: FaultyTransport,
    client: Client,
    ill: Api<PersistentVolume>,
}

impl World {
    fn new(faults: Faults) -> Self {
        let server =
            ApiServer::new(ClusterState::new(3, "2026-11-21T05:00:00Z".parse().expect("a time")));
        let faulty = FaultyTransport::new(server.clone(), faults, 11);
        let client = Client::new(faulty.clone(), "default");
        let well = Api::all(Client::new(server.clone(), "default"));
        Self { server, well, ill: Api::all(client.clone()), client, faulty }
    }

    /// One fault, always.
    fn with(fault: Fault) -> Self {
        Self::new(Faults::none().with(fault, ALWAYS))
    }

    async fn create(&self, name: &str) -> PersistentVolume {
        self.well.create(&PostParams::default(), &volume(name)).await.expect("created")
    }

    async fn label(api: &Api<PersistentVolume>, name: &str, metadata: Value) -> kube::Result<()> {
        let patch = Patch::Merge(json!({"metadata": metadata}));
        api.patch(name, &PatchParams::default(), &patch).await.map(drop)
    }

    async fn is_labelled(&self, name: &str) -> bool {
        self.well.get(name).await.expect("there").labels().contains_key("mine")
    }

    fn met(&self, fault: Fault) -> u64 {
        self.faulty.tally().get(&fault).copied().unwrap_or_default()
    }

    /// A watch of all volumes through the faulty client, from the newest version.
    async fn watch(&self) -> Lines {
        let version = self.server.with(|cluster| cluster.version());
        self.watch_from(&version.to_string()).await
    }

    async fn watch_from(&self, version: &str) -> Lines {
        let target = format!("{VOLUMES}?watch=true&resourceVersion={version}");
        let request = http::Request::get(target).body(Body::empty()).expect("a request");
        let reply = self.client.send(request).await.expect("an answer");
        Lines { body: reply.into_body(), rest: Vec::new() }
    }
}

/// What comes of a watch.
struct Lines {
    body: Body,
    rest: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Event(String),
    /// The watch ended, after so many bytes of an unfinished line.
    End(usize),
    Broken,
    /// Nothing for an hour.
    Silence,
}

impl Lines {
    async fn next(&mut self) -> Reply {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).expect("JSON");
                let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let object = &event["object"];
                let code = object["code"].to_string();
                let name = object["metadata"]["name"].as_str().unwrap_or(&code);
                return Reply::Event(format!("{} {name}", word(&event["type"])));
            }
            match timeout(Duration::from_hours(1), self.body.frame()).await {
                Err(_) => return Reply::Silence,
                Ok(None) => return Reply::End(self.rest.len()),
                Ok(Some(Err(_))) => return Reply::Broken,
                Ok(Some(Ok(frame))) => self.rest.extend(frame.into_data().expect("data")),
            }
        }
    }
}

fn volume(name: &str) -> PersistentVolume {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                 "nfs": {"server": "a", "path": "/"}},
    }))
    .expect("a volume")
}

fn event(text: &str) -> Reply {
    Reply::Event(text.to_owned())
}

fn code(result: kube::Result<()>) -> u16 {
    let error = result.expect_err("rejected");
    let kube::Error::Api(status) = error else { panic!("no answer: {error}") };
    status.code
}

#[tokio::test(start_paused = true)]
async fn a_conflict_comes_from_another_write() {
    let world = World::with(Fault::Conflict);
    let version = world.create("a").await.resource_version();
    let stale = json!({"resourceVersion": version, "labels": {"mine": "1"}});
    assert_eq!(code(World::label(&world.ill, "a", stale).await), 409);
    let read = world.ill.get("a").await.expect("there");
    assert!(read.annotations().contains_key("example.com/touched"));
    assert_ne!(read.resource_version(), version);
    let blind = json!({"labels": {"mine": "1"}});
    World::label(&world.ill, "a", blind).await.expect("it names no version");
    let stale = json!({"resourceVersion": "1", "labels": {"mine": "1"}});
    assert_eq!(code(World::label(&world.ill, "none", stale).await), 404);
    assert_eq!(world.met(Fault::Conflict), 1);
}

#[tokio::test(start_paused = true)]
async fn rejections_leave_no_trace() {
    for (fault, expected) in
        [(Fault::TooManyRequests, 429), (Fault::InternalError, 500), (Fault::Unavailable, 503)]
    {
        let world = World::with(fault);
        world.create("a").await;
        let label = json!({"labels": {"mine": "1"}});
        assert_eq!(code(World::label(&world.ill, "a", label).await), expected);
        assert!(!world.is_labelled("a").await);
        let request = http::Request::get(VOLUMES).body(Body::empty()).expect("a request");
        let reply = world.client.send(request).await.expect("an answer");
        let after = reply.headers().get("retry-after").and_then(|value| value.to_str().ok());
        assert_eq!(after, (expected == 429).then_some("1"));
        assert_eq!(world.met(fault), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_write_landed_or_not_or_lands_later() {
    let hours = Duration::from_hours(1);
    for (fault, at_once, later) in [
        (Fault::LostRequest, false, false),
        (Fault::LostReply, true, true),
        (Fault::LateWrite, false, true),
    ] {
        let world = World::with(fault);
        world.create("a").await;
        let before = tokio::time::Instant::now();
        let label = json!({"labels": {"mine": "1"}});
        let error = World::label(&world.ill, "a", label).await.expect_err("no answer");
        assert!(!matches!(error, kube::Error::Api(_)), "{error}");
        assert!(before.elapsed() >= Faults::none().patience, "{fault:?}");
        assert_eq!(world.is_labelled("a").await, at_once, "{fault:?}");
        tokio::time::sleep(hours).await;
        assert_eq!(world.is_labelled("a").await, later, "{fault:?}");
        assert_eq!(world.met(fault), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_stops_both_directions_and_heals() {
    let world = World::new(Faults::none());
    let mut lines = world.watch().await;
    world.faulty.set(Faults::none().with(Fault::Partition, ALWAYS));
    world.ill.list(&ListParams::default()).await.expect_err("cut off");
    world.faulty.set(Faults::none());
    world.faulty.cut_off(true);
    world.create("a").await;
    assert_eq!(lines.next().await, Reply::Silence);
    world.ill.delete("a", &DeleteParams::default()).await.expect_err("cut off");
    world.faulty.cut_off(false);
    assert_eq!(lines.next().await, event("ADDED a"));
    assert!(world.ill.get("a").await.expect("there").metadata.deletion_timestamp.is_none());
    assert_eq!(world.met(Fault::Partition), 1);
}

#[tokio::test(start_paused = true)]
async fn a_partition_ends_by_itself() {
    let world = World::with(Fault::Partition);
    world.ill.get("a").await.expect_err("cut off");
    tokio::time::sleep(Faults::none().longest_partition).await;
    world.create("a").await;
    world.faulty.set(Faults::none());
    world.ill.get("a").await.expect("back");
}

#[tokio::test(start_paused = true)]
async fn only_reads_that_allow_it_are_stale() {
    let mut faults = Faults::none().with(Fault::StaleRead, ALWAYS);
    faults.most_versions_behind = 1;
    let world = World::new(faults);
    let first = world.create("a").await.resource_version().expect("a version");
    let newest = world.create("b").await.resource_version().expect("a version");
    let names = |list: kube::api::ObjectList<PersistentVolume>| {
        list.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    let any = ListParams::default().match_any();
    let stale = world.ill.list(&any).await.expect("a list");
    assert_eq!(stale.metadata.resource_version.as_ref(), Some(&first));
    assert_eq!(names(stale), ["a"]);
    assert_eq!(names(world.ill.list(&ListParams::default()).await.expect("a list")), ["a", "b"]);
    let enough = ListParams::default().at(&newest).matching(kube::api::VersionMatch::NotOlderThan);
    assert_eq!(names(world.ill.list(&enough).await.expect("a list")), ["a", "b"]);
    world.ill.get("b").await.expect("a read without a version is never stale");
    let mut lines = world.watch_from("0").await;
    assert_eq!(lines.next().await, event("ADDED a"));
    assert_eq!(lines.next().await, event("ADDED b"));
    assert_eq!(world.met(Fault::StaleRead), 3);
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_before_a_compaction_gets_410() {
    let world = World::with(Fault::Compaction);
    let first = world.create("a").await.resource_version().expect("a version");
    world.create("b").await;
    let mut lines = world.watch_from(&first).await;
    assert_eq!(lines.next().await, event("ERROR 410"));
    assert_eq!(world.met(Fault::Compaction), 1);
}

#[tokio::test(start_paused = true)]
async fn events_come_late_or_twice_but_in_order() {
    let world = World::with(Fault::DelayedEvent);
    let mut lines = world.watch().await;
    let before = tokio::time::Instant::now();
    for name in ["a", "b"] {
        world.create(name).await;
    }
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(lines.next().await, event("ADDED a"));
    assert!(before.elapsed() > Duration::ZERO);
    assert_eq!(lines.next().await, event("ADDED b"));

    let world = World::with(Fault::DuplicatedEvent);
    let mut lines = world.watch().await;
    world.create("a").await;
    assert_eq!(lines.next().await, event("ADDED a"));
    assert_eq!(lines.next().await, event("ADDED a"));
    assert_eq!(world.met(Fault::DuplicatedEvent), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unseen_object_stays_unseen_until_the_next_list() {
    let world = World::with(Fault::LostEvent);
    let mut lines = world.watch().await;
    world.create("a").await;
    assert_eq!(lines.next().await, Reply::Silence);
    world.faulty.set(Faults::none());
    let seen = world.create("b").await.resource_version().expect("a version");
    World::label(&world.well, "a", json!({"labels": {"mine": "1"}})).await.expect("patched");
    // Neither what happens to it later nor another watch shows it.
    assert_eq!(lines.next().await, event("ADDED b"));
    assert_eq!(lines.next().await, Reply::Silence);
    let mut again = world.watch_from(&seen).await;
    assert_eq!(again.next().await, Reply::Silence);
    world.ill.list(&ListParams::default()).await.expect("a list");
    World::label(&world.well, "a", json!({"labels": {"mine": "2"}})).await.expect("patched");
    assert_eq!(again.next().await, event("MODIFIED a"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_cut_in_every_manner() {
    let world = World::with(Fault::CutStream);
    let mut ends = Vec::new();
    for number in 0..30 {
        let mut lines = world.watch().await;
        world.create(&format!("pv-{number}")).await;
        ends.push(lines.next().await);
    }
    assert!(ends.contains(&Reply::End(0)) && ends.contains(&Reply::Broken), "{ends:?}");
    assert!(ends.iter().any(|end| matches!(end, Reply::End(1..))), "{ends:?}");
    assert_eq!(world.met(Fault::CutStream), 30);
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_breaks_when_the_faults_end() {
    let world = World::with(Fault::SilentStream);
    let mut lines = world.watch().await;
    world.create("a").await;
    world.create("b").await;
    assert_eq!(lines.next().await, Reply::Silence);
    world.faulty.set(Faults::none());
    assert_eq!(lines.next().await, Reply::Broken);
}

/// The event that it falls silent with is late, and the faults end in between.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_about_to_fall_silent_breaks_as_well() {
    let world = World::with(Fault::SilentStream);
    world
        .faulty
        .set(Faults::none().with(Fault::SilentStream, ALWAYS).with(Fault::DelayedEvent, ALWAYS));
    let mut lines = world.watch().await;
    world.create("a").await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    world.faulty.set(Faults::none());
    assert_eq!(lines.next().await, Reply::Broken);
}

/// Writes, lists and watches for a while under all faults of a seed.
async fn work(seed: u64) -> (BTreeMap<Fault, u64>, u64) {
    let world = World::new(Faults::none());
    world.faulty.set(Faults::all(seed));
    for number in 0..40 {
        let name = format!("pv-{}", number % 8);
        let any = ListParams::default().match_any();
        drop(world.ill.create(&PostParams::default(), &volume(&name)).await);
        let request = format!("{VOLUMES}?watch=true&resourceVersion=0");
        let request = http::Request::get(request).body(Body::empty()).expect("a request");
        if let Ok(reply) = world.client.send(request).await
            && reply.status().is_success()
        {
            let mut lines = Lines { body: reply.into_body(), rest: Vec::new() };
            for touch in 0..6 {
                let label = json!({"labels": {"mine": format!("{number}-{touch}")}});
                drop(World::label(&world.well, &name, label).await);
                drop(timeout(Duration::from_secs(9), lines.next()).await);
            }
        }
        if let Ok(list) = world.ill.list(&any).await
            && let Some(found) = list.items.first()
        {
            let label =
                json!({"resourceVersion": found.resource_version(), "labels": {"mine": "1"}});
            drop(World::label(&world.ill, &found.name_any(), label).await);
        }
    }
    world.faulty.set(Faults::none());
    let list = world.ill.list(&ListParams::default()).await.expect("calm again");
    assert!(!list.items.is_empty());
    (world.faulty.tally(), world.server.with(|cluster| cluster.version()))
}

#[tokio::test(start_paused = true)]
async fn a_seed_repeats_and_every_fault_occurs() {
    assert_eq!(work(1).await, work(1).await);
    let mut met = BTreeMap::new();
    for seed in 0..12 {
        for (fault, count) in work(seed).await.0 {
            *met.entry(fault).or_insert(0) += count;
        }
    }
    let missing: Vec<Fault> =
        Fault::ALL.into_iter().filter(|fault| !met.contains_key(fault)).collect();
    assert!(missing.is_empty(), "{missing:?} never occur: {met:?}");
}
