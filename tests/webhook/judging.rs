//! How a verdict comes about: what is read, what is decided without an answer, who is allowed.
//!
//! Here and not beside the code, as the scenes are read through `api`, which `rules` does not know.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use bindery::api::volume::Wanted;
use bindery::api::{claim, fixture, volume};
use bindery::binding::{Evidence, LiveReads, Observed, Read, ReadResult, View};
use bindery::model::{
    Annotations, Claim, ClaimKey, Deletion, Namespace, NodeAffinity, NodeExpression, NodeTerm,
    Selector, Term, Volume,
};
use bindery::rules::{
    Change, ChangedObject, ConfiguredExemption, Detail, Effect, Endpoint, Judgement, Mode,
    Override, Parameters, Part, Policy, Question, RULES, SpecChange, Transition, User, find, judge,
};

/// One bound pair and what is known of it.
struct Scene {
    view: View,
    live: LiveReads,
    volume: Volume,
    claim: Claim,
    policy: Policy,
}

const PAIR: &str = "pair pv-a db/data 10Gi RWO";

fn scene(line: &str) -> Scene {
    let items = fixture::parse(line).unwrap();
    let text = |prefix: &str| {
        let item = items.iter().find(|item| item.target.starts_with(prefix)).unwrap();
        fixture::with_uids(&item.object.to_string(), |_| Some("uid-1".to_owned()))
    };
    let mut claim = claim::claim(&text("pvc/"), "").unwrap();
    claim.uid = Some(bindery::model::Uid::new("uid-1"));
    let volume = volume::volume(&text("pv/"), Wanted::Both).unwrap().volume;
    let mut view = View::default();
    view.apply(Observed::Volume(Arc::new(volume.clone())));
    view.apply(Observed::Claim(Arc::new(claim.clone())));
    Scene { view, live: LiveReads::default(), volume, claim, policy: Policy::default() }
}

fn now() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().unwrap()
}

impl Scene {
    fn answer(mut self, answer: ReadResult<Claim>) -> Self {
        self.live.claims.insert(self.claim.key.clone(), answer);
        self
    }

    fn found(self) -> Self {
        let claim = Arc::new(self.claim.clone());
        self.answer(ReadResult::Found(claim))
    }

    fn without_claim(mut self) -> Self {
        self.view.apply(Observed::ClaimGone(self.claim.key.clone()));
        self
    }

    fn annotated(mut self, key: &str, value: &str) -> Self {
        self.volume.annotations.insert(key, value);
        self
    }

    fn delete(&self, endpoint: Endpoint) -> Judgement {
        let user = User { name: "jane".to_owned(), groups: Vec::new() };
        let change = Change {
            actor: self.policy.actor(&user),
            user,
            parameters: Parameters::default(),
            part: Part::Main,
            detail: Detail::default(),
            subject: ChangedObject::Volume(Transition::Delete(self.volume.clone())),
        };
        let question = Question { endpoint, change: &change, policy: &self.policy, now: now() };
        judge(RULES, question, &Evidence::new(&self.view, &self.live))
    }

    /// A user removes the binder's annotations off the claim.
    fn forget_binding(&self) -> Judgement {
        let user = User { name: "jane".to_owned(), groups: Vec::new() };
        let new = Claim { annotations: Annotations::default(), ..self.claim.clone() };
        let change = Change {
            actor: self.policy.actor(&user),
            user,
            parameters: Parameters::default(),
            part: Part::Main,
            detail: Detail::default(),
            subject: ChangedObject::Claim(Transition::Update { old: self.claim.clone(), new }),
        };
        let question = Question {
            endpoint: Endpoint::Advise,
            change: &change,
            policy: &self.policy,
            now: now(),
        };
        let rules = [find("forged-binder-annotations").unwrap()];
        judge(&rules, question, &Evidence::new(&self.view, &self.live))
    }

    fn effects(&self) -> Vec<Effect> {
        let judgement = self.delete(Endpoint::Guard);
        assert_eq!(judgement.reads, Vec::new(), "the verdict does not stand yet");
        judgement.verdict.rulings.into_iter().map(|ruling| ruling.effect).collect()
    }
}

