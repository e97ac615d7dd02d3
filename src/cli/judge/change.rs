//! One change through the same core as the webhook: edits first, then every rule.
//!
//! The change is put into an AdmissionReview and read from its bytes as the webhook would read it,
//! so that there is one way from an object to a verdict.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::known::Known;
use crate::api::patch::Patch;
use crate::api::registration::is_registered;
use crate::api::review::{self, ReviewError, Texts};
use crate::binding::{Evidence, LiveReads, Read};
use crate::cli::input::object_id::{Kind, ObjectKey};
use crate::client::needs_reads::judge_with_reads_blocking;
use crate::config::Configuration;
use crate::rules::judging::filter::reaches;
use crate::rules::judging::rule::address;
use crate::rules::mutations::MUTATIONS;
use crate::rules::{
    Change, Endpoint, MutationPlan, Part, PlannedMutations, Question, RULES, ReadAccess, User,
    Verdict, judge, mutate,
};

/// A change to judge.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The object.
    pub key: ObjectKey,
    /// As it is stored; absent for a creation.
    pub old: Option<Value>,
    /// As it would be; absent for a deletion.
    pub new: Option<Value>,
    /// Which part the request may write.
    pub part: Part,
    /// Who asks.
    pub user: User,
}

/// What an edit does.
#[derive(Clone, Debug)]
pub struct MadeEdit {
    /// The repair's id.
    pub id: &'static str,
    /// What the asker is told.
    pub warning: String,
    /// The JSON Patch.
    pub patch: Value,
}

/// What a change comes to.
#[derive(Debug, Default)]
pub struct Judged {
    /// The verdict on what is known.
    pub verdict: Verdict,
    /// Reads on which denials rest and that nobody could make.
    pub unread: Vec<Read>,
    /// Edits, in order.
    pub edits: Vec<MadeEdit>,
    /// The object as it would be stored; absent for a deletion.
    pub result: Option<Value>,
}

/// Under what a change is judged.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What is known of the cluster.
    pub known: &'a Known,
    /// The operator's decisions.
    pub configuration: &'a Configuration,
    /// The time, for exemptions.
    pub now: Timestamp,
    /// What the asker may read.
    pub access: ReadAccess,
}

impl<'a> Terms<'a> {
    /// Those of an asker who may read PersistentVolumes: no input says who may, and whoever checks reads them anyway.
    pub fn of(known: &'a Known, configuration: &'a Configuration, now: Timestamp) -> Self {
        Self { known, configuration, now, access: ReadAccess::Volumes }
    }
}

/// Judges a change as the webhook would, through every endpoint that the API server would call.
pub fn judge_proposal(proposal: &Proposal, terms: Terms<'_>) -> Result<Judged, ReviewError> {
    let mut proposal = proposal.clone();
    let mut edits = Vec::new();
    for endpoint in [Endpoint::Mutate, Endpoint::Restore] {
        edits.extend(edit(&mut proposal, endpoint, terms)?);
    }
    let mut body = proposal.body();
    review::prepare(&mut body)?;
    let request = review::parse_request(&body, &terms.configuration.policy)?;
    let judged = judge_change(&request.change, terms);
    Ok(Judged { edits, result: proposal.new, ..judged })
}

/// Judges a review as it stands: what the webhook would answer to these bytes, edits not applied.
pub fn judge_review(mut body: Vec<u8>, terms: Terms<'_>) -> Result<Judged, ReviewError> {
    review::prepare(&mut body)?;
    let request = review::parse_request(&body, &terms.configuration.policy)?;
    let texts = review::object_texts(&body)?;
    let mut judged = judge_change(&request.change, terms);
    for endpoint in [Endpoint::Mutate, Endpoint::Restore] {
        let amendment = amendment(&request.change, endpoint, terms);
        for (repair, plan) in &amendment.plans {
            judged.edits.extend(made(repair.id, plan, texts)?.0);
        }
    }
    Ok(judged)
}

