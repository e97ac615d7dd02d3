//! The trash: holds volumes whose claims may be deleted by mistake, and lets them go when their time is over.
//!
//! It runs in every mode, beside whichever binder there is, and needs no watch of its own. Not here: which step is next
//! (`trash`), and how it is made (`trash_runner`).

mod events;
pub(super) mod metrics;
mod run;
mod watched;

pub(super) use run::TrashLoop;
pub(super) use watched::TrashWatch;
