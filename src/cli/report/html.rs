//! A report as a page: what is at risk by StorageClass and Namespace, every finding with its pair, and the rules behind them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::phrases::parts;
use super::{AtStake, Finding, FindingResult, Report, tally};
use crate::cli::html::{
    BarChart, DrawnPair, FilteredTable, HtmlPage, Markup, NO_CLASS, NO_NAMESPACE, PairLine, Tone,
};
use crate::cli::input::object_id::ObjectKind;
use crate::model::Quantity;
use crate::rules::{find, mutations};

/// The severities of findings on existing objects, the gravest first, as charts show them.
const SEVERITIES: [&str; 3] = ["high", "medium", "low"];

/// The report as one file.
pub(super) fn page(report: &Report, now: Timestamp) -> String {
    let mut page = HtmlPage::new("Storage check", &tally(report));
    tiles(&mut page, report);
    page.section("risk", "At risk", &at_risk(report));
    page.section("found", "Findings", &findings(report));
    page.section("changes", "What the webhook would mutate", &changes(report));
    page.section("rules", "Rules", &rules(report));
    page.notes(&report.notes);
    page.finish(now)
}

fn tiles(page: &mut HtmlPage, report: &Report) {
    let summary = &report.summary;
    let counts = [
        (Tone::Error, summary.denied, "denied"),
        (Tone::Error, summary.api, "denied by the API server"),
        (Tone::Warning, summary.unverified, "unverified"),
        (Tone::Warning, summary.warned, "warned"),
        (Tone::Note, summary.exempted, "exempted"),
        (Tone::Note, summary.audited, "audited"),
        (Tone::Good, summary.clean(), "clean"),
    ];
    for (tone, count, label) in counts {
        if count > 0 {
            page.tile(tone, &count.to_string(), label);
        }
    }
    if let Some(live) = &report.live {
        page.tile(Tone::Note, &live.source, &format!("source, {} s old", live.age));
    }
}

fn tone(result: FindingResult) -> Tone {
    if result == FindingResult::Clean {
        Tone::Good
    } else {
        result.by_level(Tone::Error, Tone::Warning, Tone::Note)
    }
}

/// A piece of storage at risk: one for a volume and its claim, however many findings they have.
struct RiskyStorage<'a> {
    severity: usize,
    stake: &'a AtStake,
    namespace: Option<&'a str>,
}

/// Storage at risk by class and by namespace.
fn at_risk(report: &Report) -> Markup {
    let mut all: BTreeMap<(bool, String), RiskyStorage<'_>> = BTreeMap::new();
    for finding in &report.findings {
        let Some(stake) = &finding.standing else { continue };
        let Some(severity) = SEVERITIES.iter().position(|one| *one == stake.severity) else {
            continue;
        };
        let namespace = namespace(finding, stake);
        let risky = RiskyStorage { severity, stake, namespace };
        let known = all.entry(storage(finding, stake)).or_insert(risky);
        known.severity = known.severity.min(severity);
        known.namespace = known.namespace.or(namespace);
    }
    let caption = "Storage of PVs and PVCs with findings, by StorageClass and severity";
    let mut by_class = BarChart::new(caption, "StorageClass", &SEVERITIES);
    let caption = "The same by Namespace of the PVC";
    let mut by_namespace = BarChart::new(caption, "Namespace", &SEVERITIES);
    for RiskyStorage { severity, stake, namespace } in all.values() {
        let size = stake.bytes.as_deref().and_then(|bytes| Quantity::parse(bytes).ok());
        let bytes = size.map(|size| size.rounded_up_units()).unwrap_or_default();
        by_class.add(stake.class.as_deref().unwrap_or(NO_CLASS), *severity, bytes);
        by_namespace.add(namespace.unwrap_or(NO_NAMESPACE), *severity, bytes);
    }
    BarChart::side_by_side(&[&by_class, &by_namespace])
}

/// What a finding is about: a volume, or a claim that has none.
fn storage(finding: &Finding, stake: &AtStake) -> (bool, String) {
    let object = &finding.object;
    match &stake.partner {
        Some(volume) if is_claim(finding) => (true, volume.clone()),
        _ if is_volume(finding) => (true, object.name.clone()),
        _ => {
            let namespace = object.namespace.as_deref().unwrap_or_default();
            (false, format!("{namespace}/{}", object.name))
        }
    }
}

fn namespace<'a>(finding: &'a Finding, stake: &'a AtStake) -> Option<&'a str> {
    let of_partner = stake.partner.as_deref().filter(|_| is_volume(finding));
    let of_partner = of_partner.and_then(|partner| Some(partner.split_once('/')?.0));
    finding.object.namespace.as_deref().or(of_partner).filter(|name| !name.is_empty())
}

fn is_claim(finding: &Finding) -> bool {
    finding.object.kind == ObjectKind::Claim.name()
}

fn is_volume(finding: &Finding) -> bool {
    finding.object.kind == ObjectKind::Volume.name()
}

