//! An explanation as a page: the pair, what does not fit and why, and the commands that fix it.

use jiff::Timestamp;

use super::phrases::{fixes, reasons, said};
use super::report::{CandidateMismatches, Explanation, Fix};
use crate::cli::html::{DrawnPair, FilteredTable, HtmlPage, Markup, PairLine, Tone};
use crate::cli::input::object_id::ObjectKind;

/// The explanation as one file.
pub(super) fn page(explanation: &Explanation, now: Timestamp) -> String {
    let mut page = HtmlPage::new("Explanation", &explanation.summary);
    page.tile(tone(explanation), &explanation.outcome, &explanation.object.to_string());
    let mut body = Markup::default();
    part(&mut body, explanation);
    page.section("why", "Why", &body);
    page.section("candidates-of", "Candidates", &candidates(explanation));
    page.finish(now)
}

fn tone(explanation: &Explanation) -> Tone {
    if explanation.stuck { Tone::Error } else { Tone::Good }
}

/// One explanation, with those of its claims and pods.
fn part(out: &mut Markup, explanation: &Explanation) {
    out.raw("<div class=\"explained\">");
    out.add(&tone(explanation).badge(&explanation.outcome)).raw(" <p>");
    out.text(&explanation.summary).raw("</p>").add(&pair(explanation));
    places(out, explanation);
    for one in &explanation.attachments {
        let turn = one.turn.unwrap_or("not known");
        out.raw("<p>").text(&format!("{turn}: {}", one.message)).raw("</p>");
    }
    if let Some(awaited) = &explanation.provisioner {
        let text = match &awaited.last_event {
            Some(event) => format!("Last event of {}: {}", event.component, said(event)),
            None => format!("No event of provisioner {}", awaited.name),
        };
        out.raw("<p>").text(&text).raw("</p>");
    }
    for note in &explanation.notes {
        out.raw("<p class=\"note\">").text(note).raw("</p>");
    }
    for (word, Fix { effect, command, .. }) in fixes(explanation, ["To fix it", "Or"]) {
        out.raw("<p>").text(&format!("{word} ({effect}):")).raw("</p><pre>");
        out.text(command).raw("</pre>");
    }
    for inner in explanation.claims.iter().chain(&explanation.pods) {
        part(out, inner);
    }
    out.raw("</div>\n");
}

/// The claim and the volume that are explained; nothing for another object.
fn pair(explanation: &Explanation) -> Markup {
    let Explanation { object, partner, outcome, stuck, .. } = explanation;
    let name = match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.clone(),
    };
    let (own, partner) = (Some(name.as_str()), partner.as_deref());
    let (claim, volume) = if object.kind == ObjectKind::Claim.name() {
        (own, partner)
    } else if object.kind == ObjectKind::Volume.name() {
        (partner, own)
    } else {
        return Markup::default();
    };
    let line = match (stuck, outcome.eq_ignore_ascii_case("bound")) {
        (true, _) => PairLine::Broken,
        (false, true) => PairLine::Bound,
        (false, false) => PairLine::Coming,
    };
    DrawnPair { claim, volume, line, state: outcome }.markup()
}

/// The nodes where the claim could be served, and those that cannot take the pod.
fn places(out: &mut Markup, explanation: &Explanation) {
    if explanation.nodes.is_empty() && explanation.excluded.is_empty() {
        return;
    }
    out.raw("<ul>");
    for reach in &explanation.nodes {
        let names = match reach.volumes.as_slice() {
            [] => "no PV matches".to_owned(),
            names => names.join(", "),
        };
        out.raw("<li>on node ").text(&reach.node).raw(": ").text(&names).raw("</li>");
    }
    for excluded in &explanation.excluded {
        out.raw("<li>not on node ").text(&excluded.node).raw(": ");
        out.text(&excluded.reasons.join("; ")).raw("</li>");
    }
    out.raw("</ul>");
}

