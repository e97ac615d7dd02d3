//! `bindery explain`: the state of a claim, a volume or a pod, and the command that fixes it.
//!
//! The cluster is settled as a plan settles it, so that an explanation never contradicts the plan; every
//! mismatch of every candidate comes from the binder's own comparison, and a command is shown only if the
//! binder's decisions say that the claim is served after it.

mod claim;
mod command;
mod limited;
mod nearness;
mod placement;
mod pod;
mod render;
mod repair;
mod report;
mod target;
#[cfg(test)]
mod tests;
mod volume;
mod world;

use self::target::ExplainTarget;
pub use self::world::events_path;
use self::world::{AccountAccess, ExplainedCluster};
use super::args::ExplainArgs;
use super::exit::{Exit, Failure};
use super::output::Colour;
use super::render::{Render, write};
use crate::model::ClaimKey;

/// Runs the command.
pub fn run(arguments: &ExplainArgs) -> Result<Exit, Failure> {
    // An error in the name is reported before anything is read.
    ExplainTarget::parse(&arguments.object, "")?;
    let (sight, namespace) = AccountAccess::read(arguments)?;
    let target = ExplainTarget::parse(&arguments.object, &namespace)?;
    let explanation = match (&sight, &target) {
        (AccountAccess::Limited(cluster), target) => limited::explain(cluster, target)?,
        (AccountAccess::Whole(world), ExplainTarget::Claim(key)) => claim::explain(world, key)?,
        (AccountAccess::Whole(world), ExplainTarget::Volume(name)) => volume::explain(world, name)?,
        (AccountAccess::Whole(world), ExplainTarget::Pod(key)) => pod::explain(world, key)?,
    };
    write(&explanation, &arguments.output, Colour::Off)?;
    Ok(if explanation.stuck { Exit::Denied } else { Exit::Clean })
}

/// Explains a claim from the lists of a cluster, as text.
pub fn claim_of_lists(lists: &[String], key: &ClaimKey) -> Result<String, Failure> {
    let world = ExplainedCluster::of_lists(lists, "the cluster")?;
    Ok(claim::explain(&world, key)?.text(Colour::Off))
}
