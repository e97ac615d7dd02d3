//! The configuration file: what the operator has decided, read strictly and all problems at once.
//!
//! The same file serves webhook and command line, so that `check` judges as the webhook does. How
//! the values act is in `rules`; flags that only one command has are in `cli`.
//!
//! ```yaml
//! apiVersion: bindery.dev/v1
//! kind: Config
//! profile: baseline            # audit, baseline or strict
//! rules: {modes: {prebind-taken: warn}}
//! edits: {delayed-binding: false}
//! trusted: {binders: ["system:serviceaccount:x:binder"], populators: []}
//! ownController: system:serviceaccount:bindery:bindery-controller
//! exemptions: {maxDuration: 168h}
//! ```

mod read;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::document::{self, Position};
use crate::rules::Policy;
use crate::rules::judging::filter::OWN_CONTROLLER;

/// The operator's decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// What verdicts and edits depend on.
    pub policy: Policy,
    /// The user name of our own controller, whose requests are not judged.
    pub own_controller: String,
}

impl Default for Configuration {
    fn default() -> Self {
        Self { policy: Policy::default(), own_controller: OWN_CONTROLLER.to_owned() }
    }
}

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
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
    pub problems: Vec<Problem>,
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

/// Reads a configuration. `file` is its name, for messages.
pub fn read(text: &str, file: &str) -> Result<Configuration, ConfigurationError> {
    let refused = |problems| ConfigurationError { file: file.to_owned(), problems };
    let documents = document::read(text)
        .map_err(|error| refused(vec![Problem { at: error.at, text: error.reason }]))?;
    let [document] = documents.as_slice() else {
        let at = documents.get(1).map_or(Position { line: 1, column: 1 }, |second| second.at);
        let text = format!("{} documents instead of one; keep one", documents.len());
        return Err(refused(vec![Problem { at, text }]));
    };
    read::configuration(document).map_err(refused)
}
