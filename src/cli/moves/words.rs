//! The steps of a move in words.

use std::fmt::Write as _;

use super::planned::PlannedMove;
use crate::cli::exit::Failure;
use crate::cli::output::{print, readable};
use crate::model::{ReclaimPolicy, Reservation, VolumeName};
use crate::moves::{Journal, MoveWrite};

/// What a move is about: one line.
fn title(planned: &PlannedMove) -> String {
    let Journal { goal, .. } = &planned.journal;
    let name = &planned.stored.moved.name;
    match &planned.stored.moved.reservation {
        Reservation::Held(key, _) | Reservation::Named(key) if key != goal.claim() => {
            format!("PV {name}: from PVC {key} to PVC {}\n", goal.claim())
        }
        Reservation::Held(..)
        | Reservation::Named(_)
        | Reservation::Free
        | Reservation::Incomplete(..) => format!("PV {name}: to PVC {}\n", goal.claim()),
    }
}

/// The writes that a move would make.
pub(super) fn preview(planned: &PlannedMove, writes: &[MoveWrite]) -> String {
    let mut text = title(planned);
    for (index, write) in writes.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {}. {}", index + 1, intended(planned, write));
    }
    text
}

/// What a write does, before it is made.
fn intended(planned: &PlannedMove, write: &MoveWrite) -> String {
    let name = &planned.stored.moved.name;
    match write {
        MoveWrite::Record => match planned.stored.moved.policy {
            ReclaimPolicy::Retain => format!("record the move on PV {name}"),
            ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Newer(_) => {
                format!("set the reclaim policy of PV {name} to Retain and record the move on it")
            }
        },
        MoveWrite::DeleteClaim(key, ..) => format!("delete PVC {key}"),
        MoveWrite::CreateClaim(key) => format!("create PVC {key} with spec.volumeName {name}"),
        MoveWrite::Reserve(key, _) => {
            format!("reserve PV {name} for PVC {key}; the binder binds them")
        }
        MoveWrite::Fence(key, ..) => format!("mark PVC {key}, so that no late deletion removes it"),
        MoveWrite::Finish => format!(
            "set the reclaim policy of PV {name} to {} and remove the record",
            planned.journal.policy
        ),
    }
}

/// What a write has done.
fn done(name: &VolumeName, journal: &Journal, write: &MoveWrite) -> String {
    match write {
        MoveWrite::Record => {
            format!("PV {name} has reclaim policy Retain; the move is recorded on it")
        }
        MoveWrite::DeleteClaim(key, ..) => format!("PVC {key} is deleted"),
        MoveWrite::CreateClaim(key) => format!("PVC {key} is created"),
        MoveWrite::Reserve(key, _) => format!("PV {name} is reserved for PVC {key}"),
        MoveWrite::Fence(key, ..) => format!("PVC {key} is marked: no late deletion removes it"),
        MoveWrite::Finish => format!(
            "PVC {} is bound; PV {name} has reclaim policy {}",
            journal.goal.claim(),
            journal.policy
        ),
    }
}

/// The lines about a move. Each is printed once its step is made.
pub(super) struct Progress<'a> {
    planned: &'a PlannedMove,
    title: Option<String>,
}

impl<'a> Progress<'a> {
    pub(super) fn begin(planned: &'a PlannedMove) -> Self {
        Self { planned, title: Some(title(planned)) }
    }

    /// Prints that a write was made.
    pub(super) fn made(&mut self, write: &MoveWrite) -> Result<(), Failure> {
        let mut text = self.title.take().unwrap_or_default();
        let line = done(&self.planned.stored.moved.name, &self.planned.journal, write);
        // Writing to a string does not fail.
        let _ = writeln!(text, "  ✓ {line}");
        print(&readable(&text))
    }

    /// Prints what is left to say once the move has ended.
    pub(super) fn end(self) -> Result<(), Failure> {
        match self.title {
            Some(title) => print(&readable(&format!("{title}  nothing is left to do\n"))),
            None => Ok(()),
        }
    }
}
