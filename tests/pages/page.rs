//! A page of Markdown: its headings, links and blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::root;

/// One page.
#[derive(Debug)]
pub(crate) struct Page {
    /// Path from the root of the repository.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// The language behind the fence.
    pub(crate) language: &'a str,
    /// The lines between the fences, without the indentation of the first fence.
    pub(crate) lines: Vec<&'a str>,
    /// The line of the first fence, counted from one.
    pub(crate) line: usize,
}

impl Block<'_> {
    /// Its text.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [*line, "\n"]).collect()
    }
}

/// Every page that a person may read: all Markdown but the changelog.
pub(crate) fn pages() -> Vec<Page> {
    let mut found = Vec::new();
    for folder in ["", "docs", "charts", "certs", "examples", "crates"] {
        walk(&root().join(folder), folder.is_empty(), &mut found);
    }
    found.retain(|page| page.path != "CHANGELOG.md");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 20, "only {} pages were found", found.len());
    found
}

/// The page at `path`.
pub(crate) fn page(path: &str) -> Page {
    let text =
        fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Page { path: path.to_owned(), text }
}

fn walk(folder: &Path, is_flat: bool, found: &mut Vec<Page>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository can be listed") {
        let path = entry.expect("a folder of the repository can be listed").path();
        if path.is_dir() && !is_flat {
            walk(&path, false, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.strip_prefix(root()).expect("it was found below the root");
            found.push(page(&name.to_string_lossy()));
        }
    }
}

impl Page {
    /// The fenced blocks, in their order.
    pub(crate) fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let mut indent = None;
        for (index, line) in self.text.lines().enumerate() {
            let trimmed = line.trim_start();
            match (indent, trimmed.strip_prefix("```")) {
                (None, Some(language)) => {
                    indent = Some(line.len() - trimmed.len());
                    blocks.push(Block {
                        language: language.trim(),
                        lines: Vec::new(),
                        line: index + 1,
                    });
                }
                (Some(_), Some("")) => indent = None,
                (Some(depth), _) => {
                    let line = line.get(depth..).unwrap_or_default();
                    blocks.last_mut().expect("a block is open").lines.push(line);
                }
                (None, None) => {}
            }
        }
        assert!(indent.is_none(), "{}: a block has no end", self.path);
        blocks
    }

    /// The lines outside of fenced blocks, each with its number.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut is_open = false;
        let mut lines = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_open = !is_open;
            } else if !is_open {
                lines.push((index + 1, line));
            }
        }
        lines
    }

    /// The anchors of its headings, as GitHub makes them.
    pub(crate) fn anchors(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let headings = self.prose().into_iter().filter(|(_, line)| line.starts_with('#'));
        let anchor = |(_, line): (usize, &str)| {
            let anchor = anchor(line.trim_start_matches('#').trim());
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        };
        headings.map(anchor).collect()
    }
}

/// The anchor of a heading: lower case, blanks as hyphens, without punctuation.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn anchors_and_blocks_are_those_that_a_reader_sees() {
    let text =
        "# One `two`: three?\n```sh\n# no heading\n```\n# A\n* x\n  ```yaml\n  a: 1\n  ```\n# A\n";
    let page = Page { path: "p.md".to_owned(), text: text.to_owned() };
    let anchors: Vec<String> = page.anchors().into_iter().collect();
    assert_eq!(anchors, ["a", "a-1", "one-two-three"]);
    let blocks = page.blocks();
    assert_eq!((blocks[0].language, blocks[0].line), ("sh", 2));
    assert_eq!((blocks[1].language, blocks[1].text().as_str()), ("yaml", "a: 1\n"));
}
