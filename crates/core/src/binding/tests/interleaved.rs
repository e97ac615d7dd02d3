//! Two binders at once, each with a view of its own that lags, both of which die between any two writes,
//! while users delete and make claims.
//!
//! The API server is as small as it can be: it rejects a write that was decided on another version than
//! the stored one. The whole controller on a simulated API server is not here.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::world::{COUNT, Object, key, objects, volume_name};
use super::{claim, quantity, volume};
use crate::binding::{
    Evidence, ListedCollections, LiveReads, Next, Observed, View, Write, decide_claim,
    decide_volume,
};
use crate::model::{
    Claim, ClaimKey, ClaimPhase, ReclaimPolicy, Reservation, ResourceVersion, Stage, Uid, Volume,
    VolumeName, VolumePhase,
};

/// Far more than any order of these acts needs until nothing is left to do.
const ROUNDS_COUNT_MAX: usize = 400;

/// Something that happens.
#[derive(Clone, Debug)]
enum Act {
    /// A binder decides about one object and writes; it may die before the answer comes.
    Decide { who: usize, object: usize, dies: bool },
    /// The watch of a binder delivers some events.
    Observe { who: usize, count: usize },
    /// A user deletes a claim.
    Delete { claim: usize },
    /// A user makes a claim where there is none, and may name a volume.
    Create { claim: usize, names: Option<usize> },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        12 => (0..2_usize, 0..2 * COUNT, proptest::bool::weighted(0.2))
            .prop_map(|(who, object, dies)| Act::Decide { who, object, dies }),
        6 => (0..2_usize, 1..8_usize).prop_map(|(who, count)| Act::Observe { who, count }),
        1 => (0..COUNT).prop_map(|claim| Act::Delete { claim }),
        2 => (0..COUNT, proptest::option::weighted(0.3, 0..COUNT))
            .prop_map(|(claim, names)| Act::Create { claim, names }),
    ];
    proptest::collection::vec(act, 0..120)
}

fn volumes() -> impl Strategy<Value = Vec<Volume>> {
    let reservation = prop_oneof![
        3 => Just(Reservation::Free),
        1 => (0..COUNT).prop_map(|number| Reservation::Named(key(number))),
    ];
    let policy = proptest::sample::select(vec![ReclaimPolicy::Retain, ReclaimPolicy::Delete]);
    let size = proptest::sample::select(vec!["5Gi", "10Gi"]);
    let one = (reservation, policy, size).prop_map(|(reservation, policy, size)| Volume {
        reservation,
        policy,
        capacity: quantity(size),
        phase: VolumePhase::Pending,
        ..volume()
    });
    proptest::collection::vec(one, 1..=COUNT)
}

/// What is stored, and its watch events: the number of an event is the version of its object.
#[derive(Default)]
struct Server {
    stored: View,
    events: Vec<Observed>,
    uids: usize,
}

impl Server {
    fn put_volume(&mut self, mut volume: Volume) {
        volume.version = Some(self.version());
        self.notify(Observed::Volume(Arc::new(volume)));
    }

    fn put_claim(&mut self, mut claim: Claim) {
        claim.version = Some(self.version());
        self.notify(Observed::Claim(Arc::new(claim)));
    }

    fn version(&self) -> ResourceVersion {
        ResourceVersion::new((self.events.len() + 1).to_string())
    }

    fn notify(&mut self, observed: Observed) {
        self.stored.apply(observed.clone());
        self.events.push(observed);
    }

    fn create(&mut self, key: ClaimKey, names: Option<VolumeName>) {
        if self.stored.claim(&key).is_none() {
            self.uids += 1;
            let uid = Some(Uid::new(format!("uid-{}", self.uids)));
            let request = quantity("5Gi");
            self.put_claim(Claim { key, uid, request, volume: names, ..claim() });
        }
    }

    fn delete(&mut self, key: &ClaimKey) {
        if self.stored.claim(key).is_some() {
            self.notify(Observed::ClaimGone(key.clone()));
        }
    }

    /// The observation of what `write` stored; none if it came too late.
    fn write(&mut self, write: &Write) -> Option<Observed> {
        match write {
            Write::Reserve { volume: basis, .. }
            | Write::Unreserve { volume: basis, .. }
            | Write::Phase { volume: basis, .. }
            | Write::MigrateVolume { volume: basis, .. } => {
                let stored = self.stored.volume(&basis.name)?;
                if (&stored.uid, &stored.version) != (&basis.uid, &basis.version) {
                    return None;
                }
                self.stored.assume(write);
                let changed = Volume::clone(self.stored.volume(&basis.name)?);
                self.put_volume(changed);
            }
            Write::SetVolumeName { claim: basis, .. }
            | Write::Status { claim: basis, .. }
            | Write::SetClass { claim: basis, .. }
            | Write::SetProvisioner { claim: basis, .. }
            | Write::MigrateClaim { claim: basis, .. } => {
                let stored = self.stored.claim(&basis.name)?;
                if (&stored.uid, &stored.version) != (&basis.uid, &basis.version) {
                    return None;
                }
                self.stored.assume(write);
                let changed = Claim::clone(self.stored.claim(&basis.name)?);
                self.put_claim(changed);
            }
        }
        self.events.last().cloned()
    }
}

