//! Imports of a volume and its claim from another cluster: what prevents one, and its next step.
//!
//! The volume comes first, reserved for the claim by name and with the reclaim policy Retain; the final policy comes last.
//! What an import made is recognized by the mark on the volume, so that any process resumes it. Not here: the manifests
//! (`api::moves`).

mod check;
mod decision;
mod problem;
#[cfg(test)]
mod tests;

pub use check::{ImportTarget, ImportedPair, import_problems};
pub use decision::{
    ImportEvidence, ImportStep, ImportWrite, ImportedVolume, MadeVolume, decide_import,
};
pub use problem::ImportProblem;
