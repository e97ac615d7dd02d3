//! MutatingAdmissionPolicies and their bindings: which objects the API server mutates by itself.
//!
//! One policy for each mutation and resource. What it changes is in the mutations (`rules::MutationForm`). A policy warns no one.

use k8s_openapi::api::admissionregistration::v1::{
    JSONPatch, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
    MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec, Mutation as PolicyMutation,
};

use super::{
    BREAK_GLASS, LABELS, MatchCondition, MatchResources, NAME, ObjectMeta, Policy, escaped, kept,
    rules, spelling, variables,
};
use crate::rules::mutations::MUTATIONS;
use crate::rules::{Mutation, MutationText, Operation, Switch};

/// A policy that mutates, and what puts it into force.
#[derive(Clone, Debug, PartialEq)]
pub struct MutatingPolicy {
    /// The policy.
    pub policy: MutatingAdmissionPolicy,
    /// Its binding.
    pub binding: MutatingAdmissionPolicyBinding,
}

/// Returns the policies of all mutations that have one and are made, under the operator's decisions. `own_controller` is the
/// user name of Bindery's controller, whose requests no policy mutates.
pub fn mutating_policies(decisions: &Policy, own_controller: &str) -> Vec<MutatingPolicy> {
    let made = MUTATIONS.iter().filter(|mutation| decisions.switch(mutation) == Switch::On);
    let texts =
        made.flat_map(|mutation| mutation.policy.texts().iter().map(move |text| (mutation, text)));
    texts.map(|(mutation, text)| policy(mutation, text, decisions, own_controller)).collect()
}

fn policy(
    mutation: &Mutation,
    text: &MutationText,
    decisions: &Policy,
    own_controller: &str,
) -> MutatingPolicy {
    let (resource, _) = spelling(text.resource, Operation::Update);
    let name = format!("{NAME}-mutate-{}-{resource}", mutation.id);
    let labels = LABELS.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        labels: Some(labels.into()),
        ..ObjectMeta::default()
    };
    let types = mutation.request_types.iter().filter(|one| one.resource == text.resource);
    let operations = types.map(|one| spelling(one.resource, one.operation));
    let own = text.variables.iter().map(|(name, cel)| ((*name).to_owned(), (*cel).to_owned()));
    let common =
        variables(&decisions.trusted).into_iter().map(|(name, cel)| (name.to_owned(), cel));
    let spec = MutatingAdmissionPolicySpec {
        failure_policy: Some("Ignore".to_owned()),
        match_constraints: Some(MatchResources {
            match_policy: Some("Equivalent".to_owned()),
            resource_rules: Some(rules(text.resource, operations)),
            ..MatchResources::default()
        }),
        match_conditions: Some(conditions(own_controller)),
        variables: Some(kept(common.chain(own).collect(), vec![text.patch.to_owned()])),
        mutations: Some(vec![PolicyMutation {
            patch_type: "JSONPatch".to_owned(),
            json_patch: Some(JSONPatch { expression: Some(text.patch.to_owned()) }),
            ..PolicyMutation::default()
        }]),
        reinvocation_policy: Some("IfNeeded".to_owned()),
        ..MutatingAdmissionPolicySpec::default()
    };
    let policy = MutatingAdmissionPolicy { metadata: metadata.clone(), spec: Some(spec) };
    let spec = MutatingAdmissionPolicyBindingSpec {
        policy_name: Some(name),
        ..MutatingAdmissionPolicyBindingSpec::default()
    };
    MutatingPolicy {
        policy,
        binding: MutatingAdmissionPolicyBinding { metadata, spec: Some(spec) },
    }
}

/// Whose requests are mutated.
fn conditions(own_controller: &str) -> Vec<MatchCondition> {
    let condition =
        |name: &str, expression: String| MatchCondition { name: name.to_owned(), expression };
    let controller = escaped(own_controller);
    vec![
        condition(
            "not-break-glass",
            format!("!('{BREAK_GLASS}' in request.userInfo.?groups.orValue([]))"),
        ),
        condition(
            "not-own-controller",
            format!("request.userInfo.?username.orValue('') != '{controller}'"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_mutation_that_is_made_has_its_policies() {
        let names = |decisions: &Policy| -> Vec<String> {
            let made = mutating_policies(decisions, "me");
            made.into_iter().filter_map(|one| one.policy.metadata.name).collect()
        };
        let all = [
            "bindery-mutate-strip-binder-annotations-persistentvolumeclaims",
            "bindery-mutate-legacy-class-persistentvolumeclaims",
            "bindery-mutate-legacy-class-persistentvolumes",
            "bindery-mutate-restore-binding-persistentvolumeclaims",
        ];
        assert_eq!(names(&Policy::default()), all);
        let off = BTreeMap::from([("legacy-class".to_owned(), Switch::Off)]);
        assert_eq!(names(&Policy { mutations: off, ..Policy::default() }), [all[0], all[3]]);
    }

    #[test]
    fn each_policy_has_the_variables_that_it_uses() {
        for one in mutating_policies(&Policy::default(), "me") {
            let spec = one.policy.spec.unwrap_or_default();
            let text = serde_json::to_string(&(&spec.mutations, &spec.variables)).unwrap();
            for variable in spec.variables.unwrap_or_default() {
                assert!(
                    text.contains(&format!("variables.{}", variable.name)),
                    "{}",
                    variable.name
                );
            }
        }
    }
}
