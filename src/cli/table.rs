//! Tables for a terminal and in Markdown, and the notes below them.

use std::fmt::Write as _;
use std::iter;

// Not comfy-table: it cuts cells at line ends, widens empty columns, and takes ten times as long for 100,000 rows.
/// The rows, a line each, columns two spaces apart. All rows have as many columns as the first.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (place, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(place) {
                Some(known) => *known = width.max(*known),
                None => widths.push(width),
            }
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The rows below their head, a dash for each empty cell, and an empty line; nothing without rows.
pub(super) fn headed<const N: usize>(head: [&str; N], rows: &[[Option<String>; N]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let row = |row: &[Option<String>; N]| {
        row.iter().map(|cell| cell.clone().unwrap_or_else(|| "-".to_owned())).collect()
    };
    let rows = iter::once(head.map(str::to_owned).to_vec()).chain(rows.iter().map(row));
    aligned(&rows.collect::<Vec<_>>()) + "\n"
}

/// The rows as Markdown below `head`, after an empty line; nothing without rows. The last line counts those beyond
/// `rows_max`.
pub(super) fn markdown<const N: usize>(
    head: &str,
    rows: &[[String; N]],
    rows_max: usize,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{head}\n");
    for row in rows.iter().take(rows_max) {
        out.extend(["| ", &row.join(" | "), " |\n"]);
    }
    if let more @ 1.. = rows.len().saturating_sub(rows_max) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\nand {more} more");
    }
    out
}

/// Text that cannot end a cell of a Markdown table, nor be taken for HTML or for emphasis.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '>' | '\\' | '[' | ']' => {
                out.extend(['\\', character]);
            }
            _ => out.push(character),
        }
    }
    out
}

/// The notes on a report, a line each.
pub(super) fn notes(notes: &[String]) -> String {
    notes.iter().flat_map(|note| ["note: ", note, "\n"]).collect()
}

/// The notes on a report as Markdown, a paragraph each.
pub(super) fn markdown_notes(notes: &[String]) -> String {
    let notes = notes.iter().flat_map(|note| ["\n".to_owned(), cell(note), "\n".to_owned()]);
    notes.collect()
}
