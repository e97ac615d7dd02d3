//! Who enforces what a finding is about: the webhook, or the API server too, by itself.

use serde::Serialize;

use crate::cli::input::object_id::ObjectKind;
use crate::rules::{PolicyForm, Rule};

/// Who denies a change, or warns of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum Enforcement {
    /// The API server, of any cluster.
    ApiServer,
    /// The webhook.
    Webhook,
    /// The policy of the rule, where `bindery generate policies` was applied.
    Policy,
    /// That policy, but it denies less than the rule: of this change it is not known.
    PolicyInPart,
}

impl Enforcement {
    /// What the API server itself denies.
    pub(in crate::cli) const API_SERVER: &'static [Self] = &[Self::ApiServer];

    /// Returns who enforces a rule on objects of a kind.
    pub(in crate::cli) fn of_rule(rule: &Rule, kind: ObjectKind) -> &'static [Self] {
        let is_looked_at =
            rule.policy.texts().iter().any(|text| kind.resource() == Some(text.resource));
        match rule.policy {
            PolicyForm::Exact(_) | PolicyForm::Stricter(..) if is_looked_at => {
                &[Self::Webhook, Self::Policy]
            }
            PolicyForm::Partial(..) if is_looked_at => &[Self::Webhook, Self::PolicyInPart],
            PolicyForm::Exact(_)
            | PolicyForm::Stricter(..)
            | PolicyForm::Partial(..)
            | PolicyForm::NotExpressible(_) => &[Self::Webhook],
        }
    }

    /// Its words in a table.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ApiServer => "API server",
            Self::Webhook => "webhook",
            Self::Policy => "policy",
            Self::PolicyInPart => "policy in part",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::find;

    #[test]
    fn a_rule_is_enforced_by_its_policy_where_that_looks_at_the_object() {
        let of = |id, kind| Enforcement::of_rule(find(id).unwrap(), kind);
        let both = [Enforcement::Webhook, Enforcement::Policy];
        assert_eq!(of("bound-volume-delete", ObjectKind::Volume), both);
        assert_eq!(of("prebind-incomplete", ObjectKind::Volume), both);
        let in_part = [Enforcement::Webhook, Enforcement::PolicyInPart];
        assert_eq!(of("protection-finalizer", ObjectKind::Volume), in_part);
        let alone = [Enforcement::Webhook];
        assert_eq!(of("protection-finalizer", ObjectKind::Claim), alone);
        assert_eq!(of("prebind-taken", ObjectKind::Volume), alone);
    }
}
