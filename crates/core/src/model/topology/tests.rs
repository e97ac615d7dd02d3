//! Which nodes an affinity admits, by the table of the API; and that an affinity that was widened
//! lost no node, for affinities and nodes at random.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::widening::{WiderLabel, stable_label};
use super::{Node, NodeAffinity, NodeExpression, NodeName, NodeTerm, NodeTermError};
use crate::model::TermError;

const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const ZONE: &str = "topology.kubernetes.io/zone";

fn node(name: &str, labels: &[(&str, &str)]) -> Node {
    Node { name: name.into(), labels: labels.iter().copied().collect() }
}

fn label(key: &str, operator: &str, values: &[&str]) -> NodeExpression {
    NodeExpression::new(key, operator, values).unwrap()
}

fn name(operator: &str, name: &str) -> NodeName {
    NodeName::new("metadata.name", operator, &[name]).unwrap()
}

fn term(expressions: &[NodeExpression]) -> NodeTerm {
    NodeTerm::new(expressions.to_vec(), Vec::new())
}

fn required(terms: &[NodeTerm]) -> NodeAffinity {
    NodeAffinity::Required(terms.to_vec())
}

/// An affinity of one term with one condition.
fn one(key: &str, operator: &str, values: &[&str]) -> NodeAffinity {
    required(&[term(&[label(key, operator, values)])])
}

#[test]
fn admits_by_the_table_of_the_api() {
    let here = node("n1", &[("zone", "a"), ("cores", "16"), ("rack", "r1")]);
    let zone_a = || label("zone", "In", &["a"]);
    let zone_b = || label("zone", "In", &["b"]);
    let cores = |operator, limit| one("cores", operator, &[limit]);
    for (affinity, admitted) in [
        (NodeAffinity::Unrestricted, true),
        (required(&[]), false),
        (required(&[NodeTerm::default()]), false),
        (required(&[NodeTerm::default(), term(&[zone_a()])]), true),
        (required(&[term(&[zone_b()]), term(&[zone_a()])]), true),
        (required(&[term(&[zone_b(), zone_a()])]), false),
        (one("zone", "NotIn", &["a", "b"]), false),
        (one("disk", "NotIn", &["a"]), true),
        (one("rack", "Exists", &[]), true),
        (one("rack", "DoesNotExist", &[]), false),
        (cores("Gt", "15"), true),
        (cores("Gt", "16"), false),
        (cores("Lt", "17"), true),
        (cores("Lt", "16"), false),
        (one("zone", "Gt", &["0"]), false),
        (one("zone", "Lt", &["9"]), false),
        (one("disks", "Lt", &["9"]), false),
        (required(&[NodeTerm::new(vec![], vec![name("In", "n1")])]), true),
        (required(&[NodeTerm::new(vec![], vec![name("In", "n2")])]), false),
        (required(&[NodeTerm::new(vec![], vec![name("NotIn", "n1")])]), false),
        (required(&[NodeTerm::new(vec![zone_a()], vec![name("NotIn", "n2")])]), true),
        (required(&[NodeTerm::new(vec![zone_a()], vec![name("In", "n2")])]), false),
    ] {
        assert_eq!(affinity.admits(&here), admitted, "{affinity}");
    }
}

#[test]
fn a_node_without_a_name_is_not_asked_for_it() {
    let affinity = required(&[NodeTerm::new(vec![], vec![name("In", "n1")])]);
    assert!(affinity.admits(&node("", &[])));
    assert!(!affinity.admits(&node("n2", &[])));
}

