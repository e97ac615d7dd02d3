//! One review, from its body to its response, without a socket.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::time::Instant;

use super::lines::UserLines;
use super::read_dispatcher::ReadDispatcher;
use super::review_log::log_review;
use crate::api::installation::{CANARY, GUARD_PROBE, GUARD_PROBE_DENIAL};
use crate::api::patch::Patch;
use crate::api::review::{
    AdmissionRequest, AdmissionResponse, DryRun, ReviewError, Texts, object_texts, parse_request,
    prepare, response_bytes,
};
use crate::binding::{Evidence, LiveReads, Read};
use crate::client::needs_reads::{NeedsReads, judge_with_reads};
use crate::client::shared_store::SharedStore;
use crate::rules::mutations::MUTATIONS;
use crate::rules::{
    ChangedObject, Effect, Endpoint, PlannedMutations, Policy, Question, Rule, Transition, Verdict,
    judge, mutate,
};
use crate::telemetry::metrics::{ReviewDecision, WebhookMetrics};

/// Judges and mutates reviews.
#[derive(Debug)]
pub struct Service {
    /// The rules.
    pub rules: &'static [&'static Rule],
    /// The cache of the cluster.
    pub shared: Arc<SharedStore>,
    /// Makes live reads.
    pub reader: ReadDispatcher,
    /// The policy.
    pub policy: Arc<ArcSwap<Policy>>,
    /// The metrics.
    pub metrics: Arc<WebhookMetrics>,
    /// Limits the log lines about each user.
    pub lines: UserLines,
}

/// A parsed review, with the policy and the time by which it is judged.
#[derive(Debug)]
pub struct ParsedReview {
    request: AdmissionRequest,
    policy: Arc<Policy>,
    started: Timestamp,
}

impl ParsedReview {
    /// Bytes that it takes beside its body.
    pub fn collected(&self) -> usize {
        self.request.collected
    }
}

impl Service {
    /// Parses the review in `body`.
    pub fn parse(&self, body: &mut [u8]) -> Result<ParsedReview, ReviewError> {
        let started = Timestamp::now();
        let policy = self.policy.load_full();
        prepare(body)?;
        Ok(ParsedReview { request: parse_request(body, &policy)?, policy, started })
    }

    /// Judges a review by the rules of `endpoint`. `left` returns the time that is left.
    pub async fn validate(
        &self,
        endpoint: Endpoint,
        review: &ParsedReview,
        left: impl Fn() -> Duration,
    ) -> Vec<u8> {
        let ParsedReview { request, policy, started } = review;
        let question = Question { endpoint, change: &request.change, policy, now: *started };
        let step = |live: &LiveReads| {
            judge(self.rules, question, &Evidence::new(&self.shared.view(), live))
        };
        let verdict = self.judge_with_reads(step, left).await.verdict;
        // A PersistentVolume that another tenant has read is not safe again: what is unconfirmed is denied.
        let verdict = if endpoint == Endpoint::Tenancy { verdict.closed(policy) } else { verdict };
        // No user's request: neither counted nor logged.
        if endpoint == Endpoint::Guard && is_dry_run_of(request, GUARD_PROBE) {
            let denial = GUARD_PROBE_DENIAL.to_owned();
            let made = AdmissionResponse { denial, ..AdmissionResponse::default() };
            return response_bytes(&request.uid, &made);
        }
        self.record(endpoint, request, &verdict, *started);
        let (mut warnings, audit) = (verdict.warnings(), audit(&verdict));
        warnings.extend(canary_warnings(request, &verdict));
        let made = AdmissionResponse { denial: verdict.denial(), warnings, audit, patch: None };
        response_bytes(&request.uid, &made)
    }

    /// Answers a review, which was parsed from `body`, with the mutations of its object.
    pub async fn mutate(
        &self,
        review: &ParsedReview,
        body: &[u8],
        left: impl Fn() -> Duration,
    ) -> Result<Vec<u8>, ReviewError> {
        let ParsedReview { request, policy, started } = review;
        let mut planned = PlannedMutations::default();
        for endpoint in [Endpoint::Mutate, Endpoint::Restore] {
            let question = Question { endpoint, change: &request.change, policy, now: *started };
            let step = |live: &LiveReads| {
                mutate(MUTATIONS, question, &Evidence::new(&self.shared.view(), live))
            };
            let found = self.judge_with_reads(step, &left).await;
            planned.plans.extend(found.plans);
            planned.unchecked.extend(found.unchecked);
        }
        // Most reviews are not mutated; only for the others the texts are parsed.
        let texts = if planned.plans.is_empty() { Texts::default() } else { object_texts(body)? };
        let unreadable = |error| ReviewError::Object { field: "request.object", error };
        leave_what_was_cut(&mut planned, texts.old_object).map_err(unreadable)?;
        self.metrics.count_review(Endpoint::Mutate, ReviewDecision::Allowed);
        for (mutation, _) in &planned.plans {
            self.metrics.mutations.with_label_values(&[mutation.id]).inc();
        }
        let mutations: Vec<_> =
            planned.plans.iter().flat_map(|(_, plan)| plan.fields.iter().cloned()).collect();
        let patch = Patch::of(&mutations, texts.object, texts.old_object).map_err(unreadable)?;
        let patch = patch.map(|patch| patch.to_base64());
        let audit = planned
            .plans
            .iter()
            .map(|(mutation, plan)| (mutation.id.to_owned(), plan.warning.clone()));
        let made = AdmissionResponse {
            denial: String::new(),
            warnings: planned.warnings(),
            audit: audit.collect(),
            patch,
        };
        Ok(response_bytes(&request.uid, &made))
    }

