//! The table of claims, as kubectl shows one, with how long each took.

use std::time::Duration;

use super::stopwatch::Sighting;
use bindery::model::Quantity;

/// One claim: a cell a column.
pub(super) type Row = [String; 6];

/// The columns.
const COLUMNS: [&str; 6] = ["NAME", "STATUS", "REQUESTED", "VOLUME", "CAPACITY", "BOUND AFTER"];

/// The claim of this name, which took so long to be bound.
pub(super) fn row(name: &str, seen: &Sighting, took: Option<Duration>) -> Row {
    let claim = &seen.claim;
    [
        name.to_owned(),
        claim.phase.to_string(),
        claim.request.to_string(),
        claim.volume.as_ref().map(ToString::to_string).unwrap_or_default(),
        claim.reported.capacity.as_ref().map(Quantity::to_string).unwrap_or_default(),
        took.map(milliseconds).unwrap_or_default(),
    ]
}

/// The rows below their head, each column below the other, as kubectl puts them.
pub(super) fn table(rows: &[Row]) -> Vec<String> {
    let rows: Vec<Row> =
        std::iter::once(COLUMNS.map(str::to_owned)).chain(rows.iter().cloned()).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or_default()
    };
    let line = |row: &Row| {
        let cells = row.iter().enumerate();
        let cells: Vec<String> =
            cells.map(|(column, cell)| format!("{cell:0$}", width(column))).collect();
        cells.join("   ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// With one digit after the point.
pub(super) fn milliseconds(duration: Duration) -> String {
    let micros = duration.as_micros();
    format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_one_below_the_other() {
        let row = ["a-long-name", "Pending", "1Gi", "", "", ""].map(str::to_owned);
        let expected = [
            "NAME          STATUS    REQUESTED   VOLUME   CAPACITY   BOUND AFTER",
            "a-long-name   Pending   1Gi",
        ];
        assert_eq!(table(&[row]), expected);
    }

    #[test]
    fn a_time_has_one_digit_after_the_point() {
        assert_eq!(milliseconds(Duration::from_micros(1_970)), "1.9 ms");
        assert_eq!(milliseconds(Duration::from_micros(59)), "0.0 ms");
        assert_eq!(milliseconds(Duration::from_secs(2)), "2000.0 ms");
    }
}
