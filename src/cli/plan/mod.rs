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

use std::hash::{BuildHasherDefault, DefaultHasher};

use self::difference::{Earlier, difference};
use self::state::State;
use super::args::PlanArgs;
use super::exit::{Exit, Failure};
use super::files::{self, Readers};
use crate::binding::settle;

/// What is looked up and never told in the order in which it stands. In a tree of 100,000 names each search
/// compares dozens of them. Without a seed, so that nothing is random.
type ByHash<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// Runs the command.
pub fn run(arguments: &PlanArgs) -> Result<Exit, Failure> {
    let earlier = arguments.diff.as_deref().map(Earlier::read).transpose()?;
    let State { mut view, order, pods, .. } = State::read(&arguments.filename, &arguments.cluster)?;
    let settlement = settle(&mut view, &order);
    let mut plan = outcome::plan(&view, &settlement, &pods);
    plan.difference = earlier.map(|earlier| difference(&earlier, &plan));
    for output in &arguments.output {
        let text = render::render(&plan, output.format)?;
        match &output.path {
            Some(path) => files::write(path, &text, Readers::Everybody)?,
            None => super::print(&text),
        }
    }
    let exit = if plan.is_stuck() { Exit::Refused } else { Exit::Clean };
    // The process ends: to free some 100,000 objects one by one would be a tenth of its time.
    std::mem::forget((view, order, settlement, plan));
    Ok(exit)
}
