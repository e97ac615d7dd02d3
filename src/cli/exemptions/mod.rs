//! `bindery exemptions`: the exemptions in force, and the requests for others with the commands that grant them.

pub(super) mod grant;
pub(super) mod report;
mod text;

use jiff::{SignedDuration, Timestamp};

use self::report::ExemptionsReport;
use super::args::{ExemptionsArgs, Notation};
use super::exit::{Exit, Failure};
use super::files;
use super::input::cluster::ClusterClient;
use super::input::dump::batch::ReadPurpose;
use super::input::dump::{CLUSTER, StorageState};
use super::output::{print, readable};
use super::render::{json, yaml};

/// Runs the command.
pub(super) fn run(arguments: &ExemptionsArgs) -> Result<Exit, Failure> {
    let policy = files::configuration(arguments.config.as_deref())?.policy;
    let now = Timestamp::now();
    let lasting = SignedDuration::try_from(arguments.lasting).unwrap_or(SignedDuration::MAX);
    let until = now.saturating_add(lasting.min(policy.longest_exemption)).unwrap_or(now);
    let state = read(arguments)?;
    let report = ExemptionsReport::of(&state.view, &policy, (now, until));
    print(&match arguments.output {
        None => readable(&text::lines(&report)),
        Some(Notation::Json) => json(&report)?,
        Some(Notation::Yaml) => yaml(&report)?,
    })?;
    Ok(Exit::Clean)
}

/// The volumes and claims.
fn read(arguments: &ExemptionsArgs) -> Result<StorageState, Failure> {
    if !arguments.filename.is_empty() {
        return Ok(StorageState::of_files(&arguments.filename, ReadPurpose::Verdicts)?.0);
    }
    let lists = ClusterClient::connect(&arguments.cluster)?.lists()?;
    StorageState::of_lists(&lists, CLUSTER, ReadPurpose::Verdicts)
}
