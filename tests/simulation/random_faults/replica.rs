//! A process of the controller, and its faulty way to the server.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bindery::client::lease::Timing;
use bindery::controller::mode::ControllerMode;
use bindery_sim::faults::{Faults, FaultyTransport};
use bindery_sim::{ApiServer, Method};
use kube::Client;
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::transport::ObservedTransport;
use crate::controller::{VOLUMES, send, server, volume};

use crate::process::{Process, server_for};

/// A running process.
pub(super) struct Replica {
    process: Process,
    /// Its way to the server.
    pub(super) transport: FaultyTransport,
    /// What it asks on that way.
    pub(super) requests: ObservedTransport,
}

impl Replica {
    /// Starts a process with these faults on its way.
    pub(super) fn start(
        server: &ApiServer,
        name: &str,
        timing: Timing,
        faults: Faults,
        seed: u64,
    ) -> Self {
        let transport = FaultyTransport::new(server_for(server, name), faults, seed);
        let requests = ObservedTransport::new(transport.clone());
        let client = Client::new(requests.clone(), "default");
        Self {
            process: Process::start(client, name, ControllerMode::Full, timing),
            transport,
            requests,
        }
    }

    /// Its user, and its identity in the lease.
    pub(super) fn name(&self) -> &str {
        &self.process.name
    }

    /// Kills it wherever it is; what it has sent is on its way.
    pub(super) fn kill(self) -> FaultyTransport {
        self.process.kill();
        self.transport
    }

    /// Asks it to stop, which it may take its time for.
    pub(super) fn stop(self) -> FaultyTransport {
        self.process.stop();
        self.transport
    }

    /// Returns whether it ended without being asked to.
    pub(super) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }
}

#[test]
fn a_process_ends_whole_whichever_of_its_tasks_panics() {
    for part in ["watch=", "/leases/", "/status"] {
        let (report, reported) = mpsc::channel();
        // On a thread of its own: a loop that never waits would hold up the test for ever.
        thread::spawn(move || report.send(has_ended_after_a_panic(part)));
        let has_ended = reported.recv_timeout(Duration::from_mins(1));
        assert_eq!(has_ended, Ok(true), "a request to {part} panics");
    }
}

/// Returns whether a process that leads has ended a while after a request to `part` panicked in it.
fn has_ended_after_a_panic(part: &'static str) -> bool {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let server = server();
        let timing = Timing::default();
        let replica = Replica::start(&server, "binder", timing, Faults::none(), 1);
        sleep(Duration::from_secs(3)).await;
        assert!(!replica.has_ended(), "it has no reason yet");
        replica.requests.break_next(Some(part));
        server.end_watches();
        send(&server, Method::Post, VOLUMES, volume("pv-a", "1Gi"));
        sleep(Duration::from_secs(15)).await;
        assert!(replica.requests.panicked_at().is_some(), "nothing was asked of {part}");
        replica.has_ended()
    })
}
