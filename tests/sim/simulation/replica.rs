//! A process of the controller, and its faulty way to the server.

use bindery::cluster::lease::Timing;
use bindery::controller::mode::Mode;
use bindery::sim::Server;
use bindery::sim::faults::{Faults, Faulty};
use kube::Client;

use crate::process::{Process, door};

/// A running process.
pub(super) struct Replica {
    process: Process,
    /// Its way to the server.
    pub(super) way: Faulty,
}

impl Replica {
    /// Starts a process with these faults on its way.
    pub(super) fn start(
        server: &Server,
        name: &str,
        timing: Timing,
        faults: Faults,
        seed: u64,
    ) -> Self {
        let way = Faulty::new(door(server, name), faults, seed);
        let client = Client::new(way.clone(), "default");
        Self { process: Process::start(client, name, Mode::Full, timing), way }
    }

    /// Its user, and its identity in the lease.
    pub(super) fn name(&self) -> &str {
        &self.process.name
    }

    /// Kills it wherever it is; what it has sent is on its way.
    pub(super) fn kill(self) -> Faulty {
        self.process.kill();
        self.way
    }

    /// Asks it to stop, which it may take its time for.
    pub(super) fn stop(self) -> Faulty {
        self.process.stop();
        self.way
    }

    /// Whether it ended, though nobody asked it to.
    pub(super) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }
}
