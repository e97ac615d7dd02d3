//! `bindery rule`: one page of the reference in the terminal, or the list of all.

use super::args::RuleArgs;
use super::exit::{Exit, Failure};
use super::{reference, table};
use crate::rules::mutations::{self, MUTATIONS};
use crate::rules::{self, RULES};

/// Runs the command.
pub fn run(arguments: &RuleArgs) -> Result<Exit, Failure> {
    let text = match &arguments.id {
        None => list(),
        Some(id) => page(id)?,
    };
    super::output::print(&text)?;
    Ok(Exit::Clean)
}

fn list() -> String {
    let rules = RULES.iter().map(|rule| (rule.id, rule.mode.as_str(), rule.page.hazard));
    let mutations =
        MUTATIONS.iter().map(|mutation| (mutation.id, "mutation", mutation.page.hazard));
    let rows = rules.chain(mutations);
    let rows =
        rows.map(|(id, mode, hazard)| vec![id.to_owned(), format!("{mode:5}"), hazard.to_owned()]);
    table::aligned(&rows.collect::<Vec<_>>())
}

fn page(id: &str) -> Result<String, Failure> {
    let made = match (rules::find(id), mutations::find(id)) {
        (Some(rule), _) => reference::of_rule(rule),
        (None, Some(mutation)) => reference::of_mutation(mutation),
        (None, None) => {
            let similar = rules::most_similar(id);
            let similar = similar.map(|id| format!("did you mean {id:?}? ")).unwrap_or_default();
            return Err(Failure::usage(format!(
                "there is no rule or mutation {id:?}; {similar}`bindery rule` lists them"
            )));
        }
    };
    made.map_err(|error| Failure::usage(format!("the page of {id} cannot be made: {error}")))
}
