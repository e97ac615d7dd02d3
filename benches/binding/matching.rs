//! The choice of a volume for one claim among many: an absolute time, as no request is involved.

use std::hint::black_box;
use std::time::Instant;

use bindery::binding::choose;

use crate::among::{ASKER, among};
use crate::floors::Row;
use crate::measured::{Measured, growth};

/// Choices that are timed together, and how often. The fastest time counts: nothing but other work of the
/// machine makes one slower than another.
const CHOICES: u32 = 10_000;
const TIMES: usize = 51;

/// Measures all sizes.
pub(crate) fn measure() -> Result<Measured, String> {
    let sizes =
        [("matching-1000", 1_000), ("matching-10000", 10_000), ("matching-100000", 100_000)];
    let mut rows = Vec::new();
    let mut line = Vec::new();
    for (id, count) in sizes {
        let row = measure_among(id, count)?;
        line.push((count as f64, row.figure));
        rows.push(row);
    }
    Ok(Measured::from(rows).with(growth("µs of a choice, by volumes", [("Bindery", line)])))
}

fn measure_among(id: &'static str, count: u64) -> Result<Row, String> {
    let (view, claim) = among(count)?;
    let times = (0..TIMES).map(|_| {
        let start = Instant::now();
        for _ in 0..CHOICES {
            black_box(choose(black_box(&view), black_box(&claim), ASKER));
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(CHOICES)
    });
    let fastest = times.fold(f64::INFINITY, f64::min);
    Ok(Row {
        id,
        what: format!("µs to choose among {count} volumes of one class"),
        ours: format!("{:.0} ns", fastest * 1e3),
        other: String::new(),
        figure: fastest,
    })
}
