//! What cannot come back without some nodes, as a page: the pods with the reasons, and the claims that no node reaches.

use jiff::Timestamp;

use super::report::{ClaimReach, NodeLossReport, PodForecast};
use crate::cli::html::{DrawnPair, FilteredTable, HtmlPage, Markup, PairLine, Tone};

/// The report as one file.
pub(super) fn page(report: &NodeLossReport, now: Timestamp) -> String {
    let mut page = HtmlPage::new("Node loss", &report.tally());
    for outcome in [PodForecast::Pending, PodForecast::Unknown, PodForecast::Returns] {
        let count = report.pods.iter().filter(|pod| pod.outcome == outcome).count();
        if count > 0 {
            page.tile(tone(outcome), &count.to_string(), &format!("pods: {outcome}"));
        }
    }
    if let count @ 1.. = report.claims.len() {
        page.tile(Tone::Error, &count.to_string(), "PVCs without a Node");
    }
    page.section("lost-pods", "Pods", &pods(report));
    page.section("lost-claims", "PVCs without a Node", &claims(report));
    page.notes(&report.notes);
    page.finish(now)
}

fn tone(outcome: PodForecast) -> Tone {
    match outcome {
        PodForecast::Returns => Tone::Good,
        PodForecast::Pending => Tone::Error,
        PodForecast::Unknown => Tone::Warning,
    }
}

fn pods(report: &NodeLossReport) -> Markup {
    let columns = &["pod", "Node", "outcome", "PVCs", "why"];
    let caption = "Every pod with PVCs on these Nodes";
    let filters = &["Outcome", "Namespace", "Node"];
    let mut table = FilteredTable::new("pods", caption, columns, filters);
    for pod in &report.pods {
        let outcome = pod.outcome.to_string();
        let why: Vec<&str> = pod.reasons.iter().map(|reason| &*reason.message).collect();
        let cells = [
            Markup::of(&format!("{}/{}", pod.namespace, pod.name)),
            Markup::of(&pod.node),
            tone(pod.outcome).badge(&outcome),
            Markup::of(&pod.claims.join("\n")),
            Markup::of(&why.join("\n")),
        ];
        table.row(&[&outcome, &pod.namespace, &pod.node], &cells);
    }
    table.markup()
}

fn claims(report: &NodeLossReport) -> Markup {
    let caption = "Every bound PVC that no Node is left for, used or not";
    let filters = &["Outcome", "Namespace"];
    let mut table = FilteredTable::new("reach", caption, &["pair", "why"], filters);
    for claim in &report.claims {
        let line = match claim.outcome {
            ClaimReach::Unreachable => PairLine::Broken,
            ClaimReach::Unknown => PairLine::Coming,
        };
        let name = format!("{}/{}", claim.namespace, claim.name);
        let outcome = claim.outcome.to_string();
        let (claimed, volume) = (Some(name.as_str()), Some(claim.volume.as_str()));
        let pair = DrawnPair { claim: claimed, volume, line, state: &outcome };
        let cells = [pair.markup(), Markup::of(&claim.reason.message)];
        table.row(&[&outcome, &claim.namespace], &cells);
    }
    table.markup()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::html::tests::expect_texts_stay_texts;
    use crate::cli::plan::node_loss::report::{
        ClaimReport, NodeLossCounts, NodesReport, PodReport, ReasonReport,
    };
    use crate::cli::render::API_VERSION;

    fn report(text: &str) -> NodeLossReport {
        let text = || text.to_owned();
        let reason = || ReasonReport { label: "label", claim: Some(text()), message: text() };
        let pod = |outcome| PodReport {
            namespace: text(),
            name: text(),
            node: text(),
            outcome,
            claims: vec![text(), text()],
            reasons: vec![reason(), reason()],
        };
        let claim = |outcome| ClaimReport {
            namespace: text(),
            name: text(),
            volume: text(),
            outcome,
            reason: reason(),
        };
        NodeLossReport {
            api_version: API_VERSION,
            kind: "NodeLossPlan",
            nodes: NodesReport { gone: vec![text()], drained: vec![text()], left: 1 },
            pods: [PodForecast::Pending, PodForecast::Unknown, PodForecast::Returns]
                .map(pod)
                .to_vec(),
            claims: [ClaimReach::Unreachable, ClaimReach::Unknown].map(claim).to_vec(),
            summary: NodeLossCounts::default(),
            notes: vec![text()],
        }
    }

    #[test]
    fn texts_stay_texts() {
        expect_texts_stay_texts(|text| page(&report(text), Timestamp::UNIX_EPOCH));
    }
}
