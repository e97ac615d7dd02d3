//! The configuration, and what is wrong with a file of it.

use std::fmt;
use std::time::Duration;

use super::recycler::Recycler;
use crate::document::Position;
use crate::rules::Policy;
use crate::rules::judging::filter::OWN_CONTROLLER;
use crate::trash::TrashPolicy;

/// The user name that stands for a controller where there is none: no account can have it, as
/// Kubernetes gives names that begin with `system:` to its own accounts only.
const NO_CONTROLLER: &str = "system:bindery:no-controller";

/// A configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The policy of verdicts and mutations.
    pub policy: Policy,
    /// Whether the profile is `audit`: nothing is denied or changed, so that nothing may depend on the webhook either.
    pub observes_only: bool,
    /// The user name of our own controller, whose requests are not judged, if it is named.
    pub own_controller: Option<String>,
    /// How the controller recycles volumes.
    pub recycler: Recycler,
    /// Which volumes stay after their claims were deleted.
    pub trash: TrashPolicy,
    /// After which time the controller resumes a move whose command was cut off; nothing if never.
    pub resume_moves_after: Option<Duration>,
}

impl Configuration {
    /// The account of our own controller, for the registrations of a webhook.
    pub fn controller_beside_webhook(&self) -> &str {
        self.own_controller.as_deref().unwrap_or(OWN_CONTROLLER)
    }

    /// The account of our own controller, for policies. Without a name there is none: policies need no installation, and where
    /// there is none a tenant could create its Namespace and its account.
    pub fn controller_beside_policies(&self) -> &str {
        self.own_controller.as_deref().unwrap_or(NO_CONTROLLER)
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
