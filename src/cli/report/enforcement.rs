//! Who enforces what a finding is about: the webhook, or the API server too, by itself.

use serde::Serialize;

use crate::cli::args::InstalledPolicies;
use crate::cli::input::object_id::ObjectKind;
use crate::rules::judging::volume_parameters::with_volumes;
use crate::rules::{PolicyForm, Rule};

/// Who denies a change, or warns of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum Enforcement {
    /// The API server, of any cluster.
    ApiServer,
    /// The webhook.
    Webhook,
    /// The policy of the rule.
    Policy,
    /// That policy, but it denies less than the rule: of this change it is not known.
    PolicyInPart,
    /// The policy of the rule that has PVs as parameters, where `--volumes-as-parameters` made it.
    PolicyWithVolumes,
    /// What is installed lets it by.
    Nothing,
}

impl Enforcement {
    /// Returns who enforces a rule on objects of a kind where all that Bindery has is installed.
    pub(in crate::cli) fn of_rule(rule: &Rule, kind: ObjectKind) -> Vec<Self> {
        let is_of_kind = |resource| kind.resource() == Some(resource);
        let is_looked_at = rule.policy.texts().iter().any(|text| is_of_kind(text.resource));
        let policy = match rule.policy {
            PolicyForm::Exact(_) | PolicyForm::Stricter(..) if is_looked_at => Some(Self::Policy),
            PolicyForm::Partial(..) if is_looked_at => Some(Self::PolicyInPart),
            PolicyForm::Exact(_)
            | PolicyForm::Stricter(..)
            | PolicyForm::Partial(..)
            | PolicyForm::NotExpressible(_) => None,
        };
        let has_parameters = with_volumes(rule.id).is_some_and(|text| is_of_kind(text.resource));
        let with_volumes = has_parameters.then_some(Self::PolicyWithVolumes);
        [Some(Self::Webhook), policy, with_volumes].into_iter().flatten().collect()
    }

    /// Returns what is left of `all` where these policies are installed; of the chart's default, none are.
    pub(super) fn installed(all: &[Self], policies: Option<InstalledPolicies>) -> Vec<Self> {
        let is_installed = |one: &Self| match one {
            Self::ApiServer | Self::Nothing => true,
            Self::Webhook => policies != Some(InstalledPolicies::Instead),
            Self::Policy | Self::PolicyInPart | Self::PolicyWithVolumes => policies.is_some(),
        };
        let installed: Vec<Self> = all.iter().copied().filter(is_installed).collect();
        if installed.is_empty() && !all.is_empty() { vec![Self::Nothing] } else { installed }
    }

    /// Its words in a table.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ApiServer => "API server",
            Self::Webhook => "webhook",
            Self::Policy => "policy",
            Self::PolicyInPart => "policy in part",
            Self::PolicyWithVolumes => "policy with PVs",
            Self::Nothing => "nothing",
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
        let with_volumes = [Enforcement::Webhook, Enforcement::PolicyWithVolumes];
        assert_eq!(of("prebind-taken", ObjectKind::Claim), with_volumes);
    }

    #[test]
    fn what_is_not_installed_enforces_nothing() {
        use Enforcement::{ApiServer, Nothing, Policy, Webhook};
        let installed = |all: &[_], policies| Enforcement::installed(all, policies);
        let (beside, instead) = (Some(InstalledPolicies::Beside), Some(InstalledPolicies::Instead));
        assert_eq!(installed(&[Webhook, Policy], None), [Webhook]);
        assert_eq!(installed(&[Webhook, Policy], beside), [Webhook, Policy]);
        assert_eq!(installed(&[Webhook, Policy], instead), [Policy]);
        assert_eq!(installed(&[Webhook], instead), [Nothing]);
        assert_eq!(installed(&[ApiServer], instead), [ApiServer]);
        // Of a scan: what exists is not denied.
        assert_eq!(installed(&[], instead), []);
    }
}
