//! The chart installed by helm on a real control plane, its pods run as processes, and the API server calling them
//! through their service.
//!
//! Not here: what the chart renders for which values (`tests/chart`).

pub(super) mod changes;
mod load;
pub(super) mod outages;
pub(super) mod provided;
pub(super) mod renewals;
pub(super) mod restarts;
pub(super) mod rights;
mod site;

use std::process::Command;
use std::time::{Duration, Instant};

use self::site::{CHART, NAME, Site};
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(helm_installs_what_refuses)];

/// Writes at once in a load.
const WRITERS: usize = 8;

fn helm_installs_what_refuses() {
    let began = Instant::now();
    let site = Site::empty();
    println!("a plane after {:?}", began.elapsed());
    let began = Instant::now();
    site.helm(&["install", NAME, CHART, "-n", NAME]);
    site.await_refusal();
    let took = began.elapsed();
    println!("the first refusal {took:?} after helm install");
    assert!(took < Duration::from_secs(15), "{took:?}");
    site.await_ready();
    let doctor = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["doctor", "--installation", &format!("{NAME}/{NAME}"), "--kubeconfig"])
        .arg(site.plane.kubeconfig(ADMIN))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success() && told.lines().all(|line| line.starts_with("ok ")), "{told}");
    assert!(told.lines().count() >= 9, "{told}");
    let tested = site.helm(&["test", NAME, "-n", NAME, "--timeout", "1m"]);
    assert!(tested.contains("Succeeded"), "{tested}");
}