#[test]
fn rejects_the_parts_that_kubernetes_passes_over() {
    let not_one = |key: &str, operator: &str| NodeTermError::NotOneInteger {
        key: key.into(),
        operator: operator.into(),
    };
    for (operator, values, error) in [
        ("Gt", &["many"][..], not_one("cores", "Gt")),
        ("Lt", &[], not_one("cores", "Lt")),
        ("Gt", &["1", "2"], not_one("cores", "Gt")),
        ("Gt", &["9223372036854775808"], not_one("cores", "Gt")),
        ("Gt", &["-1"], TermError::InvalidValue { key: "cores".into(), value: "-1".into() }.into()),
        ("In", &[], TermError::NoValues { key: "cores".into(), operator: "In".into() }.into()),
    ] {
        assert_eq!(NodeExpression::new("cores", operator, values), Err(error));
    }
    assert_eq!(
        NodeExpression::new("a b", "Lt", &["1"]),
        Err(TermError::InvalidKey("a b".into()).into())
    );
    insta::assert_snapshot!(
        NodeExpression::new("cores", "gt", &["1"]).unwrap_err(),
        @r#""gt" is not an operator of the term on "cores"; use one of In, NotIn, Exists, DoesNotExist, Gt, Lt"#
    );
    assert_eq!(
        NodeName::new("spec.unschedulable", "In", &["true"]),
        Err(NodeTermError::UnknownField("spec.unschedulable".into()))
    );
    for (operator, values) in [("Exists", &[][..]), ("In", &[]), ("NotIn", &["a", "b"])] {
        assert_eq!(
            NodeName::new("metadata.name", operator, values),
            Err(NodeTermError::MisshapenField { operator: operator.into() })
        );
    }
}

#[test]
fn displays_as_kubectl_takes_labels() {
    let both = NodeTerm::new(
        vec![label("zone", "In", &["b", "a"]), label("cores", "Gt", &["8"])],
        vec![name("NotIn", "n9")],
    );
    for (affinity, text) in [
        (NodeAffinity::Unrestricted, "any node"),
        (required(&[]), "no node"),
        (required(&[NodeTerm::default()]), "no node"),
        (one("cores", "Lt", &["8"]), "cores<8"),
        (
            required(&[both, NodeTerm::new(vec![], vec![name("In", "n1")])]),
            "zone in (a,b),cores>8,metadata.name!=n9 or metadata.name=n1",
        ),
    ] {
        assert_eq!(affinity.to_string(), text);
    }
}

#[test]
fn widening_is_distinguished_from_every_other_change() {
    let zone = |values: &[&str]| label("zone", "In", values);
    let rack = || label("rack", "Exists", &[]);
    let named = |names: &[NodeName]| required(&[NodeTerm::new(vec![], names.to_vec())]);
    let a = || required(&[term(&[zone(&["a"])])]);
    for (old, new, widened) in [
        // To and from no restriction at all.
        (a(), NodeAffinity::Unrestricted, true),
        (NodeAffinity::Unrestricted, NodeAffinity::Unrestricted, true),
        (NodeAffinity::Unrestricted, a(), false),
        (NodeAffinity::Unrestricted, one("zone", "Exists", &[]), false),
        // Terms come and go.
        (a(), a(), true),
        (a(), required(&[term(&[rack()]), term(&[zone(&["a"])])]), true),
        (required(&[term(&[rack()]), term(&[zone(&["a"])])]), a(), false),
        (a(), required(&[]), false),
        (required(&[]), a(), true),
        (required(&[NodeTerm::default()]), a(), true),
        // Values and conditions come and go.
        (a(), one("zone", "In", &["b", "a"]), true),
        (one("zone", "In", &["b", "a"]), a(), false),
        (a(), one("zone", "In", &["b"]), false),
        (required(&[term(&[zone(&["a"]), rack()])]), a(), true),
        (a(), required(&[term(&[zone(&["a"]), rack()])]), false),
        (a(), required(&[NodeTerm::default()]), false),
        (a(), one("zone", "Exists", &[]), true),
        (one("zone", "Exists", &[]), a(), false),
        (one("zone", "NotIn", &["a", "b"]), one("zone", "NotIn", &["a"]), true),
        (one("zone", "NotIn", &["a"]), one("zone", "NotIn", &["a", "b"]), false),
        (one("cores", "Gt", &["8"]), one("cores", "Gt", &["4"]), true),
        (one("cores", "Gt", &["4"]), one("cores", "Gt", &["8"]), false),
        (one("cores", "Lt", &["4"]), one("cores", "Lt", &["8"]), true),
        (one("cores", "Lt", &["8"]), one("cores", "Lt", &["4"]), false),
        // From one operator to another.
        (a(), one("zone", "NotIn", &["b"]), true),
        (a(), one("zone", "NotIn", &["a", "b"]), false),
        (one("zone", "DoesNotExist", &[]), one("zone", "NotIn", &["a"]), true),
        (one("zone", "NotIn", &["a"]), one("zone", "Exists", &[]), false),
        (one("cores", "Gt", &["4"]), one("cores", "Exists", &[]), true),
        (one("cores", "Gt", &["4"]), one("cores", "Lt", &["8"]), false),
        (one("cores", "In", &["5"]), one("cores", "Gt", &["4"]), false),
        // Names.
        (named(&[name("In", "a")]), named(&[name("NotIn", "b")]), true),
        (named(&[name("In", "a")]), named(&[name("In", "b")]), false),
        (named(&[name("NotIn", "a")]), named(&[name("In", "b")]), false),
        (named(&[name("In", "a")]), one("zone", "Exists", &[]), false),
        // A beta label becomes the label that replaced it, and not back.
        (one(BETA_ZONE, "In", &["a"]), one(ZONE, "In", &["a"]), true),
        (one(BETA_ZONE, "In", &["a"]), one(ZONE, "In", &["b"]), false),
        (one(ZONE, "In", &["a"]), one(BETA_ZONE, "In", &["a"]), false),
        (one(BETA_ZONE, "In", &["a"]), one("topology.kubernetes.io/region", "In", &["a"]), false),
    ] {
        assert_eq!(old.widened_by(&new), widened, "from {old} to {new}");
    }
}

