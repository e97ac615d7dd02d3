//! A claim that asks for a copy of a data source and would be given a volume without it.

use super::prelude::*;
use crate::binding::{FitCheck, Choice, choose};
use crate::model::{BindingMode, Claim, ClassRequest, Content, Provisioner};

pub(super) static RULE: Rule = Rule {
    id: "ignored-data-source",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Claims, Operation::Create)]),
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC requests a copy of a snapshot or of another PVC, and no driver creates its PV. Its \
            StorageClass has no provisioner, or a PV that was created by hand fits it.",
        consequence: "The in-tree binder gives it any PV that fits, empty or with other data on it, without an \
            event. Bindery's binder leaves it Pending.",
        instead: "Use a StorageClass whose driver can copy, and for which no PVs are created by hand. Reserve a \
            PV that already holds the data by spec.claimRef.",
    },
    policy: PolicyForm::NotExpressible("Whether a driver copies the data shows on the StorageClass."),
    denied: &[
        Example::new("requesting a copy of a snapshot without a StorageClass")
            .given(FREE)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class= snapshot=monday")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
        Example::new("requesting a copy of a snapshot where a PV made by hand fits")
            .given(
                "class fast provisioner=disk.example.com\n\
                    volume pv-a 10Gi RWO class=fast csi=disk.example.com phase=Available",
            )
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast snapshot=monday")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
    ],
    allowed: &[
        Example::new("requesting a copy of a snapshot")
            .given("class fast provisioner=disk.example.com")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast snapshot=monday"),
        Example::new("requesting a copy that is on a PV reserved for the PVC")
            .given(
                "class fast provisioner=disk.example.com\n\
                    volume pv-a 10Gi RWO class=fast csi=disk.example.com for=db/data \
                    phase=Available",
            )
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast snapshot=monday"),
    ],
    check,
};

const FIELD: &str = "spec.dataSource";

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.claim() else { return Vec::new() };
    if new.content == Content::Empty || new.volume.is_some() {
        return Vec::new();
    }
    let is_reserved = evidence.reserved_for(&new.key).next().is_some();
    let without_driver = || by_class(new, evidence);
    let found =
        if is_reserved { None } else { without_driver().or_else(|| by_volume(new, evidence)) };
    found.into_iter().collect()
}

/// No provisioner creates volumes of its class.
fn by_class(new: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    let class = match new.class() {
        ClassRequest::Classless => return Some(uncopied(new, "it has no StorageClass")),
        // It gets the default class, or waits for one.
        ClassRequest::Unset => return None,
        ClassRequest::Named(class) => class,
    };
    let (lookup, read) = (evidence.class(&class), Read::Class(class.clone()));
    match lookup {
        Lookup::Present(found) => match found.provisioner {
            Provisioner::Static => {
                let why = format!("StorageClass \"{class}\" has no provisioner");
                Some(uncopied(new, &why).depending_on(Dependency::on(read, lookup)))
            }
            Provisioner::Named(_) => None,
        },
        // `unknown-class` says that it does not exist.
        Lookup::Absent => None,
        Lookup::Unknown => Some(Violation::open(FIELD, read)),
    }
}

/// A volume that is free fits it but for the data.
fn by_volume(new: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    let empty = Claim { content: Content::Empty, ..new.clone() };
    let asker = FitCheck::Controller(BindingMode::Immediate);
    let Choice::Free(volume) = choose(evidence.view(), &empty, asker) else { return None };
    let lookup = evidence.volume(&volume.name);
    lookup.present()?;
    let dependency = Dependency::on(Read::Volume(volume.name.clone()), lookup);
    Some(uncopied(new, "a PV that was created by hand fits it").depending_on(dependency))
}

/// Names no volume: a user who creates claims may not see them.
fn uncopied(new: &Claim, why: &str) -> Violation {
    let text = format!(
        "PVC \"{}\" requests a copy of a data source, but {why}; the in-tree binder gives it a PV \
         without that data; use a StorageClass whose driver can copy, or ask your platform team",
        new.key.name
    );
    Violation::new(FIELD, text)
}
