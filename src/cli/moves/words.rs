//! The steps of a move in words.

use std::fmt::Write as _;

use super::planned::{PlannedMove, Preparation};
use crate::cli::exit::Failure;
use crate::cli::output::{print, readable};
use crate::model::{ReclaimPolicy, Reservation, VolumeName};
use crate::moves::{Journal, MoveWrite, ReplacementWrite};

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
pub(super) fn preview(
    planned: &PlannedMove,
    replacement: &[ReplacementWrite],
    writes: &[MoveWrite],
) -> String {
    let recreation = match planned.preparation {
        Preparation::Recreate(_) => {
            let storage = planned.stored.volume.storage.as_ref();
            let storage = storage.map(|storage| format!(" for {}", storage.place()));
            Some(format!(
                "create PV {} again{} with reclaim policy Retain, reserved for PVC {}",
                planned.stored.moved.name,
                storage.unwrap_or_default(),
                planned.journal.origin
            ))
        }
        Preparation::None | Preparation::Replace => None,
    };
    let replacement = replacement.iter().map(|write| replacing(planned, write));
    let replacement = recreation.into_iter().chain(replacement);
    let lines = replacement.chain(writes.iter().map(|write| intended(planned, write)));
    let mut text = title(planned);
    for (index, line) in lines.enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {}. {line}", index + 1);
    }
    text
}

/// What a write that creates a volume again does, before it is made.
fn replacing(planned: &PlannedMove, write: &ReplacementWrite) -> String {
    let (former, name) = (&planned.stored.moved.name, planned.volume());
    match write {
        ReplacementWrite::Retain => {
            format!("set the reclaim policy of PV {former} to Retain and record the move on it")
        }
        ReplacementWrite::Create => format!(
            "create PV {name} for the same storage with reclaim policy Retain, reserved for PVC {}",
            planned.journal.origin
        ),
        ReplacementWrite::Record => format!("record the move on PV {name}"),
        ReplacementWrite::DeleteClaim(key, ..) => {
            format!("delete PVC {key}; PV {former} goes with it")
        }
    }
}

/// What a write does, before it is made.
fn intended(planned: &PlannedMove, write: &MoveWrite) -> String {
    let name = planned.volume();
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
        let line = done(&self.planned.volume(), &self.planned.journal, write);
        self.print(&line)
    }

    /// Prints that a volume which was gone was created again.
    pub(super) fn recreated(&mut self) -> Result<(), Failure> {
        let Journal { origin, .. } = &self.planned.journal;
        let name = &self.planned.stored.moved.name;
        self.print(&format!(
            "PV {name} is created again with reclaim policy Retain, reserved for PVC {origin}"
        ))
    }

    /// Prints that a write was made which creates a volume in the place of another one.
    pub(super) fn replaced(&mut self, write: &ReplacementWrite) -> Result<(), Failure> {
        let (former, name) = (&self.planned.stored.moved.name, self.planned.volume());
        let line = match write {
            ReplacementWrite::Retain => {
                format!("PV {former} has reclaim policy Retain; the move is recorded on it")
            }
            ReplacementWrite::Create => {
                format!("PV {name} is created for the same storage with reclaim policy Retain")
            }
            ReplacementWrite::Record => format!("the move is recorded on PV {name}"),
            ReplacementWrite::DeleteClaim(key, ..) => {
                format!("PVC {key} is deleted; PV {former} goes with it")
            }
        };
        self.print(&line)
    }

    /// Prints a step that was made, after the title if it is the first one.
    fn print(&mut self, line: &str) -> Result<(), Failure> {
        let title = self.title.take().unwrap_or_default();
        print(&readable(&format!("{title}  ✓ {line}\n")))
    }

    /// Prints what is left to say once the move has ended.
    pub(super) fn end(self) -> Result<(), Failure> {
        match self.title {
            Some(title) => print(&readable(&format!("{title}  nothing is left to do\n"))),
            None => Ok(()),
        }
    }
}
