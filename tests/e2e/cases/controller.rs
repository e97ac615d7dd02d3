//! The real controller process on the real API server, as the only binder.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, BINDERY_CONTROLLER};
use crate::plane::process::{Process, Program};
use crate::plane::{Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(pairs_are_bound_in_either_order_and_released)];

/// How long the machine may take to do what takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A controller process. Dropping it kills it.
pub(crate) struct Controller {
    process: Option<Process>,
    _folder: tempfile::TempDir,
}

impl Controller {
    pub(crate) fn start(plane: &Plane) -> Self {
        Self::start_with(plane, &[])
    }

    /// With more arguments.
    pub(crate) fn start_with(plane: &Plane, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = plane.kubeconfig(BINDERY_CONTROLLER).display().to_string();
        let arguments = ["controller", "--mode", "full", "--in-tree-binder-disabled"];
        let arguments = arguments.iter().chain(more).map(ToString::to_string);
        let program = Program {
            binary: Path::new(env!("CARGO_BIN_EXE_bindery")),
            arguments: arguments.chain(["--kubeconfig".to_owned(), kubeconfig]).collect(),
            folder: folder.path(),
            log: Path::new(env!("CARGO_TARGET_TMPDIR"))
                .join(format!("controller-{}.log", plane.port())),
        };
        let process = Process::spawn("bindery controller", &program).unwrap();
        Self { process: Some(process), _folder: folder }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(Duration::ZERO);
        }
    }
}

pub(crate) fn until(plane: &Plane, path: &str, phase: &str) -> Value {
    eventually(&format!("{path} is {phase}"), PATIENCE, || {
        let object = plane.get(ADMIN, path).expect_ok();
        let seen = object["status"]["phase"].as_str().unwrap_or_default().to_owned();
        if seen == phase { Ok(object) } else { Err(seen) }
    })
}

fn pairs_are_bound_in_either_order_and_released() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let objects = plane.objects("binds");
    let _controller = Controller::start(&plane);
    let namespace = objects.namespace();
    objects.volume("first", &json!({}));
    until(&plane, &volume_path(&objects.name("first")), "Available");
    objects.claim("after", &json!({}));
    let bound = until(&plane, &claim_path(namespace, "after"), "Bound");
    assert_eq!(bound["spec"]["volumeName"], objects.name("first"));
    assert_eq!(bound["status"]["capacity"]["storage"], "1Gi");
    objects.claim("before", &json!({}));
    objects.volume("second", &json!({}));
    until(&plane, &claim_path(namespace, "before"), "Bound");
    let volume = until(&plane, &volume_path(&objects.name("second")), "Bound");
    assert_eq!(volume["spec"]["claimRef"]["name"], "before");
    plane.kubectl(ADMIN, &["-n", namespace, "delete", "pvc", "after"], "").expect_ok();
    until(&plane, &volume_path(&objects.name("first")), "Released");
}