/// `check` knows no more than the name of what a dump does not hold, and the cluster may show it later.
#[test]
fn a_deletion_by_name_alone_is_judged_by_what_is_stored() {
    let mut scene = scene("pair pv-a db/data 10Gi RWO policy=Delete");
    let named = Claim { uid: None, volume: None, ..scene.claim.clone() };
    let user = User { name: "jane".to_owned(), groups: Vec::new() };
    let change = Change {
        actor: scene.policy.actor(&user),
        user,
        parameters: Parameters::default(),
        part: Part::Main,
        detail: Detail::default(),
        subject: ChangedObject::Claim(Transition::Delete(named)),
    };
    let rules = [find("claim-delete-destroys-data").unwrap()];
    let mut found = |knows: bool| {
        if !knows {
            scene.view.apply(Observed::ClaimGone(scene.claim.key.clone()));
        }
        let question = Question {
            endpoint: Endpoint::Advise,
            change: &change,
            policy: &scene.policy,
            now: now(),
        };
        judge(&rules, question, &Evidence::new(&scene.view, &scene.live))
    };
    assert_eq!(found(true).verdict.rulings.len(), 1);
    assert_eq!(found(false).reads, vec![Read::Claim(ClaimKey::new("db", "data"))]);
}

#[test]
fn a_denial_that_rests_on_the_view_asks_for_a_live_read() {
    let judgement = scene(PAIR).delete(Endpoint::Guard);
    assert_eq!(judgement.reads, vec![Read::Claim(ClaimKey::new("db", "data"))]);
}

#[test]
fn a_confirmed_denial_stands() {
    assert_eq!(scene(PAIR).found().effects(), vec![Effect::Denied]);
}

#[test]
fn an_object_that_was_seen_carries_a_denial_when_the_read_fails() {
    assert_eq!(scene(PAIR).answer(ReadResult::Failed).effects(), vec![Effect::Denied]);
}

#[test]
fn an_unseen_object_carries_none_when_the_read_fails() {
    let scene = scene(PAIR).without_claim().answer(ReadResult::Failed);
    assert_eq!(scene.effects(), vec![Effect::Unconfirmed]);
    let warnings = scene.delete(Endpoint::Guard).verdict.warnings();
    assert_eq!(
        warnings,
        vec![
            "[bound-volume-delete] could not be checked, because the cluster could not be \
             read; check it yourself"
        ]
    );
}

#[test]
fn a_claim_that_is_gone_is_a_warning() {
    assert_eq!(scene(PAIR).answer(ReadResult::NotFound).effects(), vec![Effect::Warned]);
}

#[test]
fn another_uid_under_the_name_is_a_claim_that_is_gone() {
    let scene = scene(PAIR);
    let mut other = scene.claim.clone();
    other.uid = Some(bindery::model::Uid::new("uid-2"));
    assert_eq!(scene.answer(ReadResult::Found(Arc::new(other))).effects(), vec![Effect::Warned]);
}

#[test]
fn another_uid_in_the_view_proves_nothing() {
    let mut scene = scene(PAIR);
    let mut older = scene.claim.clone();
    older.uid = Some(bindery::model::Uid::new("uid-0"));
    scene.view.apply(Observed::Claim(Arc::new(older)));
    assert_eq!(scene.delete(Endpoint::Guard).reads, vec![Read::Claim(ClaimKey::new("db", "data"))]);
}

#[test]
fn other_modes_hold_in_the_namespaces_of_an_override() {
    let mut scene = scene(PAIR).found();
    let quiet = Term::equals("team", "qa").unwrap();
    scene.policy.overrides = vec![Override {
        namespaces: Selector::new(vec![quiet]),
        modes: [("bound-volume-delete".to_owned(), Mode::Warn)].into(),
    }];
    // Whose the volume is, was not seen yet.
    let open = scene.delete(Endpoint::Guard);
    assert_eq!(open.reads, vec![Read::Namespace("db".into())]);
    let mut with_labels = |labels: &[(&str, &str)]| {
        let labels = labels.iter().copied().collect();
        let namespace = Namespace { name: "db".into(), labels, deletion: Deletion::NotAsked };
        scene.live.namespaces.insert("db".into(), ReadResult::Found(Arc::new(namespace)));
        scene.effects()
    };
    assert_eq!(with_labels(&[("team", "qa")]), vec![Effect::Warned]);
    assert_eq!(with_labels(&[("team", "x")]), vec![Effect::Denied]);
    scene.live.namespaces.insert("db".into(), ReadResult::Failed);
    assert_eq!(scene.effects(), vec![Effect::Denied], "unseen, the mode is that of everybody");
}