/// Judges in the endpoints that the API server would call: at most one of guard, advise and
/// restricted, and tenancy.
fn judge_change(change: &Change, terms: Terms<'_>) -> Judged {
    let mut judged = Judged::default();
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

/// Whether the API server would call `endpoint` for this change.
fn is_called(endpoint: Endpoint, change: &Change, terms: Terms<'_>) -> bool {
    let (resource, operation) = address(change);
    is_registered(endpoint, resource, operation)
        && reaches(endpoint, change, &terms.configuration.own_controller, terms.access)
}

fn question<'a>(change: &'a Change, endpoint: Endpoint, terms: Terms<'a>) -> Question<'a> {
    Question { endpoint, change, policy: &terms.configuration.policy, now: terms.now }
}

/// Applies the edits of one entry to the proposal.
fn edit(
    proposal: &mut Proposal,
    endpoint: Endpoint,
    terms: Terms<'_>,
) -> Result<Vec<MadeEdit>, ReviewError> {
    let mut body = proposal.body();
    review::prepare(&mut body)?;
    let request = review::parse_request(&body, &terms.configuration.policy)?;
    let amendment = amendment(&request.change, endpoint, terms);
    let texts = review::object_texts(&body)?;
    let mut edits = Vec::new();
    for (repair, plan) in &amendment.plans {
        let Some(new) = &mut proposal.new else { break };
        let object = new.to_string();
        let (edit, patch) = made(repair.id, plan, Texts { object: &object, ..texts })?;
        if let Some(patch) = patch
            && json_patch::patch(new, patch.operations()).is_ok()
        {
            edits.extend(edit);
        }
    }
    Ok(edits)
}

/// The edits that hold on what is known; one that rests on what nobody can read is none.
fn amendment(change: &Change, endpoint: Endpoint, terms: Terms<'_>) -> PlannedMutations {
    if !is_called(endpoint, change, terms) {
        return PlannedMutations::default();
    }
    let question = question(change, endpoint, terms);
    let step =
        |live: &LiveReads| mutate(MUTATIONS, question, &Evidence::new(terms.known.view(), live));
    let mut amendment =
        judge_with_reads_blocking(step, |wanted, live| terms.known.answer(wanted, live));
    let unread = &amendment.reads;
    amendment.plans.retain(|(_, plan)| {
        plan.depends_on.iter().all(|dependency| !unread.contains(&dependency.read))
    });
    amendment
}

/// One edit as a report tells it, and its patch.
fn made(
    id: &'static str,
    plan: &MutationPlan,
    texts: Texts<'_>,
) -> Result<(Option<MadeEdit>, Option<Patch>), ReviewError> {
    let refused = |error| ReviewError::Object { field: "request.object", error };
    let patch = Patch::of(&plan.edits, texts.object, texts.old_object).map_err(refused)?;
    let edit = patch.as_ref().map(|patch| MadeEdit {
        id,
        warning: format!("[{id}] {}", plan.warning),
        patch: serde_json::to_value(patch.operations()).unwrap_or_default(),
    });
    Ok((edit, patch))
}

impl Proposal {
    /// CREATE, UPDATE or DELETE.
    pub fn operation(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
            (Some(_), None) => "DELETE",
        }
    }

    /// The AdmissionReview that the API server would send.
    pub fn body(&self) -> Vec<u8> {
        let resource = match self.key.kind {
            Kind::Volume => "persistentvolumes",
            Kind::Namespace => "namespaces",
            Kind::Claim | Kind::Class | Kind::Pod | Kind::Node => "persistentvolumeclaims",
        };
        let mut request = json!({
            "uid": "check", "operation": self.operation(), "dryRun": true,
            "resource": {"group": "", "version": "v1", "resource": resource},
            "namespace": self.key.namespace, "name": self.key.name,
            "userInfo": {"username": self.user.name, "groups": self.user.groups},
        });
        let subresource = match self.part {
            Part::Main => None,
            Part::Status => Some("status"),
            Part::Finalize => Some("finalize"),
        };
        if let Some(subresource) = subresource {
            request["subResource"] = json!(subresource);
        }
        for (field, object) in [("object", &self.new), ("oldObject", &self.old)] {
            if let Some(object) = object {
                request[field] = object.clone();
            }
        }
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
            .to_string()
            .into_bytes()
    }
}
