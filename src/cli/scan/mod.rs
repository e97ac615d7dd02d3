//! `bindery scan`: what is wrong with what stands, in a dump or in a cluster.
//!
//! Objects that were written while the webhook was away, or before it came, are inspected by every rule that
//! leaves a trace (`rules::inspect`). What a trace looks like is in the rule's file; here objects are read
//! and the report is made.

mod inspect;
mod stock;

use jiff::Timestamp;

use self::inspect::Inspection;
use self::stock::Stock;
use super::args::ScanArgs;
use super::baseline::{self, Baseline};
use super::exit::{Exit, Failure};
use super::output::Colour;
use super::report::{self, Summary};

/// Runs the command.
pub fn run(arguments: &ScanArgs) -> Result<Exit, Failure> {
    report::refuse_collisions(&arguments.report.output)?;
    let configuration = super::configuration(arguments.report.config.as_deref())?;
    let now = Timestamp::now();
    let baseline = arguments.report.baseline.as_deref().map(Baseline::read).transpose()?;
    let stock = Stock::read(&arguments.filename, &arguments.cluster)?;
    let mut inspection = Inspection::new(&stock, &configuration.policy, now);
    inspection.inspect_all();
    let mut report = inspection.report();
    if let Some(baseline) = baseline {
        baseline.accept(&mut report, now);
    }
    if let Some(path) = &arguments.write_baseline {
        baseline::write(path, &report, arguments.until, &arguments.reason, now)?;
    }
    report::write(
        &report,
        &arguments.report.output,
        Colour::of_standard_output(arguments.report.no_color),
    )?;
    let exit = exit(&report.summary, arguments);
    // The process ends: to free some 100,000 objects one by one would be a tenth of its time.
    std::mem::forget((stock, report));
    Ok(exit)
}

fn exit(summary: &Summary, arguments: &ScanArgs) -> Exit {
    // What has been written to a baseline is accepted by that.
    if arguments.write_baseline.is_some() {
        Exit::Clean
    } else {
        summary.exit(&arguments.report.fail_on)
    }
}
