//! ValidatingAdmissionPolicies and their bindings: what the API server evaluates of the rules by itself.
//!
//! Made from the same values as the registrations and the reference pages. One policy for each entry of the registration,
//! resource and action. What a policy looks for is in the rules (`rules::PolicyForm`).

mod break_glass;
mod chart;
mod mutating;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec,
    ValidatingAdmissionPolicySpec, Validation, Variable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use self::break_glass::break_glass_policy;
pub use self::chart::{PolicyParts, policy_parts};
pub use self::mutating::{MutatingPolicy, mutating_policies};
use super::policy_condition::{any_of, conjuncts};
use super::policy_variables::{inlined, renamed, uses};
use super::registration::NAME;
use crate::rules::judging::actor::BREAK_GLASS;
use crate::rules::judging::filter::not_control_plane;
use crate::rules::judging::policy_form::{escaped, sentence, variables};
use crate::rules::{
    Endpoint, Mode, Operation, Policy, PolicyText, PolicyViolation, RULES, Resource, Rule,
    Terminating, Trusted, spelling,
};

/// The labels of all of them. The chart has policies of its own, which are of another component.
const LABELS: [(&str, &str); 2] = [("app.kubernetes.io/name", NAME), COMPONENT];

/// The label by which they are found, made by the chart or by the command.
pub const COMPONENT: (&str, &str) = ("app.kubernetes.io/component", "rules");

/// A policy and what puts it into force.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionPolicy {
    /// The policy.
    pub policy: ValidatingAdmissionPolicy,
    /// Its binding, with the action.
    pub binding: ValidatingAdmissionPolicyBinding,
}

/// Returns the policies of all rules that have one and are not off, under the operator's decisions. `own_controller` is the
/// user name of Bindery's controller, whose requests no policy judges.
pub fn admission_policies(decisions: &Policy, own_controller: &str) -> Vec<AdmissionPolicy> {
    let mut groups: BTreeMap<Group, Vec<JudgedText>> = BTreeMap::new();
    for rule in RULES {
        let mode = decisions.modes.get(rule.id).copied().unwrap_or(rule.mode);
        let (Some(action), Some(warned)) = (action(mode), action(mode.max(Mode::Warn))) else {
            continue;
        };
        for text in rule.policy.texts() {
            let group = |action| Group { entry: entry(rule), resource: text.resource, action };
            let judged = |violations| JudgedText { rule, text, violations };
            groups.entry(group(action)).or_default().push(judged(text.violations));
            if !text.warnings.is_empty() {
                groups.entry(group(warned)).or_default().push(judged(text.warnings));
            }
        }
    }
    let made = |(group, texts): (Group, Vec<JudgedText>)| {
        policy(group, &texts, &decisions.trusted, own_controller)
    };
    groups.into_iter().map(made).collect()
}

/// What the violations of one policy have in common. An API server reads the objects of a request anew for each policy that
/// looks at it, so that one for each rule would cost several times as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub(super) entry: Entry,
    pub(super) resource: Resource,
    pub(super) action: &'static str,
}

impl Group {
    /// What happens to a request that an API server cannot evaluate. Only what denies fails closed: a policy that an API
    /// server cannot use at all denies whatever the action of its binding is.
    ///
    /// Kubernetes: `plugin/policy/validating/dispatcher.go`, `addConfigError`.
    fn failure_policy(self) -> &'static str {
        match (self.entry, self.action) {
            (Entry::Guard, DENY) => "Fail",
            (Entry::Guard | Entry::Advise, _) => "Ignore",
        }
    }
}

/// The action of a binding that denies.
const DENY: &str = "Deny";

/// The webhook that judges the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    /// What can lose bound data: a request that would be denied is denied if an expression fails too.
    Guard,
    /// The rest: it passes then.
    Advise,
}

impl Entry {
    fn as_str(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Advise => "advise",
        }
    }
}

pub(super) fn entry(rule: &Rule) -> Entry {
    let is_closed = |endpoint| matches!(endpoint, Endpoint::Guard | Endpoint::Tenancy);
    if rule.request_types.iter().any(|request| is_closed(request.endpoint)) {
        Entry::Guard
    } else {
        Entry::Advise
    }
}

