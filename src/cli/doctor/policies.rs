//! Whether the ValidatingAdmissionPolicies and MutatingAdmissionPolicies are those of this version and configuration, where
//! there are any.
//!
//! Unless the command says that an installation has them: where there is none at all, none is missed. Those that mutate are
//! missed only where there is one of them. Those of the chart have the name of the installation, those of
//! `bindery generate policies` that of the program.

use serde_json::{Value, json};

use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use crate::api::admission_policy::{
    AdmissionPolicy, COMPONENT, admission_policies, mutating_policies,
};
use crate::api::policy_parameters::volume_policies;
use crate::api::registration::NAME;
use crate::cli::exit::Failure;
use crate::rules::Policy;

const CHECK: &str = "policies";

/// A label of every object of the chart.
const OF_CHART: &str = "helm.sh/chart";

/// What follows the name of any installation in the names of its policies.
const GROUPS: [&str; 4] = ["guard-", "advise-", "volumes-", "mutate-"];

/// A kind of admission policy.
struct PolicyKind {
    kind: &'static str,
    collection: &'static str,
    bindings: &'static str,
    /// What follows the name of the installation in that of a policy.
    groups: &'static [&'static str],
    /// What of a policy is compared: what is not set there, the API server fills in.
    parts: &'static [&'static str],
    /// Whether an installation with policies has to have them.
    is_missed: bool,
    /// Those that an installation of this name has to have, and their bindings.
    expected: Expected,
}

/// The policies and bindings that an installation has to have, by decisions, its controller's account, its name and what is
/// there.
type Expected = fn(&Policy, &str, &str, &FoundPolicies) -> Vec<(Value, Value)>;

const VALIDATING: PolicyKind = PolicyKind {
    kind: "ValidatingAdmissionPolicy",
    collection: "validatingadmissionpolicies",
    bindings: "validatingadmissionpolicybindings",
    groups: &["-guard-", "-advise-", "-volumes-guard-", "-volumes-advise-"],
    parts: &[
        "/spec/failurePolicy",
        "/spec/matchConditions",
        "/spec/matchConstraints/resourceRules",
        "/spec/paramKind",
        "/spec/variables",
        "/spec/validations",
    ],
    is_missed: true,
    expected,
};

const MUTATING: PolicyKind = PolicyKind {
    kind: "MutatingAdmissionPolicy",
    collection: "mutatingadmissionpolicies",
    bindings: "mutatingadmissionpolicybindings",
    groups: &["-mutate-"],
    parts: &[
        "/spec/failurePolicy",
        "/spec/matchConditions",
        "/spec/matchConstraints/resourceRules",
        "/spec/variables",
        "/spec/mutations",
        "/spec/reinvocationPolicy",
    ],
    is_missed: false,
    expected: expected_mutating,
};

/// What of a binding is compared.
const BINDING_PARTS: [&str; 4] =
    ["/spec/policyName", "/spec/validationActions", "/spec/matchResources", "/spec/paramRef"];

/// Selectors by which an edited policy can leave objects out. The chart sets none.
const SELECTORS: [&str; 3] = [
    "/spec/matchConstraints/namespaceSelector",
    "/spec/matchConstraints/objectSelector",
    "/spec/matchConstraints/excludeResourceRules",
];

/// The policies of a kind that the cluster has, and their bindings.
struct FoundPolicies {
    policies: Vec<Value>,
    bindings: Vec<Value>,
}

impl FoundPolicies {
    /// Those of rules and mutations; nothing if they may not be listed.
    fn list(subject: &InspectedInstallation, kind: &PolicyKind) -> Result<Option<Self>, Failure> {
        let lists = [list(subject, kind.collection)?, list(subject, kind.bindings)?];
        let [Some(policies), Some(bindings)] = lists else { return Ok(None) };
        Ok(Some(Self { policies, bindings }))
    }

