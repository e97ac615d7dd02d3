//! The name under which the program was started: as a plugin of kubectl, its help writes commands as its user types them.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use clap::builder::StyledStr;

use super::args::Bindery;

/// The name under which kubectl finds the binary: `kubectl bindery …`.
pub(super) const PLUGIN_NAME: &str = "kubectl-bindery";

/// The command as it was called: as a plugin of kubectl it is written `kubectl bindery`, in its examples too.
pub(super) fn command(arguments: &[OsString]) -> clap::Command {
    let command = Bindery::command();
    if is_called(arguments, PLUGIN_NAME) { as_plugin(command) } else { command.bin_name("bindery") }
}

/// Returns whether the program was started under this name.
pub(super) fn is_called(arguments: &[OsString], name: &str) -> bool {
    arguments.first().and_then(|called| Path::new(called).file_stem()).is_some_and(|is| is == name)
}

fn as_plugin(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .flat_map(clap::Command::get_name_and_visible_aliases)
        .map(str::to_owned)
        .collect();
    renamed(command.bin_name("kubectl bindery"), &names)
}

fn renamed(mut command: clap::Command, names: &[String]) -> clap::Command {
    let rewritten = |text: &StyledStr| called_by_kubectl(&text.to_string(), names);
    if let Some(help) = command.get_after_help().map(rewritten) {
        command = command.after_help(help);
    }
    if let Some(help) = command.get_after_long_help().map(rewritten) {
        command = command.after_long_help(help);
    }
    command.mut_subcommands(|inner| renamed(inner, names))
}

/// The text with `kubectl bindery COMMAND` for each `bindery COMMAND`.
fn called_by_kubectl(text: &str, names: &[String]) -> String {
    let mut out = String::new();
    let mut parts = text.split("bindery ");
    out.push_str(parts.next().unwrap_or_default());
    for rest in parts {
        let end = rest.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(rest.len());
        let is_command = names.iter().any(|name| *name == rest[..end]);
        let is_word =
            !out.ends_with(|letter: char| letter.is_alphanumeric() || "-/".contains(letter));
        if is_command && is_word && !out.ends_with("kubectl ") {
            out.push_str("kubectl ");
        }
        out.push_str("bindery ");
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_written_as_the_user_of_the_plugin_types_it() {
        let names = ["plan".to_owned(), "why".to_owned()];
        for (text, expected) in [
            ("bindery plan -f -", "kubectl bindery plan -f -"),
            ("(see bindery plan --help)", "(see kubectl bindery plan --help)"),
            ("a | bindery why pvc/a", "a | kubectl bindery why pvc/a"),
            ("source <(bindery plan)", "source <(kubectl bindery plan)"),
            ("kubectl bindery plan", "kubectl bindery plan"),
            ("bindery planned, bindery is", "bindery planned, bindery is"),
            ("kubectl-bindery plan", "kubectl-bindery plan"),
            ("größe bindery größe", "größe bindery größe"),
        ] {
            assert_eq!(called_by_kubectl(text, &names), expected);
        }
    }
}
