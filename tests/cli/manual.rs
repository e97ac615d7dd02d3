//! The man pages: one for each command, the same bytes each time.

use std::collections::BTreeMap;
use std::fs;

use crate::Folder;

/// The pages in a folder, by their names.
fn pages() -> BTreeMap<String, String> {
    let folder = Folder::new();
    let output = folder.run(&["generate", "man", "--dir", "share/man1"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    let entries = fs::read_dir(folder.path().join("share/man1")).expect("a folder");
    let pages: BTreeMap<String, String> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("text"))
        })
        .collect();
    assert_eq!(output.stderr, format!("wrote {} man pages to share/man1\n", pages.len()));
    pages
}

#[test]
fn each_command_has_a_page_and_the_bytes_do_not_change() {
    let made = pages();
    assert_eq!(made, pages());
    let reference = Folder::new().run(&["generate", "cli"]).stdout;
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## "));
    let expected: Vec<String> =
        commands.map(|command| format!("{}.1", command.replace(' ', "-"))).collect();
    assert!(expected.len() > 25, "{expected:?}");
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(made.keys().cloned().collect::<Vec<_>>(), sorted);
    let explain = &made["bindery-explain.1"];
    assert!(explain.contains(".SH SYNOPSIS") && explain.contains("bindery explain"), "{explain}");
    assert!(explain.contains("\\-\\-context"), "{explain}");
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = Folder::new();
    folder.write("man", "a file");
    let output = folder.run(&["generate", "man", "--dir", "man/1"]);
    assert_eq!(output.code, 2);
    assert_eq!(output.stderr, "error: man/1: cannot be made: not a directory; check --dir\n");
}
