//! What is ignored in a claim because it names its volume.

use super::prelude::*;
use crate::model::Content;

pub(super) static RULE: Rule = Rule {
    id: "ignored-by-prebind",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
    ]),
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC names its PV and has a selector or a data source as well.",
        consequence: "Kubernetes gives it the PV that it names, whatever its labels and contents are. The selector \
            is ignored, and nothing is copied.",
        instead: "Keep one of them: spec.volumeName, or the selector or data source.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        variables: &[
            ("isCopied", "object.spec.?dataSource.hasValue() || object.spec.?dataSourceRef.hasValue()"),
            (
                "ignored",
                "object.spec.?selector.hasValue() ? (variables.isCopied ? 'a selector and a data source, which are \
                 ignored' : 'a selector, which is ignored') : 'a data source, which is not copied'",
            ),
        ],
        violations: &[PolicyViolation {
            found: "object.spec.?volumeName.orValue('') != '' && !variables.isBinder && (request.operation == \
                'CREATE' || oldObject.spec.?volumeName.orValue('') == '') && (object.spec.?selector.hasValue() || \
                variables.isCopied)",
            sentence: "PVC \"{name}\" names its PV and has {ignored}; it gets that PV as it is; remove \
                spec.volumeName, or what is ignored",
        }],
        ..PolicyText::of(Resource::Claims)
    }]),
    denied: &[
        Example::new("naming a PV and selecting by labels")
            .given(FREE)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO volume=pv-a selector=tier:gold")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
        Example::new("naming a PV and requesting a copy of a snapshot")
            .given(FREE)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO volume=pv-a snapshot=monday")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
    ],
    allowed: &[
        Example::new("selecting by labels alone")
            .given(FREE)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class= selector=tier:gold"),
        Example::new("labelling a PVC that names its PV and selects by labels")
            .given(
                "volume pv-a 10Gi RWO phase=Available\n\
                    claim db/data 10Gi RWO class= volume=pv-a selector=tier:gold",
            )
            .by(Persona::Tenant)
            .merges("pvc/db/data", LABEL),
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let new = change.claim().and_then(|claim| claim.created_or(|old, _| old.volume.is_none()));
    let Some(new) = new else { return Vec::new() };
    if new.volume.is_none() || change.actor.is_binder() {
        return Vec::new();
    }
    let ignored = match (&new.selector, new.content) {
        (Some(_), Content::Empty) => "a selector, which is ignored",
        (None, Content::Copied) => "a data source, which is not copied",
        (Some(_), Content::Copied) => "a selector and a data source, which are ignored",
        (None, Content::Empty) => return Vec::new(),
    };
    let text = format!(
        "PVC \"{}\" names its PV and has {ignored}; it gets that PV as it is; remove \
         spec.volumeName, or what is ignored",
        new.key.name
    );
    vec![Violation::new("spec.volumeName", text)]
}
