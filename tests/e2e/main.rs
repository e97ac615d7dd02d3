//! End-to-end tests: every case talks to a real etcd and a real kube-apiserver, most with the
//! real controllers beside them.
//!
//! They exist because only the real server says what the real server does. The binary has its own
//! `main` as the planes are shared by the cases and must be stopped after the last one.
//! `cargo test --features e2e --test e2e -- FILTER` runs the cases whose name contains FILTER, with `--full`
//! at the counts and for the times that are promised, and those that take minutes; with
//! `--hold` instead it starts a plane, prints a kubeconfig for it, and keeps it until it is interrupted.
//!
//! Not here: building the binaries (`scripts/kube.sh`).
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a case fails by panicking; clippy knows test code only under the built-in harness"
)]
#![expect(clippy::unwrap_used, reason = "a case fails by panicking")]

mod api_server;
mod binding;
mod cases;
mod control_plane;
mod denials;
mod harness;
mod installation;
mod local_disks;
mod moves;
mod no_false_denials;
mod predictions;
mod provisioners;
mod storage_lifecycle;
mod tenant_isolation;

use std::process::ExitCode;

use harness::{
    caller, controller, eventually, installed, local_path, metrics, network, node, page, plane,
    proxy, recorder, runner, secrets, sidecars,
};

fn main() -> ExitCode {
    let arguments = match runner::Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::from(2);
        }
    };
    plane::die_on_interrupt();
    if arguments.hold() {
        return hold();
    }
    if let Err(sentence) = network::enter() {
        eprintln!("{sentence}");
        return ExitCode::FAILURE;
    }
    let cases = cases::all(arguments.is_full());
    if let Some(filter) = arguments.vain(&cases) {
        eprintln!(
            "No case has \"{filter}\" in its name, so that nothing would run; --list shows them."
        );
        return ExitCode::from(2);
    }
    let outcome = runner::run(&cases, &arguments);
    plane::stop_shared(outcome);
    let found = secrets::found();
    if !found.is_empty() {
        eprintln!("what must stay secret was printed:\n{}", found.join("\n"));
        return ExitCode::from(101);
    }
    match outcome {
        runner::Outcome::Passed => ExitCode::SUCCESS,
        runner::Outcome::Failed => ExitCode::from(101),
    }
}

/// Keeps a plane for a person with kubectl. Ends by a signal only.
fn hold() -> ExitCode {
    match plane::Plane::start(plane::Peers::WithBinder) {
        Ok(plane) => {
            let kubeconfig = plane.kubeconfig(plane::persona::ADMIN);
            let kubeconfig = kubeconfig.display();
            println!("{kubeconfig}");
            eprintln!(
                "A control plane without nodes runs until Ctrl-C. In another terminal:\n\
                 export KUBECONFIG={kubeconfig} PATH={}:$PATH",
                plane.binaries().display()
            );
            loop {
                std::thread::park();
            }
        }
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}
