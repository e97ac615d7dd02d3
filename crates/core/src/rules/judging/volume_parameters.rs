//! What rules about a PVC and the PV that it names come to as a ValidatingAdmissionPolicy with the PVs as parameters.
//!
//! The API server evaluates such a policy for each PV, as `params`, and denies what it denies for one. It compares a PVC that
//! comes to name a PV. The other side, a PV that is reserved for a PVC, has no policy: parameters of a namespace judge
//! objects of that namespace. Who may not get the PV is not judged, as a denial would say what the PV is like; but who names
//! a PV of another tenant is denied in any case, and learns that there is one of that name.

use super::policy_form::{PolicyText, PolicyViolation};
use super::resource::Resource;

/// How many PVs a cluster may have for that to be worthwhile: each of them adds 0.1 ms to the creation of each PVC, so that
/// these add as much as two or three more requests. `docs/reference/policies.md` has the measurement.
pub const VOLUMES_MAX: usize = 100;

/// Whose requests are judged: CEL.
const MAY_GET_VOLUME: &str = "authorizer.group('').resource('persistentvolumes').name(params.metadata.name).check('get').allowed()";

/// A violation where a PVC comes to name the PV `params`, which is not being deleted, and `$also` holds.
macro_rules! named {
    ($also:literal, $sentence:literal) => {
        &[PolicyViolation {
            found: concat!(
                "object.spec.?volumeName.orValue('') == params.metadata.name && ",
                "(request.operation == 'CREATE' || oldObject.spec.?volumeName.orValue('') == '') && ",
                "!params.metadata.?deletionTimestamp.hasValue() && !variables.isBinder && !variables.isScheduler && ",
                $also,
            ),
            sentence: $sentence,
        }]
    };
}

/// Rules with their policy. A PV that is reserved for the PVC by name is left to the webhook, which then warns.
static TEXTS: [(&str, PolicyText); 5] = [
    (
        "foreign-namespace-volume",
        PolicyText {
            variables: &[("volume", "object.spec.?volumeName.orValue('')")],
            violations: named!(
                "(params.metadata.?annotations[?'bindery.dev/allowed-namespaces'].hasValue() || \
                 params.metadata.?labels[?'bindery.dev/tenant'].orValue('') != '') && \
                 !params.metadata.?annotations[?'bindery.dev/allowed-namespaces'].orValue('').split(',')\
                 .map(p, p.trim()).exists(p, p == request.namespace || \
                 (p.endsWith('*') && request.namespace.startsWith(p.substring(0, p.size() - 1))))",
                "PV \"{volume}\" is not available to PVC \"{name}\"; the PVC would stay Pending; remove spec.volumeName or \
                 ask your platform team"
            ),
            unless: Some(IS_OF_TENANT),
            ..PolicyText::of(Resource::Claims)
        },
    ),
    (
        "prebind-taken",
        PolicyText {
            variables: &[("volume", "object.spec.?volumeName.orValue('')")],
            // A PV that is Bound has a PVC, or had it a moment ago.
            violations: named!(
                "params.spec.?claimRef.?name.orValue('') != '' && params.spec.?claimRef.?namespace.orValue('') != '' && \
                 !(params.spec.?claimRef.?namespace.orValue('') == request.namespace && \
                 params.spec.?claimRef.?name.orValue('') == object.metadata.?name.orValue('')) && \
                 (params.spec.?claimRef.?uid.orValue('') == '' || params.?status.?phase.orValue('') == 'Bound')",
                "PV \"{volume}\" is not available to PVC \"{name}\"; the PVC would stay Pending; remove spec.volumeName or \
                 ask your platform team"
            ),
            authorized: Some(MAY_GET_VOLUME),
            ..PolicyText::of(Resource::Claims)
        },
    ),
    (
        "prebind-class",
        PolicyText {
            variables: &[
                (
                    "class",
                    "object.metadata.?annotations[?'volume.beta.kubernetes.io/storage-class']\
                     .orValue(object.spec.?storageClassName.orValue(''))",
                ),
                (
                    "requested",
                    "variables.class == '' ? 'no StorageClass' : 'StorageClass \"' + variables.class + '\"'",
                ),
            ],
            violations: named!(
                "!params.spec.?claimRef.hasValue() && variables.class != \
                 params.metadata.?annotations[?'volume.beta.kubernetes.io/storage-class']\
                 .orValue(params.spec.?storageClassName.orValue(''))",
                "PVC \"{name}\" requests {requested}, but the PV that it names has another StorageClass; the PVC would stay \
                 Pending; use the StorageClass of the PV or remove spec.volumeName"
            ),
            authorized: Some(MAY_GET_VOLUME),
            ..PolicyText::of(Resource::Claims)
        },
    ),
    (
        "prebind-volume-mode",
        PolicyText {
            variables: &[("mode", "object.spec.?volumeMode.orValue('Filesystem')")],
            violations: named!(
                "!params.spec.?claimRef.hasValue() && variables.mode != params.spec.?volumeMode.orValue('Filesystem')",
                "PVC \"{name}\" requests volume mode {mode}, but the PV that it names has another; no pod could start with \
                 it; use the volume mode of the PV or remove spec.volumeName"
            ),
            authorized: Some(MAY_GET_VOLUME),
            ..PolicyText::of(Resource::Claims)
        },
    ),
    (
        "prebind-access-modes",
        PolicyText {
            variables: &[(
                "requested",
                "['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'].filter(m, m in \
                 object.spec.?accessModes.orValue([])).map(m, {'ReadWriteOnce': 'RWO', 'ReadOnlyMany': 'ROX', \
                 'ReadWriteMany': 'RWX', 'ReadWriteOncePod': 'RWOP'}[m]).join(',')",
            )],
            violations: named!(
                "!params.spec.?claimRef.hasValue() && \
                 !sets.contains(params.spec.?accessModes.orValue([]), object.spec.?accessModes.orValue([]))",
                "PVC \"{name}\" requests {requested}, but the PV that it names does not offer it; the PVC would stay \
                 Pending; request fewer access modes or remove spec.volumeName"
            ),
            authorized: Some(MAY_GET_VOLUME),
            ..PolicyText::of(Resource::Claims)
        },
    ),
];

/// Whether the PVC is of the tenant of the PV: CEL.
const IS_OF_TENANT: &str = "params.metadata.?labels[?'bindery.dev/tenant'].orValue('') != '' && \
    namespaceObject.metadata.?labels[?'bindery.dev/tenant'].orValue('') == \
    params.metadata.?labels[?'bindery.dev/tenant'].orValue('')";

/// Returns what the rule of this id looks for with PVs as parameters; nothing if it has no such policy.
pub fn with_volumes(id: &str) -> Option<&'static PolicyText> {
    TEXTS.iter().find(|(rule, _)| *rule == id).map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::find;
    use crate::rules::judging::actor::Trusted;
    use crate::rules::judging::policy_form::variables;

    #[test]
    fn each_text_is_of_a_rule_about_claims_and_names_variables_that_exist() {
        let common = variables(&Trusted::default());
        for (id, text) in &TEXTS {
            let rule = find(id).unwrap_or_else(|| panic!("{id} is no rule"));
            assert!(rule.request_types.iter().any(|request| request.resource == text.resource));
            for violation in text.violations {
                for name in violation.sentence.split(['{', '}']).skip(1).step_by(2) {
                    let is_known = common.iter().any(|(known, _)| *known == name)
                        || text.variables.iter().any(|(known, _)| *known == name);
                    assert!(is_known, "{id}: {name}");
                }
            }
        }
    }
}
