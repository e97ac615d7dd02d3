//! The configuration file that `bindery config init` writes.

use bindery::config::{self, Configuration, KEYS};

use crate::Folder;

fn written() -> String {
    let folder = Folder::new();
    let output = folder.run(&["config", "init"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert_eq!(output.stderr, "wrote bindery.yaml\n");
    folder.read("bindery.yaml")
}

#[test]
fn the_written_file_sets_nothing_but_defaults() {
    let read = config::read(&written(), "bindery.yaml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read, Configuration::default());
}

/// An example that is not set stands behind a `#` without a space.
#[test]
fn every_example_in_it_can_be_set() {
    let mut count = 0;
    let lines = written();
    let set = lines.lines().map(|line| {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let example =
            rest.strip_prefix('#').filter(|rest| !rest.starts_with(' ') || rest.starts_with("  "));
        count += usize::from(example.is_some());
        example.map_or(line.to_owned(), |example| format!("{indent}{example}"))
    });
    let text = set.collect::<Vec<_>>().join("\n");
    let read = config::read(&text, "set.yaml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(count > 10, "{text}");
    // Each part of the example has reached the configuration.
    assert!(!read.policy.modes.is_empty() && !read.policy.mutations.is_empty(), "{text}");
    assert!(!read.policy.overrides.is_empty() && !read.policy.exemptions.is_empty(), "{text}");
    assert!(!read.trash.overrides.is_empty() && read.resume_moves_after.is_some(), "{text}");
}

#[test]
fn every_key_is_in_it_with_its_purpose() {
    let text = written()
        .lines()
        .map(|line| line.trim_start_matches([' ', '#']))
        .collect::<Vec<_>>()
        .join(" ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Sentences begin with a capital letter, and the texts of the table do not.
    let lower = text.to_lowercase();
    for key in KEYS {
        let name = key.path.rsplit(['.', '[', ']']).next().expect("a name");
        assert!(text.contains(&format!("{name}:")), "{}", key.path);
        // The first words are not a link.
        let words = key.sets.split(['[', '`']).find(|words| !words.is_empty()).expect("words");
        assert!(lower.contains(&words.trim().to_lowercase()), "{}: {words}", key.path);
    }
    assert!(!text.contains("](") && text.is_ascii(), "{text}");
}

#[test]
fn a_file_that_exists_is_not_overwritten() {
    let folder = Folder::new();
    folder.write("bindery.yaml", "mine");
    let output = folder.run(&["config", "init"]);
    assert_eq!(output.code, 2);
    assert_eq!(
        output.stderr,
        "error: bindery.yaml: exists already and may be in use; give another path, or --force to overwrite it\n"
    );
    assert_eq!(folder.read("bindery.yaml"), "mine");
    assert_eq!(folder.run(&["config", "init", "--force"]).code, 0);
    let printed = folder.run(&["config", "init", "-"]);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert_eq!(folder.read("bindery.yaml"), printed.stdout);
}
