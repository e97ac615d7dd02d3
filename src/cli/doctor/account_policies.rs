//! Whether the policies that hold the controller's account to its own writes are in force.
//!
//! A pod that was broken into has the rights of that account, and RBAC knows neither fields nor dry runs. Not here: the policies
//! of rules (`policies`).

use serde_json::{Value, json};

use super::answering::failing_closed;
use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use super::registrations::{COLLECTIONS, path};
use crate::cli::exit::Failure;

const CHECK: &str = "account policies";

/// The label of what the chart makes for the controller.
const OF_CONTROLLER: &str = "labelSelector=app.kubernetes.io%2Fcomponent%3Dcontroller";

/// A policy of the chart, and what the account could do without it.
struct AccountPolicy {
    name: String,
    without: &'static str,
    /// Whether it has to be there; where the certificates are not the controller's, there is none for `caBundle`.
    is_wanted: bool,
}

/// One finding; none where no such policy is there and none has to be.
pub(super) fn finding(subject: &InspectedInstallation) -> Result<Option<CheckResult>, Failure> {
    let policies = list(subject, "validatingadmissionpolicies")?;
    let bindings = list(subject, "validatingadmissionpolicybindings")?;
    let (Some(policies), Some(bindings)) = (policies, bindings) else {
        let text = "you may not list validatingadmissionpolicies and their bindings";
        return Ok(Some(CheckResult::unknown(CHECK, text)));
    };
    let configuration = subject.configuration()?.unwrap_or_default();
    let account = configuration.controller_beside_webhook();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for AccountPolicy { name, without, is_wanted } in expected(subject)? {
        let [policy, binding] = [&policies, &bindings]
            .map(|list| list.iter().find(|object| object["metadata"]["name"] == name.as_str()));
        if policy
            .zip(binding)
            .is_some_and(|(policy, binding)| denies(policy, binding, (&name, account)))
        {
            found.push(name);
        } else if is_wanted || policy.is_some() || binding.is_some() {
            missing.push(format!("{name} is missing or edited, so that this account {without}"));
        }
    }
    if !missing.is_empty() {
        let text = format!(
            "the controller's account is not held to its own writes: {}; run helm upgrade --force-conflicts with your values",
            missing.join("; ")
        );
        return Ok(Some(CheckResult::bad(CHECK, text)));
    }
    let is_any = !found.is_empty();
    Ok(is_any.then(|| CheckResult::good(CHECK, format!("{} deny", found.join(", ")))))
}

fn expected(subject: &InspectedInstallation) -> Result<[AccountPolicy; 2], Failure> {
    let installation = &subject.installation;
    let mut is_probed = false;
    for collection in COLLECTIONS {
        if let Found::Object(found) = subject.get(&path(collection, installation.name()))? {
            is_probed |= !failing_closed(&found).is_empty();
        }
    }
    Ok([
        AccountPolicy {
            name: installation.answering(),
            without: "may create any PersistentVolume and bind its role to any account",
            is_wanted: is_probed,
        },
        AccountPolicy {
            name: format!("{}-ca-bundle", installation.name()),
            without: "may send admission requests of the cluster elsewhere",
            is_wanted: false,
        },
    ])
}

/// Returns whether what the policy finds in the requests of the account is denied. What it looks for is the chart's and not
/// compared.
fn denies(policy: &Value, binding: &Value, (name, account): (&str, &str)) -> bool {
    let (policy, binding) = (&policy["spec"], &binding["spec"]);
    let of_account = format!("request.userInfo.username == '{account}'");
    let has_validations = policy["validations"].as_array().is_some_and(|all| !all.is_empty());
    let actions = binding["validationActions"].as_array();
    policy["failurePolicy"] == "Fail"
        && policy["matchConditions"].as_array().is_some_and(|all| {
            all.len() == 1 && all.iter().all(|one| one["expression"] == of_account.as_str())
        })
        && leaves_nothing_out(&policy["matchConstraints"])
        && has_validations
        && binding["policyName"] == name
        && actions.is_some_and(|actions| actions.contains(&json!("Deny")))
        && binding.get("matchResources").is_none_or(|resources| {
            resources.get("resourceRules").is_none() && leaves_nothing_out(resources)
        })
}

/// Returns whether it selects every object of its rules. The API server fills in empty selectors.
fn leaves_nothing_out(resources: &Value) -> bool {
    let is_empty = |key| resources.get(key).is_none_or(|selector| *selector == json!({}));
    resources.get("excludeResourceRules").is_none()
        && is_empty("namespaceSelector")
        && is_empty("objectSelector")
}

/// Those of a kind that are the controller's; nothing if they may not be listed.
fn list(subject: &InspectedInstallation, collection: &str) -> Result<Option<Vec<Value>>, Failure> {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{collection}?{OF_CONTROLLER}");
    Ok(match subject.get(&path)? {
        Found::Object(list) => Some(list["items"].as_array().cloned().unwrap_or_default()),
        Found::Missing => Some(Vec::new()),
        Found::Hidden => None,
    })
}
