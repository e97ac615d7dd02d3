//! An explanation for people: on one screen, in full, or as Markdown.

use std::fmt::Write as _;

use super::report::{CandidateMismatches, Explanation, NodeVolumes, ReportedEvent};
use crate::cli::args::Form;
use crate::cli::exit::Failure;
use crate::cli::notation::{self, cell};
use crate::cli::output::readable;

/// How much of a long list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// What a screen holds.
    Screen,
    /// All of it.
    All,
}

/// Candidates of one group of reasons on a screen, and groups; nodes, and volumes of one node. Together
/// with the lines around them they fit the 24 lines of the smallest terminal in most cases.
const CANDIDATES_MAX: usize = 3;
const GROUPS_MAX: usize = 4;
const NODES_MAX: usize = 8;
const VOLUMES_MAX: usize = 3;

/// Rows of a table in Markdown.
const ROWS_MAX: usize = 100;

/// The explanation in this form.
pub(super) fn render(explanation: &Explanation, form: Form) -> Result<String, Failure> {
    match form {
        Form::Text => Ok(readable(&text(explanation, Extent::Screen))),
        Form::Wide => Ok(readable(&text(explanation, Extent::All))),
        Form::Json => notation::json(explanation),
        Form::Yaml => notation::yaml(explanation),
        Form::Markdown => Ok(readable(&markdown(explanation))),
    }
}

fn text(explanation: &Explanation, extent: Extent) -> String {
    let mut out = format!("{}\n", explanation.summary);
    candidates(&mut out, &explanation.candidates, extent);
    nodes(&mut out, &explanation.nodes, extent);
    for excluded in taken(&explanation.excluded, NODES_MAX, extent) {
        let _ = writeln!(out, "  not on node {}: {}", excluded.node, excluded.reasons.join("; "));
    }
    more(&mut out, "  ", explanation.excluded.len(), NODES_MAX, extent);
    if let Some(awaited) = &explanation.provisioner {
        let _ = match &awaited.last_event {
            Some(event) => {
                writeln!(out, "  last event of \"{}\": {}", event.component, said(event))
            }
            None => writeln!(out, "  no event of provisioner \"{}\"", awaited.name),
        };
    }
    for claim in &explanation.claims {
        let inner = text(claim, extent);
        let inner = inner.lines().map(|line| format!("  {line}\n"));
        out.extend(inner);
    }
    for note in &explanation.notes {
        let _ = writeln!(out, "note: {note}");
    }
    // The claims of a pod show their own.
    if let (Some(fix), true) = (&explanation.fix, explanation.claims.is_empty()) {
        let _ = writeln!(out, "fix ({}):\n{}", fix.effect, fix.command);
        for fix in &explanation.alternatives {
            let _ = writeln!(out, "or ({}):\n{}", fix.effect, fix.command);
        }
    }
    out
}

fn candidates(out: &mut String, candidates: &[CandidateMismatches], extent: Extent) {
    let groups = groups(candidates);
    let shown = taken(&groups, GROUPS_MAX, extent);
    for group in shown {
        // Writing to a string cannot fail.
        let reason = if group.reason.is_empty() { "matches" } else { &group.reason };
        let _ = writeln!(out, "  {reason} ({})", group.members.len());
        for candidate in taken(&group.members, CANDIDATES_MAX, extent) {
            let reasons = reasons(candidate);
            let separator = if reasons.is_empty() { "" } else { ": " };
            let _ = writeln!(out, "    {}{separator}{reasons}", candidate.name);
        }
        more(out, "    ", group.members.len(), CANDIDATES_MAX, extent);
    }
    let count: usize = shown.iter().map(|group| group.members.len()).sum();
    if let rest @ 1.. = candidates.len() - count {
        let _ = writeln!(out, "  and {rest} more for other reasons (-o wide shows all)");
    }
}

fn nodes(out: &mut String, nodes: &[NodeVolumes], extent: Extent) {
    for reach in taken(nodes, NODES_MAX, extent) {
        let names: Vec<&str> =
            taken(&reach.volumes, VOLUMES_MAX, extent).iter().map(String::as_str).collect();
        let names = match reach.volumes.len().saturating_sub(names.len()) {
            0 if names.is_empty() => "no PV matches".to_owned(),
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        };
        let _ = writeln!(out, "  on node {}: {names}", reach.node);
    }
    more(out, "  ", nodes.len(), NODES_MAX, extent);
}

