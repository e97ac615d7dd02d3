//! What the witness of a run keeps of it: every write that the server accepted, and what the monitor makes
//! of each; and by which names and clock it goes.
//!
//! Not here: what must hold (`invariants`), and what happens in a run (`fault_matrix`, `random_faults`).

use bindery_sim::Accepted;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::invariants::{Monitor, Terms};
use crate::process::LEASE;

/// What the witness of the writes keeps.
pub(crate) struct Record {
    pub(crate) monitor: Monitor,
    /// The writes to what the controller binds, or binds by; oldest first.
    pub(crate) history: Vec<Accepted>,
    /// When the last of them was accepted.
    pub(crate) last: Instant,
    begin: Instant,
}

impl Record {
    /// Nothing yet, of a run that begins at `begin`.
    pub(crate) fn new(terms: Terms, begin: Instant) -> Self {
        Self { monitor: Monitor::new(terms), history: Vec::new(), last: begin, begin }
    }

    /// Takes in a write that was accepted just now.
    pub(crate) fn learn(&mut self, write: &Accepted) {
        let mut write = write.clone();
        write.at = now(self.begin);
        self.monitor.judge(&write);
        if is_stored(&write) {
            self.last = Instant::now();
            self.history.push(write);
        }
    }

    /// Returns what was broken so far, in words; and the history, which is gone from here.
    pub(crate) fn close(&mut self) -> (Vec<String>, Vec<Accepted>) {
        let breaches = self.monitor.breaches().iter().map(ToString::to_string).collect();
        (breaches, std::mem::take(&mut self.history))
    }
}

/// Returns whether it is a write to what the controller binds, or binds by.
pub(crate) fn is_stored(write: &Accepted) -> bool {
    ["persistentvolumes", "persistentvolumeclaims", "pods", "storageclasses"]
        .contains(&write.resource)
}

/// The process of this number.
pub(crate) fn name(number: usize) -> String {
    format!("binder-{number}")
}

/// Returns what the monitor goes by where the first so many processes compete for the lease.
pub(crate) fn terms(processes: usize) -> Terms {
    Terms {
        controllers: (0..processes).map(|number| (name(number), name(number))).collect(),
        lease: Some((LEASE.0.to_owned(), LEASE.1.to_owned())),
        ..Terms::of("forged")
    }
}

/// Returns when every run begins.
pub(crate) fn dawn() -> Timestamp {
    "2026-11-21T05:00:00Z".parse().expect("a time")
}

/// The true time in a run that began at `begin`, whatever the cluster's clock says.
pub(crate) fn now(begin: Instant) -> Timestamp {
    dawn() + SignedDuration::try_from(begin.elapsed()).expect("a short run")
}
