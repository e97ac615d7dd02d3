//! A report as text and as Markdown, for people.

use std::cmp::Reverse;
use std::fmt::Write as _;

use jiff::Timestamp;

use super::phrases::parts;
use super::{Finding, FindingResult, Report, github, html, junit, sarif, tally};
use crate::cli::args::Format;
use crate::cli::exit::Failure;
use crate::cli::output::{Colour, readable};
use crate::cli::render::{self, Render};
use crate::cli::table::{self, cell};

/// Rows of a Markdown table. A comment on GitHub holds 65,536 characters, and a long row takes 400.
const ROWS_MAX: usize = 150;

impl Render for Report {
    /// Findings as compilers print them, each with its fix on a line of its own, and a tally.
    fn text(&self, colour: Colour) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            // Painted after the rest was made readable: the paint is what a terminal obeys.
            let result = painted(finding.result, colour);
            let (problem, remedies) = parts(finding);
            let _ = writeln!(out, "{}: {result}: {}", finding.place(), readable(problem));
            for remedy in remedies {
                let _ = writeln!(out, "    {}", readable(&remedy));
            }
        }
        for mutation in &self.mutations {
            let place = mutation.place.clone().unwrap_or_else(|| mutation.object.to_string());
            let _ =
                writeln!(out, "{}", readable(&format!("{place}: mutated: {}", mutation.warning)));
        }
        out + &readable(&table::notes(&self.notes)) + &tally(self) + "\n"
    }

    /// A table of findings, and every mutation with its patch.
    fn wide(&self) -> String {
        let head = [
            "RESULT",
            "RULE",
            "OPERATION",
            "OBJECT",
            "FIELD",
            "ENFORCED BY",
            "AT STAKE",
            "WHERE",
            "WHY",
        ];
        let rows: Vec<_> = self.findings.iter().map(wide_row).collect();
        let mut out = table::headed(head, &rows);
        for mutation in &self.mutations {
            let _ = writeln!(out, "{}: {}: {}", mutation.object, mutation.mutation, mutation.patch);
        }
        if !self.mutations.is_empty() {
            out.push('\n');
        }
        out + &table::notes(&self.notes) + &tally(self) + "\n"
    }

    /// The gravest findings first, and no more rows than a comment holds.
    fn markdown(&self) -> String {
        let mut out = format!("### Storage check\n\n{}\n", tally(self));
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        // A stable sort: of equal weight, the order of the input.
        findings.sort_by_key(|finding| Reverse(finding.result));
        let rows: Vec<_> = findings.into_iter().take(ROWS_MAX).map(markdown_row).collect();
        let head = "| result | object | where | why |\n| --- | --- | --- | --- |";
        out.push_str(&table::markdown(head, &rows, ROWS_MAX));
        if let more @ 1.. = self.findings.len() - rows.len() {
            let _ = writeln!(out, "\n{more} more are not shown; `-o json` gives them all.");
        }
        if !self.mutations.is_empty() {
            out.push_str("\nThe webhook would mutate:\n\n");
        }
        for mutation in self.mutations.iter().take(ROWS_MAX) {
            let _ = writeln!(
                out,
                "* {}: {}",
                cell(&mutation.object.to_string()),
                cell(&mutation.warning)
            );
        }
        out + &table::markdown_notes(&self.notes)
    }

    fn html(&self, now: Timestamp) -> String {
        html::page(self, now)
    }

    fn special(&self, format: Format) -> Result<String, Failure> {
        if format == Format::Junit {
            junit::junit(self)
        } else if format == Format::Sarif {
            render::json(&sarif::sarif(self))
        } else {
            Ok(readable(&github::github(self)))
        }
    }
}

fn painted(result: FindingResult, colour: Colour) -> String {
    let code = result.by_level("31", "33", "36");
    match colour {
        Colour::On => format!("\u{1b}[1;{code}m{result}\u{1b}[0m"),
        Colour::Off => result.to_string(),
    }
}

fn wide_row(finding: &Finding) -> [Option<String>; 9] {
    let stake = finding.standing.as_ref().and_then(|standing| standing.bytes.clone());
    let (object, place) = (finding.object.to_string(), finding.place());
    let place = Some(place).filter(|place| *place != object);
    let enforced_by: Vec<&str> = finding.enforced_by.iter().map(|one| one.title()).collect();
    let enforced_by = Some(enforced_by.join(", ")).filter(|titles| !titles.is_empty());
    [
        Some(finding.result.to_string()),
        finding.rule.clone(),
        Some(finding.operation.to_owned()),
        Some(object),
        finding.field.clone(),
        enforced_by,
        stake,
        place,
        Some(finding.message.replace('\n', "; ")),
    ]
}

fn markdown_row(finding: &Finding) -> [String; 4] {
    let weight = if finding.result.is_denial() { "**" } else { "" };
    let (object, place) = (finding.object.to_string(), finding.place());
    [
        format!("{weight}{}{weight}", finding.result),
        cell(&object),
        if place == object { String::new() } else { cell(&place) },
        cell(&finding.message),
    ]
}