fn said(event: &ReportedEvent) -> String {
    let when = if event.time.is_empty() { String::new() } else { format!(" at {}", event.time) };
    format!("{}{when}: {}", event.reason, event.message)
}

fn reasons(candidate: &CandidateMismatches) -> String {
    let texts: Vec<&str> = candidate.mismatches.iter().map(|reason| &*reason.message).collect();
    texts.join("; ")
}

fn taken<T>(items: &[T], limit: usize, extent: Extent) -> &[T] {
    match extent {
        Extent::Screen => items.get(..limit).unwrap_or(items),
        Extent::All => items,
    }
}

fn more(out: &mut String, indent: &str, count: usize, limit: usize, extent: Extent) {
    if extent == Extent::Screen && count > limit {
        let _ = writeln!(out, "{indent}and {} more (-o wide shows all)", count - limit);
    }
}

/// Candidates that fail for the same reasons.
struct Group<'a> {
    reason: String,
    members: Vec<&'a CandidateMismatches>,
}

/// The candidates by their reasons, the group of the nearest one first.
fn groups(candidates: &[CandidateMismatches]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for candidate in candidates {
        let short: Vec<&str> = candidate.mismatches.iter().map(|reason| reason.short).collect();
        let reason = short.join(", ");
        match groups.iter_mut().find(|group| group.reason == reason) {
            Some(group) => group.members.push(candidate),
            None => groups.push(Group { reason, members: vec![candidate] }),
        }
    }
    groups
}

fn markdown(explanation: &Explanation) -> String {
    let mut out = format!("### {}\n", cell(&explanation.summary));
    if !explanation.candidates.is_empty() {
        out.push_str("\n| candidate | why not |\n|---|---|\n");
        for candidate in explanation.candidates.iter().take(ROWS_MAX) {
            let _ = writeln!(out, "| `{}` | {} |", candidate.name, cell(&reasons(candidate)));
        }
        if let Some(more) =
            explanation.candidates.len().checked_sub(ROWS_MAX).filter(|more| *more > 0)
        {
            let _ = writeln!(out, "\nand {more} more");
        }
    }
    if !explanation.nodes.is_empty() {
        out.push_str("\n| node | volumes that fit |\n|---|---|\n");
        for reach in explanation.nodes.iter().take(ROWS_MAX) {
            let names: Vec<String> =
                reach.volumes.iter().take(VOLUMES_MAX).map(|name| format!("`{name}`")).collect();
            let _ = writeln!(
                out,
                "| `{}` | {} of {} |",
                reach.node,
                names.join(", "),
                reach.volumes.len()
            );
        }
    }
    if !explanation.excluded.is_empty() {
        out.push_str("\n| node | why not |\n|---|---|\n");
        for excluded in explanation.excluded.iter().take(ROWS_MAX) {
            let _ =
                writeln!(out, "| `{}` | {} |", excluded.node, cell(&excluded.reasons.join("; ")));
        }
    }
    if let Some(awaited) = &explanation.provisioner {
        let _ = match &awaited.last_event {
            Some(event) => {
                writeln!(out, "\nLast event of {}: {}", cell(&event.component), cell(&said(event)))
            }
            None => writeln!(out, "\nNo event of provisioner `{}`", awaited.name),
        };
    }
    for note in &explanation.notes {
        let _ = writeln!(out, "\n{}", cell(note));
    }
    if let (Some(fix), true) = (&explanation.fix, explanation.claims.is_empty()) {
        let _ = write!(out, "\nTo fix it ({}):\n\n```\n{}\n```\n", cell(&fix.effect), fix.command);
        for fix in &explanation.alternatives {
            let _ = write!(out, "\nOr ({}):\n\n```\n{}\n```\n", cell(&fix.effect), fix.command);
        }
    }
    for claim in &explanation.claims {
        let _ = write!(out, "\n{}", markdown(claim));
    }
    out
}