#[test]
fn the_configuration_exempts_whom_it_names_until_its_time() {
    let effects = |change: &dyn Fn(&mut ConfiguredExemption)| {
        let mut scene = scene(PAIR).found();
        let mut exemption = ConfiguredExemption {
            rules: vec!["bound-volume-delete".to_owned()],
            namespaces: Vec::new(),
            users: Vec::new(),
            until: now() + SignedDuration::from_hours(1000),
            reason: "moving".to_owned(),
        };
        change(&mut exemption);
        scene.policy.exemptions = vec![exemption];
        scene.effects()
    };
    let is_exempted = |change: &dyn Fn(&mut ConfiguredExemption)| {
        matches!(effects(change).as_slice(), [Effect::Exempted(_)])
    };
    assert!(is_exempted(&|_| {}));
    assert!(is_exempted(&|one| one.namespaces = vec!["qa".to_owned(), "db".to_owned()]));
    assert!(is_exempted(&|one| one.users = vec!["jane".to_owned()]));
    assert!(!is_exempted(&|one| one.namespaces = vec!["qa".to_owned()]));
    assert!(!is_exempted(&|one| one.users = vec!["joe".to_owned()]));
    assert!(!is_exempted(&|one| one.rules = vec!["prebind-class".to_owned()]));
    assert!(!is_exempted(&|one| one.until = now()));
}

#[test]
fn an_exemption_lets_pass_until_its_time() {
    let exempted = |text: &str| {
        scene(PAIR).annotated("allow.bindery.dev/bound-volume-delete", text).found().effects()
    };
    let valid = exempted("2030-01-02T00:00:00Z moving house");
    assert!(matches!(valid.as_slice(), [Effect::Exempted(_)]), "{valid:?}");
    for worthless in [
        "2029-12-31T00:00:00Z too late",
        "2030-02-01T00:00:00Z too far ahead",
        "2030-01-02T00:00:00Z",
        "moving house",
        "",
    ] {
        assert_eq!(exempted(worthless), vec![Effect::Denied], "{worthless:?}");
    }
}

/// A claim's exemption stands on the volume that it names; the rule itself needs no volume.
#[test]
fn an_exemption_that_the_view_does_not_show_yet_is_read_for_a_claim() {
    let key = "allow.bindery.dev/forged-binder-annotations";
    let stale = scene(PAIR);
    let volume = stale.volume.name.clone();
    let judgement = stale.forget_binding();
    assert_eq!(judgement.reads, vec![Read::Volume(volume.clone())]);

    let fresh = scene(PAIR).annotated(key, "2030-01-02T00:00:00Z moving house").volume;
    for (answer, is_exempt) in [
        (ReadResult::Found(Arc::new(fresh)), true),
        (ReadResult::Found(Arc::new(stale.volume.clone())), false),
        (ReadResult::NotFound, false),
        (ReadResult::Failed, false),
    ] {
        let mut scene = scene(PAIR);
        scene.live.volumes.insert(volume.clone(), answer);
        let judgement = scene.forget_binding();
        assert_eq!(judgement.reads, Vec::new());
        assert_eq!(judgement.verdict.rulings.len(), 2, "bind-completed and bound-by-controller");
        for ruling in judgement.verdict.rulings {
            assert_eq!(matches!(ruling.effect, Effect::Exempted(_)), is_exempt, "{ruling:?}");
            assert_eq!(ruling.effect == Effect::Denied, !is_exempt, "{ruling:?}");
        }
    }
}

#[test]
fn protection_knows_no_exemption() {
    let rule = find("protection-finalizer").unwrap();
    assert_eq!(rule.options.exemption, bindery::rules::Exemptable::No);
}

#[test]
fn modes_decide_what_becomes_of_a_violation() {
    for (mode, effects) in [
        (Mode::Deny, vec![Effect::Denied]),
        (Mode::Warn, vec![Effect::Warned]),
        (Mode::Audit, vec![Effect::Audited]),
        (Mode::Off, vec![]),
    ] {
        let mut scene = scene(PAIR).found();
        scene.policy.modes.insert("bound-volume-delete".to_owned(), mode);
        assert_eq!(scene.effects(), effects, "{mode:?}");
    }
}

#[test]
fn advise_judges_by_guards_rules_exactly_what_guard_is_not_sent() {
    let mut scene = scene(PAIR).found();
    assert_eq!(scene.delete(Endpoint::Advise).verdict.rulings.len(), 0, "guard is sent it");
    scene.volume.phase = bindery::model::VolumePhase::Available;
    assert_eq!(scene.delete(Endpoint::Advise).verdict.rulings.len(), 1, "guard is not sent it");
}

