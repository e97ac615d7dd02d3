//! `bindery scan`: hazards in existing objects of a dump or of a cluster.
//!
//! Objects that were written while the webhook was unavailable, or before it was installed, are inspected by every rule
//! that can judge them (`rules::inspect`). Here objects are read and the report is made.

mod inspect;
mod templates;

use jiff::Timestamp;

use self::inspect::Inspection;
use super::args::ScanArgs;
use super::baseline::{self, Baseline};
use super::exit::{Exit, Failure};
use super::input::dump::StorageState;
use super::input::dump::batch::ReadPurpose;
use super::judge::KnownObjects;
use super::output::Colour;
use super::report::{self, Report, ResultCounts};
use crate::rules::Policy;

/// Runs the command.
pub fn run(arguments: &ScanArgs) -> Result<Exit, Failure> {
    report::reject_collisions(&arguments.report.output)?;
    let configuration = super::files::configuration(arguments.report.config.as_deref())?;
    let now = Timestamp::now();
    let baseline = arguments.report.baseline.as_deref().map(Baseline::read).transpose()?;
    let state = StorageState::read(&arguments.filename, &arguments.cluster, ReadPurpose::Verdicts)?;
    let (known, mut report) = findings(state, &configuration.policy, now)?;
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
    std::mem::forget((known, report));
    Ok(exit)
}

/// The findings on the objects that were read, and these objects. The same for a person and for reports in the cluster.
pub(in crate::cli) fn findings(
    state: StorageState,
    policy: &Policy,
    now: Timestamp,
) -> Result<(KnownObjects, Report), Failure> {
    let known = KnownObjects::of(state)?;
    let mut inspection = Inspection::new(&known, policy, now);
    inspection.inspect_all();
    let report = inspection.report();
    Ok((known, report))
}

fn exit(summary: &ResultCounts, arguments: &ScanArgs) -> Exit {
    // What has been written to a baseline is accepted by that.
    if arguments.write_baseline.is_some() {
        Exit::Clean
    } else {
        summary.exit(&arguments.report.fail_on)
    }
}
