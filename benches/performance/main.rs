//! The page of all figures, `docs/performance.md`, with its plots: `make bench` writes it at its end, or `cargo bench
//! --bench performance`.
//!
//! It measures nothing: it shows what each section recorded when it was run last. Not here: what that is
//! (`benches/shared/record.rs`).
#![allow(clippy::float_arithmetic, reason = "pixels, and shares of a histogram")]

#[path = "../shared/floors.rs"]
#[allow(dead_code, reason = "shared with the benches that measure")]
mod floors;
mod machine;
#[path = "../shared/measured.rs"]
#[allow(dead_code, reason = "shared with the benches that measure")]
mod measured;
mod page;
mod plots;
#[path = "../shared/programs.rs"]
#[allow(dead_code, reason = "shared with the benches that measure")]
mod programs;
#[path = "../shared/record.rs"]
#[allow(dead_code, reason = "shared with the benches that measure")]
mod record;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use record::Record;

/// In the order of the page, with their headings.
const BENCHES: [(&str, &str); 5] = [
    ("webhook", "Webhook"),
    ("binding", "Controller"),
    ("cli", "Command line"),
    ("instructions", "Instructions"),
    ("growth", "Growth"),
];

fn main() -> ExitCode {
    match write() {
        Ok(page) => {
            println!("{page} is written");
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}

/// Writes the page and its plots in place of those of the last run; returns where.
fn write() -> Result<String, String> {
    let records = Record::read_all(&BENCHES.map(|(bench, _)| bench))?;
    if records.is_empty() {
        return Err("nothing has been measured yet; run make bench first".to_owned());
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pictures = docs.join(page::PICTURES);
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", docs.display());
    if pictures.exists() {
        fs::remove_dir_all(&pictures).map_err(failed)?;
    }
    fs::create_dir_all(&pictures).map_err(failed)?;
    let page = page::written(&records)?;
    for (name, svg) in &page.plots {
        fs::write(pictures.join(name), svg).map_err(failed)?;
    }
    fs::write(docs.join("performance.md"), page.text).map_err(failed)?;
    Ok("docs/performance.md".to_owned())
}
