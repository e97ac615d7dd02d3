//! A table whose rows a reader can filter by text and by values. Without JavaScript it shows all of them.
//!
//! A browser lays out a group of rows when it comes into view, so that 10,000 rows open as fast as 50.

use std::collections::BTreeMap;

use super::Markup;

/// Rows of a table. A file with more is too large for a browser on an office computer.
pub(in crate::cli) const ROWS_MAX: usize = 20_000;
/// Rows that are laid out together.
const GROUP_ROWS: usize = 50;

/// A table with filters.
#[derive(Clone, Debug)]
pub(in crate::cli) struct FilteredTable {
    /// Its id on the page, which is the class of its columns' widths too.
    id: &'static str,
    caption: &'static str,
    columns: &'static [&'static str],
    filters: Vec<Filter>,
    rows: Markup,
    count: usize,
    left_out: usize,
}

/// A value by which rows are filtered.
#[derive(Clone, Debug)]
struct Filter {
    label: &'static str,
    /// The number of each value that a row has.
    values: BTreeMap<String, usize>,
}

impl FilteredTable {
    /// An empty table: its id, its caption, the heads of its columns and the labels of its filters.
    pub(in crate::cli) fn new(
        id: &'static str,
        caption: &'static str,
        columns: &'static [&'static str],
        filters: &[&'static str],
    ) -> Self {
        let filters = filters.iter().map(|label| Filter { label, values: BTreeMap::new() });
        let (filters, rows) = (filters.collect(), Markup::default());
        Self { id, caption, columns, filters, rows, count: 0, left_out: 0 }
    }

    /// Adds a row with the values of its filters; one beyond [`ROWS_MAX`] is only counted.
    pub(in crate::cli) fn row(&mut self, values: &[&str], cells: &[Markup]) {
        if self.count == ROWS_MAX {
            self.left_out += 1;
            return;
        }
        if self.count.is_multiple_of(GROUP_ROWS) {
            self.rows.raw(if self.count == 0 { "<tbody>" } else { "</tbody>\n<tbody>" });
        }
        self.count += 1;
        self.rows.raw("<tr data-values=\"");
        for (place, (filter, value)) in self.filters.iter_mut().zip(values).enumerate() {
            let next = filter.values.len();
            let number = *filter.values.entry((*value).to_owned()).or_insert(next);
            self.rows.raw(if place == 0 { "" } else { " " }).text(&number.to_string());
        }
        self.rows.raw("\">");
        for cell in cells {
            self.rows.raw("<td>").add(cell).raw("</td>");
        }
        self.rows.raw("</tr>\n");
    }

    /// The filters and the table; nothing without rows.
    pub(in crate::cli) fn markup(&self) -> Markup {
        let mut out = Markup::default();
        if self.count == 0 {
            return out;
        }
        self.form(&mut out);
        if self.left_out > 0 {
            out.raw("<p class=\"note\">").text(&self.left_out.to_string());
            out.raw(" more rows are left out, as a browser shows no larger table well; ");
            out.raw("<code>-o json</code> has all of them.</p>");
        }
        out.raw("<table id=\"").raw(self.id).raw("\" class=\"rows ").raw(self.id);
        out.raw("\"><caption>").raw(self.caption).raw("</caption><thead><tr>");
        for column in self.columns {
            out.raw("<th scope=\"col\">").raw(column).raw("</th>");
        }
        out.raw("</tr></thead>\n").add(&self.rows).raw("</tbody></table>");
        out
    }

    /// The filters. They are hidden until the script shows them: without it they would do nothing.
    fn form(&self, out: &mut Markup) {
        out.raw("<form class=\"filters\" hidden=\"\" autocomplete=\"off\" data-table=\"")
            .raw(self.id);
        out.raw("\" aria-label=\"Filters\"><label>Text <input type=\"search\"/></label>");
        for (place, filter) in self.filters.iter().enumerate() {
            if filter.values.len() < 2 {
                continue;
            }
            out.raw("<label>").raw(filter.label).raw(" <select data-place=\"");
            out.text(&place.to_string()).raw("\"><option value=\"\">all</option>");
            for (value, number) in &filter.values {
                let shown = if value.is_empty() { "(none)" } else { value };
                out.raw("<option value=\"").text(&number.to_string()).raw("\">");
                out.text(shown).raw("</option>");
            }
            out.raw("</select></label>");
        }
        let count = self.count.to_string();
        out.raw("<output aria-live=\"polite\">").text(&count).raw(" of ").text(&count);
        out.raw(" rows</output></form>");
    }
}
