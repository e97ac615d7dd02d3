//! One review, from its body to its answer.
//!
//! No socket is known here: bytes and the time that is left go in, an answer comes out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::time::Instant;

use super::lines::UserLines;
use super::reader::Reader;
use crate::api::patch::Patch;
use crate::api::review::{
    Answer, DryRun, Request, ReviewError, Texts, answer, prepare, request, texts,
};
use crate::binding::{Evidence, LiveReads, Read};
use crate::client::needs_reads::{NeedsReads, judge_with_reads};
use crate::client::shared_store::SharedStore;
use crate::rules::mutations::MUTATIONS;
use crate::rules::{
    ChangedObject, Effect, Endpoint, PlannedMutations, Policy, Question, Rule, Verdict, judge,
    mutate,
};
use crate::telemetry::metrics::{Decision, Metrics};

/// Everything that a review needs.
#[derive(Debug)]
pub struct Service {
    /// The rules that judge.
    pub rules: &'static [&'static Rule],
    /// What is known of the cluster.
    pub shared: Arc<SharedStore>,
    /// How more is found out.
    pub reader: Reader,
    /// The operator's decisions.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where it is counted.
    pub metrics: Arc<Metrics>,
    /// How many lines are written about each user.
    pub lines: UserLines,
}

/// A review that was read, and by what it is judged.
#[derive(Debug)]
pub struct Asked {
    request: Request,
    policy: Arc<Policy>,
    started: Timestamp,
}

impl Asked {
    /// What it takes beside its body, in bytes.
    pub fn collected(&self) -> usize {
        self.request.collected
    }
}

impl Service {
    /// Reads the review in `body`.
    pub fn read(&self, body: &mut [u8]) -> Result<Asked, ReviewError> {
        let started = Timestamp::now();
        let policy = self.policy.load_full();
        prepare(body)?;
        Ok(Asked { request: request(body, &policy)?, policy, started })
    }

    /// Validates a review as a request through `endpoint`. `left` tells how much time is left when it is
    /// asked.
    pub async fn validate(
        &self,
        endpoint: Endpoint,
        asked: &Asked,
        left: impl Fn() -> Duration,
    ) -> Vec<u8> {
        let Asked { request, policy, started } = asked;
        let question = Question { endpoint, change: &request.change, policy, now: *started };
        let step = |live: &LiveReads| {
            judge(self.rules, question, &Evidence::new(&self.shared.view(), live))
        };
        let verdict = self.judge_with_reads(step, left).await.verdict;
        // A volume that is given away is not taken back: what was not read is not admitted.
        let verdict = if endpoint == Endpoint::Tenancy { verdict.closed(policy) } else { verdict };
        self.record(endpoint, request, &verdict, *started);
        let (warnings, audit) = (verdict.warnings(), audit(&verdict));
        let made = Answer { refusal: verdict.refusal(), warnings, audit, patch: None };
        answer(&request.uid, &made)
    }

    /// Answers a review, which was read from `body`, with the edits that repair it.
    pub async fn mutate(
        &self,
        asked: &Asked,
        body: &[u8],
        left: impl Fn() -> Duration,
    ) -> Result<Vec<u8>, ReviewError> {
        let Asked { request, policy, started } = asked;
        let mut amendment = PlannedMutations::default();
        for endpoint in [Endpoint::Mutate, Endpoint::Restore] {
            let question = Question { endpoint, change: &request.change, policy, now: *started };
            let step = |live: &LiveReads| {
                mutate(MUTATIONS, question, &Evidence::new(&self.shared.view(), live))
            };
            let found = self.judge_with_reads(step, &left).await;
            amendment.plans.extend(found.plans);
            amendment.unchecked.extend(found.unchecked);
        }
        // Reviews that nothing edits are most; only for others the texts are looked for.
        let texts = if amendment.plans.is_empty() { Texts::default() } else { texts(body)? };
        let unreadable = |error| ReviewError::Object { field: "request.object", error };
        leave_what_was_cut(&mut amendment, texts.old_object).map_err(unreadable)?;
        self.metrics.count_review(Endpoint::Mutate, Decision::Allowed);
        amendment.plans.iter().for_each(|(repair, _)| self.metrics.count_edit(repair.id));
        let edits: Vec<_> =
            amendment.plans.iter().flat_map(|(_, plan)| plan.edits.iter().cloned()).collect();
        let patch = Patch::of(&edits, texts.object, texts.old_object).map_err(unreadable)?;
        let audit = amendment
            .plans
            .iter()
            .map(|(repair, plan)| (repair.id.to_owned(), plan.warning.clone()));
        let made = Answer {
            refusal: String::new(),
            warnings: amendment.warnings(),
            audit: audit.collect(),
            patch,
        };
        Ok(answer(&request.uid, &made))
    }

    /// Steps until the answer stands, reading what it rests on in between, each time within half
    /// of what is left.
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
            self.metrics.count_live_read(live.confirmation(read).label());
        }
    }

    /// Counts a verdict, and logs it if it refuses: one line a denial, no object in it.
    fn record(&self, endpoint: Endpoint, request: &Request, verdict: &Verdict, started: Timestamp) {
        let decision = if verdict.is_allowed() { Decision::Allowed } else { Decision::Denied };
        self.metrics.count_review(endpoint, decision);
        for ruling in &verdict.rulings {
            self.metrics.count_ruling(ruling.rule.id, &ruling.effect);
        }
        if verdict.rulings.is_empty() {
            return;
        }
        let user = &*request.change.user.name;
        let Some(withheld) = self.lines.grant(user, Instant::now()) else { return };
        let told: Vec<String> = verdict
            .rulings
            .iter()
            .map(|ruling| format!("{}={}", ruling.rule.id, ruling.effect.label()))
            .collect();
        let (kind, name) = match &request.change.subject {
            ChangedObject::Volume(transition) => {
                ("PersistentVolume", transition.latest().name.to_string())
            }
            ChangedObject::Claim(transition) => {
                ("PersistentVolumeClaim", transition.latest().key.to_string())
            }
            ChangedObject::Namespace(transition) => {
                ("Namespace", transition.latest().name.to_string())
            }
        };
        let took = Timestamp::now().duration_since(started).as_micros();
        tracing::info!(
            uid = request.uid,
            user,
            kind,
            name,
            rules = told.join(","),
            decision = if decision == Decision::Denied { "denied" } else { "allowed" },
            dry_run = request.dry_run == DryRun::Yes,
            withheld,
            microseconds = u64::try_from(took).unwrap_or_default(),
            "review"
        );
    }
}

/// Takes out the plans that would put back a text of which only the beginning was kept.
fn leave_what_was_cut(
    amendment: &mut PlannedMutations,
    old: &str,
) -> Result<(), serde_json::Error> {
    let mut whole = Vec::with_capacity(amendment.plans.len());
    for (repair, plan) in std::mem::take(&mut amendment.plans) {
        if Patch::is_whole(&plan.edits, old)? {
            whole.push((repair, plan));
        } else {
            amendment.unchecked.push(format!(
                "[{}] nothing was put back: a text of the stored object is too long to be repeated; what \
                 was dropped would be lost; send the object with the fields as they are stored",
                repair.id
            ));
        }
    }
    amendment.plans = whole;
    Ok(())
}

/// The audit annotations of a verdict: one per rule, with everything that the rule found.
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
