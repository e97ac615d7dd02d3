//! A plan as a page: what cannot bind, what is wasted by StorageClass and Namespace, and every pair.

use jiff::Timestamp;

use super::difference::Difference;
use super::phrases::{bytes, modes, reason, tally, unclaimed};
use super::report::PlanReport;
use crate::cli::html::{
    BarChart, DrawnPair, FilteredTable, HtmlPage, Markup, NO_CLASS, NO_NAMESPACE, PairLine, Tone,
};
use crate::cli::preview::planned::{ClaimForecast, PlannedClaim, VolumeForecast};
use crate::model::Quantity;

/// Why storage is wasted, as charts show it.
const WASTE: [&str; 3] = ["more than requested", "no PVC has it", "its PVC is deleted"];
/// Why claims cannot bind, likewise.
const STUCK: [&str; 3] = ["unmatched", "lost or in conflict", "unknown"];

/// The plan as one file.
pub(super) fn page(plan: &PlanReport, now: Timestamp) -> String {
    let mut page = HtmlPage::new("Storage plan", &tally(plan));
    for outcome in OUTCOMES {
        let count = plan.claims.iter().filter(|claim| claim.outcome == outcome).count();
        if count > 0 {
            page.tile(tone(outcome), &count.to_string(), &format!("PVCs: {outcome}"));
        }
    }
    let wasted: i128 = plan.volumes.iter().filter_map(|volume| volume.wasted_bytes).sum();
    if wasted > 0 {
        page.tile(Tone::Warning, &bytes(wasted), "more than requested");
    }
    if let Some(difference) = &plan.difference {
        page.section("changes", "Changes since the earlier plan", &changes(difference));
    }
    page.section("risk", "PVCs that cannot bind", &stuck(plan));
    page.section("waste", "Unused storage", &waste(plan));
    page.section("pairs", "Pairs", &claims(plan));
    page.section("volumes-without", "PVs without a PVC", &volumes(plan));
    page.notes(&plan.notes);
    page.finish(now)
}

/// Every outcome, those that need a fix first.
const OUTCOMES: [ClaimForecast; 8] = [
    ClaimForecast::Lost,
    ClaimForecast::Conflict,
    ClaimForecast::Unmatched,
    ClaimForecast::Unknown,
    ClaimForecast::Waits,
    ClaimForecast::Provisions,
    ClaimForecast::Binds,
    ClaimForecast::Bound,
];

fn tone(outcome: ClaimForecast) -> Tone {
    match outcome {
        ClaimForecast::Bound | ClaimForecast::Binds => Tone::Good,
        ClaimForecast::Provisions | ClaimForecast::Waits => Tone::Note,
        ClaimForecast::Unknown => Tone::Warning,
        ClaimForecast::Unmatched | ClaimForecast::Lost | ClaimForecast::Conflict => Tone::Error,
    }
}

fn line(outcome: ClaimForecast) -> PairLine {
    match outcome {
        ClaimForecast::Bound => PairLine::Bound,
        ClaimForecast::Binds | ClaimForecast::Provisions | ClaimForecast::Waits => PairLine::Coming,
        ClaimForecast::Unmatched
        | ClaimForecast::Lost
        | ClaimForecast::Conflict
        | ClaimForecast::Unknown => PairLine::Broken,
    }
}

fn changes(difference: &Difference) -> Markup {
    let columns = &["PVC", "what", "before", "after"];
    let mut table = FilteredTable::new("changes-table", "Changed PVCs", columns, &["What"]);
    for (what, claim, before, after) in difference.rows() {
        let [before, after] = [before, after]
            .map(|end| Markup::of(&end.map(ToString::to_string).unwrap_or_default()));
        table.row(&[what], &[Markup::of(&claim.to_string()), Markup::of(what), before, after]);
    }
    let mut out = Markup::element("p", "summary", &difference.tally());
    out.add(&table.markup());
    out
}

/// What claims request that need a fix.
fn stuck(plan: &PlanReport) -> Markup {
    let caption = "Storage that these PVCs request, by StorageClass";
    let mut by_class = BarChart::new(caption, "StorageClass", &STUCK);
    let caption = "The same by Namespace";
    let mut by_namespace = BarChart::new(caption, "Namespace", &STUCK);
    for claim in &plan.claims {
        let segment = match claim.outcome {
            ClaimForecast::Unmatched => 0,
            ClaimForecast::Lost | ClaimForecast::Conflict => 1,
            ClaimForecast::Unknown => 2,
            ClaimForecast::Bound
            | ClaimForecast::Binds
            | ClaimForecast::Provisions
            | ClaimForecast::Waits => continue,
        };
        let amount = amount(&claim.request);
        by_class.add(claim.class.as_deref().unwrap_or(NO_CLASS), segment, amount);
        by_namespace.add(&claim.namespace, segment, amount);
    }
    BarChart::side_by_side(&[&by_class, &by_namespace])
}

