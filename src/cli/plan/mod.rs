//! `bindery plan`: what would bind to what if the binder ran on this state.
//!
//! The state is read here and the plan is written; what becomes of it is decided by the core that the
//! binder runs on (`binding::settle`). What users, provisioners and the scheduler do meanwhile is not
//! foreseen.

mod outcome;
mod render;
mod report;
mod state;

use std::sync::Arc;

use self::state::State;
use super::args::{Format, PlanArgs};
use super::exit::{Exit, Failure};
use super::files::{self, Readers};
use crate::binding::{Observed, View, settle};
use crate::model::{Claim, Uid};

/// Runs the command.
pub fn run(arguments: &PlanArgs) -> Result<Exit, Failure> {
    let state = State::read(arguments)?;
    let order = state.order();
    let before = stored(&state.view);
    let mut after = before.clone();
    let settlement = settle(&mut after, &order);
    // What every volume is to everybody before the first claim is served.
    let mut offered = before;
    settle(&mut offered, &[]);
    let plan = outcome::plan(&offered, &after, &settlement, &order);
    for output in &arguments.output {
        let text = match output.format {
            Format::Text => render::text(&plan),
            Format::Json => render::json(&plan),
        };
        match &output.path {
            Some(path) => files::write(path, &text, Readers::Everybody)?,
            None => super::print(&text),
        }
    }
    Ok(if plan.is_stuck() { Exit::Refused } else { Exit::Clean })
}

/// The cluster once its manifests were stored: each claim has a uid.
fn stored(view: &View) -> View {
    let mut stored = view.clone();
    for claim in view.claims().filter(|claim| claim.uid.is_none()) {
        let uid = Some(Uid::new(format!("not stored yet: {}", claim.key)));
        stored.apply(Observed::Claim(Arc::new(Claim { uid, ..Claim::clone(claim) })));
    }
    stored
}
