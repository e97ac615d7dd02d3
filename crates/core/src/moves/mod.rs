//! Moves of a volume from one claim to another, and the next step of each.
//!
//! A move keeps the volume and its data, and replaces the claim. Its journal is on the volume, so any process resumes it.
//! Whatever happens between two steps, the reclaim policy is Retain and `spec.claimRef` names a claim: nothing is deleted,
//! and no other claim can take the volume. `export` and `import` are the same between two clusters. Not here: reading the objects and sending the writes (the shell).

mod begin;
mod decision;
mod evidence;
mod export;
mod import;
mod journal;
mod preview;
mod problem;
mod replacement;
mod resumption;
#[cfg(test)]
pub(crate) mod tests;
mod waiting;

pub use begin::{BeginEvidence, begin_problems};
pub use decision::{MoveRead, MoveStep, MoveWrite, decide_move};
pub use evidence::{
    ClaimRead, ClaimUsers, LiveClaim, MoveEvidence, MovedVolume, Recreator, SwapPartner,
};
pub use export::{ExportEvidence, ExportProblem, export_problems};
pub use import::{
    ImportEvidence, ImportProblem, ImportStep, ImportTarget, ImportWrite, ImportedPair,
    ImportedVolume, MadeVolume, decide_import, import_problems,
};
pub use journal::{Direction, Goal, Journal};
pub use preview::{created_uid, move_preview};
pub use problem::MoveProblem;
pub use replacement::{
    ReplacementEvidence, ReplacementRead, ReplacementStep, ReplacementWrite, decide_replacement,
    recreation_problem, replacement_name, replacement_preview, replacement_problem,
};
pub use resumption::{ResumptionEvidence, ResumptionProblem, moved_namespaces, resumption_problem};
pub use waiting::MoveWaiting;
