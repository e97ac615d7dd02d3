//! The chart installed by helm on a real control plane, its pods run as processes, and the API server calling them
//! through their service.
//!
//! Not here: what the chart renders for which values (`tests/chart`).

mod load;
mod site;

use std::process::Command;
use std::time::{Duration, Instant};

use self::load::Load;
use self::site::{NAME, Site};
use crate::eventually::{eventually, wait};
use crate::node::Habits;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] =
    &[case!(helm_installs_what_refuses), case!(no_admission_fails_while_pods_are_replaced)];

fn helm_installs_what_refuses() {
    let began = Instant::now();
    let site = Site::empty();
    println!("a plane after {:?}", began.elapsed());
    let began = Instant::now();
    site.helm(&[
        "install",
        NAME,
        concat!(env!("CARGO_MANIFEST_DIR"), "/charts/bindery"),
        "-n",
        NAME,
    ]);
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
    site.helm(&["uninstall", NAME, "-n", NAME]);
    eventually("its pods are gone", Duration::from_secs(60), || match site.pods().len() {
        0 => Ok(()),
        count => Err(format!("{count} are left")),
    });
}

/// Rolling restarts of three pods under load, while endpoints learn of it late.
fn no_admission_fails_while_pods_are_replaced() {
    let rolls: u32 = if extent().is_full { 67 } else { 2 };
    let site = Site::install(&["webhook.replicas=3", "webhook.drainDelay=4s"]);
    let load = Load::start(site.plane, 8);
    for roll in 0..rolls {
        // Up to two seconds, another in each roll.
        let late = Duration::from_millis(u64::from(roll) * 700 % 2_100);
        site.node.set_habits(Habits { tells_after: late, ..Habits::default() });
        site.roll(&roll.to_string());
        site.await_ready();
    }
    wait(Duration::from_secs(1));
    let asked = load.asked();
    let tally = load.stop();
    println!(
        "{} restarts, {asked} admissions, {} failed, p99 {:?}",
        rolls * 3,
        tally.failures.len(),
        tally.p99
    );
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures.iter().take(10).collect::<Vec<_>>());
    assert!(asked > u64::from(rolls) * 100, "{asked}");
}
