//! Every write of the binding core is part of the recorded conversation, so that what the simulated
//! server makes of it is what the real one makes of it: as it should be, on a stale version, and on
//! another object of the same name.

use std::collections::BTreeSet;

use bindery::api::write::write_patch;
use bindery::binding::{ChosenBy, NewStatus, ObjectRef, Remaining, Write};
use bindery::model::annotations::{EXTERNAL_DELETION, IN_TREE_DELETION};
use bindery::model::{
    AccessModes, ClaimKey, ClassName, Quantity, ResourceVersion, Uid, VolumeName, VolumePhase,
};

use crate::api_server::conversation::{Step, steps};

const ANOTHER: &str = "22222222-2222-4222-8222-222222222222";

/// On which state a write is decided.
#[derive(Clone, Copy, Debug)]
enum Decided {
    Newest,
    Older,
    Another,
}

impl Decided {
    fn basis<N>(self, object: N, name: &str) -> ObjectRef<N> {
        let uid = match self {
            Self::Newest | Self::Older => format!("${{{name}.uid}}"),
            Self::Another => ANOTHER.to_owned(),
        };
        let version = match self {
            Self::Newest | Self::Another => format!("${{{name}.resourceVersion}}"),
            Self::Older => "1".to_owned(),
        };
        let (uid, version) = (Some(Uid::new(uid)), Some(ResourceVersion::new(version)));
        ObjectRef { name: object, uid, version }
    }

    fn volume(self) -> ObjectRef<VolumeName> {
        self.basis(VolumeName::new("bind-pv"), "bind-pv")
    }

    fn claim(self, name: &str) -> ObjectRef<ClaimKey> {
        self.basis(ClaimKey::new("default", name), name)
    }

    /// One write of each kind and shape.
    fn writes(self) -> Vec<Write> {
        let data = || self.claim("bind-data");
        let modes = |names: &[&str]| AccessModes::from_names(names.iter().copied());
        let bound = |access_modes, capacity: Option<&str>| NewStatus::Bound {
            access_modes,
            capacity: capacity.map(|text| Quantity::parse(text).expect("an amount")),
            attributes_class: None,
        };
        let phase = |phase, message: &str| Write::Phase {
            volume: self.volume(),
            phase,
            message: message.to_owned(),
        };
        let status = |claim, status| Write::Status { claim, status };
        let migrate =
            |driver, removed| Write::MigrateVolume { volume: self.volume(), driver, removed };
        let classless = || self.claim("bind-classless");
        vec![
            phase(VolumePhase::Available, ""),
            Write::Reserve {
                volume: self.volume(),
                claim: Decided::Newest.claim("bind-data"),
                chosen: ChosenBy::Binder,
                tenant: None,
            },
            phase(VolumePhase::Bound, ""),
            Write::SetVolumeName {
                claim: data(),
                volume: VolumeName::new("bind-pv"),
                chosen: ChosenBy::Binder,
            },
            status(data(), bound(modes(&["ReadWriteOnce", "ReadOnlyMany"]), Some("10Gi"))),
            status(data(), bound(modes(&["ReadOnlyMany"]), None)),
            status(data(), NewStatus::Lost),
            status(self.claim("bind-gone"), NewStatus::Pending),
            Write::Unreserve { volume: self.volume(), left: Remaining::Nothing },
            Write::Unreserve { volume: self.volume(), left: Remaining::Name },
            Write::SetClass { claim: classless(), class: ClassName::new("grow") },
            Write::SetProvisioner {
                claim: classless(),
                provisioner: "a.b".into(),
                migrated_to: None,
            },
            Write::SetProvisioner {
                claim: classless(),
                provisioner: "kubernetes.io/aws-ebs".into(),
                migrated_to: Some("ebs.csi.aws.com"),
            },
            Write::MigrateClaim { claim: classless(), driver: Some("ebs.csi.aws.com") },
            Write::MigrateClaim { claim: classless(), driver: None },
            migrate(Some("ebs.csi.aws.com"), vec![IN_TREE_DELETION]),
            migrate(None, vec![EXTERNAL_DELETION]),
        ]
    }
}

/// How many kinds of writes there are, by their labels: a new one has to be put into the conversation.
const KINDS: usize = 9;

fn is_recorded(steps: &[Step], write: &Write) -> bool {
    let patch = write_patch(write);
    let is_same = |step: &Step| {
        let kind = step.content_type == patch.content_type;
        kind && step.path == patch.path && step.body.as_ref() == Some(&patch.body)
    };
    steps.iter().any(is_same)
}

#[test]
fn every_write_of_the_core_is_recorded() {
    let steps = steps();
    let mut kinds = BTreeSet::new();
    for decided in [Decided::Newest, Decided::Older, Decided::Another] {
        for write in decided.writes() {
            let patch = write_patch(&write);
            assert!(
                is_recorded(&steps, &write),
                "put it into tests/simulation/api_server/conversation/steps.txt, then make generate:\n\
                 PATCH {} ({}) {}",
                patch.path,
                patch.content_type,
                patch.body
            );
            kinds.insert(write.label());
        }
    }
    assert_eq!(kinds.len(), KINDS);
    // What the binder did not choose, it does not mark.
    let chosen = ChosenBy::Other;
    let newest = Decided::Newest;
    let (volume, claim) = (newest.volume(), newest.claim("bind-gone"));
    let named = VolumeName::new("bind-pv");
    assert!(is_recorded(
        &steps,
        &Write::Reserve { volume, claim: claim.clone(), chosen, tenant: None }
    ));
    assert!(is_recorded(&steps, &Write::SetVolumeName { claim, volume: named, chosen }));
}
