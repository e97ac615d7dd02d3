//! The commands of a block, and how one is run.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::root;

/// The commands of shell text: lines that end in `\` or inside of quotes go on in the next.
pub(crate) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(c),
            (_, '\\') => match characters.next() {
                Some('\n') | None => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => {
                while characters.next_if(|next| *next != '\n').is_some() {}
            }
            (None, '|' | '&' | ';' | '\n' | '<' | '>' | ' ' | '\t') => {
                commands.last_mut().expect("there is one").extend(word.take());
                if !matches!(c, ' ' | '\t') {
                    commands.push(Vec::new());
                }
            }
            (_, _) => word.get_or_insert_default().push(c),
        }
    }
    commands.last_mut().expect("there is one").extend(word);
    commands.retain(|words| !words.is_empty());
    commands
}

/// Returns what a command line prints in the root of the repository, where `bindery` is the program under test.
pub(crate) fn output(line: &str) -> String {
    let output = prepared().args(["-c", &format!("{line} 2>&1")]).output().expect("bash runs");
    String::from_utf8(output.stdout).expect("commands print text")
}

/// The same on a terminal of 100 columns, with its colours.
pub(crate) fn terminal_output(line: &str) -> String {
    let typed = format!("stty cols 100; {line}");
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &typed, "/dev/null"])
        .env("SHELL", "/bin/bash")
        .envs(prepared().get_envs().filter_map(|(key, value)| Some((key, value?))))
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .expect("script (util-linux) runs");
    String::from_utf8(output.stdout).expect("commands print text").replace('\r', "")
}

/// Makes the dumps of the examples as new as in a clone made now: commands report one that is older than a day.
fn renew_dumps() {
    for entry in fs::read_dir(root().join("examples")).expect("there are examples") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let file = File::options().append(true).open(&path).expect("a file of ours");
            file.set_modified(SystemTime::now()).expect("its time can be set");
        }
    }
}

fn prepared() -> Command {
    renew_dumps();
    let folder =
        Path::new(env!("CARGO_BIN_EXE_bindery")).parent().expect("the program is in a folder");
    let own = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(folder.to_owned()).chain(std::env::split_paths(&own)));
    let mut command = Command::new("bash");
    command.current_dir(root()).env("PATH", path.expect("a path")).stdin(Stdio::null());
    command
}

#[test]
fn commands_are_split_as_a_shell_splits_them() {
    let text = "a 'b c' \"d\" | e -f - && g \\\n  h # i\nj=k l > m\n# n\n";
    let expected: Vec<Vec<&str>> = vec![
        vec!["a", "b c", "d"],
        vec!["e", "-f", "-"],
        vec!["g", "h"],
        vec!["j=k", "l"],
        vec!["m"],
    ];
    assert_eq!(commands(text), expected);
}
