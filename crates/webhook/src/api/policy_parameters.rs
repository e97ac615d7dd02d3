//! ValidatingAdmissionPolicies that have the PVs of the cluster as parameters, and their bindings.
//!
//! Beside those of `admission_policy`. What they look for is in `rules::judging::volume_parameters`.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{ParamKind, ParamRef};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::admission_policy::{AdmissionPolicy, Group, JudgedText, action, entry, policy};
use super::registration::NAME;
use crate::rules::judging::volume_parameters::with_volumes;
use crate::rules::{Policy, RULES};

/// Returns the policies of all rules that compare a PVC with its PV and are not off, under the operator's decisions.
/// `own_controller` is the user name of Bindery's controller, whose requests no policy judges.
pub fn volume_policies(decisions: &Policy, own_controller: &str) -> Vec<AdmissionPolicy> {
    let mut groups: BTreeMap<Group, Vec<JudgedText>> = BTreeMap::new();
    for rule in RULES {
        let mode = decisions.modes.get(rule.id).copied().unwrap_or(rule.mode);
        if let (Some(text), Some(action)) = (with_volumes(rule.id), action(mode)) {
            let group = Group { entry: entry(rule), resource: text.resource, action };
            let judged = JudgedText { rule, text, violations: text.violations };
            groups.entry(group).or_default().push(judged);
        }
    }
    let made = |(group, texts): (Group, Vec<JudgedText>)| {
        with_parameters(policy(group, &texts, &decisions.trusted, own_controller))
    };
    groups.into_iter().map(made).collect()
}

/// The policy with all PVs as its parameters, under a name of its own.
fn with_parameters(mut made: AdmissionPolicy) -> AdmissionPolicy {
    let name = made.binding.spec.policy_name.replacen(NAME, &format!("{NAME}-volumes"), 1);
    made.policy.metadata.name = Some(name.clone());
    made.binding.metadata.name = Some(name.clone());
    made.binding.spec.policy_name = name;
    if let Some(spec) = &mut made.policy.spec {
        let api_version = Some("v1".to_owned());
        spec.param_kind =
            Some(ParamKind { api_version, kind: Some("PersistentVolume".to_owned()) });
    }
    made.binding.spec.param_ref = Some(ParamRef {
        selector: Some(LabelSelector::default()),
        parameter_not_found_action: Some("Allow".to_owned()),
        ..ParamRef::default()
    });
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::admission_policy::admission_policies;
    use crate::rules::Mode;

    #[test]
    fn they_have_names_of_their_own_and_the_modes_of_their_rules() {
        let modes = BTreeMap::from([
            ("prebind-class".to_owned(), Mode::Warn),
            ("prebind-taken".to_owned(), Mode::Off),
        ]);
        let decisions = Policy { modes, ..Policy::default() };
        let others = admission_policies(&decisions, "me");
        let made = volume_policies(&decisions, "me");
        assert_eq!(made.len(), 2, "{made:?}");
        for one in &made {
            let has_same_name =
                |other: &AdmissionPolicy| other.policy.metadata.name == one.policy.metadata.name;
            assert!(!others.iter().any(has_same_name), "{one:?}");
            assert_eq!(Some(&one.binding.spec.policy_name), one.policy.metadata.name.as_ref());
            let text = serde_json::to_string(&one.policy).unwrap();
            let is_warning = one.binding.spec.validation_actions == ["Warn"];
            assert_eq!(text.contains("[prebind-class]"), is_warning, "{text}");
            // By that id, the rule about tenants reports what it finds.
            assert_eq!(text.contains("[prebind-taken]"), !is_warning, "{text}");
            assert!(!text.contains("phase.orValue('') == 'Bound')"), "{text}");
        }
    }
}