/// What volumes are larger than requested, and what no claim has.
fn waste(plan: &PlanReport) -> Markup {
    let caption = "Waste by StorageClass";
    let mut by_class = BarChart::new(caption, "StorageClass", &WASTE);
    let caption = "Waste by Namespace of the PVC";
    let mut by_namespace = BarChart::new(caption, "Namespace", &WASTE);
    for volume in &plan.volumes {
        let (segment, amount) = match volume.outcome {
            VolumeForecast::Bound | VolumeForecast::Binds => {
                (0, volume.wasted_bytes.unwrap_or_default())
            }
            VolumeForecast::Free | VolumeForecast::Reserved => (1, amount(&volume.capacity)),
            VolumeForecast::Released | VolumeForecast::Failed => (2, amount(&volume.capacity)),
            VolumeForecast::Unknown => continue,
        };
        let namespace = volume.claim.as_deref().and_then(|claim| Some(claim.split_once('/')?.0));
        let namespace = namespace.filter(|name| !name.is_empty());
        by_class.add(volume.class.as_deref().unwrap_or(NO_CLASS), segment, amount);
        by_namespace.add(namespace.unwrap_or(NO_NAMESPACE), segment, amount);
    }
    BarChart::side_by_side(&[&by_class, &by_namespace])
}

fn amount(text: &str) -> i128 {
    Quantity::parse(text).map(|amount| amount.rounded_up_units()).unwrap_or_default()
}

/// Every claim with its volume; those that need a fix first, otherwise in the order in which they are served.
fn claims(plan: &PlanReport) -> Markup {
    let columns = &["pair", "StorageClass", "request", "size", "more", "why"];
    let caption = "Every PVC and the PV that it has or gets; those that need a fix first";
    let filters = &["Outcome", "Namespace", "StorageClass"];
    let mut table = FilteredTable::new("claims", caption, columns, filters);
    let mut shown: Vec<&PlannedClaim> = plan.claims.iter().collect();
    shown.sort_by_key(|claim| !claim.outcome.is_stuck());
    for claim in shown {
        let (outcome, given) = (claim.outcome.to_string(), claim.given.as_ref());
        let class = claim.class.as_deref().unwrap_or_default();
        let wasted = given.and_then(|given| given.wasted_bytes).map(bytes).unwrap_or_default();
        let size = given.map(|given| &*given.size).unwrap_or_default();
        let name = format!("{}/{}", claim.namespace, claim.name);
        let pair = DrawnPair {
            claim: Some(&name),
            volume: claim.volume.as_deref(),
            line: line(claim.outcome),
            state: &outcome,
        };
        let cells = [
            pair.markup(),
            Markup::of(class),
            Markup::of(&claim.request),
            Markup::of(size),
            Markup::of(&wasted),
            Markup::of(&reason(claim).unwrap_or_default()),
        ];
        table.row(&[&outcome, &claim.namespace, class], &cells);
    }
    table.markup()
}

