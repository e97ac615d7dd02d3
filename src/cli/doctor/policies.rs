//! Whether the ValidatingAdmissionPolicies are those of this version and configuration, where there are any.
//!
//! Unless the command says that an installation has them: where there is none at all, none is missed. Those of the chart have
//! the name of the installation, those of `bindery generate policies` that of the program.

use serde_json::{Value, json};

use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use crate::api::admission_policy::{AdmissionPolicy, COMPONENT, admission_policies};
use crate::api::policy_parameters::volume_policies;
use crate::api::registration::NAME;
use crate::cli::exit::Failure;
use crate::rules::Policy;

const CHECK: &str = "policies";

/// What of a policy is compared: what is not set there, the API server fills in.
const POLICY_PARTS: [&str; 6] = [
    "/spec/failurePolicy",
    "/spec/matchConditions",
    "/spec/matchConstraints/resourceRules",
    "/spec/paramKind",
    "/spec/variables",
    "/spec/validations",
];

/// What of a binding is compared.
const BINDING_PARTS: [&str; 4] =
    ["/spec/policyName", "/spec/validationActions", "/spec/matchResources", "/spec/paramRef"];

/// Selectors by which an edited policy can leave objects out. The chart sets none.
const SELECTORS: [&str; 3] = [
    "/spec/matchConstraints/namespaceSelector",
    "/spec/matchConstraints/objectSelector",
    "/spec/matchConstraints/excludeResourceRules",
];

/// One finding; none where no policy is there and none has to be.
pub(super) fn findings(subject: &InspectedInstallation) -> Result<Option<CheckResult>, Failure> {
    let lists = [
        list(subject, "validatingadmissionpolicies")?,
        list(subject, "validatingadmissionpolicybindings")?,
    ];
    let [Some(policies), Some(bindings)] = lists else {
        let text = "you may not list ValidatingAdmissionPolicies and their bindings";
        return Ok(Some(CheckResult::unknown(CHECK, text)));
    };
    let installation = subject.installation.name();
    let of_chart = policies.iter().chain(&bindings).any(|one| is_of(one, installation));
    let name = if of_chart || subject.policies.is_some() { installation } else { NAME };
    let is_there = policies.iter().chain(&bindings).any(|one| is_of(one, name));
    if !is_there && subject.policies.is_none() {
        return Ok(None);
    }
    let Some(configuration) = subject.configuration()? else {
        let text = "what the ValidatingAdmissionPolicies have to be is not known, as the configuration cannot be read";
        return Ok(Some(CheckResult::unknown(CHECK, text)));
    };
    let found: Vec<&Value> = policies.iter().chain(&bindings).collect();
    let wanted = expected(&configuration.policy, &configuration.own_controller, name, &found);
    Ok(Some(compared(&wanted, &policies, &bindings)))
}

/// The policies of an installation and their bindings. Those that have PVs as parameters are wanted where there is one of
/// them.
fn expected(
    decisions: &Policy,
    own_controller: &str,
    installation: &str,
    found: &[&Value],
) -> Vec<(Value, Value)> {
    let made = admission_policies(decisions, own_controller).into_iter();
    let mut made: Vec<AdmissionPolicy> =
        made.map(|one| one.of_installation(installation)).collect();
    let with_volumes = volume_policies(decisions, own_controller);
    let is_there = |one: &AdmissionPolicy| {
        found.iter().any(|found| found["metadata"]["name"] == one.binding.spec.policy_name.as_str())
    };
    if with_volumes.iter().any(is_there) {
        made.extend(with_volumes);
    }
    made.iter().map(|one| (json!(one.policy), json!(one.binding))).collect()
}

/// Returns whether the name of a policy or a binding is one of this installation.
fn is_of(object: &Value, installation: &str) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let rest = name.strip_prefix(installation).unwrap_or_default();
    let rest = rest.strip_prefix("-volumes").unwrap_or(rest);
    ["-guard-", "-advise-"].iter().any(|entry| rest.starts_with(entry))
}

/// The policies or bindings of rules; nothing if they may not be listed.
fn list(subject: &InspectedInstallation, collection: &str) -> Result<Option<Vec<Value>>, Failure> {
    // The name in the labels is that of the chart, which nameOverride replaces.
    let (key, value) = COMPONENT;
    let label = format!("{}%3D{value}", key.replace('/', "%2F"));
    let path = format!("/apis/admissionregistration.k8s.io/v1/{collection}?labelSelector={label}");
    Ok(match subject.get(&path)? {
        Found::Object(list) => Some(list["items"].as_array().cloned().unwrap_or_default()),
        Found::Hidden => None,
        Found::Missing => Some(Vec::new()),
    })
}

