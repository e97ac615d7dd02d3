//! The nodes that the arguments name, as nodes that exist.

use std::collections::BTreeSet;

use crate::cli::args::{DrainedNode, LostNodes, PlanArgs};
use crate::cli::exit::Failure;
use crate::model::Host;

/// The names of the nodes that would be gone or drained. None is both: one that is gone is not drained.
#[derive(Debug)]
pub(super) struct AffectedNodes {
    pub(super) gone: BTreeSet<Box<str>>,
    pub(super) drained: BTreeSet<Box<str>>,
}

impl AffectedNodes {
    /// Those of the arguments. A node or a zone that `source` does not have is an error: nothing would be asked.
    pub(super) fn of(arguments: &PlanArgs, hosts: &[Host], source: &str) -> Result<Self, Failure> {
        let mut gone = BTreeSet::new();
        for lost in &arguments.without {
            match lost {
                LostNodes::Node(name) => gone.insert(existing(name, hosts, source)?),
                LostNodes::Zone(zone) => {
                    let names = in_zone(zone, hosts, source)?;
                    gone.extend(names);
                    true
                }
            };
        }
        let drained = arguments.drain.iter();
        let drained: Result<BTreeSet<Box<str>>, Failure> =
            drained.map(|DrainedNode(name)| existing(name, hosts, source)).collect();
        let drained = drained?.into_iter().filter(|name| !gone.contains(name)).collect();
        Ok(Self { gone, drained })
    }
}

fn existing(name: &str, hosts: &[Host], source: &str) -> Result<Box<str>, Failure> {
    let names = hosts.iter().map(|host| &host.node.name);
    let found = names.clone().find(|one| ***one == *name).cloned();
    found.ok_or_else(|| {
        missing(&format!("Node \"{name}\""), source, "Nodes", names.map(|one| &**one))
    })
}

fn in_zone(zone: &str, hosts: &[Host], source: &str) -> Result<Vec<Box<str>>, Failure> {
    let inside = hosts.iter().filter(|host| host.node.zones().any(|one| one == zone));
    let names: Vec<Box<str>> = inside.map(|host| host.node.name.clone()).collect();
    if names.is_empty() {
        let zones: BTreeSet<&str> = hosts.iter().flat_map(|host| host.node.zones()).collect();
        let what = format!("zone \"{zone}\"");
        return Err(missing(&what, source, "zones of its Nodes", zones.into_iter()));
    }
    Ok(names)
}

/// The error for what does not exist, with what there is.
fn missing<'a>(
    what: &str,
    source: &str,
    kind: &str,
    names: impl Iterator<Item = &'a str>,
) -> Failure {
    /// A line holds so many.
    const NAMES_MAX: usize = 10;
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    let there = match (names.len(), names.len().saturating_sub(NAMES_MAX)) {
        (0, _) => format!("it has no {kind}"),
        (_, 0) => format!("the {kind} are {shown}"),
        (_, more) => format!("the {kind} are {shown} and {more} more"),
    };
    Failure::usage(format!("{what} does not exist in {source}; {there}"))
}
