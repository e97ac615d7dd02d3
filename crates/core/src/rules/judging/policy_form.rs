//! What a rule comes to as a ValidatingAdmissionPolicy: CEL that the API server evaluates by itself, without the webhook.
//!
//! CEL sees the request, the object before and after it, and nothing else: no second object and no clock. Each rule declares
//! how close its policy comes. The end-to-end tests compare both over every example. Not here: the manifests
//! (`api::admission_policy`).

use super::actor::{
    ACCOUNT_PREFIX, BINDER, CONTROLLER_MANAGER, GARBAGE_COLLECTOR, PV_PROTECTION, SCHEDULER,
    Trusted,
};
use super::resource::Resource;

/// How close a ValidatingAdmissionPolicy comes to a rule.
#[derive(Clone, Copy, Debug)]
pub enum PolicyForm {
    /// It denies what the rule denies.
    Exact(&'static [PolicyText]),
    /// It denies more, for this reason.
    Stricter(&'static [PolicyText], &'static str),
    /// It denies less, for this reason.
    Partial(&'static [PolicyText], &'static str),
    /// There is none, for this reason.
    NotExpressible(&'static str),
}

impl PolicyForm {
    /// Its word in the output and on pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact(_) => "exact",
            Self::Stricter(..) => "stricter",
            Self::Partial(..) => "partial",
            Self::NotExpressible(_) => "not expressible",
        }
    }

    /// The policies, one for each resource.
    pub fn texts(self) -> &'static [PolicyText] {
        match self {
            Self::Exact(texts) | Self::Stricter(texts, _) | Self::Partial(texts, _) => texts,
            Self::NotExpressible(_) => &[],
        }
    }

    /// Why it differs from the rule; nothing if it does not.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Exact(_) => None,
            Self::Stricter(_, reason) | Self::Partial(_, reason) | Self::NotExpressible(reason) => {
                Some(reason)
            }
        }
    }
}

/// Why most policies about bound volumes are stricter than their rule.
pub const BY_PHASE: &str = "It takes a PV whose status.phase is Bound for a bound one and does not look at the PVC: for the moment in which \
     the PVC is gone and the binder has not released the PV yet, it denies what the rule allows.";

/// What a rule looks for on one resource.
#[derive(Clone, Copy, Debug)]
pub struct PolicyText {
    /// The resource. Its objects have a schema, by which the API server checks the types.
    pub resource: Resource,
    /// Named values, by name and CEL; later ones may use earlier ones, as `variables.NAME`, and those of [`variables`].
    pub variables: &'static [(&'static str, &'static str)],
    /// Violations that the rule reports in its mode.
    pub violations: &'static [PolicyViolation],
    /// Violations that it only ever warns about.
    pub warnings: &'static [PolicyViolation],
    /// What has to hold too, as CEL about the `authorizer`, whom messages cannot ask.
    pub authorized: Option<&'static str>,
    /// By what there is no violation after all, as CEL about the `namespaceObject`, which conditions do not see.
    pub unless: Option<&'static str>,
}

impl PolicyText {
    /// One that looks for nothing.
    pub const fn of(resource: Resource) -> Self {
        Self {
            resource,
            variables: &[],
            violations: &[],
            warnings: &[],
            authorized: None,
            unless: None,
        }
    }
}

/// A violation.
#[derive(Clone, Copy, Debug)]
pub struct PolicyViolation {
    /// CEL that is true where there is one.
    pub found: &'static str,
    /// The sentence; `{NAME}` is the value of a variable, which is a string.
    pub sentence: &'static str,
}

