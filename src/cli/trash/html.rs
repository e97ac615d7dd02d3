//! The trash as a page: what it holds by StorageClass and Namespace, and until when.

use jiff::Timestamp;

use super::report::{TrashEntry, TrashReport};
use crate::cli::html::{
    BarChart, DrawnPair, FilteredTable, HtmlPage, Markup, NO_CLASS, PairLine, Tone,
};
use crate::model::Quantity;

/// What charts show of the trash.
const AMOUNT: [&str; 1] = ["in the trash"];

/// The list as one file.
pub(super) fn page(report: &TrashReport, now: Timestamp) -> String {
    let count = report.volumes.len();
    let summary = match count {
        0 => "nothing is in the trash".to_owned(),
        1 => "1 PV is in the trash; bindery rescue gives it back".to_owned(),
        _ => format!("{count} PVs are in the trash; bindery rescue gives them back"),
    };
    let mut page = HtmlPage::new("Trash", &summary);
    page.tile(Tone::Note, &count.to_string(), "PVs in the trash");
    page.section("held", "What is held", &charts(report));
    page.section("list", "PVs in the trash", &volumes(report));
    page.finish(now)
}

fn charts(report: &TrashReport) -> Markup {
    let caption = "Storage of deleted PVCs, by StorageClass";
    let mut by_class = BarChart::new(caption, "StorageClass", &AMOUNT);
    let mut by_namespace = BarChart::new("The same by Namespace", "Namespace", &AMOUNT);
    for volume in &report.volumes {
        let size = Quantity::parse(&volume.capacity).map(|size| size.rounded_up_units());
        let bytes = size.unwrap_or_default();
        let class = volume.storage_class.as_str();
        by_class.add(if class.is_empty() { NO_CLASS } else { class }, 0, bytes);
        by_namespace.add(&volume.persistent_volume_claim.namespace, 0, bytes);
    }
    BarChart::side_by_side(&[&by_class, &by_namespace])
}

fn volumes(report: &TrashReport) -> Markup {
    let caption = "Every PV of a deleted PVC, by Namespace and name of the PVC";
    let columns = &["pair", "StorageClass", "size", "policy", "deleted", "goes"];
    let filters = &["Namespace", "StorageClass"];
    let mut table = FilteredTable::new("trash", caption, columns, filters);
    for volume in &report.volumes {
        let claim = &volume.persistent_volume_claim;
        let name = format!("{}/{}", claim.namespace, claim.name);
        let pair = DrawnPair {
            claim: Some(&name),
            volume: Some(&volume.persistent_volume),
            line: PairLine::Broken,
            state: "deleted",
        };
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
        let cells = [
            pair.markup(),
            Markup::of(&volume.storage_class),
            Markup::of(&volume.capacity),
            Markup::of(&volume.reclaim_policy),
            Markup::of(&time(volume.deleted_at).unwrap_or_else(|| "not seen yet".to_owned())),
            Markup::of(&goes(volume)),
        ];
        table.row(&[&claim.namespace, &volume.storage_class], &cells);
    }
    table.markup()
}

/// When a volume goes.
fn goes(volume: &TrashEntry) -> String {
    match volume.until {
        _ if volume.is_reserved_by_hand => "no: reserved".to_owned(),
        Some(until) => until.to_string(),
        None => "not known yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::html::tests::{expect_texts_stay_texts, shape};
    use crate::cli::render::API_VERSION;
    use crate::cli::trash::report::TrashedClaim;

    fn report(text: &str) -> TrashReport {
        let entry = |until, is_reserved_by_hand| TrashEntry {
            capacity: format!("{text}{text}"),
            deleted_at: Some(Timestamp::UNIX_EPOCH),
            persistent_volume: text.to_owned(),
            persistent_volume_claim: TrashedClaim {
                name: text.to_owned(),
                namespace: text.to_owned(),
            },
            reclaim_policy: text.to_owned(),
            storage_class: text.to_owned(),
            until,
            is_reserved_by_hand,
        };
        let volumes =
            vec![entry(Some(Timestamp::UNIX_EPOCH), false), entry(None, true), entry(None, false)];
        TrashReport { api_version: API_VERSION, volumes }
    }

    #[test]
    fn texts_stay_texts() {
        expect_texts_stay_texts(|text| page(&report(text), Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn the_page_shows_what_is_held_and_until_when() {
        let mut report = report("fast");
        for volume in &mut report.volumes {
            "10Gi".clone_into(&mut volume.capacity);
        }
        let page = page(&report, Timestamp::UNIX_EPOCH);
        shape(&page);
        for text in ["30Gi", ">no: reserved<", ">1970-01-01T00:00:00Z<", ">not known yet<"] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}
