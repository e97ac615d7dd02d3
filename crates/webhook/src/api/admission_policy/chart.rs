//! The policies of the chart: their parts, which its template puts together by the values, and the names that they have there.
//!
//! Which mode a rule has, and so which policy it is in, only an installation knows. Everything else is made here.

use serde::Serialize;
use serde_json::Value;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingAdmissionPolicySpec, NamedRuleWithOperations, Variable,
};

use super::{
    AdmissionPolicy, DENY, Group, JudgedText, MutatingPolicy, NAME, Policy, PolicyViolation, RULES,
    Trusted, constraints, entry, inlined, judged, mutating_policies, spelling, used_variables,
    validation, variables, variables_of,
};
use crate::rules::Operation;

/// The parts of all policies.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyParts {
    /// The variables that every policy may use.
    variables: Vec<Variable>,
    /// What each rule looks for on each resource.
    texts: Vec<TextParts>,
    /// The policies of mutations, which are whole.
    mutations: Vec<MutationParts>,
}

/// A policy that mutates.
#[derive(Debug, Serialize)]
struct MutationParts {
    /// Its name, without that of the installation at its beginning.
    policy: String,
    spec: Option<MutatingAdmissionPolicySpec>,
}

/// What a rule looks for on one resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TextParts {
    rule: &'static str,
    /// The rule's mode in each profile.
    modes: Value,
    /// The name of its policy, without the action at its end.
    policy: String,
    /// What happens to a request that cannot be evaluated, where the action is Deny.
    failure_policy: &'static str,
    /// Whose requests the policy judges: CEL, all of which holds for them.
    judged: Vec<String>,
    resource_rules: Vec<NamedRuleWithOperations>,
    variables: Vec<Variable>,
    violations: Vec<ViolationParts>,
    warnings: Vec<ViolationParts>,
}

/// A violation, with the variables that it uses in its sentence, however indirectly.
#[derive(Debug, Serialize)]
struct ViolationParts {
    /// What must hold, all of it, with variables.
    found: String,
    /// The same as a matchCondition has it, without variables.
    conditions: Vec<String>,
    sentence: String,
    uses: Vec<String>,
}

/// Returns the parts, with placeholders for the names of `own_controller` and of the accounts in `trusted`. `profiles` are the
/// decisions of each profile, by its name.
pub fn policy_parts(
    profiles: &[(&str, Policy)],
    trusted: &Trusted,
    own_controller: &str,
) -> PolicyParts {
    let mut texts = Vec::new();
    for rule in RULES {
        let modes = profiles
            .iter()
            .map(|(name, policy)| ((*name).to_owned(), Value::from(policy.mode(rule).as_str())));
        let modes = Value::Object(modes.collect());
        for text in rule.policy.texts() {
            let judged = JudgedText { rule, text, violations: text.violations };
            texts.push(text_parts(judged, modes.clone(), trusted, own_controller));
        }
    }
    let common = variables(trusted);
    let decisions = Policy { trusted: trusted.clone(), ..Policy::default() };
    PolicyParts {
        mutations: mutations(&decisions, own_controller),
        variables: common
            .into_iter()
            .map(|(name, expression)| Variable { name: name.to_owned(), expression })
            .collect(),
        texts,
    }
}

fn mutations(decisions: &Policy, own_controller: &str) -> Vec<MutationParts> {
    let made = mutating_policies(decisions, own_controller).into_iter();
    let parts = made.map(|MutatingPolicy { policy, .. }| {
        let name = policy.metadata.name.unwrap_or_default();
        let policy_name = name.strip_prefix(&format!("{NAME}-")).unwrap_or_default().to_owned();
        MutationParts { policy: policy_name, spec: policy.spec }
    });
    parts.collect()
}

fn text_parts(
    text: JudgedText,
    modes: Value,
    trusted: &Trusted,
    own_controller: &str,
) -> TextParts {
    let resource = text.text.resource;
    let (path, _) = spelling(resource, Operation::Update);
    let entry = entry(text.rule);
    let group = Group { entry, resource, action: DENY };
    let own = text
        .text
        .variables
        .iter()
        .map(|(name, cel)| Variable { name: text.own_name(name), expression: text.named(cel) });
    TextParts {
        rule: text.rule.id,
        modes,
        policy: format!("{}-{path}", entry.as_str()),
        failure_policy: group.failure_policy(),
        judged: judged(group, own_controller),
        resource_rules: constraints(resource, &[text]).resource_rules.unwrap_or_default(),
        variables: own.collect(),
        violations: violation_parts(text, text.text.violations, trusted),
        warnings: violation_parts(text, text.text.warnings, trusted),
    }
}

fn violation_parts(
    text: JudgedText,
    violations: &'static [PolicyViolation],
    trusted: &Trusted,
) -> Vec<ViolationParts> {
    let text = JudgedText { violations, ..text };
    let variables = variables_of(&[text], trusted);
    let parts = text.violations().map(|one| {
        let alone = validation(std::slice::from_ref(&one));
        let used = used_variables(variables.clone(), &alone);
        ViolationParts {
            found: one.found.join(" && "),
            conditions: one.found.iter().map(|cel| inlined(cel, &variables)).collect(),
            sentence: one.sentence,
            uses: used.into_iter().map(|variable| variable.name).collect(),
        }
    });
    parts.collect()
}

impl AdmissionPolicy {
    /// Returns it under the name that the chart gives it in an installation of this name.
    #[must_use]
    pub fn of_installation(mut self, installation: &str) -> Self {
        self.binding.spec.policy_name = name_in(&self.binding.spec.policy_name, installation);
        for metadata in [&mut self.policy.metadata, &mut self.binding.metadata] {
            metadata.name = metadata.name.as_deref().map(|name| name_in(name, installation));
        }
        self
    }
}

impl MutatingPolicy {
    /// Returns it under the name that the chart gives it in an installation of this name.
    #[must_use]
    pub fn of_installation(mut self, installation: &str) -> Self {
        let spec = self.binding.spec.as_mut();
        let policy_name = spec.and_then(|spec| spec.policy_name.as_mut());
        let names = [&mut self.policy.metadata, &mut self.binding.metadata]
            .into_iter()
            .filter_map(|metadata| metadata.name.as_mut());
        for name in names.chain(policy_name) {
            *name = name_in(name, installation);
        }
        self
    }
}

fn name_in(name: &str, installation: &str) -> String {
    let rest = name.strip_prefix(NAME);
    rest.map_or_else(|| name.to_owned(), |rest| format!("{installation}{rest}"))
}
