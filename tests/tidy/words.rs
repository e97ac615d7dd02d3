//! Words that must not be in a tracked file: marks of unfinished work, and traces of the place
//! where it was written.
//!
//! The words are put together here from halves, so that this file does not find itself.

use super::Finding;
use super::tree::File;

/// Marks of unfinished work, and tests and examples that do not run.
const UNFINISHED: [(&str, &str); 8] = [
    ("TO", "DO"),
    ("FIX", "ME"),
    ("XX", "X"),
    ("todo", "!("),
    ("unimple", "mented!("),
    ("for n", "ow"),
    ("simpli", "fied"),
    ("#[igno", "re"),
];

/// Homes of people and machines, and words of a place of work.
const PRIVATE: [(&str, &str); 16] = [
    ("/ho", "me/"),
    ("/ro", "ot/"),
    ("/Us", "ers/"),
    ("/wo", "rk/"),
    ("/tm", "p/"),
    (".cor", "p."),
    (".inter", "nal/"),
    ("arti", "factory"),
    ("jfr", "og"),
    ("nex", "us."),
    ("work", "tree"),
    ("issue", " #"),
    ("cla", "ude"),
    ("anth", "ropic"),
    ("chat", "gpt"),
    ("co-auth", "ored-by"),
];

/// Hosts that a file may name. `127.0.0.1` and 192.0.2.10 (RFC 5737, for examples) belong to no network.
const HOSTS: [&str; 15] = [
    "github.com",
    "kubernetes.io",
    "kyverno.io",
    "kubernetes.default.svc",
    "www.apache.org",
    "crates.io",
    "docs.rs",
    "no-color.org",
    "json-schema.org",
    "schemastore.azurewebsites.net",
    "www.w3.org",
    "doc.rust-lang.org",
    "127.0.0.1",
    "192.0.2.10",
    "localhost",
];

/// Endings of hosts reserved for examples (RFC 2606, RFC 6761).
const RESERVED: [&str; 6] = [".example", ".test", ".invalid", "example.com", "example.org", ".svc"];

/// Marks of unfinished work.
pub(crate) fn unfinished(file: &File) -> Vec<Finding> {
    each_line(file, |line| {
        let word = UNFINISHED.iter().map(|(a, b)| format!("{a}{b}")).find(|word| holds(line, word));
        let reported = word.map(|word| format!("\"{word}\": finish it, or leave it out"));
        reported.or_else(|| skipped_example(line))
    })
}

/// Traces of a machine or a place of work, and hosts that only some can reach.
pub(crate) fn private(file: &File) -> Vec<Finding> {
    each_line(file, |line| {
        let lower = line.to_lowercase();
        let word = PRIVATE
            .iter()
            .map(|(a, b)| format!("{a}{b}"))
            .find(|word| holds(line, word) || holds(&lower, word));
        let reported = word.map(|word| format!("\"{word}\" belongs to one machine or workplace"));
        reported.or_else(|| foreign_host(line))
    })
}

fn each_line(file: &File, check: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let report = |(index, line): (usize, &str)| {
        Some(Finding { file: file.path.clone(), line: index + 1, text: check(line)? })
    };
    file.text.lines().enumerate().filter_map(report).collect()
}

/// Returns whether `word` stands in `line`, not as a part of a longer word.
fn holds(line: &str, word: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = word.starts_with(char::is_alphanumeric) && joins(line[..at].chars().last());
        let after =
            word.ends_with(char::is_alphanumeric) && joins(line[at + word.len()..].chars().next());
        !before && !after
    })
}

fn skipped_example(line: &str) -> Option<String> {
    let line = line.trim_start();
    let prose = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    let language = prose.trim_start().strip_prefix("```")?;
    let is_skipped = language.split(',').any(|word| word.trim().starts_with("ignore"));
    is_skipped.then(|| "an example that does not run; make it run, or call it text".to_owned())
}

fn foreign_host(line: &str) -> Option<String> {
    let after = line.split("://").skip(1);
    let host = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'));
        rest[..end.unwrap_or(rest.len())].trim_end_matches('.').to_owned()
    };
    let is_allowed = |host: &String| {
        host.is_empty()
            || !host.contains('.')
            || HOSTS.iter().any(|known| host == known || host.ends_with(&format!(".{known}")))
            || RESERVED.iter().any(|ending| host.ends_with(ending))
    };
    let host = after.map(host).find(|host| !is_allowed(host))?;
    Some(format!("the host {host} is not one that every reader can be sent to"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "a.md".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn every_mark_of_unfinished_work_is_found() {
        for (a, b) in UNFINISHED {
            assert_eq!(
                unfinished(&file(&format!("fine\nit is {a}{b} and so on"))).len(),
                1,
                "{a}{b}"
            );
        }
        for example in ["/// ```ignore", "//! ```rust,ignore", "    /// ``` ignore-wasm"] {
            assert_eq!(unfinished(&file(example)).len(), 1, "{example}");
        }
        let fine = "todo = \"warn\"\nfor nowhere\n/// ```text\nlet ignored = ```ignore";
        assert_eq!(unfinished(&file(fine)), []);
    }

    #[test]
    fn every_trace_of_a_place_is_found() {
        for (a, b) in PRIVATE {
            assert_eq!(private(&file(&format!("see {a}{b}x or {a}{b} there"))).len(), 1, "{a}{b}");
        }
        for host in ["mirror.company.net", "10.0.0.7", "github.com.company.net"] {
            assert_eq!(private(&file(&format!("from https://{host}/x"))).len(), 1, "{host}");
        }
        let fine = "https://github.com/a https://docs.kubernetes.io https://a.example/b \
            https://127.0.0.1:1 https://webhook.bindery.svc https://{host}/";
        assert_eq!(private(&file(fine)), []);
    }
}