/// The candidates of the explanation and of all within it, the nearest of each first.
fn candidates(explanation: &Explanation) -> Markup {
    let caption = "Every candidate that was compared, the nearest of each object first";
    let columns = &["of", "candidate", "why not"];
    let mut table = FilteredTable::new("candidates", caption, columns, &["Of", "Why not"]);
    add_candidates(&mut table, explanation);
    table.markup()
}

fn add_candidates(table: &mut FilteredTable, explanation: &Explanation) {
    let object = explanation.object.to_string();
    for candidate in &explanation.candidates {
        let CandidateMismatches { name, holder, mismatches } = candidate;
        let mut cell = Markup::of(name);
        if let Some(holder) = holder {
            cell.raw("\n").add(&Markup::element("small", "summary", &format!("of PVC {holder}")));
        }
        let short: Vec<&str> = mismatches.iter().map(|reason| reason.short).collect();
        let why = match reasons(candidate) {
            why if why.is_empty() => "matches".to_owned(),
            why => why,
        };
        let cells = [Markup::of(&object), cell, Markup::of(&why)];
        table.row(&[&object, &short.join(", ")], &cells);
    }
    for inner in explanation.claims.iter().chain(&explanation.pods) {
        add_candidates(table, inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::explain::report::{
        AwaitedProvisioner, ExcludedNode, Harm, MismatchReason, NodeVolumes, ReportedAttachment,
        ReportedEvent,
    };
    use crate::cli::html::tests::{expect_texts_stay_texts, shape};
    use crate::cli::report::ReportedObject;

    fn explanation(kind: ObjectKind, text: &str) -> Explanation {
        let text = || text.to_owned();
        let namespace = kind.is_namespaced().then(text);
        let object = ReportedObject { kind: kind.name(), namespace, name: text() };
        let event =
            || ReportedEvent { component: text(), reason: text(), message: text(), time: text() };
        let fix = || Fix { command: text(), effect: text(), harm: Harm::None };
        let mismatch = MismatchReason {
            label: "label",
            message: text(),
            requested: Some(text()),
            offered: Some(text()),
            short: "short",
        };
        let candidate =
            |mismatches| CandidateMismatches { name: text(), holder: Some(text()), mismatches };
        let attachment = ReportedAttachment {
            volume: text(),
            node: text(),
            step: "step",
            turn: Some("driver"),
            stuck: true,
            message: text(),
        };
        Explanation {
            partner: Some(text()),
            candidates: vec![candidate(vec![mismatch]), candidate(Vec::new())],
            nodes: vec![NodeVolumes { node: text(), volumes: vec![text(), text()] }],
            excluded: vec![ExcludedNode { node: text(), reasons: vec![text()] }],
            provisioner: Some(AwaitedProvisioner { name: text(), last_event: Some(event()) }),
            event: Some(event()),
            attachments: vec![attachment],
            notes: vec![text()],
            fix: Some(fix()),
            alternatives: vec![fix()],
            ..Explanation::of(object, &text(), true, text())
        }
    }

    #[test]
    fn texts_stay_texts() {
        expect_texts_stay_texts(|text| {
            let mut pod = explanation(ObjectKind::Pod, text);
            pod.claims = vec![explanation(ObjectKind::Claim, text)];
            pod.pods = vec![explanation(ObjectKind::Volume, text)];
            page(&pod, Timestamp::UNIX_EPOCH)
        });
    }

    #[test]
    fn each_explained_pair_is_drawn_with_its_command() {
        let mut pod = explanation(ObjectKind::Pod, "web");
        pod.claims = vec![explanation(ObjectKind::Claim, "data")];
        pod.claims[0].stuck = false;
        pod.claims[0].outcome = "bound".to_owned();
        let page = page(&pod, Timestamp::UNIX_EPOCH);
        shape(&page);
        let pair = "<span class=\"pair whole\"><span class=\"end\"><b>PVC</b> data/data</span>";
        assert_eq!(page.matches(pair).count(), 1, "{page}");
        assert_eq!(page.matches("<pre>data</pre>").count(), 2, "{page}");
        assert_eq!(page.matches("<pre>web</pre>").count(), 0, "a pod's claims show their own fix");
    }
}
