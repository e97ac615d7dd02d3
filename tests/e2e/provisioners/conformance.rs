//! The driver behind the sidecars keeps to CSI, as the test suite of CSI finds: what the other cases see is not its fault.
//!
//! Left out: the node's side, as nothing is mounted, and a node that does not exist, as the driver knows of none.

use std::time::Duration;

use crate::eventually::eventually;
use crate::plane::binaries::{Set, locate};
use crate::plane::process::{Process, Program};
use crate::sidecars::DRIVER;

/// It takes a second on a free machine.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn the_driver_keeps_to_csi() {
    let binaries = locate(Set::Peers).unwrap_or_else(|sentence| panic!("{sentence}"));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // The attributes that the driver knows, as a `VolumeAttributesClass` gives them.
    std::fs::write(folder.path().join("attributes.yaml"), "iops: \"9000\"\n").unwrap();
    let spawn = |name: &'static str, arguments: Vec<String>| {
        let program = Program {
            binary: &binaries.join(name),
            arguments,
            folder: folder.path(),
            log: folder.path().join(format!("{name}.log")),
            environment: Vec::new(),
        };
        Process::spawn(name, &program).unwrap_or_else(|error| panic!("{error}"))
    };
    let driver = spawn(
        "csi-driver",
        vec![format!("--folder={}", folder.path().display()), format!("--name={DRIVER}")],
    );
    let socket = folder.path().join("csi.sock");
    eventually("the driver listens", PATIENCE, || {
        std::os::unix::net::UnixStream::connect(&socket)
            .map(drop)
            .map_err(|error| error.to_string())
    });
    let mut suite = spawn(
        "csi-sanity",
        vec![
            format!("--csi.endpoint=unix://{}", socket.display()),
            format!("--csi.mountdir={}", path("mount")),
            format!("--csi.stagingdir={}", path("staging")),
            format!("--csi.testvolumemutableparameters={}", path("attributes.yaml")),
            // Less than the most that the driver has, also when they have grown.
            format!("--csi.testvolumesize={}", 1_u64 << 30),
            format!("--csi.testvolumeexpandsize={}", 2_u64 << 30),
            "--ginkgo.skip=Node Service|node does not exist".to_owned(),
            "--ginkgo.no-color".to_owned(),
        ],
    );
    let status = eventually("the suite is through", PATIENCE, || {
        suite.exited().ok_or_else(|| suite.log_tail())
    });
    let reported = suite.log_text();
    driver.stop(Duration::ZERO);
    // Fewer would be skipped: what a driver does not say that it can do is not tried.
    assert!(status.success() && reported.contains("58 Passed"), "{reported}");
}