#[test]
fn a_denial_shows_an_administrator_the_exemption() {
    let verdict = scene(PAIR).found().delete(Endpoint::Guard).verdict;
    assert_eq!(
        verdict.denial(),
        "[bound-volume-delete] PV \"pv-a\" is bound to PVC \"db/data\"; its deletion cannot be undone: \
         the PV would be deleted with the PVC, and its data left without a PV (policy Retain); to remove \
         both, delete the PVC, then retry\n\
         To override: kubectl annotate pv pv-a allow.bindery.dev/bound-volume-delete=\"<until> <reason>\", then retry"
    );
}

#[test]
fn a_worthless_exemption_is_warned_about_when_it_is_written() {
    let far = now() + SignedDuration::from_hours(169);
    let scene = scene(PAIR);
    let mut new = scene.volume.clone();
    new.annotations.insert("allow.bindery.dev/bound-volume-delete", &format!("{far} why not"));
    let user = User::default();
    let change = Change {
        actor: scene.policy.actor(&user),
        user,
        parameters: Parameters::default(),
        part: Part::Main,
        detail: Detail::default(),
        subject: ChangedObject::Volume(Transition::Update { old: scene.volume.clone(), new }),
    };
    let question =
        Question { endpoint: Endpoint::Guard, change: &change, policy: &scene.policy, now: now() };
    let verdict = judge(RULES, question, &Evidence::new(&scene.view, &scene.live)).verdict;
    assert_eq!(
        verdict.warnings(),
        vec![
            "annotation allow.bindery.dev/bound-volume-delete has no effect: its time is \
             more than 168 hours ahead"
        ]
    );
}

#[test]
fn of_many_annotations_that_exempt_from_nothing_some_are_named() {
    let user = User { name: "jane".to_owned(), groups: Vec::new() };
    let mut scene = scene(PAIR);
    for number in 0..1_000 {
        scene = scene.annotated(&format!("allow.bindery.dev/no-such-{number:04}"), "reason");
    }
    let change = Change {
        actor: scene.policy.actor(&user),
        user,
        parameters: Parameters::default(),
        part: Part::Main,
        detail: Detail::default(),
        subject: ChangedObject::Volume(Transition::Create(scene.volume.clone())),
    };
    let question =
        Question { endpoint: Endpoint::Advise, change: &change, policy: &scene.policy, now: now() };
    let judgement = judge(RULES, question, &Evidence::new(&scene.view, &scene.live));
    assert_eq!(judgement.verdict.exemption_warnings.len(), 16);
}

/// A region passes where nodes prove that it holds the zone; that they cannot be read proves nothing.
#[test]
fn a_wider_affinity_is_denied_where_the_nodes_cannot_be_read() {
    let within = |key: &str, value: &str| {
        let label = NodeExpression::new(key, "In", &[value]).unwrap();
        NodeAffinity::Required(vec![NodeTerm::new(vec![label], Vec::new())])
    };
    let mut scene = scene(PAIR).found();
    scene.volume.node_affinity = within("topology.kubernetes.io/zone", "r-1a");
    let user = User { name: "jane".to_owned(), groups: Vec::new() };
    let region = within("topology.kubernetes.io/region", "r-1");
    let new = Volume { node_affinity: region, ..scene.volume.clone() };
    let change = Change {
        actor: scene.policy.actor(&user),
        user,
        parameters: Parameters::default(),
        part: Part::Main,
        detail: Detail { spec: SpecChange::Other, ..Detail::default() },
        subject: ChangedObject::Volume(Transition::Update { old: scene.volume.clone(), new }),
    };
    let question =
        Question { endpoint: Endpoint::Guard, change: &change, policy: &scene.policy, now: now() };
    let rules = [find("bound-volume-node-affinity").unwrap()];
    let asked = judge(&rules, question, &Evidence::new(&scene.view, &scene.live));
    assert_eq!(asked.reads.len(), 2, "{:?}", asked.reads);
    scene.live.fail_all(&asked.reads);
    let unread = judge(&rules, question, &Evidence::new(&scene.view, &scene.live));
    let effects: Vec<Effect> =
        unread.verdict.rulings.into_iter().map(|ruling| ruling.effect).collect();
    assert_eq!((unread.reads, effects), (Vec::new(), vec![Effect::Denied]));
}