/// What a binding does in a mode; nothing where the rule is off.
pub(super) fn action(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Deny => Some(DENY),
        Mode::Warn => Some("Warn"),
        Mode::Audit => Some("Audit"),
        Mode::Off => None,
    }
}

/// Violations of a rule on one resource.
#[derive(Clone, Copy)]
pub(super) struct JudgedText {
    pub(super) rule: &'static Rule,
    pub(super) text: &'static PolicyText,
    pub(super) violations: &'static [PolicyViolation],
}

pub(super) fn policy(
    group: Group,
    texts: &[JudgedText],
    trusted: &Trusted,
    own_controller: &str,
) -> AdmissionPolicy {
    let (resource, _) = spelling(group.resource, Operation::Update);
    let name =
        format!("{NAME}-{}-{resource}-{}", group.entry.as_str(), group.action.to_ascii_lowercase());
    let labels = LABELS.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let labels = BTreeMap::from(labels);
    let metadata =
        ObjectMeta { name: Some(name.clone()), labels: Some(labels), ..ObjectMeta::default() };
    let mut violations: Vec<NamedViolation> =
        texts.iter().flat_map(|judged| judged.violations()).collect();
    // The first that is found has the message, and that of the others is for who is authorized.
    violations.sort_by_key(|one| one.authorized.is_some());
    let variables = variables_of(texts, trusted);
    let validation = validation(&violations);
    let policy = ValidatingAdmissionPolicy {
        metadata: metadata.clone(),
        spec: Some(ValidatingAdmissionPolicySpec {
            failure_policy: Some(group.failure_policy().to_owned()),
            match_constraints: Some(constraints(group.resource, texts)),
            match_conditions: Some(vec![condition(
                &violations,
                &judged(group, own_controller),
                &variables,
            )]),
            variables: Some(used_variables(variables, &validation)),
            validations: Some(vec![validation]),
            ..ValidatingAdmissionPolicySpec::default()
        }),
        status: None,
    };
    let binding = ValidatingAdmissionPolicyBinding {
        spec: ValidatingAdmissionPolicyBindingSpec {
            policy_name: name,
            validation_actions: vec![group.action.to_owned()],
            ..ValidatingAdmissionPolicyBindingSpec::default()
        },
        metadata,
    };
    AdmissionPolicy { policy, binding }
}

/// A violation as CEL of its policy.
struct NamedViolation {
    /// What must hold, all of it.
    found: Vec<String>,
    /// The same of the requester.
    authorized: Option<&'static str>,
    /// By what it is none.
    unless: Option<&'static str>,
    sentence: String,
}

impl NamedViolation {
    /// What a condition can see of it.
    fn condition(&self) -> Vec<String> {
        self.found.iter().cloned().chain(self.authorized.map(str::to_owned)).collect()
    }

    /// What a message can see of it.
    fn message(&self) -> Vec<String> {
        let not = self.unless.map(|unless| format!("!({unless})"));
        self.found.iter().cloned().chain(not).collect()
    }

    /// All of it.
    fn whole(&self) -> Vec<String> {
        self.message().into_iter().chain(self.authorized.map(str::to_owned)).collect()
    }
}

/// The condition that a request is judged and has a violation.
///
/// An API server converts the objects of a request anew for each of matchConditions, validations, messages and audit
/// annotations, and does the last three only for what the first let through: a request without a violation costs a third.
/// Each condition costs for itself, so that there is one, and most requests end at what it begins with.
fn condition(
    violations: &[NamedViolation],
    judged: &[String],
    variables: &[(String, String)],
) -> MatchCondition {
    let found: Vec<Vec<String>> = violations.iter().map(NamedViolation::condition).collect();
    let found = inlined(&any_of(&found), variables);
    let judged = judged.iter().map(|one| format!("({one})"));
    let all: Vec<String> = std::iter::once(found).chain(judged).collect();
    MatchCondition { name: "has-violation".to_owned(), expression: all.join(" && ") }
}

