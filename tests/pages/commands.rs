//! Every `bindery …` on a page is one that the program understands.

use bindery::cli::args::Bindery;
use clap::CommandFactory;

use super::page::{Page, page, pages};
use super::reference::RULE_PAGES;
use super::shell::commands;

/// Pages that show help and messages, not commands to copy.
fn is_of_the_program(page: &Page) -> bool {
    page.path == "docs/reference/cli.md" || page.path.starts_with(RULE_PAGES)
}

/// The shell text of a page: blocks of commands, and the commands of blocks that show output too.
fn shell_text(page: &Page) -> String {
    let mut text = String::new();
    for block in page.blocks() {
        match block.language {
            "sh" | "bash" => text.push_str(&block.text()),
            "console" => {
                let typed = block.lines.iter().filter_map(|line| line.strip_prefix("$ "));
                text.extend(typed.map(|line| format!("{line}\n")));
            }
            _ => {}
        }
    }
    text
}

/// Returns why the program does not understand these words.
fn fault(words: &[String]) -> Option<String> {
    // A time that the shell asks `date` for.
    let filled = |word: &String| {
        if word.starts_with("$(date") { "2030-01-31T18:00:00Z".to_owned() } else { word.clone() }
    };
    let parsed = Bindery::command().try_get_matches_from(words.iter().map(filled));
    let error = parsed.err().filter(clap::Error::use_stderr)?;
    Some(format!("{}: {}", words.join(" "), error.to_string().lines().next().unwrap_or_default()))
}

#[test]
fn every_command_is_understood() {
    let (mut count, mut faults) = (0, Vec::new());
    for page in pages().iter().filter(|page| !is_of_the_program(page)) {
        for words in commands(&shell_text(page)) {
            let is_kubectl = words.len() > 1 && words[0] == "kubectl" && words[1] == "bindery";
            let words = if is_kubectl { &words[1..] } else { &words[..] };
            if words[0] == "bindery" {
                count += 1;
                faults.extend(fault(words).map(|fault| format!("{}: {fault}", page.path)));
            }
        }
    }
    assert!(count > 30, "only {count} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Commands in the middle of a sentence: their name and their flags.
#[test]
fn every_command_in_a_sentence_exists() {
    let root = Bindery::command();
    let mut faults = Vec::new();
    for page in pages().iter().filter(|page| !is_of_the_program(page)) {
        for (line, text) in page.prose() {
            for code in
                text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("bindery "))
            {
                faults.extend(
                    unknown(&root, code)
                        .map(|word| format!("{}:{line}: {code}: {word}", page.path)),
                );
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The first subcommand or flag of `code` that does not exist.
fn unknown(root: &clap::Command, code: &str) -> Option<String> {
    let mut command = root;
    for word in code.split_whitespace().skip(1) {
        if let Some(flag) = word.strip_prefix("--") {
            let name = flag.split('=').next().unwrap_or_default();
            let is_known =
                command.get_arguments().any(|argument| argument.get_long() == Some(name));
            if !is_known && !["help", "version"].contains(&name) {
                return Some(word.to_owned());
            }
        } else if let Some(next) = command.find_subcommand(word) {
            command = next;
        } else if command.has_subcommands()
            && !word.chars().any(char::is_uppercase)
            && !word.starts_with('-')
        {
            return Some(word.to_owned());
        }
    }
    None
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let split = |line: &str| commands(line).remove(0);
    assert!(fault(&split("bindery explain --no-such")).is_some());
    assert_eq!(fault(&split("bindery explain pvc/data -n db")), None);
    let root = Bindery::command();
    assert_eq!(unknown(&root, "bindery explian").as_deref(), Some("explian"));
    assert_eq!(unknown(&root, "bindery scan --none"), Some("--none".to_owned()));
    assert_eq!(unknown(&root, "bindery generate webhooks --config FILE"), None);
}

/// `make` targets on the page of those who change the code.
#[test]
fn every_target_of_make_is_on_the_page_of_contributors() {
    let (makefile, page) = (page("Makefile"), page("CONTRIBUTING.md"));
    let phony = makefile
        .text
        .lines()
        .find_map(|line| line.strip_prefix(".PHONY: "))
        .expect("there is a list");
    for target in phony.split_whitespace() {
        assert!(
            page.text.contains(&format!("`make {target}`")),
            "CONTRIBUTING.md does not say what make {target} does"
        );
    }
    for named in page.text.split("`make ").skip(1) {
        let target = named.split(['`', ' ']).next().unwrap_or_default();
        assert!(
            phony.split_whitespace().any(|known| known == target),
            "make {target} does not exist"
        );
    }
}