/// Returns the variables that every policy may use, by name and CEL, in the order in which they build on each
/// other.
pub fn variables(trusted: &Trusted) -> Vec<(&'static str, String)> {
    let quoted = |names: &[&str]| {
        let quoted = names.iter().map(|name| format!("'{}'", escaped(name)));
        format!("[{}]", quoted.collect::<Vec<_>>().join(", "))
    };
    let with = |own: &[&'static str], trusted: &[String]| {
        let trusted = trusted.iter().map(String::as_str);
        let names: Vec<&str> = own.iter().copied().chain(trusted).collect();
        format!("variables.user in {}", quoted(&names))
    };
    vec![
        ("user", "request.userInfo.?username.orValue('')".to_owned()),
        // `UPDATE status`: the operation, and the part of the object that it writes.
        ("requestType", "request.operation + ' ' + request.?subResource.orValue('')".to_owned()),
        (
            "isTerminating",
            "request.operation != 'CREATE' && oldObject.metadata.?deletionTimestamp.hasValue()"
                .to_owned(),
        ),
        ("isProgram", format!("variables.user.startsWith('{ACCOUNT_PREFIX}')")),
        ("isBinder", with(&[BINDER, CONTROLLER_MANAGER], &trusted.binders)),
        ("isScheduler", with(&[SCHEDULER], &[])),
        ("isProvisioner", with(&[], &trusted.provisioners)),
        ("isPopulator", with(&[], &trusted.populators)),
        ("isGarbageCollector", with(&[GARBAGE_COLLECTOR, CONTROLLER_MANAGER], &[])),
        ("isVolumeProtection", with(&[PV_PROTECTION, CONTROLLER_MANAGER], &[])),
        (
            "name",
            "request.operation == 'DELETE' ? oldObject.metadata.?name.orValue('') : \
             object.metadata.?name.orValue('')"
                .to_owned(),
        ),
        ("oldPhase", "oldObject.?status.?phase.orValue('')".to_owned()),
        ("newPhase", "object.?status.?phase.orValue('')".to_owned()),
        // The binder sets the phase once both halves of a pair point at each other.
        (
            "isBound",
            "variables.oldPhase == 'Bound' && oldObject.spec.?claimRef.?uid.orValue('') != ''"
                .to_owned(),
        ),
        (
            "claim",
            "oldObject.spec.?claimRef.?namespace.orValue('') + '/' + \
             oldObject.spec.?claimRef.?name.orValue('')"
                .to_owned(),
        ),
        ("oldPolicy", "oldObject.spec.?persistentVolumeReclaimPolicy.orValue('Retain')".to_owned()),
        ("newPolicy", "object.spec.?persistentVolumeReclaimPolicy.orValue('Retain')".to_owned()),
        // `restored_policy`.
        (
            "isRestored",
            "(oldObject.metadata.?annotations[?'bindery.dev/move'].orValue('').contains(\
             '\"reclaimPolicy\":\"' + variables.newPolicy + '\"') || \
             oldObject.metadata.?annotations[?'bindery.dev/import'].orValue('') == variables.newPolicy) && \
             !['bindery.dev/move', 'bindery.dev/import', 'bindery.dev/recreated'].exists(k, \
             object.metadata.?annotations[?k].hasValue())"
                .to_owned(),
        ),
        // `harmless`, of the bound-volume and released-volume rules.
        (
            "harmlessPolicy",
            "variables.oldPolicy == 'Retain' ? 'keep Retain' : 'set Retain'".to_owned(),
        ),
    ]
}

/// A text inside single quotes of CEL.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// Returns the CEL of a sentence of the rule `id`: a string.
pub fn sentence(id: &str, text: &str) -> String {
    let mut cel = format!("'[{}] ", escaped(id));
    for (index, part) in text.split(['{', '}']).enumerate() {
        if index.is_multiple_of(2) {
            cel.push_str(&escaped(part));
        } else {
            cel.push_str("' + variables.");
            cel.push_str(part);
            cel.push_str(" + '");
        }
    }
    cel.push('\'');
    cel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RULES;

    #[test]
    fn a_sentence_is_a_string_of_cel() {
        assert_eq!(
            sentence("a-rule", "PV \"{name}\" isn't {b}"),
            r#"'[a-rule] PV "' + variables.name + '" isn\'t ' + variables.b + ''"#
        );
    }

    #[test]
    fn each_policy_looks_at_what_its_rule_looks_at() {
        for rule in RULES {
            for text in rule.policy.texts() {
                let is_its =
                    |request: &crate::rules::RequestType| request.resource == text.resource;
                assert!(rule.request_types.iter().any(is_its), "{}: {text:?}", rule.id);
                assert!(!text.violations.is_empty(), "{}", rule.id);
            }
        }
    }

    #[test]
    fn each_sentence_names_variables_that_exist() {
        let common = variables(&Trusted::default());
        for rule in RULES {
            for text in rule.policy.texts() {
                for violation in text.violations.iter().chain(text.warnings) {
                    let names = violation.sentence.split(['{', '}']).skip(1).step_by(2);
                    for name in names {
                        let is_known = common.iter().any(|(known, _)| *known == name)
                            || text.variables.iter().any(|(known, _)| *known == name);
                        assert!(is_known, "{}: {name}", rule.id);
                    }
                }
            }
        }
    }
}
