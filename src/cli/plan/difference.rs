//! Changes since an earlier plan: claims with another outcome, new ones and removed ones.
//!
//! Only outcome and volume count: the words of a reason may change without anything being different.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::input::text::{name_of, read_text};
use crate::cli::notation::API_VERSION;
use crate::cli::preview::planned::PlannedClaim;
use crate::document::{self, Position, Shape, TreeNode};

/// The kind of a plan.
pub(super) const KIND: &str = "Plan";

/// What changed against an earlier plan, in the order of namespaces and names.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Difference {
    /// Claims in both plans that end otherwise.
    pub changed: Vec<Changed>,
    /// Claims that the earlier plan does not have.
    pub new: Vec<Ending>,
    /// Claims that only the earlier plan has, as they ended there.
    pub gone: Vec<Ending>,
    /// How many claims end as before.
    pub unchanged: usize,
}

/// A claim that ends otherwise.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Changed {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How it ended.
    pub before: End,
    /// How it ends.
    pub after: End,
    /// Why, if it needs a fix; programs read it from the plan's claim.
    #[serde(skip)]
    pub why: Option<String>,
}

/// A claim that only one plan has.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Ending {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How it ends there.
    #[serde(flatten)]
    pub end: End,
    /// Why, as of a changed one.
    #[serde(skip)]
    pub why: Option<String>,
}

/// How a claim ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct End {
    /// Its outcome.
    pub outcome: String,
    /// The volume that it has or gets.
    pub volume: Option<String>,
}

/// Claims by namespace and name.
type Ends = BTreeMap<(String, String), End>;

/// How claims end in an earlier plan.
#[derive(Debug)]
pub(super) struct EarlierPlan(Ends);

impl EarlierPlan {
    /// Reads a plan that was written as JSON or YAML. Anything else than a plan of this version is an error
    /// with its place.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = name_of(path);
        let text = read_text(path)?;
        let invalid = |at: Position, reason: &str| {
            Failure::usage(format!(
                "{name}:{at}: {reason}; give a file that bindery plan -o json wrote"
            ))
        };
        let documents = document::read(&text).map_err(|error| invalid(error.at, &error.reason))?;
        let plan = match documents.as_slice() {
            [plan] => plan,
            [] => return Err(invalid(Position { line: 1, column: 1 }, "is empty")),
            [_, second, ..] => return Err(invalid(second.at, "is a second document")),
        };
        for (field, known) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            let found = plan.get(field).and_then(TreeNode::text);
            if found != Some(known) {
                let found = found.map_or("nothing".to_owned(), |found| format!("\"{found}\""));
                let reason = format!("{field} is {found}, not \"{known}\"");
                return Err(invalid(plan.place_of(field), &reason));
            }
        }
        let claims = plan.get("claims").filter(|claims| matches!(claims.shape, Shape::List(_)));
        let Some(claims) = claims else {
            return Err(invalid(plan.place_of("claims"), "claims is not a list"));
        };
        let mut ends = Ends::new();
        for claim in claims.items() {
            let (key, end) = end(claim).map_err(|(at, reason)| invalid(at, &reason))?;
            ends.insert(key, end);
        }
        Ok(Self(ends))
    }
}

/// A claim of an earlier plan; else the place of what is missing.
fn end(claim: &TreeNode) -> Result<((String, String), End), (Position, String)> {
    let text = |field: &str| {
        let text = claim.get(field).and_then(TreeNode::text).map(str::to_owned);
        text.ok_or_else(|| (claim.place_of(field), format!("{field} of a claim is not a text")))
    };
    let volume = claim.get("volume").and_then(TreeNode::text).map(str::to_owned);
    Ok(((text("namespace")?, text("name")?), End { outcome: text("outcome")?, volume }))
}

/// What changed from `earlier` to a plan of these claims.
pub(super) fn difference(earlier: &EarlierPlan, claims: &[PlannedClaim]) -> Difference {
    let mut before = earlier.0.clone();
    let mut now = BTreeMap::new();
    for claim in claims {
        let outcome = claim.outcome.as_str().to_owned();
        let end = End { outcome, volume: claim.volume.clone() };
        let why = claim.reason.as_ref().filter(|_| claim.outcome.is_stuck());
        now.insert((claim.namespace.clone(), claim.name.clone()), (end, why));
    }
    let mut difference = Difference::default();
    for ((namespace, name), (after, why)) in now {
        let key = (namespace, name);
        let was = before.remove(&key);
        let (namespace, name) = key;
        match was {
            Some(before) if before == after => difference.unchanged += 1,
            Some(before) => {
                let why = why.cloned();
                difference.changed.push(Changed { namespace, name, before, after, why });
            }
            None => {
                difference.new.push(Ending { namespace, name, end: after, why: why.cloned() });
            }
        }
    }
    let gone = before.into_iter();
    let gone = gone.map(|((namespace, name), end)| Ending { namespace, name, end, why: None });
    difference.gone = gone.collect();
    difference
}