/// Every finding, the gravest first.
fn findings(report: &Report) -> Markup {
    let columns = &["result", "object", "size", "why"];
    let caption = "Every finding, the gravest first";
    let filters = &["Result", "Severity", "Rule", "Kind", "Namespace", "StorageClass"];
    let mut table = FilteredTable::new("findings", caption, columns, filters);
    let mut all: Vec<&Finding> = report.findings.iter().collect();
    // A stable sort: of equal weight, the order of the input.
    all.sort_by_key(|finding| Reverse(finding.result));
    for finding in all {
        let stake = finding.standing.as_ref();
        let namespace = match stake {
            Some(stake) => namespace(finding, stake),
            None => finding.object.namespace.as_deref(),
        };
        let word = finding.result.to_string();
        let values = [
            &word,
            stake.map(|stake| stake.severity).unwrap_or_default(),
            finding.rule.as_deref().unwrap_or_default(),
            finding.object.kind,
            namespace.unwrap_or_default(),
            stake.and_then(|stake| stake.class.as_deref()).unwrap_or_default(),
        ];
        let size = stake.and_then(|stake| stake.bytes.as_deref()).unwrap_or_default();
        table.row(&values, &[result(finding), object(finding), Markup::of(size), why(finding)]);
    }
    table.markup()
}

fn result(finding: &Finding) -> Markup {
    let mut out = tone(finding.result).badge(&finding.result.to_string());
    if let Some(stake) = &finding.standing {
        out.raw("\n").add(&Markup::element("small", "summary", stake.severity));
    }
    out
}

/// The object, with its partner where that is known.
fn object(finding: &Finding) -> Markup {
    let drawn = finding.standing.as_ref().and_then(|stake| {
        let (phase, partner) = (stake.phase.as_deref()?, stake.partner.as_deref());
        let id = &finding.object;
        let own = match &id.namespace {
            Some(namespace) => format!("{namespace}/{}", id.name),
            None => id.name.clone(),
        };
        let (claim, volume) = if is_volume(finding) {
            (partner, Some(own.as_str()))
        } else {
            (Some(own.as_str()), partner)
        };
        Some(DrawnPair { claim, volume, line: line(phase), state: phase }.markup())
    });
    let mut out = drawn.unwrap_or_else(|| Markup::of(&finding.object.to_string()));
    let place = finding.place();
    if place != finding.object.to_string() {
        out.raw("\n").add(&Markup::element("small", "summary", &place));
    }
    out
}

/// The line of a pair of which one end has this phase.
fn line(phase: &str) -> PairLine {
    match phase {
        "Bound" => PairLine::Bound,
        "Pending" | "Available" => PairLine::Coming,
        _ => PairLine::Broken,
    }
}

/// The message, of which the part in brackets leads to the rule, and what to do on lines of its own.
fn why(finding: &Finding) -> Markup {
    let (problem, remedies) = parts(finding);
    let mut out = Markup::default();
    let rule = finding.rule.as_deref().and_then(|rule| {
        let rest = problem.strip_prefix('[')?.strip_prefix(rule)?.strip_prefix(']')?;
        described(rule).map(|_| (rule, rest))
    });
    match rule {
        Some((rule, rest)) => {
            out.raw("<a href=\"#rule-").text(rule).raw("\">[").text(rule).raw("]</a>").text(rest);
        }
        None => {
            out.text(problem);
        }
    }
    for remedy in remedies {
        out.raw("\n").text(&remedy);
    }
    out
}

fn changes(report: &Report) -> Markup {
    let columns = &["object", "mutation", "what it does"];
    let caption = "Every mutation, in the order of the input";
    let mut table = FilteredTable::new("mutations", caption, columns, &["Mutation", "Kind"]);
    for mutation in &report.mutations {
        let object = Markup::of(&mutation.object.to_string());
        let cells = [object, Markup::of(mutation.mutation), Markup::of(&mutation.warning)];
        table.row(&[mutation.mutation, mutation.object.kind], &cells);
    }
    table.markup()
}

/// What goes wrong, what follows and what to do instead; nothing for an id that is no rule's.
fn described(id: &str) -> Option<[&'static str; 3]> {
    let page = find(id).map(|rule| rule.page);
    let page = page.or_else(|| mutations::find(id).map(|mutation| mutation.page))?;
    Some([page.hazard, page.consequence, page.instead])
}

