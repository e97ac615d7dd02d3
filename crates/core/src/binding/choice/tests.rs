//! The choice against a plain search over all volumes, and its differences from Kubernetes one by one.

use proptest::prelude::*;

use super::*;
use crate::binding::Observed;
use crate::binding::tests::{claim, volume};
use crate::model::{
    AccessModes, Annotations, ClaimKey, ClassName, ClassRequest, Content, Deletion, Labels, Node,
    NodeAffinity, Quantity, Selector, Term, Uid, VolumeMode, VolumeName, VolumePhase,
};

const IMMEDIATE: FitCheck<'static> = FitCheck::Controller(BindingMode::Immediate);

fn view(volumes: &[Volume]) -> View {
    let mut view = View::default();
    for volume in volumes {
        view.apply(Observed::Volume(Arc::new(volume.clone())));
    }
    view
}

fn name(choice: &Choice) -> Option<&str> {
    match choice {
        Choice::Reserved(volume) | Choice::Free(volume) => Some(volume.name.as_str()),
        Choice::ReservedUnreachable(_) | Choice::NoMatch => None,
    }
}

/// Returns what Kubernetes finds, looking at one volume after the other, with ties settled as ours are and
/// reserved volumes looked for first.
fn searched(volumes: &[Volume], claim: &Claim, asker: FitCheck<'_>) -> Option<String> {
    let fitting = |wanted: Fit| {
        let fits = move |volume: &&Volume| fit(volume, claim, None, asker) == Ok(wanted);
        volumes.iter().filter(fits).min_by_key(|volume| {
            let by_name_only = !matches!(volume.reservation, Reservation::Held(..));
            let modes = volume.access_modes.clone();
            let rank = (modes.count(), modes, volume.capacity.clone(), volume.name.clone());
            (wanted == Fit::Reserved && by_name_only, rank)
        })
    };
    fitting(Fit::Reserved).or_else(|| fitting(Fit::Free)).map(|volume| volume.name.to_string())
}

fn modes() -> impl Strategy<Value = AccessModes> {
    let names = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
    proptest::sample::subsequence(names.to_vec(), 1..=3).prop_map(AccessModes::from_names)
}

fn size() -> impl Strategy<Value = Quantity> {
    let texts = ["0", "1Gi", "1073741824", "1.5Gi", "2Gi", "10Gi", "800E", "950E"];
    proptest::sample::select(texts.to_vec()).prop_map(|text| Quantity::parse(text).unwrap())
}

fn reservation() -> impl Strategy<Value = Reservation> {
    let (mine, other) = (ClaimKey::new("db", "data"), ClaimKey::new("db", "other"));
    prop_oneof![
        6 => Just(Reservation::Free),
        1 => Just(Reservation::Named(mine.clone())),
        1 => Just(Reservation::Held(mine.clone(), Uid::new("uid-1"))),
        1 => Just(Reservation::Held(mine, Uid::new("uid-of-old"))),
        1 => Just(Reservation::Named(other)),
    ]
}

fn class_field() -> impl Strategy<Value = Option<ClassName>> {
    prop_oneof![3 => Just(None), 2 => Just(Some(ClassName::new("fast")))]
}

fn volumes() -> impl Strategy<Value = Vec<Volume>> {
    let phase = prop_oneof![5 => Just(VolumePhase::Available), 1 => Just(VolumePhase::Released)];
    let deletion = prop_oneof![7 => Just(Deletion::NotAsked), 1 => Just(Deletion::Terminating)];
    let mode = prop_oneof![5 => Just(VolumeMode::Filesystem), 1 => Just(VolumeMode::Block)];
    let zone = proptest::option::of(Just(()));
    let one = (modes(), size(), reservation(), class_field(), phase, deletion, mode, zone);
    proptest::collection::vec(one, 0..24).prop_map(|facts| {
        let numbered = facts.into_iter().enumerate();
        let made = numbered.map(|(number, facts)| {
            let (access_modes, capacity, reservation, class_field, phase, deletion, mode, zone) =
                facts;
            Volume {
                name: VolumeName::new(format!("pv-{number:02}")),
                labels: zone.map(|()| ("zone", "a")).into_iter().collect::<Labels>(),
                access_modes,
                capacity,
                reservation,
                class_field,
                phase,
                deletion,
                mode,
                ..volume()
            }
        });
        made.collect()
    })
}