fn volumes(plan: &PlanReport) -> Markup {
    let columns = &["PV", "outcome", "StorageClass", "size", "access modes", "why"];
    let caption = "Every PV without a PVC, by name";
    let mut table = FilteredTable::new("volumes", caption, columns, &["Outcome", "StorageClass"]);
    for (volume, reason) in unclaimed(plan) {
        let (outcome, class) = (volume.outcome.to_string(), volume.class.as_deref());
        let class = class.unwrap_or_default();
        let tone = match volume.outcome {
            VolumeForecast::Failed => Tone::Error,
            VolumeForecast::Unknown | VolumeForecast::Reserved => Tone::Warning,
            VolumeForecast::Free | VolumeForecast::Released => Tone::Note,
            VolumeForecast::Bound | VolumeForecast::Binds => Tone::Good,
        };
        let cells = [
            Markup::of(&volume.name),
            tone.badge(&outcome),
            Markup::of(class),
            Markup::of(&volume.capacity),
            Markup::of(&modes(&volume.access_modes)),
            Markup::of(&reason),
        ];
        table.row(&[&outcome, class], &cells);
    }
    table.markup()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cli::html::tests::{expect_texts_stay_texts, shape};
    use crate::cli::plan::difference::{ClaimName, End, Ending};
    use crate::cli::plan::report::OutcomeCounts;
    use crate::cli::preview::planned::{Given, PlannedVolume};
    use crate::cli::render::API_VERSION;

    fn claim(outcome: ClaimForecast, text: &str) -> PlannedClaim {
        let text = || text.to_owned();
        PlannedClaim {
            namespace: text(),
            name: text(),
            outcome,
            volume: Some(text()),
            reason: Some(text()),
            mismatches: BTreeMap::new(),
            blocked_by: None,
            equal_alternatives: None,
            class: Some(text()),
            request: "10Gi".to_owned(),
            access_modes: vec![text()],
            given: Some(Given { size: text(), wasted_bytes: Some(1) }),
        }
    }

    fn volume(outcome: VolumeForecast, text: &str) -> PlannedVolume {
        PlannedVolume {
            name: text.to_owned(),
            outcome,
            claim: Some(text.to_owned()),
            wasted_bytes: Some(1 << 30),
            class: Some(text.to_owned()),
            capacity: "20Gi".to_owned(),
            access_modes: vec![text.to_owned()],
        }
    }

    fn plan(claims: Vec<PlannedClaim>, volumes: Vec<PlannedVolume>, text: &str) -> PlanReport {
        let end = End { outcome: text.to_owned(), volume: Some(text.to_owned()), why: None };
        let claim = ClaimName { namespace: text.to_owned(), name: text.to_owned() };
        let difference = Difference { gone: vec![Ending { claim, end }], ..Difference::default() };
        PlanReport {
            api_version: API_VERSION,
            kind: "Plan",
            claims,
            volumes,
            summary: OutcomeCounts::default(),
            undecided: Vec::new(),
            notes: vec![text.to_owned()],
            difference: Some(difference),
        }
    }

    #[test]
    fn texts_stay_texts() {
        expect_texts_stay_texts(|text| {
            let claims = OUTCOMES.map(|outcome| claim(outcome, text)).to_vec();
            let outcomes = [VolumeForecast::Bound, VolumeForecast::Free, VolumeForecast::Released];
            let volumes = outcomes.map(|outcome| volume(outcome, text)).to_vec();
            page(&plan(claims, volumes, text), Timestamp::UNIX_EPOCH)
        });
    }

    #[test]
    fn waste_is_what_is_larger_and_what_no_claim_has() {
        let mut volumes = vec![
            volume(VolumeForecast::Bound, "fast"),
            volume(VolumeForecast::Free, "fast"),
            volume(VolumeForecast::Failed, "fast"),
            volume(VolumeForecast::Unknown, "fast"),
        ];
        for volume in &mut volumes {
            volume.claim = Some("db/data".to_owned());
        }
        volumes[1].claim = None;
        let page = page(&plan(Vec::new(), volumes, "x"), Timestamp::UNIX_EPOCH);
        shape(&page);
        let amounts = |group: &str| {
            let (_, row) =
                page.split_once(&format!("<th scope=\"row\">{group}</th>")).expect("a row");
            let cells = row.split("<td class=\"amount\">").skip(1).take(3);
            cells.filter_map(|cell| cell.split('<').next()).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(amounts("fast"), ["1Gi", "20Gi", "20Gi"]);
        assert_eq!(amounts("db"), ["1Gi", "", "20Gi"]);
        assert_eq!(amounts("(no Namespace)"), ["", "20Gi", ""]);
    }

    #[test]
    fn what_needs_a_fix_stands_first_and_every_pair_is_drawn() {
        let outcomes = [ClaimForecast::Bound, ClaimForecast::Waits, ClaimForecast::Unmatched];
        let claims: Vec<PlannedClaim> =
            outcomes.into_iter().map(|outcome| claim(outcome, "x")).collect();
        let page = page(&plan(claims, Vec::new(), "x"), Timestamp::UNIX_EPOCH);
        let drawn = |line: &str, state: &str| {
            let start = format!(
                "<span class=\"pair {line}\"><span class=\"end\"><b>PVC</b> x/x</span> <span class=\"line\">{state}<"
            );
            page.find(&start).unwrap_or_else(|| panic!("{start} is not in {page}"))
        };
        assert!(drawn("broken", "unmatched") < drawn("whole", "bound"));
        assert!(drawn("whole", "bound") < drawn("coming", "waits"));
    }
}