/// The one validation of a policy, which denies what the conditions let through, but for what they do not see: an API server
/// reports the first violation alone.
fn validation(violations: &[NamedViolation]) -> Validation {
    let sentence = violations.iter().rev().fold("''".to_owned(), |others, one| {
        format!("{} ? {} : {others}", one.message().join(" && "), one.sentence)
    });
    let expression = if violations.iter().all(|one| one.unless.is_none()) {
        "false".to_owned()
    } else {
        let whole: Vec<Vec<String>> = violations.iter().map(NamedViolation::whole).collect();
        format!("!({})", any_of(&whole))
    };
    Validation {
        expression,
        message_expression: Some(sentence),
        reason: Some("Forbidden".to_owned()),
        message: None,
    }
}

impl JudgedText {
    /// The operations of the rule on the resource, with what follows the resource's name.
    fn operations(self) -> BTreeSet<(String, &'static str)> {
        let of_resource =
            self.rule.request_types.iter().filter(|one| one.resource == self.text.resource);
        of_resource.map(|one| spelling(one.resource, one.operation)).collect()
    }

    fn violations(self) -> impl Iterator<Item = NamedViolation> {
        let mut scope = vec![self.types()];
        if self.rule.options.terminating == Terminating::Passes {
            scope.push("!variables.isTerminating".to_owned());
        }
        self.violations.iter().map(move |violation| NamedViolation {
            found: scope.iter().cloned().chain(conjuncts(&self.named(violation.found))).collect(),
            authorized: self.text.authorized,
            unless: self.text.unless,
            sentence: self.named(&sentence(self.rule.reported_id(), violation.sentence)),
        })
    }

    /// Whether a request is one at which the rule looks.
    fn types(self) -> String {
        let types = self.operations().into_iter().map(|(resource, operation)| {
            let part = resource.split_once('/').map_or("", |(_, part)| part);
            format!("'{operation} {part}'")
        });
        format!("variables.requestType in [{}]", types.collect::<Vec<_>>().join(", "))
    }

    /// CEL in which the variables of the rule's own have names of their own in the policy.
    fn named(self, cel: &str) -> String {
        let mut cel = cel.to_owned();
        for (name, _) in self.text.variables {
            cel = renamed(&cel, name, &self.own_name(name));
        }
        cel
    }

    fn own_name(self, name: &str) -> String {
        format!("{}_{name}", self.rule.id.replace('-', "_"))
    }
}

fn constraints(resource: Resource, texts: &[JudgedText]) -> MatchResources {
    let operations = texts.iter().flat_map(|judged| judged.operations());
    MatchResources {
        match_policy: Some("Equivalent".to_owned()),
        resource_rules: Some(rules(resource, operations)),
        ..MatchResources::default()
    }
}