    /// Judges until no live read is missing. Each round of reads has half of the time that is left.
    async fn judge_with_reads<T: NeedsReads>(
        &self,
        step: impl FnMut(&LiveReads) -> T,
        left: impl Fn() -> Duration,
    ) -> T {
        let read = |wanted: Vec<Read>, live| {
            let deadline = left() / 2;
            async move {
                let (live, panics) = self.reader.read(&wanted, deadline, live).await;
                self.metrics.panics.inc_by(u64::try_from(panics).unwrap_or_default());
                self.count_reads(&live, &wanted);
                live
            }
        };
        judge_with_reads(step, read).await
    }

    fn count_reads(&self, live: &LiveReads, asked: &[Read]) {
        for read in asked {
            self.metrics.live_reads.with_label_values(&[live.confirmation(read).label()]).inc();
        }
    }

    /// Counts a verdict, and logs its violations in one line.
    fn record(
        &self,
        endpoint: Endpoint,
        request: &AdmissionRequest,
        verdict: &Verdict,
        started: Timestamp,
    ) {
        let decision =
            if verdict.is_allowed() { ReviewDecision::Allowed } else { ReviewDecision::Denied };
        self.metrics.count_review(endpoint, decision);
        for ruling in &verdict.rulings {
            self.metrics.count_ruling(ruling);
        }
        if verdict.rulings.is_empty() {
            return;
        }
        let user = &*request.change.user.name;
        if let Some(withheld) = self.lines.grant(user, Instant::now()) {
            log_review(request, verdict, started, withheld);
        }
    }
}

/// What would be denied, where the review is the dry run of `bindery doctor`: without it nothing would show that the API
/// server asks a webhook that only observes.
fn canary_warnings(request: &AdmissionRequest, verdict: &Verdict) -> Vec<String> {
    if !is_dry_run_of(request, CANARY) {
        return Vec::new();
    }
    let audited = verdict.rulings.iter().filter(|ruling| ruling.effect == Effect::Audited);
    audited.map(ToString::to_string).collect()
}

/// Returns whether a request creates the PersistentVolume of this name as a dry run.
fn is_dry_run_of(request: &AdmissionRequest, name: &str) -> bool {
    let is_named = match &request.change.subject {
        ChangedObject::Volume(Transition::Create(volume)) => volume.name.as_str() == name,
        ChangedObject::Volume(_)
        | ChangedObject::Claim(_)
        | ChangedObject::Namespace(_)
        | ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => false,
    };
    is_named && request.dry_run != DryRun::No
}

/// Removes the mutations that would restore a text of which only the beginning was kept.
fn leave_what_was_cut(planned: &mut PlannedMutations, old: &str) -> Result<(), serde_json::Error> {
    let mut whole = Vec::with_capacity(planned.plans.len());
    for (mutation, plan) in std::mem::take(&mut planned.plans) {
        if Patch::is_whole(&plan.fields, old)? {
            whole.push((mutation, plan));
        } else {
            planned.unchecked.push(format!(
                "[{}] the manifest drops fields of a bound object that are too long to restore; they would be \
                 lost; send the object with these fields as stored",
                mutation.id
            ));
        }
    }
    planned.plans = whole;
    Ok(())
}

/// The audit annotations of a verdict: one per rule, with all its violations.
fn audit(verdict: &Verdict) -> Vec<(String, String)> {
    let mut notes = BTreeMap::<&str, Vec<String>>::new();
    for ruling in &verdict.rulings {
        let note = match &ruling.effect {
            Effect::Exempted(exemption) => {
                format!("exempted until {}: {}", exemption.until, exemption.reason)
            }
            Effect::Denied | Effect::Warned | Effect::Audited | Effect::Unconfirmed => {
                format!("{}: {}", ruling.effect.label(), ruling.violation.text)
            }
        };
        notes.entry(ruling.rule.id).or_default().push(note);
    }
    let joined = |(id, notes): (&str, Vec<String>)| (id.to_owned(), notes.join("; "));
    notes.into_iter().map(joined).collect()
}
