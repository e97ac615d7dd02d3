//! `bindery plan`: what would bind to what if the binder ran on this state.
//!
//! The state is read here and the plan is written; what becomes of it is decided by the core that the
//! binder runs on (`binding::settle`). What users, provisioners and the scheduler do meanwhile is not
//! foreseen.

mod alternatives;
mod difference;
pub(super) mod outcome;
mod render;
pub(super) mod report;
pub(super) mod state;

use std::collections::BTreeSet;
use std::hash::{BuildHasherDefault, DefaultHasher};

use self::difference::{Earlier, difference};
use self::state::State;
use super::args::PlanArgs;
use super::exit::{Exit, Failure};
use super::files::Readers;
use super::listing::lacks;
use super::output::deliver;
use crate::binding::{Collection, settle};

/// What is looked up and never told in the order in which it stands. In a tree of 100,000 names each search
/// compares dozens of them. Without a seed, so that nothing is random.
type ByHash<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// Runs the command.
pub fn run(arguments: &PlanArgs) -> Result<Exit, Failure> {
    let earlier = arguments.diff.as_deref().map(Earlier::read).transpose()?;
    let state = State::read(&arguments.filename, &arguments.cluster)?;
    let State { mut view, order, pods, listed, source, denied, .. } = state;
    let settlement = settle(&mut view, &order, &listed);
    let mut plan = outcome::plan(&view, &settlement, &pods, &denied);
    let mut open: BTreeSet<Collection> = settlement.open.values().flatten().copied().collect();
    // Of claims that the input does not show, nothing is open: there may be any.
    let is_blind = order.is_empty() && denied.claims.is_empty() && !listed.has(Collection::Claims);
    open.extend(is_blind.then_some(Collection::Claims));
    if !open.is_empty() {
        let lacks = lacks(&source, &listed, &open);
        plan.notes.push(format!("not everything can be told: {lacks}"));
    }
    plan.difference = earlier.map(|earlier| difference(&earlier, &plan));
    for output in &arguments.output {
        let text = render::render(&plan, output.format)?;
        deliver(output.path.as_deref(), &text, Readers::Everybody)?;
    }
    let is_stuck = plan.is_stuck() || is_blind || !denied.is_empty();
    let exit = if is_stuck { Exit::Refused } else { Exit::Clean };
    // The process ends: to free some 100,000 objects one by one would be a tenth of its time.
    std::mem::forget((view, order, settlement, plan));
    Ok(exit)
}