fn claims() -> impl Strategy<Value = Claim> {
    let selector =
        proptest::option::of(Just(Selector::new(vec![Term::equals("zone", "a").unwrap()])));
    let class = class_field().prop_map(|class| match class {
        None => ClassRequest::Unset,
        Some(name) => ClassRequest::Named(name),
    });
    let mode = prop_oneof![5 => Just(VolumeMode::Filesystem), 1 => Just(VolumeMode::Block)];
    (size(), modes(), mode, class, selector).prop_map(
        |(request, access_modes, mode, class_field, selector)| Claim {
            request,
            access_modes,
            mode,
            class_field,
            selector,
            ..claim()
        },
    )
}

proptest! {
    /// The index changes how a volume is found, never which one.
    #[test]
    fn the_choice_is_that_of_a_search_over_all_volumes(volumes in volumes(), claim in claims()) {
        let node = Node { name: "n1".into(), labels: Labels::default() };
        let delayed = FitCheck::Controller(BindingMode::WaitForFirstConsumer);
        for asker in [IMMEDIATE, delayed, FitCheck::Scheduler(&node)] {
            let choice = choose(&view(&volumes), &claim, asker);
            let expected = searched(&volumes, &claim, asker);
            prop_assert_eq!(name(&choice), expected.as_deref());
        }
    }

    /// A view that saw volumes come, change and go chooses as one that saw only what is left.
    #[test]
    fn what_was_observed_before_does_not_matter(
        before in volumes(),
        after in volumes(),
        claim in claims(),
    ) {
        let mut lived = view(&before);
        for volume in &before {
            lived.apply(Observed::VolumeGone(volume.name.clone()));
        }
        let mut changed = view(&before);
        for old in before.iter().skip(after.len()) {
            changed.apply(Observed::VolumeGone(old.name.clone()));
        }
        for volume in &after {
            lived.apply(Observed::Volume(Arc::new(volume.clone())));
            changed.apply(Observed::Volume(Arc::new(volume.clone())));
        }
        let fresh = choose(&view(&after), &claim, IMMEDIATE);
        prop_assert_eq!(&choose(&lived, &claim, IMMEDIATE), &fresh);
        prop_assert_eq!(&choose(&changed, &claim, IMMEDIATE), &fresh);
    }
}

fn sized(name: &str, modes: &[&str], size: &str) -> Volume {
    Volume {
        name: VolumeName::new(name),
        access_modes: AccessModes::from_names(modes.iter().copied()),
        capacity: Quantity::parse(size).unwrap(),
        ..volume()
    }
}

/// **Differs from Kubernetes**: ties are settled, by canonical order of the modes, size and name.
#[test]
fn fewest_modes_win_over_size_and_ties_are_settled() {
    let (once, read, many) = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany");
    let mut volumes = vec![
        sized("pv-exact", &[once, many], "10Gi"),
        sized("pv-read", &[once, read], "20Gi"),
        sized("pv-huge-b", &[once], "100Gi"),
        sized("pv-huge-a", &[once], "100Gi"),
        sized("pv-small", &[once], "9Gi"),
    ];
    for expected in ["pv-huge-a", "pv-huge-b", "pv-read", "pv-exact"] {
        let choice = choose(&view(&volumes), &claim(), IMMEDIATE);
        assert_eq!(name(&choice), Some(expected));
        volumes.retain(|volume| volume.name.as_str() != expected);
    }
    assert_eq!(choose(&view(&volumes), &claim(), IMMEDIATE), Choice::NoMatch);
}