    /// The name in those that are compared: that of the installation, or of the program where they were generated; nothing
    /// where there are none and none has to be.
    fn name<'a>(
        &self,
        kind: &PolicyKind,
        installation: &'a str,
        is_wanted: bool,
    ) -> Option<&'a str> {
        let all = || self.policies.iter().chain(&self.bindings);
        if is_wanted || all().any(|one| is_of(one, kind, installation)) {
            return Some(installation);
        }
        // Those of a chart of that name are another installation's.
        let is_generated = |one: &&Value| one["metadata"]["labels"].get(OF_CHART).is_none();
        all().filter(is_generated).any(|one| is_of(one, kind, NAME)).then_some(NAME)
    }
}

/// The findings; none where no policy is there and none has to be.
pub(super) fn findings(subject: &InspectedInstallation) -> Result<Vec<CheckResult>, Failure> {
    let mut findings = Vec::new();
    let mut differing = Vec::new();
    let mut is_compared = false;
    for kind in [&VALIDATING, &MUTATING] {
        let Some(found) = FoundPolicies::list(subject, kind)? else {
            let text = format!("you may not list {} and their bindings", kind.collection);
            findings.push(CheckResult::unknown(CHECK, text));
            continue;
        };
        let is_wanted = subject.policies.is_some() && kind.is_missed;
        let Some(name) = found.name(kind, subject.installation.name(), is_wanted) else { continue };
        let Some(configuration) = subject.configuration()? else {
            let text =
                "what the policies have to be is not known, as the configuration cannot be read";
            findings.push(CheckResult::unknown(CHECK, text));
            break;
        };
        let wanted = (kind.expected)(
            &configuration.policy,
            configuration.controller_beside_policies(),
            name,
            &found,
        );
        differing.extend(differences(kind, name, &wanted, &found));
        is_compared = true;
    }
    findings.extend(is_compared.then(|| result(&differing)));
    Ok(findings)
}

/// The policies of an installation and their bindings. Those that have PVs as parameters are wanted where there is one of
/// them.
fn expected(
    decisions: &Policy,
    own_controller: &str,
    installation: &str,
    found: &FoundPolicies,
) -> Vec<(Value, Value)> {
    let made = admission_policies(decisions, own_controller).into_iter();
    let mut made: Vec<AdmissionPolicy> =
        made.map(|one| one.of_installation(installation)).collect();
    let with_volumes = volume_policies(decisions, own_controller);
    let is_there = |one: &AdmissionPolicy| {
        let mut found = found.policies.iter().chain(&found.bindings);
        found.any(|found| found["metadata"]["name"] == one.binding.spec.policy_name.as_str())
    };
    if with_volumes.iter().any(is_there) {
        made.extend(with_volumes);
    }
    made.iter().map(|one| (json!(one.policy), json!(one.binding))).collect()
}

/// The policies of an installation that mutate, and their bindings.
fn expected_mutating(
    decisions: &Policy,
    own_controller: &str,
    installation: &str,
    _: &FoundPolicies,
) -> Vec<(Value, Value)> {
    let made = mutating_policies(decisions, own_controller).into_iter();
    let made = made.map(|one| one.of_installation(installation));
    made.map(|one| (json!(one.policy), json!(one.binding))).collect()
}

/// Returns whether the name of a policy or a binding is one of this installation.
fn is_of(object: &Value, kind: &PolicyKind, installation: &str) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let Some(rest) = name.strip_prefix(installation) else { return false };
    // `bindery-guard` may be an installation too.
    let is_own = |rest: &str| !GROUPS.iter().any(|group| rest.starts_with(group));
    kind.groups.iter().any(|group| rest.strip_prefix(group).is_some_and(is_own))
}

/// Returns whether a policy or a binding has PVs as parameters: those are generated, and never the chart's.
fn has_volumes(object: &Value) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    name.strip_prefix(NAME).is_some_and(|rest| rest.starts_with("-volumes-"))
}

