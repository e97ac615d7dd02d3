//! What the image is built from: that `.dockerignore` lets through whatever the build reads, and that the image holds
//! no system and runs as nobody. Not here: the image that comes out (scripts/image/check.sh).

use super::Finding;
use super::tree::{File, Kind};

/// Files that the code takes in, or the manifest names, and that `.dockerignore` keeps out.
pub(crate) fn kept_out(ignore: &File, files: &[File]) -> Vec<Finding> {
    let let_through: Vec<&str> =
        ignore.text.lines().filter_map(|line| line.strip_prefix("!/")).collect();
    let is_kept_out = |path: &str| {
        path != "."
            && !let_through.iter().any(|open| {
                path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    };
    let taken_in = files.iter().filter(|file| file.is(Kind::Source)).flat_map(|file| {
        let names = ["include_str!(", "include_bytes!("].into_iter().flat_map(move |call| {
            file.text.match_indices(call).filter_map(move |(at, _)| {
                let rest = &file.text[at + call.len()..];
                let rest = rest.trim_start().trim_start_matches("concat!(").trim_start();
                Some((at, rest.strip_prefix('"')?.split('"').next()?))
            })
        });
        names.map(move |(at, name)| (file, at, joined(&file.path, name)))
    });
    let manifest = files.iter().filter(|file| file.path == "Cargo.toml").flat_map(|file| {
        file.text.match_indices("path = \"").filter_map(move |(at, start)| {
            let name = file.text[at + start.len()..].split('"').next()?;
            Some((file, at, name.to_owned()))
        })
    });
    let report = |(file, at, path): (&File, usize, String)| Finding {
        file: file.path.clone(),
        line: file.text[..at].matches('\n').count() + 1,
        text: format!("{path} is needed, and {} keeps it out; let it through", ignore.path),
    };
    taken_in.chain(manifest).filter(|(_, _, path)| is_kept_out(path)).map(report).collect()
}

/// The path from the root of what the file at `from` calls `name`.
fn joined(from: &str, name: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Returns what the last stage of the Dockerfile lacks, in the release `version`, and whether the stage that takes the
/// binary from outside says the same.
pub(crate) fn stages(dockerfile: &File, version: &str) -> Vec<Finding> {
    let lines: Vec<&str> = dockerfile.text.lines().collect();
    let start = lines.iter().rposition(|line| line.starts_with("FROM ")).unwrap_or_default();
    let last = &lines[start..];
    let report = |text| Finding { file: dockerfile.path.clone(), line: start + 1, text };
    let version = format!("ARG VERSION={version}");
    let wanted = ["FROM scratch", &version, "USER 65532:65532", "ENTRYPOINT [\"/bindery\"]"];
    let missing = wanted.iter().filter(|wanted| !last.contains(wanted));
    let missing = missing.map(|wanted| report(format!("the last stage does not say `{wanted}`")));
    let outside = lines.iter().skip_while(|line| **line != "FROM scratch AS outside").skip(1);
    let outside: Vec<String> =
        outside.take_while(|line| !line.is_empty()).map(|line| (*line).to_owned()).collect();
    let reported: Vec<String> = last[1..]
        .iter()
        .map(|line| line.replace("--from=builder ", "").replace("/src/dist/", "dist/"))
        .collect();
    let text = "the stage `outside` and the last one differ in more than where dist/ is from";
    let differ = (outside != reported).then(|| report(text.to_owned()));
    missing.chain(differ).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn lines(findings: &[Finding]) -> Vec<(&str, usize)> {
        findings.iter().map(|finding| (finding.file.as_str(), finding.line)).collect()
    }

    #[test]
    fn what_the_build_reads_and_the_image_does_not_get_is_found() {
        let ignore = file(".dockerignore", "*\n!/src\n!/examples/a\ndocs\n");
        let code = file(
            "src/a/b.rs",
            "include_str!(\"c.txt\")\ninclude_str!(concat!(\"../../examples/\", $x))\n\
             include_bytes!(\n\"../../examples/a\"); include_str!(\"../../examples/ab\")",
        );
        let manifest = file(
            "Cargo.toml",
            "a = { path = \"b\" }\n[[bin]]\npath = \"src/main.rs\"\n[[test]]\npath = \"tests/a.rs\"",
        );
        let found = kept_out(&ignore, &[code, manifest]);
        assert_eq!(
            lines(&found),
            [("src/a/b.rs", 2), ("src/a/b.rs", 4), ("Cargo.toml", 1), ("Cargo.toml", 5)]
        );
    }

    #[test]
    fn a_last_stage_with_a_system_a_user_or_an_old_version_is_found() {
        let part = "ARG VERSION=1.2.3\nUSER 65532:65532\nENTRYPOINT [\"/bindery\"]\n";
        let outside = format!("FROM scratch AS outside\n{part}COPY dist/a /a\n");
        let last = format!("FROM scratch\n{part}COPY --from=builder /src/dist/a /a\n");
        let found = |last: &str| {
            let text = format!("{outside}\nFROM rust AS builder\nUSER root\n\n{last}");
            let found = stages(&file("Dockerfile", &text), "1.2.3");
            assert!(found.iter().all(|finding| finding.line == 10), "{found:?}");
            found.len()
        };
        assert_eq!(found(&last), 0);
        assert_eq!(found(&last.replace("scratch", "debian")), 1);
        assert_eq!(found(&last.replace("65532:65532", "0")), 2);
        assert_eq!(found(&last.replace("1.2.3", "1.2.2")), 2);
        assert_eq!(found(&last.replace("/a /a", "/a /b")), 1);
    }
}