/// The rules that the findings name.
fn rules(report: &Report) -> Markup {
    let mut out = Markup::default();
    let ids: BTreeSet<&str> =
        report.findings.iter().filter_map(|finding| finding.rule.as_deref()).collect();
    for id in ids {
        let Some([hazard, consequence, instead]) = described(id) else { continue };
        out.raw("<h3 id=\"rule-").text(id).raw("\">").text(id).raw("</h3><p>").text(hazard);
        out.raw(" ").text(consequence).raw("</p><p>Instead: ").text(instead).raw("</p>\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::html::tests::{expect_texts_stay_texts, shape};
    use crate::cli::render::API_VERSION;
    use crate::cli::report::{
        Exempt, LiveSource, MutationEntry, Rendered, ReportedObject, ResultCounts,
    };

    fn finding(kind: ObjectKind, text: &str) -> Finding {
        let text = || text.to_owned();
        let namespace = kind.is_namespaced().then(text);
        // Of a volume, a Namespace in front: a text may have a slash at any place, or none.
        let partner = if kind == ObjectKind::Volume { format!("ns/{}", text()) } else { text() };
        Finding {
            result: FindingResult::Denied,
            rule: Some(text()),
            object: ReportedObject { kind: kind.name(), namespace, name: text() },
            operation: "SCAN",
            message: format!("[{}] {}; {}\n{}", text(), text(), text(), text()),
            field: Some(text()),
            file: Some(text()),
            line: Some(1),
            column: Some(2),
            rendered: Some(Rendered { file: text(), line: 1, column: 2 }),
            fix: Some(text()),
            exempt: Some(Exempt { until: text(), reason: text() }),
            enforced_by: Vec::new(),
            standing: Some(AtStake {
                severity: "high",
                age: Some(1),
                bytes: Some("10Gi".to_owned()),
                class: Some(text()),
                partner: Some(partner),
                phase: Some(text()),
            }),
        }
    }

    fn report(findings: Vec<Finding>, text: &str) -> Report {
        let object =
            ReportedObject { kind: "PersistentVolume", namespace: None, name: text.to_owned() };
        let mutation = MutationEntry {
            mutation: "delayed-binding",
            object,
            patch: text.into(),
            warning: text.to_owned(),
            place: Some(text.to_owned()),
        };
        Report {
            api_version: API_VERSION,
            kind: "Report",
            live: Some(LiveSource { source: text.to_owned(), age: 1 }),
            findings,
            mutations: vec![mutation],
            summary: ResultCounts { objects: 2, denied: 2, ..ResultCounts::default() },
            notes: vec![text.to_owned()],
            objects: Vec::new(),
            others: 0,
        }
    }

    fn html(report: &Report) -> String {
        page(report, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn texts_stay_texts() {
        expect_texts_stay_texts(|text| {
            let kinds = [ObjectKind::Volume, ObjectKind::Claim, ObjectKind::Namespace];
            let mut findings: Vec<Finding> =
                kinds.into_iter().map(|kind| finding(kind, text)).collect();
            findings[2].standing = None;
            html(&report(findings, text))
        });
    }

    #[test]
    fn a_pair_with_several_findings_counts_once_at_its_gravest() {
        let of = |kind: ObjectKind, name: &str, partner: &str, severity: &'static str| {
            let mut finding = finding(kind, name);
            finding.object.namespace = kind.is_namespaced().then(|| "db".to_owned());
            let stake = finding.standing.as_mut().expect("a stake");
            stake.partner = Some(partner.to_owned());
            (stake.severity, stake.class) = (severity, Some("fast".to_owned()));
            finding
        };
        let findings = vec![
            of(ObjectKind::Volume, "pv-a", "db/data", "low"),
            of(ObjectKind::Claim, "data", "pv-a", "high"),
            of(ObjectKind::Volume, "pv-b", "shop/cart", "medium"),
        ];
        let page = html(&report(findings, "x"));
        let row = "<th scope=\"row\">fast</th>";
        let (_, row) = page.split_once(row).expect("a row of the StorageClass");
        let amounts: Vec<&str> = row
            .split("<td class=\"amount\">")
            .skip(1)
            .take(2)
            .filter_map(|cell| cell.split('<').next())
            .collect();
        assert_eq!(amounts, ["10Gi", "10Gi"], "{page}");
        assert!(!page.contains("</svg> low</th>"), "no storage has this severity: {page}");
        for namespace in ["db", "shop"] {
            assert!(page.contains(&format!("<th scope=\"row\">{namespace}</th>")), "{namespace}");
        }
    }

    #[test]
    fn a_finding_leads_to_its_rule_and_the_gravest_stand_first() {
        let mut denied = finding(ObjectKind::Volume, "pv-a");
        denied.rule = Some("bound-volume-delete".to_owned());
        denied.message = "[bound-volume-delete] it is bound; keep it\nto override: x".to_owned();
        denied.fix = Some("keep it".to_owned());
        let mut warned = finding(ObjectKind::Volume, "pv-b");
        warned.result = FindingResult::Warned;
        let page = html(&report(vec![warned, denied], "x"));
        shape(&page);
        let link = "<a href=\"#rule-bound-volume-delete\">[bound-volume-delete]</a> it is bound\nfix: keep it\nto \
                    override: x</td>";
        assert!(page.contains(link), "{page}");
        assert!(page.contains("<h3 id=\"rule-bound-volume-delete\">"));
        let place = |badge: &str| page.find(&format!("{badge}</span>\n")).expect("a badge");
        assert!(place("error\">denied") < place("warning\">warned"));
    }
}
