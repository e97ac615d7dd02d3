//! The configuration, and what is wrong with a file of it.

use std::fmt;
use std::time::Duration;

use super::recycler::Recycler;
use crate::document::Position;
use crate::rules::Policy;
use crate::rules::judging::filter::OWN_CONTROLLER;
use crate::trash::TrashPolicy;

/// A configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The policy of verdicts and mutations.
    pub policy: Policy,
    /// Whether the profile is `audit`: nothing is denied or changed, so that nothing may depend on the webhook either.
    pub observes_only: bool,
    /// The user name of our own controller, whose requests are not judged.
    pub own_controller: String,
    /// How the controller recycles volumes.
    pub recycler: Recycler,
    /// Which volumes stay after their claims were deleted.
    pub trash: TrashPolicy,
    /// After which time the controller resumes a move whose command was cut off; nothing if never.
    pub resume_moves_after: Option<Duration>,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            observes_only: false,
            own_controller: OWN_CONTROLLER.to_owned(),
            recycler: Recycler::default(),
            trash: TrashPolicy::default(),
            resume_moves_after: None,
        }
    }
}

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationProblem {
    /// Where.
    pub at: Position,
    /// What is wrong and what to do, without a full stop.
    pub text: String,
}

/// Everything that is wrong with a configuration, in the order of the file; a line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigurationError {
    /// The name of the file, as messages give it.
    pub file: String,
    /// What is wrong.
    pub problems: Vec<ConfigurationProblem>,
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:{}: {}", self.file, problem.at, problem.text)?;
        }
        Ok(())
    }
}
