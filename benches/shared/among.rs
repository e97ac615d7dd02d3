//! A claim and the volumes among which one is chosen for it.

use std::sync::Arc;

use bindery::api::claim::claim;
use bindery::api::volume::Wanted;
use bindery::api::volume::volume;
use bindery::binding::{Choice, FitCheck, Observed, View, choose};
use bindery::model::{BindingMode, Claim, Quantity, Volume, VolumeName};

/// Who asks: a binder, for a class that does not delay.
pub(crate) const ASKER: FitCheck = FitCheck::Controller(BindingMode::Immediate);

const VOLUME: &str = r#"{"metadata":{"name":"pv","uid":"f0a1c2d3-0000-4000-8000-000000000001",
"resourceVersion":"7"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},
"storageClassName":"fast","persistentVolumeReclaimPolicy":"Retain",
"nfs":{"server":"192.0.2.1","path":"/pv"}},"status":{"phase":"Available"}}"#;

const CLAIM: &str = r#"{"metadata":{"name":"data","uid":"48538823-193d-4d7a-8914-d300ecc119bc"},
"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast",
"resources":{"requests":{"storage":"1Gi"}}}}"#;

/// `count` volumes of one class, all sizes different, and a claim that the one in the middle fits best.
pub(crate) fn among(count: u64) -> Result<(View, Claim), String> {
    let size = |number: u64| {
        Quantity::parse(&format!("{}Mi", 1024 + number)).map_err(|error| error.to_string())
    };
    let one = volume(VOLUME, Wanted::Both).map_err(|error| error.to_string())?;
    let mut view = View::default();
    for number in 0..count {
        view.apply(Observed::Volume(Arc::new(Volume {
            name: VolumeName::new(format!("pv-{number}")),
            capacity: size(number)?,
            ..one.volume.clone()
        })));
    }
    let one = claim(CLAIM, "default").map_err(|error| error.to_string())?;
    let claim = Claim { request: size(count / 2)?, ..one };
    if matches!(choose(&view, &claim, ASKER), Choice::Free(_)) {
        Ok((view, claim))
    } else {
        Err("no volume fits the claim".to_owned())
    }
}
