//! Which argument is completed with what.

use std::ffi::OsStr;

use clap::Arg;
use clap::builder::StyledStr;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::objects::{self, Kind};
use super::words::Words;
use crate::client::connect::contexts;
use crate::rules::RULES;
use crate::rules::mutations::MUTATIONS;

/// What an argument names.
#[derive(Clone, Copy, Debug)]
enum Named {
    /// An object as `KIND/NAME`, of one of these kinds.
    Object(&'static [Kind]),
    /// A rule or a mutation.
    Rule,
    /// A context of the kubeconfig.
    Context,
    /// A Namespace.
    Namespace,
}

const CLAIM: &[Kind] = &[Kind::Claim];
const PAIR: &[Kind] = &[Kind::Claim, Kind::Volume];
const RETAINED: &[Kind] = &[Kind::Claim, Kind::Volume, Kind::Namespace];
/// Claims are gone: of what was deleted, only volumes and Namespaces are listed.
const DELETED: &[Kind] = &[Kind::Volume, Kind::Namespace];
const EXPLAINED: &[Kind] =
    &[Kind::Claim, Kind::Volume, Kind::Pod, Kind::StatefulSet, Kind::Deployment, Kind::Node];
const DELETABLE: &[Kind] = &[
    Kind::Claim,
    Kind::Volume,
    Kind::Namespace,
    Kind::Class,
    Kind::Node,
    Kind::Attachment,
    Kind::Driver,
];

/// The arguments of single commands, by the names of both.
const ARGUMENTS: &[(&str, &str, Named)] = &[
    ("rule", "id", Named::Rule),
    ("explain", "object", Named::Object(EXPLAINED)),
    ("check", "delete", Named::Object(DELETABLE)),
    ("plan", "without", Named::Object(&[Kind::Node])),
    ("plan", "drain", Named::Object(&[Kind::Node])),
    ("transfer", "claim", Named::Object(CLAIM)),
    ("transfer", "to", Named::Namespace),
    ("rename", "claim", Named::Object(CLAIM)),
    ("swap", "claim", Named::Object(CLAIM)),
    ("swap", "other", Named::Object(CLAIM)),
    ("rescue", "object", Named::Object(DELETED)),
    ("undo", "object", Named::Object(PAIR)),
    ("release", "objects", Named::Object(&[Kind::Volume])),
    ("retain", "objects", Named::Object(RETAINED)),
    ("export", "objects", Named::Object(RETAINED)),
    ("empty", "objects", Named::Object(DELETED)),
];

/// The definition, in which arguments know their values on this line.
pub(super) fn with_values(command: clap::Command, words: &Words) -> clap::Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match named(&name, argument.get_id().as_str()) {
        Some(named) => completed(argument, named, words.clone()),
        None => argument,
    });
    command.mut_subcommands(|inner| with_values(inner, words))
}

fn named(command: &str, argument: &str) -> Option<Named> {
    match argument {
        "context" => Some(Named::Context),
        "namespace" => Some(Named::Namespace),
        _ => {
            let own = |row: &&(&str, &str, Named)| (row.0, row.1) == (command, argument);
            ARGUMENTS.iter().find(own).map(|(_, _, named)| *named)
        }
    }
}

fn completed(argument: Arg, named: Named, words: Words) -> Arg {
    argument.add(ArgValueCompleter::new(move |current: &OsStr| {
        let Some(current) = current.to_str() else { return Vec::new() };
        let values = match named {
            Named::Rule => rules(),
            Named::Context => plain(contexts(words.kubeconfig().as_deref())),
            Named::Namespace => plain(objects::names(Kind::Namespace, None, &words)),
            Named::Object(kinds) => plain(objects::values(kinds, current, &words)),
        };
        let begins = |one: &CompletionCandidate| {
            one.get_value().to_str().is_some_and(|value| value.starts_with(current))
        };
        values.into_iter().filter(begins).collect()
    }))
}

fn plain(values: Vec<String>) -> Vec<CompletionCandidate> {
    values.into_iter().map(CompletionCandidate::new).collect()
}

fn rules() -> Vec<CompletionCandidate> {
    let rules = RULES.iter().map(|rule| (rule.id, rule.page.hazard));
    let mutations = MUTATIONS.iter().map(|mutation| (mutation.id, mutation.page.hazard));
    let candidate = |(id, hazard): (&'static str, &'static str)| {
        CompletionCandidate::new(id).help(Some(StyledStr::from(hazard)))
    };
    rules.chain(mutations).map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::Bindery;

    /// An argument that was renamed would silently complete nothing.
    #[test]
    fn each_row_is_of_an_argument_that_exists() {
        fn has(command: &clap::Command, name: &str, argument: &str) -> bool {
            let is_here = command.get_name() == name
                && command.get_arguments().any(|one| one.get_id() == argument);
            is_here || command.get_subcommands().any(|inner| has(inner, name, argument))
        }
        let root = Bindery::command();
        for (command, argument, _) in ARGUMENTS {
            assert!(has(&root, command, argument), "{command} {argument}");
        }
        assert!(has(&root, "explain", "context") && has(&root, "explain", "namespace"));
    }
}
