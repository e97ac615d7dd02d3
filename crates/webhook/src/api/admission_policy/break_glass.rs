//! The policy that denies nothing: by it the API server warns who uses break-glass, notes it in its audit log and counts it.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{
    AuditAnnotation, MatchCondition, MatchResources, NamedRuleWithOperations,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec, Validation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::AdmissionPolicy;
use crate::api::registration::{NAME, judged_rules};
use crate::rules::judging::actor::BREAK_GLASS;

/// Returns the policy, with its binding. The chart has the same under the name of its installation.
pub fn break_glass_policy() -> AdmissionPolicy {
    let name = format!("{NAME}-break-glass");
    let labels = [("app.kubernetes.io/name", NAME), ("app.kubernetes.io/component", "break-glass")];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        labels: Some(BTreeMap::from(labels)),
        ..ObjectMeta::default()
    };
    let spec = ValidatingAdmissionPolicySpec {
        // What cannot be noted is admitted all the same: it is an emergency.
        failure_policy: Some("Ignore".to_owned()),
        match_constraints: Some(MatchResources {
            resource_rules: Some(requests()),
            ..MatchResources::default()
        }),
        match_conditions: Some(vec![MatchCondition {
            name: "break-glass".to_owned(),
            expression: format!("'{BREAK_GLASS}' in request.userInfo.?groups.orValue([])"),
        }]),
        validations: Some(vec![Validation {
            expression: "false".to_owned(),
            message: Some(format!(
                "this change was made as a member of {BREAK_GLASS}; no rule of Bindery was evaluated; run bindery scan \
                 afterwards"
            )),
            ..Validation::default()
        }]),
        audit_annotations: Some(vec![AuditAnnotation {
            key: "request".to_owned(),
            value_expression: REQUEST.to_owned(),
        }]),
        ..ValidatingAdmissionPolicySpec::default()
    };
    let binding = ValidatingAdmissionPolicyBinding {
        metadata: metadata.clone(),
        spec: ValidatingAdmissionPolicyBindingSpec {
            policy_name: name,
            validation_actions: vec!["Warn".to_owned(), "Audit".to_owned()],
            ..ValidatingAdmissionPolicyBindingSpec::default()
        },
    };
    let policy = ValidatingAdmissionPolicy { metadata, spec: Some(spec), status: None };
    AdmissionPolicy { policy, binding }
}

/// Who made which request, as CEL.
const REQUEST: &str = "request.userInfo.?username.orValue('') + ': ' + request.operation + ' ' + \
    request.resource.resource + ' ' + (request.?namespace.orValue('') != '' ? request.namespace + '/' : '') + \
    request.?name.orValue('')";

/// What the webhook judges.
fn requests() -> Vec<NamedRuleWithOperations> {
    let named = judged_rules().into_iter().map(|rule| NamedRuleWithOperations {
        api_groups: rule.api_groups,
        api_versions: rule.api_versions,
        operations: rule.operations,
        resources: rule.resources,
        scope: rule.scope,
        resource_names: None,
    });
    named.collect()
}
