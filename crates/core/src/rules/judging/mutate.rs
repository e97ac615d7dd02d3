//! Mutating a change: the edits of every mutation that looks at it.
//!
//! Pure, as judging is: what a plan depends on is handed back as reads to make.

use super::creator::{Creator, creator};
use super::mutation::{Creators, Mutation, MutationPlan, Switch, WarningMode};
use super::question::Question;
use super::rule::is_routed;
use super::verdict::warning;
use super::violation::unread;
use crate::binding::{Evidence, Read};

/// What a change is edited to, and what would have to be read live before.
#[derive(Clone, Debug, Default)]
pub struct PlannedMutations {
    /// Reads to make; empty when the amendment stands.
    pub reads: Vec<Read>,
    /// The plans that hold, each with its repair.
    pub plans: Vec<(&'static Mutation, MutationPlan)>,
    /// Warnings about repairs that could not be checked.
    pub unchecked: Vec<String>,
}

impl PlannedMutations {
    /// The warnings that go with the edits.
    pub fn warnings(&self) -> Vec<String> {
        let is_reported =
            |(repair, _): &&(&Mutation, MutationPlan)| repair.warning == WarningMode::Warned;
        let reported = self.plans.iter().filter(is_reported);
        let reported = reported.map(|(repair, plan)| format!("[{}] {}", repair.id, plan.warning));
        reported.chain(self.unchecked.iter().cloned()).map(|text| warning(&text)).collect()
    }
}

/// Plans every repair of `repairs` that looks at the change.
///
/// A plan that rests on another object is handed back as a read first. If the read fails, the
/// object stays as it is, with a warning: a wrong edit is worse than none.
pub fn mutate(
    repairs: &[&'static Mutation],
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> PlannedMutations {
    let mut amendment = PlannedMutations::default();
    let may_be_provisioner = creator(question.change, evidence) != Creator::Other;
    for repair in repairs {
        let is_left = match repair.creators {
            Creators::All => false,
            Creators::NotProvisioners => may_be_provisioner,
        };
        let looks = !is_left
            && is_routed(repair.request_types, question.change, question.endpoint)
            && !question.change.is_terminating()
            && question.policy.switch(repair) == Switch::On;
        let Some(plan) = looks.then(|| (repair.plan)(question.change, evidence)).flatten() else {
            continue;
        };
        let reads = unread(&plan.depends_on, evidence);
        if reads.is_empty()
            && plan.depends_on.iter().any(|dependency| dependency.is_unsure(evidence))
        {
            amendment.unchecked.push(format!(
                "[{}] not applied: the cluster did not answer in time; the object is unchanged",
                repair.id
            ));
            continue;
        }
        amendment.reads.extend(reads);
        amendment.plans.push((repair, plan));
    }
    amendment.reads.sort();
    amendment.reads.dedup();
    amendment
}
