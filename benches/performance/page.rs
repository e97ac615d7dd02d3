//! The text of the page.

use std::fmt::Write as _;

use crate::floors::Judged;
use crate::record::{Outcome, Record};
use crate::{BENCHES, machine, plots};

/// The folder of the plots, from that of the page.
pub(crate) const PICTURES: &str = "pictures/performance";

/// The page, and its plots by file name.
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) plots: Vec<(String, String)>,
}

const INTRODUCTION: &str = "\
# Performance

Every figure that `make bench` measures, beside the others that were measured in the same run, and the floor that it must
keep. A floor is never loosened to make a run pass; a row that misses its floor says so. [benches/floors.toml](../benches/floors.toml)
has the argument of each. `make bench` writes this page; the command of a section runs that section alone and renews its
part of the page.

Ratios and sizes are much the same on other machines, times and rates are not. What they mean for an installation is in
[Operate](how-to/operate.md#capacity), and how they go on past one machine in
[How Bindery grows](explanation/scale.md).

";

/// Writes the page of these records.
pub(crate) fn written(records: &[Record]) -> Result<Page, String> {
    let mut page = Page { text: INTRODUCTION.to_owned(), plots: Vec::new() };
    page.line("| what | which |\n|---|---|");
    for (what, which) in machine::rows() {
        page.line(&format!("| {what} | {which} |"));
    }
    page.line("");
    for (bench, heading) in BENCHES {
        let of_bench = || records.iter().filter(|record| record.bench == bench);
        if of_bench().next().is_none() {
            continue;
        }
        page.line(&format!("## {heading}\n"));
        let judged: Vec<&Judged> = of_bench().flat_map(rows).collect();
        if judged.iter().any(|row| row.margin.is_some()) {
            let plot = plots::margins(&judged)?;
            page.plot(&format!("{bench}.svg"), "each row against its floor", plot);
        }
        for record in of_bench() {
            page.section(record)?;
        }
    }
    page.text.truncate(page.text.trim_end().len());
    page.line("");
    Ok(page)
}

fn rows(record: &Record) -> &[Judged] {
    match &record.outcome {
        Outcome::Measured { rows, .. } => rows,
        Outcome::NotMeasured(_) => &[],
    }
}

impl Page {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn plot(&mut self, name: &str, what: &str, svg: String) {
        self.line(&format!("![{what}]({PICTURES}/{name})\n"));
        self.plots.push((name.to_owned(), svg));
    }

    /// One section: when it was measured, by which command, its rows and its plots.
    fn section(&mut self, record: &Record) -> Result<(), String> {
        let Record { bench, section, title, at, outcome, .. } = record;
        self.line(&format!("### {title}\n"));
        let command = format!("`make bench BENCHES={bench} SECTIONS={section}`");
        let day = at.strftime("%Y-%m-%d");
        let (seconds, rows, plots) = match outcome {
            Outcome::Measured { seconds, rows, plots } => (seconds, rows, plots),
            Outcome::NotMeasured(sentence) => {
                self.line(&format!("{command} did not measure this on {day}: {sentence}.\n"));
                return Ok(());
            }
        };
        self.line(&format!("{command}, {day}, {seconds:.0} s.\n"));
        self.line(
            "| row | what | Bindery | beside it | figure | floor |\n|---|---|---|---|---|---|",
        );
        for row in rows {
            self.line(&line_of(row));
        }
        self.line("");
        for (place, plot) in plots.iter().enumerate() {
            let name = format!("{bench}-{section}-{place}.svg");
            self.plot(&name, &plot.title, plots::drawn(plot)?);
        }
        Ok(())
    }
}

fn line_of(row: &Judged) -> String {
    let Judged { id, what, ours, other, figure, bound, is_met, .. } = row;
    let word = if *is_met { "" } else { ", **missed**" };
    format!("| {id} | {what} | {ours} | {other} | {figure} | {bound}{word} |")
}
