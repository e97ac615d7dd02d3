//! `docs/tutorial.md`, run as it is written beside Kubernetes' own binder, but for what needs an image and a node.
//!
//! Not here: installing the chart (`installation`).

use std::path::Path;

use bindery::rules::Policy;

use crate::installed::{Installed, Registered, with_long_timeout};
use crate::page::{Shell, fenced};
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(the_tutorial_runs_as_it_is_written)];

const PAGE: &str = include_str!("../../../docs/tutorial.md");

/// What a machine needs a container engine, a node or a compiler for, and waiting for a kubelet.
const ELSEWHERE: [&str; 5] = ["kind ", "make ", "helm ", "kubectl -n bindery ", "sleep "];

fn the_tutorial_runs_as_it_is_written() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = Shell { plane: &plane, folder, user: ADMIN };
    let (before, rest) = PAGE.split_once("## 5. Install").expect("the page installs");
    let (audit_part, enforced) = rest.split_once("## 6. Enforce").expect("the page enforces");
    let run = |part: &str| {
        let blocks = fenced(part, "sh");
        blocks.iter().map(|block| shell.run_without(&ELSEWHERE, block).len()).sum()
    };
    let looked: usize = run(before);
    let audited = Installed::under(audit(), &plane, Registered::Everything);
    with_long_timeout(&plane);
    let dry: usize = run(audit_part);
    drop(audited);
    shell.run("kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration bindery");
    let _webhook = Installed::on(&plane, Registered::Everything);
    with_long_timeout(&plane);
    let denied: usize = run(enforced);
    assert!(looked >= 10 && dry >= 1 && denied >= 5, "too few lines: {looked}, {dry}, {denied}");
}

/// The policy of the first set of values.
fn audit() -> Policy {
    const FILE: &str = "apiVersion: bindery.dev/v1\nkind: Config\nprofile: audit\n";
    bindery::config::read_bytes(FILE.as_bytes(), "audit").unwrap().policy
}
