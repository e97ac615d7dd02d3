//! Pictures of a terminal and of a page, from what the commands print.

use std::collections::BTreeMap;

use anstyle_svg::Term;

use super::expect_current;
use super::shell::terminal_output;

/// Columns of the terminal in a picture.
const COLUMNS: usize = 100;

/// What is typed in a picture.
enum Step {
    /// A command that is run; shown without the path that precedes the file of the example.
    Run(&'static str),
    /// A command against a cluster, and what kubectl answers there, as an end-to-end case checks.
    Show(&'static str, &'static str),
}

/// The dump in which a PVC is Pending, and the folder that pictures leave out.
const DUMP: &str = "examples/pending.yaml";

/// The dump after the command that `explain` prints: the picture shows what follows from it.
fn repaired() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let dump = std::fs::read_to_string(super::root().join(DUMP)).expect("the example");
    let repaired = dump.replace("storageClassName: archiv\n", "storageClassName: archive\n");
    assert_ne!(dump, repaired, "the example has the misspelled StorageClass");
    let path = folder.path().join("repaired.yaml");
    std::fs::write(&path, repaired).expect("the dump can be written");
    (folder, path.display().to_string())
}

#[test]
fn the_picture_of_a_pending_claim_is_current() {
    const EXPLAIN: &str = "bindery explain pvc/films -n media";
    let fix = terminal_output(&format!("{EXPLAIN} -f {DUMP}"));
    let fix = fix
        .lines()
        .find(|line| line.starts_with("kubectl patch pv "))
        .expect("explain prints a command");
    assert_eq!(fix, FIX, "the picture shows another command than explain prints");
    let (_folder, repaired) = repaired();
    let shown = [
        Step::Show(
            "kubectl get pvc -n media films",
            "NAME    STATUS    VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE\n\
             films   Pending                                      archive        <unset>                 3d",
        ),
        Step::Run(EXPLAIN),
        Step::Show(FIX, "persistentvolume/nfs-films patched"),
        Step::Run(EXPLAIN),
        Step::Show(
            "kubectl get pvc -n media films",
            "NAME    STATUS   VOLUME      CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE\n\
             films   Bound    nfs-films   100Gi      RWX            archive        <unset>                 3d",
        ),
    ];
    let dumps = BTreeMap::from([(1, DUMP.to_owned()), (3, repaired)]);
    let mut screen = String::new();
    for (index, step) in shown.iter().enumerate() {
        let (line, output) = match step {
            Step::Run(line) => (line, terminal_output(&format!("{line} -f {}", dumps[&index]))),
            Step::Show(line, output) => (line, format!("{output}\n")),
        };
        assert!(
            index != 3 || output.contains("binds"),
            "the PVC does not bind after the fix: {output}"
        );
        screen.extend([typed(line), output, "\n".to_owned()]);
    }
    picture("explain", &screen);
}

/// The command that `explain` prints for the example.
const FIX: &str =
    r#"kubectl patch pv nfs-films --type=merge -p '{"spec":{"storageClassName":"archive"}}'"#;

#[test]
fn the_picture_of_a_scan_is_current() {
    let line = format!("bindery scan -f {DUMP}");
    picture("scan", &format!("{}{}", typed(&line), terminal_output(&line)));
}

#[test]
fn the_picture_of_a_check_is_current() {
    let line =
        "bindery check --delete pv/nfs-photos --delete pvc/db/data --live examples/pending.yaml";
    picture("check", &format!("{}{}", typed(line), terminal_output(line)));
}

/// A prompt and a command.
fn typed(line: &str) -> String {
    format!("\u{1b}[1;32m$\u{1b}[0m \u{1b}[1m{line}\u{1b}[0m\n")
}

#[track_caller]
fn picture(name: &str, screen: &str) {
    let wrapped: String = screen.trim_end().lines().map(wrapped).collect::<Vec<_>>().join("\n");
    expect_current(&format!("docs/pictures/{name}.svg"), &Term::new().render_svg(&wrapped));
}

/// The line broken at the last blank before the end of the terminal; escape sequences take no room.
fn wrapped(line: &str) -> String {
    let indent = " ".repeat(line.len() - line.trim_start().len() + 2);
    let (mut out, mut column, mut blank) = (String::new(), 0, None);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        out.push(c);
        if c == '\u{1b}' {
            out.extend(characters.by_ref().take_while(|c| *c != 'm'));
            out.push('m');
            continue;
        }
        column += 1;
        if c == ' ' && column > indent.len() {
            blank = Some((out.len(), column));
        }
        if column > COLUMNS {
            let (at, before) = blank.take().unwrap_or((out.len(), column));
            out.insert_str(at, &format!("\n{indent}"));
            column = column - before + indent.len();
        }
    }
    out
}

#[test]
fn a_long_line_is_broken_at_a_blank() {
    let line = "\u{1b}[1mword\u{1b}[0m ".repeat(30);
    let broken = wrapped(line.trim_end());
    assert_eq!(broken.lines().count(), 2, "{broken}");
    assert!(
        broken.lines().nth(1).is_some_and(|rest| rest.starts_with("  \u{1b}[1mword")),
        "{broken}"
    );
}

/// Width and height of the picture of a page.
const PAGE: [u32; 2] = [1200, 1000];

/// The page that `-o html` writes, as a browser shows it: the page itself is in the picture. Its time and the filters are
/// left out: the one changes, and the others need a script.
#[test]
fn the_picture_of_a_report_is_current() {
    let page = super::shell::output(&format!("bindery plan -f {DUMP} -o html"));
    let between = |start: &str, end: &str| {
        let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("{start}: {page}"));
        rest.split_once(end).unwrap_or_else(|| panic!("{end}: {page}")).0
    };
    let style = between("<style>", "</style>");
    let [header, main] =
        [between("<header>", "</header>"), between("<main id=\"report\">", "</main>")];
    let main = without(main, "<form ", "</form>");
    let [width, height] = PAGE;
    let picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>{style}</style>\n<foreignObject width=\"{width}\" height=\"{height}\">\
         <body xmlns=\"http://www.w3.org/1999/xhtml\"><header>{header}</header>\n<main>{main}</main></body>\
         </foreignObject></svg>\n"
    );
    expect_current("docs/pictures/report.svg", &picture);
}

/// The text without each part from `start` to `end`.
fn without(text: &str, start: &str, end: &str) -> String {
    let mut parts = text.split(start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(end).expect("a part that ends").1);
    }
    out
}