fn compared(wanted: &[(Value, Value)], policies: &[Value], bindings: &[Value]) -> CheckResult {
    let mut wrong = Vec::new();
    for (policy, binding) in wanted {
        let name = policy["metadata"]["name"].as_str().unwrap_or_default();
        let named = |found: &'_ &Value| found["metadata"]["name"] == name;
        match policies.iter().find(named) {
            None => wrong.push(format!("ValidatingAdmissionPolicy {name} is missing")),
            Some(found) if differs(policy, found, &POLICY_PARTS) || is_narrowed(found) => {
                wrong.push(format!("ValidatingAdmissionPolicy {name} differs"));
            }
            Some(_) => {}
        }
        match bindings.iter().find(named) {
            None => {
                wrong.push(format!("the binding of ValidatingAdmissionPolicy {name} is missing"));
            }
            Some(found) if differs(binding, found, &BINDING_PARTS) => {
                wrong.push(format!("the binding of ValidatingAdmissionPolicy {name} differs"));
            }
            Some(_) => {}
        }
    }
    if wrong.is_empty() {
        let text =
            "the ValidatingAdmissionPolicies are as this version and its configuration want them";
        return CheckResult::good(CHECK, text);
    }
    CheckResult::bad(
        CHECK,
        format!(
            "{}; some changes are not denied that should be, or the other way round; run helm upgrade if the chart made them, \
             else apply the output of `bindery generate policies` with the configuration of the webhook",
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

    fn wanted() -> Vec<(Value, Value)> {
        let made = admission_policies(&Policy::default(), "me");
        made.iter().map(|one| (json!(one.policy), json!(one.binding))).collect()
    }

    fn found() -> (Vec<Value>, Vec<Value>) {
        let (mut policies, bindings): (Vec<Value>, Vec<Value>) = wanted().into_iter().unzip();
        for policy in &mut policies {
            policy["spec"]["matchConstraints"]["namespaceSelector"] = json!({});
        }
        (policies, bindings)
    }

    #[test]
    fn what_the_api_server_fills_in_is_no_difference() {
        let (policies, bindings) = found();
        let result = compared(&wanted(), &policies, &bindings);
        assert_eq!(result.outcome, CheckOutcome::Good, "{}", result.text);
    }

    #[test]
    fn what_is_missing_or_edited_is_named() {
        let edit = |edit: &dyn Fn(&mut Vec<Value>, &mut Vec<Value>)| {
            let (mut policies, mut bindings) = found();
            edit(&mut policies, &mut bindings);
            let result = compared(&wanted(), &policies, &bindings);
            assert_eq!(result.outcome, CheckOutcome::Bad, "{}", result.text);
            result.text
        };
        let name = wanted()[0].0["metadata"]["name"].as_str().unwrap().to_owned();
        let missing = edit(&|_, bindings| drop(bindings.remove(0)));
        assert!(
            missing.starts_with(&format!(
                "the binding of ValidatingAdmissionPolicy {name} is missing"
            ))
        );
        let audit =
            edit(&|_, bindings| bindings[0]["spec"]["validationActions"] = json!(["Audit"]));
        assert!(audit.contains(&format!("{name} differs")), "{audit}");
        let narrowed = edit(&|policies, _| {
            policies[0]["spec"]["matchConstraints"]["objectSelector"] =
                json!({"matchLabels": {"a": "b"}});
        });
        assert!(narrowed.contains(&format!("{name} differs")), "{narrowed}");
        let selecting =
            edit(&|_, bindings| bindings[0]["spec"]["matchResources"] = json!({"x": 1}));
        assert!(selecting.contains(&format!("{name} differs")), "{selecting}");
    }

    #[test]
    fn policies_with_volumes_are_wanted_where_there_is_one() {
        let wanted = |name: &str| {
            let found = json!({"metadata": {"name": name}});
            expected(&Policy::default(), "me", "bindery", &[&found]).len()
        };
        let others = wanted("bindery-advise-persistentvolumeclaims-deny");
        assert_eq!(others, admission_policies(&Policy::default(), "me").len());
        let with_volumes = wanted("bindery-volumes-advise-persistentvolumeclaims-deny");
        assert_eq!(with_volumes, others + volume_policies(&Policy::default(), "me").len());
        assert!(with_volumes > others);
    }
}
