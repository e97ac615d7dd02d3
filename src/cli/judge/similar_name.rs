//! The existing name that is most similar to that of a volume or class that does not exist.
//!
//! Only the command line suggests it, to a user who can read these objects. The webhook would reveal names to tenants.
//! Not here: similar rules (`rules::most_similar`) and objects to explain (`explain::target`).

use crate::binding::{Read, View};
use crate::rules::{Ruling, distance_if_similar};

/// Of more names than these none is looked for: a comparison takes about a microsecond, and each of 100,000 claims of a
/// scan may name something that does not exist.
const MOST_NAMES: usize = 1_000;

/// The ruling, with the most similar name before what to do about it if it is about a name that does not exist.
pub(super) fn with_similar_name(ruling: &Ruling, view: &View) -> Ruling {
    let mut ruling_with_name = ruling.clone();
    let text = &mut ruling_with_name.violation.text;
    if let Some(name) = similar_name(ruling, view)
        && let Some((fact, fix)) = text.rsplit_once("; ")
    {
        *text = format!("{fact}; did you mean \"{name}\"? {fix}");
    }
    ruling_with_name
}

fn similar_name<'a>(ruling: &Ruling, view: &'a View) -> Option<&'a str> {
    if !["missing-volume", "unknown-class"].contains(&ruling.rule.id) {
        return None;
    }
    let read = &ruling.violation.depends_on.first()?.read;
    match read {
        Read::Volume(name) => {
            most_similar(name.as_str(), view.volumes().map(|volume| volume.name.as_str()))
        }
        Read::Class(name) => {
            most_similar(name.as_str(), view.classes().map(|class| class.name.as_str()))
        }
        Read::Claim(_)
        | Read::PodsUsing(_)
        | Read::LivePods(_)
        | Read::Node(_)
        | Read::NodeState(_)
        | Read::AnyNode(_)
        | Read::Namespace(_)
        | Read::Owner(..)
        | Read::DefaultClass
        | Read::Lease(..) => None,
    }
}

/// The name with the fewest letters changed, and of these the first.
fn most_similar<'a>(missing: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&str> = names.take(MOST_NAMES + 1).collect();
    if names.len() > MOST_NAMES {
        return None;
    }
    let similar =
        names.into_iter().filter_map(|name| Some((distance_if_similar(missing, name)?, name)));
    similar.min().map(|(_, name)| name)
}