/// A binder: what it saw, and how many events its watch delivered.
#[derive(Default)]
struct Binder {
    view: View,
    seen: usize,
}

impl Binder {
    /// Takes in the next events; one that is older than the reply to an own write changes nothing.
    fn observe(&mut self, server: &Server, count: usize) {
        for event in server.events.iter().skip(self.seen).take(count) {
            self.seen += 1;
            if held_version(&self.view, event) < self.seen {
                self.view.apply(event.clone());
            }
        }
    }

    /// Decides about an object and writes. Whether something was written.
    fn decide(&mut self, server: &mut Server, object: &Object, dies: bool) -> bool {
        let mut live = LiveReads::default();
        let next = loop {
            let evidence = Evidence::new(&self.view, &live);
            let next = match object {
                Object::Volume(name) => decide_volume(&evidence, name).next,
                Object::Claim(key) => decide_claim(&evidence, key).next,
            };
            let Next::Read(reads) = next else { break next };
            live.answer_from(&server.stored, ListedCollections::everything(), &reads);
        };
        let Next::Write(write) = next else { return false };
        let stored = server.write(&write);
        match stored {
            // It is back with the lists of a fresh start.
            Some(_) if dies => {
                *self = Self { view: server.stored.clone(), seen: server.events.len() }
            }
            Some(stored) => self.view.apply(stored),
            None => self.observe(server, usize::MAX),
        }
        true
    }
}

/// The version of the object of `event` in a view; 0 if it is not there.
fn held_version(view: &View, event: &Observed) -> usize {
    let version = match event {
        Observed::Volume(volume) => view.volume(&volume.name).and_then(|held| held.version.clone()),
        Observed::Claim(claim) => view.claim(&claim.key).and_then(|held| held.version.clone()),
        Observed::ClaimGone(key) => view.claim(key).and_then(|held| held.version.clone()),
        Observed::VolumeGone(_)
        | Observed::Class(_)
        | Observed::ClassGone(_)
        | Observed::Pod(_)
        | Observed::PodGone(_)
        | Observed::Namespace(_)
        | Observed::NamespaceGone(_) => None,
    };
    version.map_or(0, |version| version.to_string().parse().unwrap())
}

/// States that may never be stored. `bound` holds every pair that was ever complete.
fn check(stored: &View, bound: &mut BTreeMap<Uid, VolumeName>) {
    let mut taken = BTreeMap::new();
    for claim in stored.claims().filter(|claim| claim.stage() == Stage::Completed) {
        let name = claim.volume.clone().unwrap();
        let other = taken.insert(name.clone(), claim.key.clone());
        assert_eq!(other, None, "{name} belongs to two claims, one is {}", claim.key);
        if claim.phase == ClaimPhase::Bound {
            bound.entry(claim.uid.clone().unwrap()).or_insert(name);
        }
    }
    for claim in stored.claims() {
        let uid = claim.uid.clone().unwrap();
        let Some(name) = bound.get(&uid) else { continue };
        let volume = stored.volume(name).unwrap();
        let held = Reservation::Held(claim.key.clone(), uid);
        assert_eq!((&volume.reservation, &volume.phase), (&held, &VolumePhase::Bound), "{claim:?}");
        assert_eq!((claim.volume.as_ref(), &claim.phase), (Some(name), &ClaimPhase::Bound));
    }
}

proptest! {
    /// However late and however interrupted: no volume gets two claims, no completed pair is undone, and
    /// in the end both have nothing left to do.
    #[test]
    fn two_binders_with_old_views_never_share_or_lose_a_volume(
        volumes in volumes(),
        named in proptest::collection::vec(proptest::option::weighted(0.3, 0..COUNT), 1..=COUNT),
        acts in acts(),
    ) {
        let mut server = Server::default();
        for (number, volume) in volumes.into_iter().enumerate() {
            server.put_volume(Volume { name: volume_name(number), ..volume });
        }
        for (number, names) in named.into_iter().enumerate() {
            server.create(key(number), names.map(volume_name));
        }
        let (mut binders, mut bound) = ([Binder::default(), Binder::default()], BTreeMap::new());
        for act in acts {
            match act {
                Act::Decide { who, object, dies } => {
                    let known = objects(&binders[who].view);
                    if let Some(object) = known.get(object) {
                        binders[who].decide(&mut server, object, dies);
                    }
                }
                Act::Observe { who, count } => binders[who].observe(&server, count),
                Act::Delete { claim } => server.delete(&key(claim)),
                Act::Create { claim, names } => server.create(key(claim), names.map(volume_name)),
            }
            check(&server.stored, &mut bound);
        }
        settle(&mut server, &mut binders, &mut bound);
    }
}

/// Both go on, in turn, until neither writes.
fn settle(server: &mut Server, binders: &mut [Binder; 2], bound: &mut BTreeMap<Uid, VolumeName>) {
    for _ in 0..ROUNDS_COUNT_MAX {
        let mut writes = 0;
        for binder in binders.iter_mut() {
            binder.observe(server, usize::MAX);
            for object in objects(&binder.view) {
                writes += usize::from(binder.decide(server, &object, false));
                check(&server.stored, bound);
            }
        }
        if writes == 0 {
            return;
        }
    }
    panic!("no end: {:?}", server.events.last());
}