#[test]
fn a_label_that_spans_more_is_a_question_to_the_nodes() {
    const REGION: &str = "topology.kubernetes.io/region";
    const HOST: &str = "kubernetes.io/hostname";
    let wider = |lost: &str, remaining: &str| vec![(lost.to_owned(), remaining.to_owned())];
    let region = wider(
        "topology.kubernetes.io/zone in (a,b),topology.kubernetes.io/region!=r",
        "topology.kubernetes.io/zone in (a,b),topology.kubernetes.io/region=r",
    );
    let renamed = wider(
        "topology.gke.io/zone=a,topology.kubernetes.io/zone!=a",
        "topology.gke.io/zone=a,topology.kubernetes.io/zone=a",
    );
    let zone = wider(
        "kubernetes.io/hostname=n1,topology.kubernetes.io/zone!=a",
        "kubernetes.io/hostname=n1,topology.kubernetes.io/zone=a",
    );
    let old = one(ZONE, "In", &["a", "b"]);
    let both = required(&[term(&[label(ZONE, "In", &["a"]), label("rack", "Exists", &[])])]);
    for (old, new, expected) in [
        (&old, one(REGION, "In", &["r"]), Some(region)),
        (&one("topology.gke.io/zone", "In", &["a"]), one(ZONE, "In", &["a"]), Some(renamed)),
        (&one(HOST, "In", &["n1"]), one(ZONE, "In", &["a"]), Some(zone)),
        // What follows anyhow is no question.
        (&old, one(ZONE, "In", &["a", "b", "c"]), Some(Vec::new())),
        (&both, one(ZONE, "In", &["a"]), Some(Vec::new())),
        // Moved, narrowed, or another kind of label.
        (&old, one(ZONE, "In", &["c"]), None),
        (&one(REGION, "In", &["r"]), one(ZONE, "In", &["a"]), None),
        (&one(ZONE, "In", &["a"]), one(HOST, "In", &["n1"]), None),
        (&old, one("example.com/rack", "In", &["r"]), None),
        (&old, one(REGION, "Exists", &[]), None),
        (&one(ZONE, "Exists", &[]), one(REGION, "In", &["r"]), None),
        (&NodeAffinity::Unrestricted, one(REGION, "In", &["r"]), None),
        (
            &old,
            required(&[term(&[label(REGION, "In", &["r"]), label("rack", "Exists", &[])])]),
            None,
        ),
    ] {
        let wider = old.widened_if(&new).map(|wider| {
            let texts = |wider: &WiderLabel| (wider.lost.to_string(), wider.remaining.to_string());
            wider.iter().map(texts).collect::<Vec<_>>()
        });
        assert_eq!(wider, expected, "from {old} to {new}");
    }
}

