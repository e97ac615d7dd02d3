//! `bindery explain`: why a claim, a volume or a pod stands where it stands, and the command that helps.
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

use self::target::Target;
pub use self::world::events_path;
use self::world::{Sight, World};
use super::args::{ExplainArgs, Form};
use super::exit::{Exit, Failure};
use super::files::Readers;
use super::output::deliver;
use crate::model::ClaimKey;

/// Runs the command.
pub fn run(arguments: &ExplainArgs) -> Result<Exit, Failure> {
    // What is wrong with the name is said before anything is read.
    Target::parse(&arguments.object, "")?;
    let (sight, namespace) = Sight::read(arguments)?;
    let target = Target::parse(&arguments.object, &namespace)?;
    let explanation = match (&sight, &target) {
        (Sight::Limited(cluster), target) => limited::explain(cluster, target)?,
        (Sight::Whole(world), Target::Claim(key)) => claim::explain(world, key)?,
        (Sight::Whole(world), Target::Volume(name)) => volume::explain(world, name)?,
        (Sight::Whole(world), Target::Pod(key)) => pod::explain(world, key)?,
    };
    for output in &arguments.output {
        let text = render::render(&explanation, output.format)?;
        deliver(output.path.as_deref(), &text, Readers::Everybody)?;
    }
    Ok(if explanation.stuck { Exit::Refused } else { Exit::Clean })
}

/// Why the claim stands where it stands in a cluster of which these are lists; as on a screen.
pub fn claim_of_lists(lists: &[String], key: &ClaimKey) -> Result<String, Failure> {
    let world = World::of_lists(lists, "the cluster")?;
    render::render(&claim::explain(&world, key)?, Form::Text)
}
