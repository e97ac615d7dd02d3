//! One file a rule, one word in the list: every file is named there, and its id is its name.

use super::Finding;
use super::code::{blank, tokens};
use super::tree::{File, Kind};

/// Files of `folder` that the list of `name` in its `mod.rs` lacks, or whose id is another.
pub(crate) fn check(files: &[File], folder: &str, name: &str) -> Vec<Finding> {
    let in_folder = |file: &&File| {
        let rest = file.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        rest.is_some_and(|rest| !rest.contains('/')) && file.is(Kind::Source)
    };
    let root = format!("{folder}/mod.rs");
    let listed = files.iter().find(|file| file.path == root).map(|file| list(&file.text, name));
    let listed = listed.unwrap_or_default();
    if listed.is_empty() {
        let text = format!("the list `{name} {{ … }}` is missing or empty");
        return vec![Finding { file: root, line: 1, text }];
    }
    let mut findings = Vec::new();
    for file in files.iter().filter(in_folder).filter(|file| file.path != root) {
        let word = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        let mut report = |text| findings.push(Finding { file: file.path.clone(), line: 1, text });
        if !listed.iter().any(|listed| listed == word) {
            report(format!("is not named in `{name} {{ … }}` of {root}: it does nothing"));
        }
        let id = format!("id: \"{}\"", word.replace('_', "-"));
        if !file.text.contains(&id) {
            report(format!("does not hold `{id}`: the id of a rule is the name of its file"));
        }
    }
    findings
}

/// The words between the braces behind `name`.
fn list(source: &str, name: &str) -> Vec<String> {
    let code = blank(source);
    let Some((_, rest)) = code.split_once(&format!("\n{name} {{")) else { return Vec::new() };
    let body = rest.split('}').next().unwrap_or_default();
    tokens(body).into_iter().map(|token| token.text).collect()
}

#[test]
fn a_file_that_is_not_listed_or_has_another_id_is_found() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let root =
        file("src/rules/mod.rs", "macro_rules! rules { () => {} }\n\nrules! {\n a_b\n c\n}\n");
    let good = file("src/rules/a_b.rs", "id: \"a-b\",");
    assert_eq!(check(&[root.clone(), good], "src/rules", "rules!"), []);
    let unlisted = file("src/rules/d.rs", "id: \"d\",");
    let found = check(&[root.clone(), unlisted], "src/rules", "rules!");
    assert!(found.len() == 1 && found[0].text.contains("not named"), "{found:?}");
    let renamed = file("src/rules/c.rs", "id: \"cc\",");
    let found = check(&[root, renamed], "src/rules", "rules!");
    assert!(found.len() == 1 && found[0].text.contains("`id: \"c\"`"), "{found:?}");
    let empty = file("src/rules/mod.rs", "rules! {}");
    assert_eq!(check(&[empty], "src/rules", "rules!").len(), 1);
}
