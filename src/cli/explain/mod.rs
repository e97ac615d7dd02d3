//! `bindery explain`: the state of a claim, a volume, a pod, a workload or a node, and the command that fixes it.
//!
//! The cluster is settled as a plan settles it, so that an explanation never contradicts the plan; every
//! mismatch of every candidate comes from the binder's own comparison, and a command is shown only if the
//! binder's decisions say that the claim is served after it.

mod attachment;
mod claim;
mod command;
mod html;
mod limited;
mod moving;
mod nearness;
mod node;
mod phrases;
mod placement;
mod pod;
mod related;
mod render;
mod repair;
mod report;
mod target;
mod templates;
#[cfg(test)]
mod tests;
mod volume;
mod workload;

pub use self::related::events_path;
use self::report::Explanation;
use self::target::ExplainTarget;
use super::args::ExplainArgs;
use super::exit::{Exit, Failure};
use super::input::cluster::ClusterClient;
use super::input::dump::StorageState;
use super::input::dump::batch::ReadPurpose;
use super::input::metadata::DEFAULT_NAMESPACE;
use super::output::Colour;
use super::preview::settled::SettledCluster;
use super::render::{Render, write};
use crate::api::pods::Workload;
use crate::model::ClaimKey;

/// Runs the command.
pub fn run(arguments: &ExplainArgs) -> Result<Exit, Failure> {
    // An error in the name is reported before anything is read.
    ExplainTarget::parse(&arguments.object, "")?;
    let explanation = explanation(arguments)?;
    write(&explanation, &arguments.output, Colour::Off)?;
    Ok(if explanation.stuck { Exit::Denied } else { Exit::Clean })
}

/// The explanation from the dumps that are named, else from the cluster.
fn explanation(arguments: &ExplainArgs) -> Result<Explanation, Failure> {
    let target = |default: &str| {
        let namespace = arguments.namespace.as_deref().unwrap_or(default);
        ExplainTarget::parse(&arguments.object, namespace)
    };
    let purpose = ReadPurpose::Explanation;
    if !arguments.filename.is_empty() {
        let target = target(DEFAULT_NAMESPACE)?;
        return explain(&SettledCluster::of_files(&arguments.filename, purpose)?, &target);
    }
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let target = target(cluster.namespace())?;
    let lists = cluster.readable_lists()?;
    if limited::is_limited(&target, &lists) {
        return limited::explain(&cluster, &target, &lists);
    }
    let state = StorageState::of_readable(cluster, &lists, purpose)?;
    let mut explanation = explain(&SettledCluster::of_state(state, purpose), &target)?;
    explanation.notes.splice(0..0, limited::notes(&lists));
    Ok(explanation)
}

fn explain(cluster: &SettledCluster, target: &ExplainTarget) -> Result<Explanation, Failure> {
    match target {
        ExplainTarget::Claim(key) => {
            let mut explanation = claim::explain(cluster, key)?;
            pod::attach_claim(&mut explanation, attachment::of_claim(cluster, key));
            explanation.notes.extend(templates::on_pvc(cluster, key));
            Ok(explanation)
        }
        ExplainTarget::Volume(name) => volume::explain(cluster, name),
        ExplainTarget::Pod(key) => pod::explain(cluster, key),
        ExplainTarget::Workload(kind, key) => {
            let mut explanation = workload::explain(cluster, *kind, key)?;
            if *kind == Workload::StatefulSet {
                explanation.notes.extend(templates::on_set(cluster, key));
            }
            Ok(explanation)
        }
        ExplainTarget::Node(name) => node::explain(cluster, name),
    }
}

/// Explains a claim from the lists of a cluster, as text.
pub fn claim_of_lists(lists: &[String], key: &ClaimKey) -> Result<String, Failure> {
    let purpose = ReadPurpose::Explanation;
    let state = StorageState::of_lists(lists, "the cluster", purpose)?;
    Ok(claim::explain(&SettledCluster::of_state(state, purpose), key)?.text(Colour::Off))
}
