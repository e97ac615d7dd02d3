//! What cannot come back, for people: a line per reason, then how many come back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::html;
use super::report::{ClaimReport, NodeLossReport, PodReport, ReasonReport};
use crate::cli::output::{Colour, readable};
use crate::cli::render::Render;
use crate::cli::table::{self, cell};

/// Rows of a Markdown table. A comment on GitHub holds 65,536 characters, and a long row takes 400.
const ROWS_MAX: usize = 100;

impl Render for NodeLossReport {
    /// The pods that do not come back, and the claims of which no pod shows the reason.
    fn text(&self, _: Colour) -> String {
        let pods = self.pods.iter().flat_map(|pod| {
            pod.reasons.iter().map(|reason| row(pod_name(pod), &pod.outcome, &reason.message))
        });
        let claims = self
            .unshown()
            .map(|claim| row(claim_name(claim), &claim.outcome, &claim.reason.message));
        let rows: Vec<Vec<String>> = pods.chain(claims).collect();
        readable(&(table::aligned(&rows) + &self.end()))
    }

    /// A table of all pods and a table of claims.
    fn wide(&self) -> String {
        let pods = self.pods.iter().map(|pod| {
            let why: Vec<&str> = pod.reasons.iter().map(|reason| &*reason.message).collect();
            [
                Some(format!("{}/{}", pod.namespace, pod.name)),
                Some(pod.node.clone()),
                Some(pod.outcome.to_string()),
                Some(pod.claims.join(",")),
                Some(why.join("; ")).filter(|why| !why.is_empty()),
            ]
        });
        let claims = self.claims.iter().map(|claim| {
            [
                Some(format!("{}/{}", claim.namespace, claim.name)),
                Some(claim.volume.clone()),
                Some(claim.outcome.to_string()),
                Some(claim.reason.message.clone()),
            ]
        });
        table::headed(["POD", "NODE", "OUTCOME", "PVCS", "WHY"], &pods.collect::<Vec<_>>())
            + &table::headed(["PVC", "PV", "OUTCOME", "WHY"], &claims.collect::<Vec<_>>())
            + &self.end()
    }

    fn markdown(&self) -> String {
        let pods = self.pods.iter().flat_map(|pod| {
            let line =
                |reason: &ReasonReport| markdown_row(&pod_name(pod), &pod.outcome, &reason.message);
            pod.reasons.iter().map(line).collect::<Vec<_>>()
        });
        let claims = self
            .unshown()
            .map(|claim| markdown_row(&claim_name(claim), &claim.outcome, &claim.reason.message));
        let rows: Vec<[String; 3]> = pods.chain(claims).collect();
        let table = table::markdown("| object | outcome | why |\n|---|---|---|", &rows, ROWS_MAX);
        let notes = table::markdown_notes(&self.notes);
        format!("### Node loss\n\n{}\n{table}{notes}", self.tally())
    }

    fn html(&self, now: Timestamp) -> String {
        html::page(self, now)
    }
}

impl NodeLossReport {
    /// The claims whose reason no pod has.
    fn unshown(&self) -> impl Iterator<Item = &ClaimReport> {
        let of_pods = self.pods.iter().flat_map(|pod| &pod.reasons);
        let shown: BTreeSet<&str> = of_pods.map(|reason| &*reason.message).collect();
        self.claims.iter().filter(move |claim| !shown.contains(&*claim.reason.message))
    }

    fn end(&self) -> String {
        format!("{}{}\n", table::notes(&self.notes), self.tally())
    }

    /// What becomes of the nodes, and how many end up how: one sentence.
    pub(super) fn tally(&self) -> String {
        let names = |names: &[String]| {
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let counts = |counts: &BTreeMap<String, usize>| {
            let words: Vec<String> =
                counts.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        format!(
            "Nodes gone: {}; drained: {}; left: {}; pods: {}; PVCs without a Node: {}",
            names(&self.nodes.gone),
            names(&self.nodes.drained),
            self.nodes.left,
            counts(&self.summary.pods),
            counts(&self.summary.claims)
        )
    }
}

fn pod_name(pod: &PodReport) -> String {
    format!("pod {}/{}", pod.namespace, pod.name)
}

fn claim_name(claim: &ClaimReport) -> String {
    format!("PVC {}/{}", claim.namespace, claim.name)
}

fn row(name: String, outcome: &impl ToString, why: &str) -> Vec<String> {
    vec![name, outcome.to_string(), why.to_owned()]
}

fn markdown_row(name: &str, outcome: &impl ToString, why: &str) -> [String; 3] {
    [format!("`{name}`"), format!("**{}**", outcome.to_string()), cell(why)]
}
