//! Performs the steps of the trash: reads what the next step of a volume depends on, and sends its write.
//!
//! Not here: which step is next (`trash`), and which volumes need one (the controller).

mod step;
mod watched;

pub use step::{TrashEnd, TrashError, trash_step};
pub use watched::{CopyDigest, WatchedVolume, claim_digest, watched_volume};
