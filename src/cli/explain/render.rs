//! An explanation for people: on one screen, in full, or as Markdown.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::html;
use super::phrases::{fixes, reasons, said};
use super::report::{
    AwaitedProvisioner, CandidateMismatches, ExcludedNode, Explanation, Fix, NodeVolumes,
    ReportedAttachment,
};
use crate::cli::output::{Colour, readable};
use crate::cli::render::Render;
use crate::cli::table::{self, cell};

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

impl Render for Explanation {
    fn text(&self, _: Colour) -> String {
        readable(&text(self, Extent::Screen))
    }

    fn wide(&self) -> String {
        text(self, Extent::All)
    }

    fn markdown(&self) -> String {
        markdown(self)
    }

    fn html(&self, now: Timestamp) -> String {
        html::page(self, now)
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
    for one in &explanation.attachments {
        let _ = writeln!(out, "  {}: {}", one.turn.unwrap_or("not known"), one.message);
    }
    if let Some(awaited) = &explanation.provisioner {
        let _ = match &awaited.last_event {
            Some(event) => {
                writeln!(out, "  last event of \"{}\": {}", event.component, said(event))
            }
            None => writeln!(out, "  no event of provisioner \"{}\"", awaited.name),
        };
    }
    for inner in explanation.claims.iter().chain(&explanation.pods) {
        let inner = text(inner, extent);
        let inner = inner.lines().map(|line| format!("  {line}\n"));
        out.extend(inner);
    }
    out.push_str(&table::notes(&explanation.notes));
    for (word, Fix { effect, command, .. }) in fixes(explanation, ["fix", "or"]) {
        let _ = writeln!(out, "{word} ({effect}):\n{command}");
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
    let Explanation { candidates, nodes, excluded, .. } = explanation;
    let mut out = format!("### {}\n", cell(&explanation.summary));
    let row = |one: &CandidateMismatches| [format!("`{}`", one.name), cell(&reasons(one))];
    let rows: Vec<_> = candidates.iter().map(row).collect();
    out.push_str(&table::markdown("| candidate | why not |\n|---|---|", &rows, ROWS_MAX));
    let rows: Vec<_> = nodes.iter().map(node_row).collect();
    out.push_str(&table::markdown("| node | PVs that fit |\n|---|---|", &rows, ROWS_MAX));
    let row = |one: &ExcludedNode| [format!("`{}`", one.node), cell(&one.reasons.join("; "))];
    let rows: Vec<_> = excluded.iter().map(row).collect();
    out.push_str(&table::markdown("| node | why not |\n|---|---|", &rows, ROWS_MAX));
    let row = |one: &ReportedAttachment| {
        [
            format!("`{}`", one.volume),
            one.turn.unwrap_or("not known").to_owned(),
            cell(&one.message),
        ]
    };
    let rows: Vec<_> = explanation.attachments.iter().map(row).collect();
    out.push_str(&table::markdown("| PV | next to act | state |\n|---|---|---|", &rows, ROWS_MAX));
    if let Some(AwaitedProvisioner { name, last_event }) = &explanation.provisioner {
        let _ = match last_event {
            Some(event) => {
                writeln!(out, "\nLast event of {}: {}", cell(&event.component), cell(&said(event)))
            }
            None => writeln!(out, "\nNo event of provisioner `{name}`"),
        };
    }
    out.push_str(&table::markdown_notes(&explanation.notes));
    for (word, Fix { effect, command, .. }) in fixes(explanation, ["To fix it", "Or"]) {
        let _ = write!(out, "\n{word} ({}):\n\n```\n{command}\n```\n", cell(effect));
    }
    for inner in explanation.claims.iter().chain(&explanation.pods) {
        out.extend(["\n", &markdown(inner)]);
    }
    out
}

fn node_row(NodeVolumes { node, volumes }: &NodeVolumes) -> [String; 2] {
    let names: Vec<String> =
        volumes.iter().take(VOLUMES_MAX).map(|name| format!("`{name}`")).collect();
    [format!("`{node}`"), format!("{} of {}", names.join(", "), volumes.len())]
}