/// **Differs from Kubernetes**: a volume that is reserved for the claim is found before a free one with
/// fewer modes; one that names the claim's uid before one that names the claim only.
#[test]
fn a_reserved_volume_wins_over_every_free_one() {
    let key = claim().key;
    let free = sized("pv-free", &["ReadWriteOnce"], "10Gi");
    let named = Volume {
        reservation: Reservation::Named(key.clone()),
        phase: VolumePhase::Released,
        ..sized("pv-named", &["ReadWriteOnce", "ReadWriteMany"], "10Gi")
    };
    let held = Volume {
        reservation: Reservation::Held(key, Uid::new("uid-1")),
        class_field: Some(ClassName::new("other")),
        ..sized("pv-x-held", &["ReadWriteOnce", "ReadWriteMany"], "20Gi")
    };
    let chosen = |volumes: &[Volume]| {
        let choice = choose(&view(volumes), &claim(), IMMEDIATE);
        name(&choice).map(str::to_owned)
    };
    assert_eq!(chosen(&[free.clone(), named.clone()]).as_deref(), Some("pv-named"));
    assert_eq!(chosen(&[free.clone(), named, held]).as_deref(), Some("pv-x-held"));
    let small = Volume {
        reservation: Reservation::Named(claim().key),
        ..sized("pv-small", &["ReadWriteOnce"], "1Gi")
    };
    assert_eq!(chosen(&[small, free]).as_deref(), Some("pv-free"));
}

/// Kubernetes: `pkg/volume/util`, `FindMatchingVolume`: the scheduler does not look past it.
#[test]
fn a_reserved_volume_out_of_reach_of_the_node_rules_out_the_others() {
    let node = Node { name: "n1".into(), labels: Labels::default() };
    let reserved = Volume {
        reservation: Reservation::Named(claim().key),
        node_affinity: NodeAffinity::Required(Vec::new()),
        annotations: Annotations::default(),
        ..sized("pv-reserved", &["ReadWriteOnce"], "10Gi")
    };
    let volumes = [reserved.clone(), sized("pv-free", &["ReadWriteOnce"], "10Gi")];
    let choice = choose(&view(&volumes), &claim(), FitCheck::Scheduler(&node));
    assert_eq!(choice, Choice::ReservedUnreachable(Arc::new(reserved)));
}

#[test]
fn a_delayed_claim_is_given_only_what_is_reserved_for_it() {
    let delayed = FitCheck::Controller(BindingMode::WaitForFirstConsumer);
    let free = sized("pv-free", &["ReadWriteOnce"], "10Gi");
    assert_eq!(choose(&view(std::slice::from_ref(&free)), &claim(), delayed), Choice::NoMatch);
    let reserved = Volume { reservation: Reservation::Named(claim().key), ..free };
    let choice = choose(&view(std::slice::from_ref(&reserved)), &claim(), delayed);
    assert_eq!(choice, Choice::Reserved(Arc::new(reserved)));
}

#[test]
fn a_claim_with_a_data_source_is_given_only_a_volume_that_names_it() {
    let copy = Claim { content: Content::Copied, ..claim() };
    let reserved = Volume { reservation: Reservation::Named(copy.key.clone()), ..volume() };
    assert_eq!(choose(&view(&[volume()]), &claim(), IMMEDIATE), Choice::Free(volume().into()));
    assert_eq!(choose(&view(&[volume()]), &copy, IMMEDIATE), Choice::NoMatch);
    assert_eq!(
        choose(&view(std::slice::from_ref(&reserved)), &copy, IMMEDIATE),
        Choice::Reserved(reserved.into())
    );
    let mismatches = fit(&volume(), &copy, None, IMMEDIATE).unwrap_err();
    assert_eq!(mismatches.iter().collect::<Vec<_>>(), [&Mismatch::DataSource]);
}
