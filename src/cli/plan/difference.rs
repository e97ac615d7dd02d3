//! Changes since an earlier plan: claims with another outcome, new ones and removed ones.
//!
//! Only outcome and volume count: the words of a reason may change without anything being different.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::input::text::{name_of, read_text};
use crate::cli::preview::planned::PlannedClaim;
use crate::cli::render::API_VERSION;
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
    /// The claim.
    #[serde(flatten)]
    pub claim: ClaimName,
    /// How it ended.
    pub before: End,
    /// How it ends.
    pub after: End,
}

/// A claim that only one plan has.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Ending {
    /// The claim.
    #[serde(flatten)]
    pub claim: ClaimName,
    /// How it ends there.
    #[serde(flatten)]
    pub end: End,
}

/// Namespace and name of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct ClaimName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// How a claim ends.
#[derive(Clone, Debug, Serialize)]
pub(super) struct End {
    /// Its outcome.
    pub outcome: String,
    /// The volume that it has or gets.
    pub volume: Option<String>,
    /// Why, if it needs a fix; programs read it from the plan's claim.
    #[serde(skip)]
    pub why: Option<String>,
}

/// How claims end in an earlier plan.
#[derive(Debug)]
pub(super) struct EarlierPlan(BTreeMap<ClaimName, End>);

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
        let ends: Result<_, (Position, String)> = claims.items().iter().map(end).collect();
        ends.map(Self).map_err(|(at, reason)| invalid(at, &reason))
    }
}

/// A claim of an earlier plan; else the place of what is missing.
fn end(claim: &TreeNode) -> Result<(ClaimName, End), (Position, String)> {
    let text = |field: &str| {
        let text = claim.get(field).and_then(TreeNode::text).map(str::to_owned);
        text.ok_or_else(|| (claim.place_of(field), format!("{field} of a claim is not a string")))
    };
    let volume = claim.get("volume").and_then(TreeNode::text).map(str::to_owned);
    let key = ClaimName { namespace: text("namespace")?, name: text("name")? };
    Ok((key, End { outcome: text("outcome")?, volume, why: None }))
}

/// One row of a difference: the change, the claim, how it ended before and how it ends now.
type Row<'a> = (&'static str, &'a ClaimName, Option<&'a End>, Option<&'a End>);

impl Difference {
    /// Returns what changed from `earlier` to a plan of these claims.
    pub(super) fn new(EarlierPlan(mut before): EarlierPlan, claims: &[PlannedClaim]) -> Self {
        let now: BTreeMap<ClaimName, End> = claims.iter().map(planned_end).collect();
        let mut difference = Self::default();
        for (claim, after) in now {
            match before.remove(&claim) {
                Some(before) if before.is_as(&after) => difference.unchanged += 1,
                Some(before) => difference.changed.push(Changed { claim, before, after }),
                None => difference.new.push(Ending { claim, end: after }),
            }
        }
        difference.gone = before.into_iter().map(|(claim, end)| Ending { claim, end }).collect();
        difference
    }

    /// Changed claims, new ones, those that are gone.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let changed = self.changed.iter();
        let changed =
            changed.map(|one| ("changed", &one.claim, Some(&one.before), Some(&one.after)));
        let new = self.new.iter().map(|one| ("new", &one.claim, None, Some(&one.end)));
        let gone = self.gone.iter().map(|one| ("gone", &one.claim, Some(&one.end), None));
        changed.chain(new).chain(gone)
    }

    /// Returns how many claims changed, came and went: one sentence.
    pub(super) fn tally(&self) -> String {
        let Self { changed, new, gone, unchanged } = self;
        format!(
            "since the earlier plan: {} changed, {} new, {} gone, {unchanged} as before",
            changed.len(),
            new.len(),
            gone.len()
        )
    }
}

impl End {
    /// Returns whether outcome and volume are the same.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.outcome == other.outcome && self.volume == other.volume
    }
}

/// Name and end of a claim.
pub(super) fn planned_end(claim: &PlannedClaim) -> (ClaimName, End) {
    let why = claim.reason.clone().filter(|_| claim.outcome.is_stuck());
    let (outcome, volume) = (claim.outcome.to_string(), claim.volume.clone());
    let (namespace, name) = (claim.namespace.clone(), claim.name.clone());
    (ClaimName { namespace, name }, End { outcome, volume, why })
}

impl fmt::Display for ClaimName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.outcome)?;
        self.volume.iter().try_for_each(|volume| write!(f, " {volume}"))?;
        self.why.iter().try_for_each(|why| write!(f, ": {why}"))
    }
}
