//! One change judged as the webhook judges it, before it is made.
//!
//! Not here: which changes there are (`check`, `scan`, `preview`), and the rules themselves (`rules`).

mod api_server;
mod change;
pub(in crate::cli) mod failure;
pub(in crate::cli) mod findings;
mod known;
mod known_nodes;
pub mod proposed;
mod similar_name;
pub(in crate::cli) mod write;

pub use self::change::{JudgeContext, JudgedChange, ProposedChange, judge_proposal, judge_review};
pub use self::known::{KnownObjects, ObjectSource};
