//! One change through the same core as the webhook: mutations first, then every rule.
//!
//! The change is put into an AdmissionReview and read from its bytes as the webhook would read it,
//! so that there is one way from an object to a verdict.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::known::KnownObjects;
use crate::api::patch::Patch;
use crate::api::registration::is_registered;
use crate::api::review::{self, ReviewError, Texts};
use crate::binding::{Evidence, LiveReads, Read};
use crate::cli::input::object_id::{ObjectId, ObjectKind};
use crate::client::needs_reads::judge_with_reads_blocking;
use crate::config::Configuration;
use crate::rules::judging::filter::reaches;
use crate::rules::judging::rule::address;
use crate::rules::mutations::MUTATIONS;
use crate::rules::{
    Change, Endpoint, MutationPlan, Operation, Part, PlannedMutations, Question, RULES, ReadAccess,
    Resource, User, Verdict, judge, mutate, spelling,
};

/// A change to judge.
#[derive(Clone, Debug)]
pub struct ProposedChange {
    /// The object.
    pub key: ObjectId,
    /// As it is stored; absent for a creation.
    pub old: Option<Value>,
    /// As it would be; absent for a deletion.
    pub new: Option<Value>,
    /// Which part the request may write.
    pub part: Part,
    /// The requester.
    pub user: User,
}

/// What a mutation does.
#[derive(Clone, Debug)]
pub struct AppliedMutation {
    /// The mutation's id.
    pub id: &'static str,
    /// The warning to the requester.
    pub warning: String,
    /// The JSON Patch.
    pub patch: Value,
}

/// The verdict on a change.
#[derive(Debug, Default)]
pub struct JudgedChange {
    /// The verdict on what is known.
    pub verdict: Verdict,
    /// Reads that denials depend on and that were not possible.
    pub unread: Vec<Read>,
    /// Mutations, in order.
    pub mutations: Vec<AppliedMutation>,
    /// The object as it would be stored; absent for a deletion.
    pub result: Option<Value>,
}

/// What a change is judged by.
#[derive(Clone, Copy, Debug)]
pub struct JudgeContext<'a> {
    /// What is known of the cluster.
    pub known: &'a KnownObjects,
    /// The operator's decisions.
    pub configuration: &'a Configuration,
    /// The time, for exemptions.
    pub now: Timestamp,
    /// What the asker may read.
    pub access: ReadAccess,
}

impl<'a> JudgeContext<'a> {
    /// For a requester who may read PersistentVolumes: the input does not say who may, and the user of `check` reads
    /// them anyway.
    pub fn of(known: &'a KnownObjects, configuration: &'a Configuration, now: Timestamp) -> Self {
        Self { known, configuration, now, access: ReadAccess::Volumes }
    }
}

/// Judges a change as the webhook would, through every endpoint that the API server would call.
pub fn judge_proposal(
    proposal: &ProposedChange,
    terms: JudgeContext<'_>,
) -> Result<JudgedChange, ReviewError> {
    let mut proposal = proposal.clone();
    let mut review = PreparedReview::of(&proposal, terms)?;
    let mut mutations = Vec::new();
    for endpoint in [Endpoint::Mutate, Endpoint::Restore] {
        let applied = mutation(&mut proposal, &review, endpoint, terms)?;
        if !applied.is_empty() {
            review = PreparedReview::of(&proposal, terms)?;
        }
        mutations.extend(applied);
    }
    let judged = judge_change(&review.change, terms);
    Ok(JudgedChange { mutations, result: proposal.new, ..judged })
}

/// Judges a review as it stands: what the webhook would answer to these bytes, mutations not applied.
pub fn judge_review(
    mut body: Vec<u8>,
    terms: JudgeContext<'_>,
) -> Result<JudgedChange, ReviewError> {
    review::prepare(&mut body)?;
    let request = review::parse_request(&body, &terms.configuration.policy)?;
    let texts = review::object_texts(&body)?;
    let mut judged = judge_change(&request.change, terms);
    for endpoint in [Endpoint::Mutate, Endpoint::Restore] {
        let planned = planned(&request.change, endpoint, terms);
        for (mutation, plan) in &planned.plans {
            judged.mutations.extend(made(mutation.id, plan, texts)?.0);
        }
    }
    Ok(judged)
}

/// Judges in the endpoints that the API server would call: at most one of guard, advise and
/// restricted, and tenancy.
fn judge_change(change: &Change, terms: JudgeContext<'_>) -> JudgedChange {
    let mut judged = JudgedChange::default();
    for endpoint in
        Endpoint::VALIDATING.into_iter().filter(|endpoint| is_called(*endpoint, change, terms))
    {
        let question = question(change, endpoint, terms);
        let step =
            |live: &LiveReads| judge(RULES, question, &Evidence::new(terms.known.view(), live));
        let judgement =
            judge_with_reads_blocking(step, |wanted, live| terms.known.answer(wanted, live));
        judged.unread.extend(judgement.reads);
        judged.verdict.rulings.extend(judgement.verdict.rulings);
        judged.verdict.exemption_warnings.extend(judgement.verdict.exemption_warnings);
    }
    judged
}

/// Returns whether the API server would call `endpoint` for this change.
fn is_called(endpoint: Endpoint, change: &Change, terms: JudgeContext<'_>) -> bool {
    let (resource, operation) = address(change);
    is_registered(endpoint, resource, operation)
        && reaches(endpoint, change, terms.configuration.controller_beside_webhook(), terms.access)
}

