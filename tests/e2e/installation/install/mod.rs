//! The chart installed by helm on a real control plane, its pods run as processes, and the API server calling them
//! through their service.
//!
//! Not here: what the chart renders for which values (`tests/chart`).

pub(crate) mod answering;
pub(crate) mod break_glass;
pub(crate) mod ca_bundle;
pub(crate) mod changes;
pub(crate) mod gitops;
mod load;
pub(crate) mod outages;
pub(crate) mod pages;
pub(crate) mod policies;
pub(crate) mod provided;
pub(crate) mod renewals;
pub(crate) mod restarts;
pub(crate) mod rights;
mod site;
pub(crate) mod stages;
pub(crate) mod without_root;

use std::process::Command;
use std::time::{Duration, Instant};

use self::site::{CHART, NAME, Site};
use crate::plane::persona::ADMIN;
use crate::runner::{Case, alone};

pub(crate) const CASES: &[Case] = &[alone!(helm_installs_what_denies)];

/// Writes at once in a load.
const WRITERS: usize = 8;

fn helm_installs_what_denies() {
    let began = Instant::now();
    let site = Site::empty();
    println!("a plane after {:?}", began.elapsed());
    let began = Instant::now();
    site.helm(&["install", NAME, CHART, "-n", NAME]);
    site.await_denial();
    let took = began.elapsed();
    println!("the first denial {took:?} after helm install");
    assert!(took < Duration::from_secs(15), "{took:?}");
    site.await_ready();
    site.await_closed();
    assert_eq!(unknown(&site, &[]), [""; 0]);
    test(&site);
}

fn test(site: &Site) {
    let tested = site.helm(&["test", NAME, "-n", NAME, "--timeout", "1m"]);
    assert!(tested.contains("Succeeded"), "{tested}");
}

/// Returns what the doctor could not find out; all else it found well.
fn unknown(site: &Site, arguments: &[&str]) -> Vec<String> {
    let (is_well, reported) = doctor(site, arguments);
    assert!(is_well && reported.lines().count() >= 10, "{reported}");
    let (well, other): (Vec<&str>, _) = reported.lines().partition(|line| line.starts_with("ok "));
    assert!(well.len() >= 9, "{reported}");
    other.into_iter().map(str::to_owned).collect()
}

/// Returns whether the doctor finds the installation well, and what it says.
fn doctor(site: &Site, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["doctor", "--installation", &format!("{NAME}/{NAME}"), "--kubeconfig"])
        .arg(site.plane.kubeconfig(ADMIN))
        .args(arguments)
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}
