//! Deleting a CSIDriver of which there are volumes.

use super::prelude::*;
use crate::model::{Backend, Volume};

pub(super) static RULE: Rule = Rule {
    id: "csi-driver-delete-in-use",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Drivers, Operation::Delete)]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A CSIDriver is deleted while bound PVs are of its driver.",
        consequence: "Kubernetes then takes defaults for what the object said: it attaches PVs that need no attaching, \
            and waits for an attacher that does not exist; it hands the driver neither pod nor token, and changes the \
            owner of files where the driver forbade it. Pods that start from then on may not get their PVs.",
        instead: "Apply the new CSIDriver over the old one. Where a field cannot be changed, let no pod that uses \
            the driver start between the two. Remove the driver once there are no PVs of it.",
    },
    policy: PolicyForm::NotExpressible("Which PVs are of the driver shows on the PVs."),
    denied: &[Example::new("deleting the CSIDriver of a bound PV")
        .given("driver disk.example.com\npair pv-a db/data 10Gi RWO csi=disk.example.com")
        .deletes("csidriver/disk.example.com")
        .then(&[Fact::Gone("csidriver/disk.example.com")])],
    allowed: &[
        Example::new("deleting a CSIDriver without PVs")
            .given("driver disk.example.com\npair pv-a db/data 10Gi RWO csi=other.example.com")
            .deletes("csidriver/disk.example.com"),
        Example::new("deleting a CSIDriver of which no PV is bound")
            .given("driver disk.example.com\nvolume pv-a 10Gi RWO phase=Available csi=disk.example.com")
            .deletes("csidriver/disk.example.com"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::Driver(Transition::Delete(driver)) = &change.subject else {
        return Vec::new();
    };
    let is_of = |volume: &Volume| matches!(&volume.backend, Backend::Csi(name) if **name == *driver.name);
    let volumes = evidence.view().volumes().filter(|volume| is_of(volume));
    let mut held = volumes.filter_map(|volume| Some((volume, bound(volume, evidence)?)));
    let Some((volume, (key, dependency))) = held.next() else { return Vec::new() };
    let more = match held.count() {
        0 => String::new(),
        more => format!(", as {more} more bound PVs are"),
    };
    let text = format!(
        "PV \"{}\", bound to PVC \"{key}\", is of driver \"{}\"{more}; without the CSIDriver Kubernetes attaches and \
         mounts such PVs by defaults, and pods that start may not get them; apply the new CSIDriver over this one",
        volume.name, driver.name
    );
    vec![Violation::new("metadata.name", text).depending_on(dependency)]
}
