//! `bindery plan`: previews what the binder would bind, or what could not come back without some nodes (`node_loss`).
//!
//! The core that the binder runs on decides (`preview`). What users, provisioners and the scheduler do meanwhile is not
//! predicted.

mod alternatives;
mod difference;
mod held;
mod html;
mod node_loss;
mod phrases;
mod render;
mod report;
mod undecided;

use std::collections::BTreeSet;

use self::difference::{Difference, EarlierPlan};
use self::report::PlanReport;
use super::args::PlanArgs;
use super::exit::{Exit, Failure};
use super::input::dump::StorageState;
use super::input::dump::batch::ReadPurpose;
use super::input::listing::lacks;
use super::output::Colour;
use super::preview::settled::SettledCluster;
use super::render::write;
use crate::binding::Collection;

/// Runs the command.
pub fn run(arguments: &PlanArgs) -> Result<Exit, Failure> {
    if !arguments.without.is_empty() || !arguments.drain.is_empty() {
        return node_loss::run(arguments);
    }
    let earlier = arguments.diff.as_deref().map(EarlierPlan::read).transpose()?;
    let PlanArgs { filename, cluster, .. } = arguments;
    let cluster = SettledCluster::read(filename, cluster, ReadPurpose::Plan)?;
    let SettledCluster { state, settlement, denied, .. } = &cluster;
    let StorageState { view, listed, source, .. } = state;
    let mut plan = PlanReport::of(&cluster);
    let mut open: BTreeSet<Collection> = settlement.missing.values().flatten().copied().collect();
    // Without any claim nothing is open, but the input may lack them.
    let has_none = view.claims().next().is_none() && denied.claims.is_empty();
    let is_blind = has_none && !listed.has(Collection::Claims);
    open.extend(is_blind.then_some(Collection::Claims));
    if !open.is_empty() {
        let lacks = lacks(source, listed, &open);
        plan.notes.push(format!("the plan is incomplete: {lacks}"));
    }
    plan.undecided = undecided::undecided(&cluster);
    plan.notes.extend(undecided::note(&cluster, &plan.undecided));
    plan.notes.extend(held::notes(view));
    plan.difference = earlier.map(|earlier| Difference::new(earlier, &plan.claims));
    write(&plan, &arguments.output, Colour::Off)?;
    let is_stuck = plan.is_stuck() || is_blind || !denied.is_empty();
    let exit = if is_stuck { Exit::Denied } else { Exit::Clean };
    // The process ends: to free some 100,000 objects one by one would be a tenth of its time.
    std::mem::forget((cluster, plan));
    Ok(exit)
}