/// The requests with these operations on the parts of a resource.
fn rules(
    resource: Resource,
    requests: impl Iterator<Item = (String, &'static str)>,
) -> Vec<NamedRuleWithOperations> {
    let mut operations: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for (path, operation) in requests {
        operations.entry(path).or_default().insert(operation);
    }
    let rules = operations.into_iter().map(|(path, operations)| NamedRuleWithOperations {
        api_groups: Some(vec![resource.group().to_owned()]),
        api_versions: Some(vec!["v1".to_owned()]),
        operations: Some(operations.into_iter().map(str::to_owned).collect()),
        resources: Some(vec![path]),
        scope: Some("*".to_owned()),
        resource_names: None,
    });
    rules.collect()
}

/// Whose requests a policy judges: CEL, all of which holds for them.
fn judged(group: Group, own_controller: &str) -> Vec<String> {
    let mut judged = vec![
        format!("!('{BREAK_GLASS}' in request.userInfo.?groups.orValue([]))"),
        format!("request.userInfo.?username.orValue('') != '{}'", escaped(own_controller)),
    ];
    // `guard` judges the control plane too.
    if group.entry == Entry::Advise {
        judged.push(not_control_plane().expression);
    }
    judged
}

/// The variables that the rules may use, in the order in which they build on each other.
fn variables_of(texts: &[JudgedText], trusted: &Trusted) -> Vec<(String, String)> {
    let own = texts.iter().flat_map(|judged| {
        let variables = judged.text.variables.iter();
        variables.map(|(name, cel)| (judged.own_name(name), judged.named(cel)))
    });
    let common = variables(trusted).into_iter().map(|(name, cel)| (name.to_owned(), cel));
    common.chain(own).collect()
}

/// Those that the validation uses.
fn used_variables(all: Vec<(String, String)>, validation: &Validation) -> Vec<Variable> {
    let message = validation.message_expression.clone().unwrap_or_default();
    kept(all, vec![validation.expression.clone(), message])
}

/// Those of all variables that these expressions use, however indirectly.
fn kept(all: Vec<(String, String)>, mut used: Vec<String>) -> Vec<Variable> {
    let mut kept = Vec::new();
    for (name, expression) in all.into_iter().rev() {
        let is_new = !kept.iter().any(|one: &Variable| one.name == name);
        if is_new && used.iter().any(|cel| uses(cel, &name)) {
            used.push(expression.clone());
            kept.push(Variable { name, expression });
        }
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(
        made: &'a [AdmissionPolicy],
        name: &str,
        sentence: &str,
    ) -> Option<&'a AdmissionPolicy> {
        let policy = made.iter().find(|one| one.policy.metadata.name.as_deref() == Some(name))?;
        let validations = policy.policy.spec.as_ref()?.validations.as_ref()?;
        let has = |one: &Validation| {
            one.message_expression.as_ref().is_some_and(|text| text.contains(sentence))
        };
        validations.iter().any(has).then_some(policy)
    }

    #[test]
    fn each_rule_that_is_on_is_in_the_policy_of_its_mode() {
        let modes = BTreeMap::from([
            ("bound-volume-delete".to_owned(), Mode::Off),
            ("bound-volume-capacity".to_owned(), Mode::Audit),
        ]);
        let decisions = Policy { modes, ..Policy::default() };
        let made = admission_policies(&decisions, "me");
        let all = serde_json::to_string(&made.iter().map(|one| &one.policy).collect::<Vec<_>>());
        assert!(!all.unwrap().contains("[bound-volume-delete]"));
        for (name, rule) in [
            ("bindery-guard-persistentvolumes-audit", "[bound-volume-capacity]"),
            ("bindery-guard-persistentvolumes-deny", "[bound-volume-class]"),
            ("bindery-advise-persistentvolumes-warn", "[bound-volume-labels]"),
            ("bindery-advise-persistentvolumeclaims-deny", "would be set by hand"),
            ("bindery-advise-persistentvolumeclaims-warn", "is set by hand"),
        ] {
            let policy = found(&made, name, rule).unwrap_or_else(|| panic!("{name} lacks {rule}"));
            assert_eq!(policy.binding.spec.policy_name, name);
            let action = policy.binding.spec.validation_actions[0].to_ascii_lowercase();
            assert!(name.ends_with(&action), "{name}");
            let closes = name.contains("-guard-") && name.ends_with("-deny");
            let failure_policy =
                policy.policy.spec.as_ref().and_then(|spec| spec.failure_policy.as_deref());
            assert_eq!(failure_policy, Some(if closes { "Fail" } else { "Ignore" }), "{name}");
        }
    }

    #[test]
    fn each_policy_has_the_variables_that_it_uses_and_no_others() {
        for one in admission_policies(&Policy::default(), "me") {
            let spec = one.policy.spec.unwrap_or_default();
            let variables = spec.variables.unwrap_or_default();
            let text = serde_json::to_string(&(&spec.validations, &variables)).unwrap();
            let end = |next: char| !next.is_ascii_alphanumeric() && next != '_';
            let used: BTreeSet<&str> = text
                .split("variables.")
                .skip(1)
                .map(|rest| &rest[..rest.find(end).unwrap_or_default()])
                .collect();
            let names: BTreeSet<&str> = variables.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(used, names, "{:?}", one.policy.metadata.name);
            assert_eq!(names.len(), variables.len(), "{:?}", one.policy.metadata.name);
            let conditions = serde_json::to_string(&spec.match_conditions).unwrap();
            assert!(!conditions.contains("variables."), "{conditions}");
        }
    }
}
