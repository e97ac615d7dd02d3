//! Every order of steps, crashes and losses: API servers always meet a certificate that they trust.

use super::super::ca::KeyedPem;
use super::*;

const NAME: &str = "bindery.storage.svc";
const PROPAGATION: Duration = Duration::from_mins(1);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_900_000_000 + seconds).unwrap()
}

/// An installation: what is stored and registered, and what API servers and replicas know of it.
struct World {
    now: i64,
    stored: Stored,
    registered: Vec<String>,
    /// What was registered and served, and until when it may still be in use.
    trusted: Vec<(i64, String)>,
    served: Vec<(i64, String)>,
    /// Since when the leader has seen a state.
    published: Option<i64>,
    switched: Option<i64>,
    steps: Vec<RotationStep>,
    periods: Periods,
}

/// How late others learn of a change at most: a little less than the propagation time.
const LAG: i64 = 50;

impl World {
    fn new() -> Self {
        let periods = Periods {
            ca: SignedDuration::from_hours(90),
            leaf: SignedDuration::from_hours(9),
            propagation: PROPAGATION,
        };
        Self {
            now: 0,
            stored: Stored::default(),
            registered: vec![String::new(); 2],
            trusted: Vec::new(),
            served: Vec::new(),
            published: None,
            switched: None,
            steps: Vec::new(),
            periods,
        }
    }

    fn names() -> SubjectNames {
        SubjectNames { dns: vec![NAME.to_owned()], ip: Vec::new() }
    }

    /// Another leader takes over: it is unknown how long any state has lasted.
    fn crash(&mut self) {
        (self.published, self.switched) = (None, None);
    }

    /// Looks, and does the next step.
    fn step(&mut self) -> RotationStep {
        let now = at(self.now);
        let facts = facts(&self.stored, &self.registered, NAME, now);
        self.published = facts.is_published.then(|| self.published.unwrap_or(self.now));
        let is_switched = matches!(facts.leaf, LeafState::Current { .. });
        self.switched = is_switched.then(|| self.switched.unwrap_or(self.now));
        let age = |since: Option<i64>| {
            since.map(|since| Duration::from_secs(u64::try_from(self.now - since).unwrap()))
        };
        let ages = Ages { published: age(self.published), switched: age(self.switched) };
        let step = decide(facts, ages, self.periods.propagation);
        match step {
            RotationStep::CreateCa(_) => {
                let registered = self.registered.concat();
                let life = self.periods.ca;
                self.stored = self.stored.with_new_ca(("it", &registered), now, life).unwrap();
            }
            RotationStep::CreateLeaf(_) => {
                let made = self.stored.with_new_leaf(&Self::names(), now, self.periods.leaf);
                self.serve(made.unwrap().unwrap());
            }
            RotationStep::Publish => self.register(self.stored.trust()),
            RotationStep::Retire => self.stored = self.stored.without_former(),
            RotationStep::Wait(_) | RotationStep::Rest => {}
        }
        self.steps.push(step);
        step
    }

    fn serve(&mut self, next: Stored) {
        if let Some(former) = &self.stored.serving {
            self.served.push((self.now + LAG, former.certificate.clone()));
        }
        self.stored = next;
    }

    fn register(&mut self, trust: String) {
        for former in &self.registered {
            self.trusted.push((self.now + LAG, former.clone()));
        }
        self.registered = vec![trust; 2];
    }

    /// Every API server that may be asked meets a replica that it trusts, whatever either has learnt already.
    fn check(&mut self) {
        let now = self.now;
        self.trusted.retain(|(until, _)| *until > now);
        self.served.retain(|(until, _)| *until > now);
        let Some(serving) = &self.stored.serving else { return };
        let trusted = self.trusted.iter().map(|(_, trust)| trust).chain(&self.registered);
        let trusted: Vec<&String> = trusted.filter(|trust| !trust.is_empty()).collect();
        let served = self.served.iter().map(|(_, leaf)| leaf).chain([&serving.certificate]);
        for leaf in served {
            for trust in &trusted {
                let accepted = super::super::parse::is_accepted(leaf, trust, NAME, at(now));
                assert!(accepted, "at {now} s after {:?}", self.steps);
            }
        }
    }

    fn run(&mut self, seconds: i64, stride: usize) {
        let end = self.now + seconds;
        while self.now < end {
            let step = self.step();
            self.check();
            if matches!(step, RotationStep::Wait(_) | RotationStep::Rest) {
                self.now += i64::try_from(stride).unwrap();
            }
        }
    }

    fn is_at_rest(&mut self) -> bool {
        self.step() == RotationStep::Rest
    }
}