/// The objects of a collection that are of rules or mutations; nothing if they may not be listed.
fn list(subject: &InspectedInstallation, collection: &str) -> Result<Option<Vec<Value>>, Failure> {
    // The name in the labels is that of the chart, which nameOverride replaces.
    let (key, value) = COMPONENT;
    let label = format!("{}%3D{value}", key.replace('/', "%2F"));
    // Kubernetes: MutatingAdmissionPolicies are v1 since 1.36, and v1beta1 where they are switched on before.
    for version in ["v1", "v1beta1"] {
        let path = format!(
            "/apis/admissionregistration.k8s.io/{version}/{collection}?labelSelector={label}"
        );
        match subject.get(&path)? {
            Found::Object(list) => {
                return Ok(Some(list["items"].as_array().cloned().unwrap_or_default()));
            }
            Found::Hidden => return Ok(None),
            Found::Missing => {}
        }
    }
    Ok(Some(Vec::new()))
}

/// What differs from what is wanted, and what is left over.
fn differences(
    kind: &PolicyKind,
    installation: &str,
    wanted: &[(Value, Value)],
    found: &FoundPolicies,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let kind_name = kind.kind;
    for (policy, binding) in wanted {
        let name = policy["metadata"]["name"].as_str().unwrap_or_default();
        let named = |found: &'_ &Value| found["metadata"]["name"] == name;
        match found.policies.iter().find(named) {
            None => wrong.push(format!("{kind_name} {name} is missing")),
            Some(found) if differs(policy, found, kind.parts) || is_narrowed(found) => {
                wrong.push(format!("{kind_name} {name} differs"));
            }
            Some(_) => {}
        }
        match found.bindings.iter().find(named) {
            None => wrong.push(format!("the binding of {kind_name} {name} is missing")),
            Some(found) if differs(binding, found, &BINDING_PARTS) => {
                wrong.push(format!("the binding of {kind_name} {name} differs"));
            }
            Some(_) => {}
        }
    }
    let is_wanted = |found: &Value| {
        wanted.iter().any(|(policy, _)| policy["metadata"]["name"] == found["metadata"]["name"])
    };
    // One without a binding does nothing.
    let is_its = |one: &Value| {
        is_of(one, kind, installation) || (has_volumes(one) && is_of(one, kind, NAME))
    };
    let left = found.bindings.iter().filter(|one| is_its(one) && !is_wanted(one));
    let left = left.filter_map(|one| one["metadata"]["name"].as_str());
    wrong.extend(left.map(|name| format!("{kind_name} {name} is left over")));
    wrong
}

fn result(wrong: &[String]) -> CheckResult {
    if wrong.is_empty() {
        let text = "the policies are as this version and its configuration want them";
        return CheckResult::good(CHECK, text);
    }
    CheckResult::bad(
        CHECK,
        format!(
            "{}; some changes are not denied that should be, or the other way round; run helm upgrade if the chart made them, \
             else delete what is left over and apply the output of `bindery generate policies` with the configuration of the \
             webhook",
            wrong.join(", ")
        ),
    )
}

fn differs(wanted: &Value, found: &Value, parts: &[&str]) -> bool {
    parts.iter().any(|part| wanted.pointer(part) != found.pointer(part))
}

fn is_narrowed(found: &Value) -> bool {
    let is_set = |selector: &Value| {
        selector.as_object().is_some_and(|members| !members.is_empty())
            || selector.as_array().is_some_and(|rules| !rules.is_empty())
    };
    SELECTORS.iter().filter_map(|part| found.pointer(part)).any(is_set)
}

#[cfg(test)]
mod tests {
    use super::super::check_result::CheckOutcome;
    use super::*;

    const NONE: FoundPolicies = FoundPolicies { policies: Vec::new(), bindings: Vec::new() };

    fn wanted(kind: &PolicyKind) -> Vec<(Value, Value)> {
        (kind.expected)(&Policy::default(), "me", NAME, &NONE)
    }

    fn found(kind: &PolicyKind) -> FoundPolicies {
        let (mut policies, bindings): (Vec<Value>, Vec<Value>) = wanted(kind).into_iter().unzip();
        for policy in &mut policies {
            policy["spec"]["matchConstraints"]["namespaceSelector"] = json!({});
        }
        FoundPolicies { policies, bindings }
    }