fn question<'a>(change: &'a Change, endpoint: Endpoint, terms: JudgeContext<'a>) -> Question<'a> {
    Question { endpoint, change, policy: &terms.configuration.policy, now: terms.now }
}

/// A proposal as the webhook receives it.
struct PreparedReview {
    body: Vec<u8>,
    change: Change,
}

impl PreparedReview {
    fn of(proposal: &ProposedChange, terms: JudgeContext<'_>) -> Result<Self, ReviewError> {
        let mut body = proposal.body();
        review::prepare(&mut body)?;
        let request = review::parse_request(&body, &terms.configuration.policy)?;
        Ok(Self { body, change: request.change })
    }
}

/// Applies the mutations of one webhook to the proposal, of which `review` is the review.
fn mutation(
    proposal: &mut ProposedChange,
    review: &PreparedReview,
    endpoint: Endpoint,
    terms: JudgeContext<'_>,
) -> Result<Vec<AppliedMutation>, ReviewError> {
    let planned = planned(&review.change, endpoint, terms);
    let mut mutations = Vec::new();
    if planned.plans.is_empty() {
        return Ok(mutations);
    }
    let texts = review::object_texts(&review.body)?;
    for (mutation, plan) in &planned.plans {
        let Some(new) = &mut proposal.new else { break };
        let object = new.to_string();
        let (applied, patch) = made(mutation.id, plan, Texts { object: &object, ..texts })?;
        if let Some(patch) = patch
            && json_patch::patch(new, patch.operations()).is_ok()
        {
            mutations.extend(applied);
        }
    }
    Ok(mutations)
}

/// The mutations that are certain; one that depends on a read that was not possible is left out.
fn planned(change: &Change, endpoint: Endpoint, terms: JudgeContext<'_>) -> PlannedMutations {
    if !is_called(endpoint, change, terms) {
        return PlannedMutations::default();
    }
    let question = question(change, endpoint, terms);
    let step =
        |live: &LiveReads| mutate(MUTATIONS, question, &Evidence::new(terms.known.view(), live));
    let mut planned =
        judge_with_reads_blocking(step, |wanted, live| terms.known.answer(wanted, live));
    let unread = &planned.reads;
    planned
        .plans
        .retain(|(_, plan)| plan.depends_on.iter().all(|rest| !unread.contains(&rest.read)));
    planned
}

/// One mutation for a report, and its patch.
fn made(
    id: &'static str,
    plan: &MutationPlan,
    texts: Texts<'_>,
) -> Result<(Option<AppliedMutation>, Option<Patch>), ReviewError> {
    let invalid = |error| ReviewError::Object { field: "request.object", error };
    let patch = Patch::of(&plan.fields, texts.object, texts.old_object).map_err(invalid)?;
    let mutation = patch.as_ref().map(|patch| AppliedMutation {
        id,
        warning: format!("[{id}] {}", plan.warning),
        patch: serde_json::to_value(patch.operations()).unwrap_or_default(),
    });
    Ok((mutation, patch))
}

/// The review of a change; the objects, which may be large, are not copied.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    api_version: &'static str,
    kind: &'static str,
    request: ReviewRequest<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewRequest<'a> {
    dry_run: bool,
    name: &'a str,
    namespace: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_object: Option<&'a Value>,
    operation: &'static str,
    resource: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_resource: Option<&'static str>,
    uid: &'static str,
    user_info: Value,
}

impl ProposedChange {
    /// CREATE, UPDATE or DELETE.
    pub fn operation(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
            (Some(_), None) => "DELETE",
        }
    }

    /// The resource of the object. No pod and no StatefulSet is judged.
    fn resource(&self) -> Resource {
        match self.key.kind {
            ObjectKind::Volume => Resource::Volumes,
            ObjectKind::Claim | ObjectKind::Pod | ObjectKind::StatefulSet => Resource::Claims,
            ObjectKind::Class => Resource::Classes,
            ObjectKind::Node => Resource::Nodes,
            ObjectKind::Namespace => Resource::Namespaces,
            ObjectKind::Attachment => Resource::Attachments,
            ObjectKind::Driver => Resource::Drivers,
            ObjectKind::SnapshotContent => Resource::SnapshotContents,
        }
    }

    /// The AdmissionReview that the API server would send for a request that stores its result.
    pub(in crate::cli) fn review(&self) -> Value {
        // It was written by this program.
        let mut review: Value = serde_json::from_slice(&self.body()).unwrap_or_default();
        review["request"]["dryRun"] = json!(false);
        review
    }

    /// The AdmissionReview that the API server would send.
    pub fn body(&self) -> Vec<u8> {
        let (resource, _) = spelling(self.resource(), Operation::Update);
        let sub_resource = match self.part {
            Part::Main => None,
            Part::Status => Some("status"),
            Part::Finalize => Some("finalize"),
        };
        let request = ReviewRequest {
            dry_run: true,
            name: &self.key.name,
            namespace: &self.key.namespace,
            object: self.new.as_ref(),
            old_object: self.old.as_ref(),
            operation: self.operation(),
            resource: json!({"group": self.resource().group(), "version": "v1", "resource": resource}),
            sub_resource,
            uid: "check",
            user_info: json!({"username": self.user.name, "groups": self.user.groups}),
        };
        let review =
            Review { api_version: "admission.k8s.io/v1", kind: "AdmissionReview", request };
        // Writing texts and values to memory cannot fail.
        serde_json::to_vec(&review).unwrap_or_default()
    }
}
