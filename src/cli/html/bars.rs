//! A chart of amounts of storage by group: a table with a bar in each row, computed here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Markup;
use crate::model::Quantity;

/// The group of what has no StorageClass. No object can be named so.
pub(in crate::cli) const NO_CLASS: &str = "(no StorageClass)";
/// The group of what has no Namespace.
pub(in crate::cli) const NO_NAMESPACE: &str = "(no Namespace)";

/// Groups of a chart; the smaller ones are added up.
const GROUPS_MAX: usize = 20;
/// Units of the longest bar.
const UNITS: u128 = 1_000;

/// A chart with as many bars as groups, and in each bar as many segments as the chart has names for.
#[derive(Clone, Debug)]
pub(in crate::cli) struct BarChart {
    caption: &'static str,
    group: &'static str,
    segments: &'static [&'static str],
    amounts: BTreeMap<String, Vec<u128>>,
}

impl BarChart {
    /// An empty chart: what it shows, what a group is, and the names of the segments.
    pub(in crate::cli) fn new(
        caption: &'static str,
        group: &'static str,
        segments: &'static [&'static str],
    ) -> Self {
        Self { caption, group, segments, amounts: BTreeMap::new() }
    }

    /// Adds bytes to a segment of a group.
    pub(in crate::cli) fn add(&mut self, group: &str, segment: usize, bytes: i128) {
        let Ok(bytes @ 1..) = u128::try_from(bytes) else { return };
        if !self.amounts.contains_key(group) {
            self.amounts.insert(group.to_owned(), vec![0; self.segments.len()]);
        }
        let amounts = self.amounts.get_mut(group);
        if let Some(amount) = amounts.and_then(|amounts| amounts.get_mut(segment)) {
            *amount = amount.saturating_add(bytes);
        }
    }

    /// Charts beside each other, as far as there is room; nothing where nothing was added to any.
    pub(in crate::cli) fn side_by_side(charts: &[&Self]) -> Markup {
        let mut out = Markup::default();
        for chart in charts {
            let chart = chart.markup();
            if !chart.is_empty() {
                out.raw(if out.is_empty() { "<div class=\"charts\">" } else { "" }).add(&chart);
            }
        }
        if !out.is_empty() {
            out.raw("</div>");
        }
        out
    }

    /// The chart, the largest group first, without segments that no group has; nothing where nothing was added.
    pub(super) fn markup(&self) -> Markup {
        let mut out = Markup::default();
        let rows = self.rows();
        let Some(longest) = rows.iter().map(|(_, amounts)| sum(amounts)).max() else { return out };
        let has = |segment: usize| {
            self.amounts.values().any(|amounts| amounts.get(segment).is_some_and(|one| *one > 0))
        };
        out.raw("<table class=\"chart\"><caption>").raw(self.caption).raw("</caption><thead><tr>");
        out.raw("<th scope=\"col\">").raw(self.group).raw("</th><th scope=\"col\">share</th>");
        let segments = self.segments.iter().zip(COLORS).enumerate();
        for (_, (segment, color)) in segments.filter(|(place, _)| has(*place)) {
            out.raw("<th scope=\"col\" class=\"amount\">");
            out.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" viewBox=\"0 0 1 1\" ");
            out.raw("aria-hidden=\"true\"><rect width=\"1\" height=\"1\" class=\"").raw(color);
            out.raw("\"/></svg> ").raw(segment).raw("</th>");
        }
        out.raw("</tr></thead><tbody>");
        for (group, amounts) in &rows {
            out.raw("<tr><th scope=\"row\">").text(group).raw("</th><td>");
            bar(&mut out, amounts, longest);
            out.raw("</td>");
            for (_, amount) in amounts.iter().enumerate().filter(|(place, _)| has(*place)) {
                out.raw("<td class=\"amount\">").text(&bytes(*amount)).raw("</td>");
            }
            out.raw("</tr>");
        }
        out.raw("</tbody></table>");
        out
    }

    /// The largest groups by their amounts, then the others in one.
    fn rows(&self) -> Vec<(String, Vec<u128>)> {
        let mut rows: Vec<_> =
            self.amounts.iter().map(|(group, amounts)| (group.clone(), amounts.clone())).collect();
        rows.sort_by_key(|(_, amounts)| Reverse(sum(amounts)));
        if rows.len() > GROUPS_MAX {
            let others = rows.split_off(GROUPS_MAX);
            let mut all = vec![0_u128; self.segments.len()];
            for (_, amounts) in &others {
                for (total, amount) in all.iter_mut().zip(amounts) {
                    *total = total.saturating_add(*amount);
                }
            }
            rows.push((format!("({} others)", others.len()), all));
        }
        rows
    }
}

/// The colours of segments, by their place.
const COLORS: [&str; 3] = ["first", "second", "third"];

fn bar(out: &mut Markup, amounts: &[u128], longest: u128) {
    out.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bar\" ");
    out.raw("viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" ");
    out.raw("aria-hidden=\"true\">");
    let mut start = 0;
    for (amount, color) in amounts.iter().zip(COLORS) {
        // The ends are rounded, not the lengths: so the segments are as long as the bar.
        let width = units(start, longest);
        start = start.saturating_add(*amount);
        let end = units(start, longest);
        if end > width {
            out.raw("<rect x=\"").number(width).raw("\" width=\"").number(end - width);
            out.raw("\" height=\"10\" class=\"").raw(color).raw("\"/>");
        }
    }
    out.raw("</svg>");
}

/// The length of an amount, where `longest` has [`UNITS`].
fn units(amount: u128, longest: u128) -> u128 {
    let units = match amount.checked_mul(UNITS) {
        Some(scaled) => scaled.checked_div(longest),
        None => amount.checked_div(longest / UNITS),
    };
    units.unwrap_or_default().min(UNITS)
}

fn sum(amounts: &[u128]) -> u128 {
    amounts.iter().copied().fold(0, u128::saturating_add)
}

/// An amount of bytes, for people; nothing for none.
pub(super) fn bytes(amount: u128) -> String {
    if amount == 0 {
        return String::new();
    }
    // The digits of a number are always an amount.
    let amount = Quantity::parse(&amount.to_string()).unwrap_or(Quantity::ZERO);
    amount.bytes_display().to_string()
}