#[test]
fn a_first_installation_serves_at_once() {
    let mut world = World::new();
    let steps: Vec<RotationStep> = (0..4).map(|_| world.step()).collect();
    let expected = [
        RotationStep::CreateCa(RenewalReason::Missing),
        RotationStep::CreateLeaf(RenewalReason::Missing),
        RotationStep::Publish,
        RotationStep::Rest,
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_new_ca_is_trusted_before_it_signs_and_the_former_until_nothing_of_it_is_served() {
    let mut world = World::new();
    world.run(100, 10);
    world.stored.asked = Some(RenewalRequest::Ca);
    world.steps.clear();
    world.run(200, 10);
    world.steps.retain(|step| !matches!(step, RotationStep::Wait(_) | RotationStep::Rest));
    let expected = [
        RotationStep::CreateCa(RenewalReason::Requested),
        RotationStep::Publish,
        RotationStep::CreateLeaf(RenewalReason::Former),
        RotationStep::Retire,
        RotationStep::Publish,
    ];
    assert_eq!(world.steps, expected);
}

#[test]
fn a_requested_certificate_is_created() {
    let mut world = World::new();
    world.run(100, 10);
    world.stored.asked = Some(RenewalRequest::Leaf);
    assert_eq!(
        (world.step(), world.step()),
        (RotationStep::CreateLeaf(RenewalReason::Due), RotationStep::Rest)
    );
    world.check();
}

#[test]
fn everything_is_renewed_in_time_for_ever() {
    let mut world = World::new();
    // Ten CAs and a hundred leaves, looked after every quarter of an hour.
    world.run(600 * 3600, 900);
    let count =
        |wanted: fn(&RotationStep) -> bool| world.steps.iter().filter(|step| wanted(step)).count();
    let cas = count(|step| matches!(step, RotationStep::CreateCa(RenewalReason::Due)));
    let leaves = count(|step| matches!(step, RotationStep::CreateLeaf(RenewalReason::Due)));
    assert!((9..=11).contains(&cas), "{cas}");
    assert!((85..=110).contains(&leaves), "{leaves}");
}

#[test]
fn a_crash_after_any_step_is_recovered_from() {
    for crash in 0..40 {
        let mut world = World::new();
        world.run(100, 10);
        world.stored.asked = Some(RenewalRequest::Ca);
        for number in 0..200 {
            if number == crash {
                world.crash();
            }
            let step = world.step();
            world.check();
            if matches!(step, RotationStep::Wait(_) | RotationStep::Rest) {
                world.now += 10;
            }
        }
        assert!(world.is_at_rest() && world.stored.former.is_empty(), "crash at {crash}");
    }
}

#[test]
fn lost_certificates_are_created_again_without_an_untrusted_one() {
    // Replicas go on serving what they have; API servers what is registered.
    for lost in 0..3 {
        let mut world = World::new();
        world.run(100, 10);
        let serving = world.stored.serving.clone().unwrap();
        match lost {
            0 => world.stored.ca = None,
            1 => (world.stored.ca, world.stored.former) = (None, "nonsense".to_owned()),
            _ => {
                world.stored = Stored::default();
                world.served.push((i64::MAX, serving.certificate.clone()));
            }
        }
        for _ in 0..40 {
            let step = world.step();
            if lost == 2 && matches!(step, RotationStep::CreateLeaf(_)) {
                world.served.clear();
                world.served.push((world.now + LAG, serving.certificate.clone()));
            }
            world.check();
            if matches!(step, RotationStep::Wait(_) | RotationStep::Rest) {
                world.now += 10;
            }
        }
        assert!(world.is_at_rest(), "lost {lost}: {:?}", world.steps);
    }
}

#[test]
fn a_registration_that_was_wiped_is_filled_in_again() {
    let mut world = World::new();
    world.run(100, 10);
    world.registered = vec![String::new(); 2];
    assert_eq!((world.step(), world.step()), (RotationStep::Publish, RotationStep::Rest));
    // In the middle of a renewal the wait begins again.
    world.stored.asked = Some(RenewalRequest::Ca);
    while !matches!(world.step(), RotationStep::Wait(_)) {}
    world.now += 50;
    world.registered = vec![String::new(); 2];
    assert_eq!(world.step(), RotationStep::Publish);
    assert_eq!(world.step(), RotationStep::Wait(PROPAGATION));
}

#[test]
fn half_an_ca_is_none_and_a_leaf_of_another_name_is_none() {
    let mut world = World::new();
    world.run(100, 10);
    let whole = world.stored.clone();
    let broken = |ca: fn(&mut KeyedPem)| {
        let mut stored = whole.clone();
        stored.ca.as_mut().map(ca);
        facts(&stored, &world.registered, NAME, at(100)).ca
    };
    assert_eq!(broken(|_| {}), CaState::Good);
    assert_eq!(broken(|pair| pair.key = String::new()), CaState::Missing);
    assert_eq!(broken(|pair| pair.certificate.truncate(200)), CaState::Missing);
    let leaf = |name| facts(&whole, &world.registered, name, at(100)).leaf;
    assert_eq!(leaf(NAME), LeafState::Current { is_due: false });
    assert_eq!(leaf("other.storage.svc"), LeafState::Missing);
}
