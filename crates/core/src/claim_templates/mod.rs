//! The `volumeClaimTemplates` of a StatefulSet beside the claims of its replicas: where they differ, and what makes them
//! agree without loss.
//!
//! The API server denies a change of the templates, and the StatefulSet controller changes no existing claim. So they
//! differ once a claim has grown, or once the StatefulSet was created again with other templates; a replica that is added,
//! or whose claim is lost, then gets another claim than its siblings have. Not here: the commands (`cli::claim_templates`).

mod remedy;
mod set;
#[cfg(test)]
mod tests;

use arcstr::ArcStr;

use self::remedy::remedy;
pub use self::remedy::{TemplateChange, TemplateObstacle, TemplateRemedy, TemplateValue};
pub use self::set::{ClaimRetention, TemplatedSet, may_be_of_replica};
use crate::binding::{Collection, ListedCollections, View};
use crate::model::{AccessModes, Claim, ClaimKey, ClassRequest, Deletion, Quantity, VolumeMode};

/// The templates of a StatefulSet beside the claims that exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateState {
    /// The claims that differ from their template, by template and number.
    pub drifted: Vec<DriftedClaim>,
    /// Claims of replicas that do not exist: their number is outside the range of the StatefulSet.
    pub leftover: Vec<ArcStr>,
    /// What makes templates and claims agree; nothing is to be done where it is empty.
    pub remedy: TemplateRemedy,
    /// Whether a template names no class, and which class its claims would get is not known.
    pub is_class_unknown: bool,
}

/// A claim that differs from its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftedClaim {
    /// The name of the template.
    pub template: ArcStr,
    /// The name of the claim.
    pub name: ArcStr,
    /// How it differs; at least one.
    pub differences: Vec<ClaimDifference>,
}

/// One difference between a claim and its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimDifference {
    /// Another size.
    Size {
        /// What the claim asks for.
        claim: Quantity,
        /// What the template asks for.
        template: Quantity,
    },
    /// Another class.
    Class {
        /// That of the claim.
        claim: ClassRequest,
        /// The one that a claim of the template gets today.
        template: ClassRequest,
    },
    /// Other access modes.
    AccessModes {
        /// Those of the claim.
        claim: AccessModes,
        /// Those of the template.
        template: AccessModes,
    },
    /// Another volume mode.
    VolumeMode {
        /// That of the claim.
        claim: VolumeMode,
        /// That of the template.
        template: VolumeMode,
    },
}

/// Judges the templates of `set`. `others` are the `StatefulSet`s of its namespace, which may have claims of the same names;
/// it may be among them.
pub fn judge_claim_templates(
    set: &TemplatedSet,
    others: &[TemplatedSet],
    view: &View,
    listed: &ListedCollections,
) -> TemplateState {
    let mut state = TemplateState::default();
    let default = default_class(view, listed);
    for (index, template) in set.templates.iter().enumerate() {
        let mut claims: Vec<(u32, &Claim)> = Vec::new();
        for claim in view.claims_in(&set.namespace) {
            // One that is being deleted is made again by the template.
            if claim.deletion != Deletion::Terminating
                && let Some(number) = set.number_of(template, &claim.key.name)
                && (set.ordinals.contains(&number) || !is_of_another(&claim.key, others))
            {
                claims.push((number, claim));
            }
        }
        claims.sort_unstable_by_key(|(number, _)| *number);
        let class = match template.class() {
            ClassRequest::Unset => default.clone(),
            class @ (ClassRequest::Classless | ClassRequest::Named(_)) => Some(class),
        };
        state.is_class_unknown |= class.is_none() && !claims.is_empty();
        let leftover = claims.iter().filter(|(number, _)| !set.ordinals.contains(number));
        state.leftover.extend(leftover.map(|(_, claim)| claim.key.name.clone()));
        let claims: Vec<&Claim> = claims.into_iter().map(|(_, claim)| claim).collect();
        for claim in &claims {
            let differences = differences(claim, template, class.as_ref());
            if !differences.is_empty() {
                let (template, name) = (template.key.name.clone(), claim.key.name.clone());
                state.drifted.push(DriftedClaim { template, name, differences });
            }
        }
        state.remedy.extend(remedy(index, (template, class.as_ref()), &claims, (view, listed)));
    }
    state
}

/// Returns whether a claim has the name of a replica's of one of these `StatefulSet`s.
fn is_of_another(key: &ClaimKey, sets: &[TemplatedSet]) -> bool {
    sets.iter().any(|set| set.namespace == key.namespace && set.is_of_replica(&key.name))
}

/// The class that a claim without one gets today; nothing if that is not known.
fn default_class(view: &View, listed: &ListedCollections) -> Option<ClassRequest> {
    let class = view.default_class().map(|class| ClassRequest::Named(class.name.clone()));
    listed.has(Collection::Classes).then(|| class.unwrap_or(ClassRequest::Unset))
}

fn differences(
    claim: &Claim,
    template: &Claim,
    class: Option<&ClassRequest>,
) -> Vec<ClaimDifference> {
    let mut found = Vec::new();
    if claim.request != template.request {
        let (claim, template) = (claim.request.clone(), template.request.clone());
        found.push(ClaimDifference::Size { claim, template });
    }
    if let Some(class) = class.filter(|class| class.wanted() != claim.class().wanted()) {
        found.push(ClaimDifference::Class { claim: claim.class(), template: class.clone() });
    }
    if claim.access_modes != template.access_modes {
        let (claim, template) = (claim.access_modes.clone(), template.access_modes.clone());
        found.push(ClaimDifference::AccessModes { claim, template });
    }
    if claim.mode != template.mode {
        let (claim, template) = (claim.mode.clone(), template.mode.clone());
        found.push(ClaimDifference::VolumeMode { claim, template });
    }
    found
}
