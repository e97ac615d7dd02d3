//! What makes the templates of a StatefulSet and its claims agree: no claim is deleted, and no data is copied.
//!
//! A claim grows where its class allows that, and never shrinks. Its class, access modes and volume mode stay as they are.
//! So the template follows its claims, except where they can grow to what it asks for.

use std::collections::BTreeSet;

use arcstr::ArcStr;

use crate::binding::{Collection, ListedCollections, View};
use crate::model::{AccessModes, Claim, ClaimPhase, ClassRequest, Expansion, Quantity, VolumeMode};

/// What is to be done, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateRemedy {
    /// The claims that have to grow, and the size to which.
    pub growing: Vec<(ArcStr, Quantity)>,
    /// What the StatefulSet has to be created again with.
    pub changes: Vec<TemplateChange>,
    /// What prevents that a template and its claims agree without a copy of data.
    pub obstacles: Vec<TemplateObstacle>,
}

/// Another value in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateChange {
    /// The place of the template in `volumeClaimTemplates`.
    pub index: usize,
    /// Its name.
    pub template: ArcStr,
    /// The value that it has to have.
    pub value: TemplateValue,
}

/// A value of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateValue {
    /// `resources.requests.storage`.
    Size(Quantity),
    /// `storageClassName`.
    Class(ClassRequest),
    /// `accessModes`.
    AccessModes(AccessModes),
    /// `volumeMode`.
    VolumeMode(VolumeMode),
}

/// What prevents that a template and its claims agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateObstacle {
    /// The claims of the template of this name differ among themselves in what no claim changes.
    Mixed {
        /// The template.
        template: ArcStr,
        /// In what they differ: `StorageClasses`, `access modes` or `volume modes`.
        what: &'static str,
    },
    /// These claims are smaller than others, or than the template, and cannot grow.
    NotExpandable(Vec<ArcStr>),
    /// Whether these claims can grow is not known: their class was not read.
    UnknownExpansion(Vec<ArcStr>),
    /// These claims are not bound: a claim grows once it is.
    NotBound(Vec<ArcStr>),
}

impl TemplateRemedy {
    /// Adds that of another template.
    pub(super) fn extend(&mut self, other: Self) {
        self.growing.extend(other.growing);
        self.changes.extend(other.changes);
        self.obstacles.extend(other.obstacles);
    }
}

/// The remedy for one template; `class` is the one that its claims get today, if that is known.
pub(super) fn remedy(
    index: usize,
    (template, class): (&Claim, Option<&ClassRequest>),
    claims: &[&Claim],
    known: (&View, &ListedCollections),
) -> TemplateRemedy {
    let mut remedy = TemplateRemedy::default();
    if claims.is_empty() {
        return remedy;
    }
    let name = &template.key.name;
    let mut values = Vec::new();
    values.extend(size(template, claims, known, &mut remedy).map(TemplateValue::Size));
    let mixed = |what| TemplateObstacle::Mixed { template: name.clone(), what };
    match only(claims.iter().map(|claim| claim.class().wanted().name().cloned())) {
        Some(one) if class.is_some_and(|class| class.wanted().name() != one.as_ref()) => {
            let class = one.map_or(ClassRequest::Classless, ClassRequest::Named);
            values.push(TemplateValue::Class(class));
        }
        Some(_) => {}
        None => remedy.obstacles.push(mixed("StorageClasses")),
    }
    match only(claims.iter().map(|claim| claim.access_modes.clone())) {
        Some(one) if one != template.access_modes => values.push(TemplateValue::AccessModes(one)),
        Some(_) => {}
        None => remedy.obstacles.push(mixed("access modes")),
    }
    match only(claims.iter().map(|claim| claim.mode.clone())) {
        Some(one) if one != template.mode => values.push(TemplateValue::VolumeMode(one)),
        Some(_) => {}
        None => remedy.obstacles.push(mixed("volume modes")),
    }
    let change = |value| TemplateChange { index, template: name.clone(), value };
    remedy.changes.extend(values.into_iter().map(change));
    remedy
}

/// The one value that all have.
fn only<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: BTreeSet<T> = values.collect();
    values.pop_first().filter(|_| values.is_empty())
}

/// Whether a claim can grow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Possible,
    Impossible,
    Unknown,
    Unbound,
}

/// The size that the template has to have instead of its own, if any; claims that have to grow are noted.
fn size(
    template: &Claim,
    claims: &[&Claim],
    known: (&View, &ListedCollections),
    remedy: &mut TemplateRemedy,
) -> Option<Quantity> {
    let largest = claims.iter().map(|claim| &claim.request).max()?;
    let goal = largest.max(&template.request).clone();
    let smaller: Vec<&Claim> =
        claims.iter().copied().filter(|claim| claim.request < goal).collect();
    let of = |growth: Growth| -> Vec<ArcStr> {
        let such = smaller.iter().filter(|claim| growth_of(claim, known) == growth);
        such.map(|claim| claim.key.name.clone()).collect()
    };
    let is_one = claims.iter().all(|claim| claim.request == *largest);
    let (fixed, unknown, unbound) =
        (of(Growth::Impossible), of(Growth::Unknown), of(Growth::Unbound));
    if fixed.is_empty() && unknown.is_empty() && unbound.is_empty() {
        remedy.growing.extend(smaller.iter().map(|claim| (claim.key.name.clone(), goal.clone())));
        return Some(goal).filter(|goal| *goal != template.request);
    }
    // Where none has to follow another, the template follows them all.
    if !fixed.is_empty() && is_one {
        return Some(largest.clone());
    }
    let found = [
        (fixed, TemplateObstacle::NotExpandable as fn(_) -> _),
        (unknown, TemplateObstacle::UnknownExpansion),
        (unbound, TemplateObstacle::NotBound),
    ];
    let found = found.into_iter().filter(|(claims, _)| !claims.is_empty());
    remedy.obstacles.extend(found.map(|(claims, obstacle)| obstacle(claims)));
    None
}

/// Kubernetes: `pkg/apis/core/validation`, `ValidatePersistentVolumeClaimUpdate`, and the admission plugin
/// `PersistentVolumeClaimResize`: a bound claim grows if its class allows expansion.
fn growth_of(claim: &Claim, (view, listed): (&View, &ListedCollections)) -> Growth {
    if claim.phase != ClaimPhase::Bound {
        return Growth::Unbound;
    }
    let class = claim.class();
    let Some(name) = class.wanted().name() else { return Growth::Impossible };
    match view.class(name).map(|class| class.expansion) {
        Some(Expansion::Allowed) => Growth::Possible,
        None if !listed.has(Collection::Classes) => Growth::Unknown,
        Some(Expansion::NotAllowed) | None => Growth::Impossible,
    }
}
