//! Mutating a change: the plans of all mutations that look at it.
//!
//! Pure, as judging is: what a plan depends on is handed back as reads to make.

use super::creator::{Creator, creator};
use super::mutation::{Creators, Mutation, MutationPlan, Switch, WarningMode};
use super::question::Question;
use super::rule::is_routed;
use super::verdict::warning;
use super::violation::unread;
use crate::binding::{Evidence, Read};

/// What a change is mutated to, and what would have to be read live before.
#[derive(Clone, Debug, Default)]
pub struct PlannedMutations {
    /// Reads to make; empty once the plans are final.
    pub reads: Vec<Read>,
    /// The plans that hold, each with its mutation.
    pub plans: Vec<(&'static Mutation, MutationPlan)>,
    /// Warnings about mutations that could not be checked.
    pub unchecked: Vec<String>,
}

impl PlannedMutations {
    /// The warnings that go with the mutations.
    pub fn warnings(&self) -> Vec<String> {
        let is_reported =
            |(mutation, _): &&(&Mutation, MutationPlan)| mutation.warning == WarningMode::Warned;
        let reported = self.plans.iter().filter(is_reported);
        let reported =
            reported.map(|(mutation, plan)| format!("[{}] {}", mutation.id, plan.warning));
        reported.chain(self.unchecked.iter().cloned()).map(|text| warning(&text)).collect()
    }
}

/// Plans every mutation of `mutations` that looks at the change.
///
/// A plan that rests on another object is handed back as a read first. If the read fails, the
/// object stays as it is, with a warning: a wrong value is worse than none.
pub fn mutate(
    mutations: &[&'static Mutation],
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> PlannedMutations {
    let mut planned = PlannedMutations::default();
    let may_be_provisioner = creator(question.change, evidence) != Creator::Other;
    for mutation in mutations {
        let is_left = match mutation.creators {
            Creators::All => false,
            Creators::NotProvisioners => may_be_provisioner,
        };
        let looks = !is_left
            && is_routed(mutation.request_types, question.change, question.endpoint)
            && !question.change.is_terminating()
            && question.policy.switch(mutation) == Switch::On;
        let Some(plan) = looks.then(|| (mutation.plan)(question.change, evidence)).flatten() else {
            continue;
        };
        let reads = unread(&plan.depends_on, evidence);
        if reads.is_empty()
            && plan.depends_on.iter().any(|dependency| dependency.is_unsure(evidence))
        {
            planned.unchecked.push(format!(
                "[{}] not applied: the cluster did not answer in time; the object is unchanged",
                mutation.id
            ));
            continue;
        }
        planned.reads.extend(reads);
        planned.plans.push((mutation, plan));
    }
    planned.reads.sort();
    planned.reads.dedup();
    planned
}