    #[test]
    fn what_the_api_server_fills_in_is_no_difference() {
        for kind in [&VALIDATING, &MUTATING] {
            let (wanted, found) = (wanted(kind), found(kind));
            assert!(!wanted.is_empty());
            assert_eq!(found.name(kind, "other", false), Some(NAME));
            assert_eq!(differences(kind, NAME, &wanted, &found), [""; 0]);
        }
        assert_eq!(result(&[]).outcome, CheckOutcome::Good);
    }

    #[test]
    fn what_is_missing_or_edited_or_left_over_is_named() {
        for kind in [&VALIDATING, &MUTATING] {
            let edit = |edit: &dyn Fn(&mut FoundPolicies)| {
                let mut found = found(kind);
                edit(&mut found);
                let wrong = differences(kind, NAME, &wanted(kind), &found);
                assert_eq!(result(&wrong).outcome, CheckOutcome::Bad, "{wrong:?}");
                wrong.join(", ")
            };
            let name = wanted(kind)[0].0["metadata"]["name"].as_str().unwrap().to_owned();
            let named = format!("{} {name}", kind.kind);
            let missing = edit(&|found| drop(found.bindings.remove(0)));
            assert_eq!(missing, format!("the binding of {named} is missing"));
            let audit =
                edit(&|found| found.bindings[0]["spec"]["validationActions"] = json!(["Audit"]));
            assert!(audit.contains(&format!("{named} differs")), "{audit}");
            let narrowed = edit(&|found| {
                found.policies[0]["spec"]["matchConstraints"]["objectSelector"] =
                    json!({"matchLabels": {"a": "b"}});
            });
            assert_eq!(narrowed, format!("{named} differs"));
            let edited = edit(&|found| found.policies[0]["spec"]["variables"] = json!([]));
            assert_eq!(edited, format!("{named} differs"));
            let left = edit(&|found| {
                let mut other = found.bindings[0].clone();
                other["metadata"]["name"] = json!(format!("bindery{}x", kind.groups[0]));
                found.bindings.push(other);
            });
            assert_eq!(left, format!("{} bindery{}x is left over", kind.kind, kind.groups[0]));
        }
    }

    #[test]
    fn those_of_another_installation_are_not_compared() {
        let named = |name: &str, labels: Value| FoundPolicies {
            bindings: vec![json!({"metadata": {"name": name, "labels": labels}})],
            ..NONE
        };
        let of_chart = json!({OF_CHART: "bindery-0.1.0"});
        let guard = "bindery-guard-persistentvolumes-deny";
        for (found, installation, expected) in [
            (named(guard, of_chart.clone()), "bindery", Some("bindery")),
            (named(guard, json!({})), "prod", Some("bindery")),
            (named(guard, of_chart.clone()), "prod", None),
            (named("bindery-guard-guard-persistentvolumes-deny", of_chart), "bindery", None),
            (
                named("bindery-volumes-advise-persistentvolumeclaims-deny", json!({})),
                "prod",
                Some("bindery"),
            ),
        ] {
            assert_eq!(found.name(&VALIDATING, installation, false), expected);
        }
        assert_eq!(NONE.name(&VALIDATING, "prod", true), Some("prod"));
        assert_eq!(NONE.name(&MUTATING, "prod", false), None);
    }

    #[test]
    fn policies_with_volumes_are_wanted_where_there_is_one() {
        let wanted = |name: &str| {
            let found =
                FoundPolicies { policies: vec![json!({"metadata": {"name": name}})], ..NONE };
            expected(&Policy::default(), "me", "bindery", &found).len()
        };
        let others = wanted("bindery-advise-persistentvolumeclaims-deny");
        assert_eq!(others, admission_policies(&Policy::default(), "me").len());
        let with_volumes = wanted("bindery-volumes-advise-persistentvolumeclaims-deny");
        assert_eq!(with_volumes, others + volume_policies(&Policy::default(), "me").len());
        assert!(with_volumes > others);
    }
}
