//! An installation whose serving pair is provided, in the Secret that `certs/provided` makes: it is renewed
//! under load, by another CA at that; then the controller makes one, and back.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::load::Load;
use super::site::{CHART, NAME, Site, installation};
use super::{WRITERS, unknown};
use crate::caller::Call;
use crate::eventually::{eventually, wait};
use crate::node::Habits;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(a_provided_pair_is_renewed_by_another_ca)];

fn a_provided_pair_is_renewed_by_another_ca() {
    let site = Site::empty();
    // As slow as a kubelet with a short sync period.
    site.node.set_habits(Habits { mounts_after: Duration::from_secs(2), ..Habits::default() });
    let first = provide(&site, "first");
    let bundle = |text: &str| {
        let path = site.plane.home().join("bundle.crt");
        fs::write(&path, text).unwrap();
        let file = format!("certs.provided.caBundle={}", path.display());
        let sets = ["certs.mode=provided", "certs.provided.secretName=bindery-serving"];
        let sets = sets.iter().flat_map(|set| ["--set", *set]);
        let arguments = ["upgrade", "--install", NAME, CHART, "-n", NAME, "--set-file", &file];
        site.helm(&arguments.into_iter().chain(sets).collect::<Vec<_>>());
    };
    bundle(&first);
    site.await_ready();
    site.await_denial();
    site.await_closed();
    let ours = ["--serving-secret", "bindery-serving"];
    assert_eq!(unknown(&site, &ours), [""; 0], "the doctor looks at a Secret of another name");
    let before = site.node.processes();
    let load = Load::start(site.plane, WRITERS);
    let second = ca(&site, "second");
    bundle(&format!("{first}{second}"));
    // The API server learns of it at once; nothing shows when it has.
    wait(Duration::from_secs(1));
    apply(&site, "second");
    for pod in site.node.running() {
        let address = format!("{}:8443", pod.address).parse().unwrap();
        eventually("a pod serves the new pair", Duration::from_secs(20), || {
            Call::connect(address, &second, &installation().host()).map(drop)
        });
    }
    bundle(&second);
    wait(Duration::from_secs(2));
    let tally = load.stop();
    println!("{} admissions, {} failed", tally.asked, tally.failures.len());
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures.iter().take(10).collect::<Vec<_>>());
    assert_eq!(site.node.processes(), before, "nothing was restarted");
    another_mode_and_back(&site, &ours);
}

/// From now on the controller keeps the pair, then it is ours again. The pods that go do not hold up those that come.
fn another_mode_and_back(site: &Site, ours: &[&str]) {
    let upgrade = |mode: &str| {
        let mode = format!("certs.mode={mode}");
        let arguments = ["upgrade", NAME, CHART, "-n", NAME, "--reuse-values", "--force-conflicts"];
        site.helm(&[&arguments[..], &["--set", &mode]].concat());
        site.await_ready();
        site.await_denial();
        site.await_closed();
    };
    upgrade("selfSigned");
    assert_eq!(unknown(site, &[]), [""; 0], "the controller keeps the pair");
    upgrade("provided");
    assert_eq!(unknown(site, ours), [""; 0], "the pair is ours again");
}

/// Makes a pair and stores it; the CA that signed it.
fn provide(site: &Site, name: &str) -> String {
    let ca = ca(site, name);
    apply(site, name);
    ca
}

/// Makes a pair in a folder of its own, beside what makes a Secret of it; the CA that signed it.
fn ca(site: &Site, name: &str) -> String {
    let folder = site.plane.home().join(name);
    fs::create_dir_all(&folder).unwrap();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("certs/provided/kustomization.yaml");
    fs::copy(ours, folder.join("kustomization.yaml")).unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["certs", "--dns", &installation().host(), "--out"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::read_to_string(folder.join("ca.crt")).unwrap()
}

fn apply(site: &Site, name: &str) {
    let folder = site.plane.home().join(name).display().to_string();
    site.plane.kubectl(ADMIN, &["apply", "-k", &folder], "").expect_ok();
}
