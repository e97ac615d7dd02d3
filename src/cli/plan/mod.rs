//! `bindery plan`: what would bind to what if the binder ran on this state.
//!
//! The state is read here and the plan is written; what becomes of it is decided by the core that the
//! binder runs on (`preview`). What users, provisioners and the scheduler do meanwhile is not
//! foreseen.

mod alternatives;
mod difference;
mod render;
mod report;

use std::collections::BTreeSet;

use self::difference::{Earlier, difference};
use self::report::Plan;
use super::args::PlanArgs;
use super::exit::{Exit, Failure};
use super::files::Readers;
use super::input::cluster::listed;
use super::input::dump::batch::Purpose;
use super::input::listing::lacks;
use super::output::deliver;
use super::preview::settled::SettledCluster;
use crate::binding::Collection;

/// Runs the command.
pub fn run(arguments: &PlanArgs) -> Result<Exit, Failure> {
    let earlier = arguments.diff.as_deref().map(Earlier::read).transpose()?;
    let cluster = if arguments.filename.is_empty() {
        let (cluster, lists) = listed(&arguments.cluster)?;
        SettledCluster::of_cluster(&cluster, &lists)?
    } else {
        SettledCluster::of_files(&arguments.filename, Purpose::Plan)?
    };
    let SettledCluster { after, settlement, denied, listed, source, .. } = &cluster;
    let mut plan = Plan::of(&cluster);
    let mut open: BTreeSet<Collection> = settlement.open.values().flatten().copied().collect();
    // Of claims that the input does not show, nothing is open: there may be any.
    let has_none = after.claims().next().is_none() && denied.claims.is_empty();
    let is_blind = has_none && !listed.has(Collection::Claims);
    open.extend(is_blind.then_some(Collection::Claims));
    if !open.is_empty() {
        let lacks = lacks(source, listed, &open);
        plan.notes.push(format!("not everything can be told: {lacks}"));
    }
    plan.difference = earlier.map(|earlier| difference(&earlier, &plan.claims));
    for output in &arguments.output {
        let text = render::render(&plan, output.format)?;
        deliver(output.path.as_deref(), &text, Readers::Everybody)?;
    }
    let is_stuck = plan.is_stuck() || is_blind || !denied.is_empty();
    let exit = if is_stuck { Exit::Refused } else { Exit::Clean };
    // The process ends: to free some 100,000 objects one by one would be a tenth of its time.
    std::mem::forget((cluster, plan));
    Ok(exit)
}