#[test]
fn knows_the_labels_that_replaced_beta_labels() {
    for (beta, general) in [
        (BETA_ZONE, ZONE),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ] {
        assert_eq!(stable_label(beta), Some(general));
        assert_eq!(stable_label(general), None);
        assert!(one(beta, "In", &["x"]).widened_by(&one(general, "In", &["x"])));
    }
}

fn some_expression() -> impl Strategy<Value = NodeExpression> {
    let key = || select(vec![BETA_ZONE, ZONE, "rack"]);
    let value = || select(vec!["1", "2", "3", "a"]);
    let values = proptest::collection::vec(value(), 1..4);
    prop_oneof![
        (key(), select(vec!["In", "NotIn"]), values).prop_map(|(k, o, v)| label(k, o, &v)),
        (key(), select(vec!["Exists", "DoesNotExist"])).prop_map(|(k, o)| label(k, o, &[])),
        (key(), select(vec!["Gt", "Lt"]), select(vec!["0", "1", "2", "3"]))
            .prop_map(|(k, o, v)| label(k, o, &[v])),
    ]
}

fn some_term() -> impl Strategy<Value = NodeTerm> {
    let names = (select(vec!["In", "NotIn"]), select(vec!["n1", "n2"]))
        .prop_map(|(operator, value)| name(operator, value));
    (proptest::collection::vec(some_expression(), 0..3), proptest::collection::vec(names, 0..2))
        .prop_map(|(expressions, names)| NodeTerm::new(expressions, names))
}

fn some_affinity() -> impl Strategy<Value = NodeAffinity> {
    prop_oneof![
        1 => Just(NodeAffinity::Unrestricted),
        9 => proptest::collection::vec(some_term(), 0..3).prop_map(NodeAffinity::Required),
    ]
}

/// An affinity and what a person makes of it: one condition replaced or taken away.
fn some_change() -> impl Strategy<Value = (NodeAffinity, NodeAffinity)> {
    let terms = proptest::collection::vec(some_term(), 1..3);
    let edit = (any::<Index>(), any::<Index>(), proptest::option::of(some_expression()));
    (terms, edit).prop_map(|(old, (which, place, replacement))| {
        let mut new = old.clone();
        let changed = &mut new[which.index(old.len())];
        if !changed.expressions.is_empty() {
            let place = place.index(changed.expressions.len());
            changed.expressions.splice(place..=place, replacement);
        }
        (NodeAffinity::Required(old), NodeAffinity::Required(new))
    })
}

/// A node that carries beta and general label alike or not at all, as kubelets set them.
fn some_node() -> impl Strategy<Value = Node> {
    let value = || proptest::option::of(select(vec!["0", "1", "2", "3", "a", "b"]));
    (select(vec!["n1", "n2", "n3", ""]), value(), value()).prop_map(|(name, zone, rack)| {
        let zones = zone.into_iter().flat_map(|zone| [(BETA_ZONE, zone), (ZONE, zone)]);
        let labels = zones.chain(rack.map(|rack| ("rack", rack))).collect();
        Node { name: name.into(), labels }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2_000),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_widened_affinity_lost_no_node(
        (old, new) in prop_oneof![(some_affinity(), some_affinity()).boxed(), some_change().boxed()],
        nodes in proptest::collection::vec(some_node(), 24),
    ) {
        if old.widened_by(&new) {
            for node in &nodes {
                prop_assert!(!old.admits(node) || new.admits(node), "{old} to {new}: {node:?}");
            }
        }
    }

    #[test]
    fn every_affinity_widens_itself_and_grows_by_a_term(old in some_affinity(), more in some_term()) {
        prop_assert!(old.widened_by(&old));
        prop_assert!(old.widened_by(&NodeAffinity::Unrestricted));
        if let NodeAffinity::Required(terms) = &old {
            let grown = terms.iter().cloned().chain([more]).collect();
            prop_assert!(old.widened_by(&NodeAffinity::Required(grown)));
        }
    }
}
