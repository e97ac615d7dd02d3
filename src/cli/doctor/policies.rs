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

/// A kind of admission policy.
struct PolicyKind {
    kind: &'static str,
    collection: &'static str,
    bindings: &'static str,
    /// What follows the name of the installation in that of a policy.
    groups: &'static [&'static str],
    /// What of a policy is compared: what is not set there, the API server fills in.
    parts: &'static [&'static str],
}

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

    fn has_any_of(&self, kind: &PolicyKind, installation: &str) -> bool {
        self.policies.iter().chain(&self.bindings).any(|one| is_of(one, kind, installation))
    }
}

/// One finding; none where no policy is there and none has to be.
pub(super) fn findings(subject: &InspectedInstallation) -> Result<Option<CheckResult>, Failure> {
    let found =
        [FoundPolicies::list(subject, &VALIDATING)?, FoundPolicies::list(subject, &MUTATING)?];
    let [Some(validating), Some(mutating)] = found else {
        let text = "you may not list ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings";
        return Ok(Some(CheckResult::unknown(CHECK, text)));
    };
    let has_any = |installation: &str| {
        validating.has_any_of(&VALIDATING, installation)
            || mutating.has_any_of(&MUTATING, installation)
    };
    let installation = subject.installation.name();
    let name =
        if subject.policies.is_some() || has_any(installation) { installation } else { NAME };
    if !has_any(name) && subject.policies.is_none() {
        return Ok(None);
    }
    let Some(configuration) = subject.configuration()? else {
        let text = "what the policies have to be is not known, as the configuration cannot be read";
        return Ok(Some(CheckResult::unknown(CHECK, text)));
    };
    let (decisions, own_controller) = (&configuration.policy, &configuration.own_controller);
    let mut wrong = Vec::new();
    if subject.policies.is_some() || validating.has_any_of(&VALIDATING, name) {
        let wanted = expected(decisions, own_controller, name, &validating);
        wrong.extend(differences(&VALIDATING, name, &wanted, &validating));
    }
    if mutating.has_any_of(&MUTATING, name) {
        let wanted = expected_mutating(decisions, own_controller, name);
        wrong.extend(differences(&MUTATING, name, &wanted, &mutating));
    }
    Ok(Some(result(&wrong)))
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
) -> Vec<(Value, Value)> {
    let made = mutating_policies(decisions, own_controller).into_iter();
    let made = made.map(|one| one.of_installation(installation));
    made.map(|one| (json!(one.policy), json!(one.binding))).collect()
}

/// Returns whether the name of a policy or a binding is one of this installation.
fn is_of(object: &Value, kind: &PolicyKind, installation: &str) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let rest = name.strip_prefix(installation).unwrap_or_default();
    kind.groups.iter().any(|group| rest.starts_with(group))
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
    let left =
        found.bindings.iter().filter(|one| is_of(one, kind, installation) && !is_wanted(one));
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
        let decisions = Policy::default();
        if kind.kind == MUTATING.kind {
            expected_mutating(&decisions, "me", NAME)
        } else {
            expected(&decisions, "me", NAME, &NONE)
        }
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
            assert!(!wanted.is_empty() && found.has_any_of(kind, NAME));
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
