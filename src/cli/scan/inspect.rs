//! The findings of a scan: each volume and each claim before every rule, and each StatefulSet beside its claims.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::templates;
use crate::binding::{Collection, Evidence, LiveReads};
use crate::cli::input::listing::labels;
use crate::cli::input::object_id::{ObjectId, claim_key, stateful_set_key, volume_key};
use crate::cli::judge::findings::{CollectedFindings, FindingSubject, of_verdict};
use crate::cli::judge::{JudgedChange, KnownObjects};
use crate::cli::report::{AtStake, Exempt, Finding, FindingResult, Report};
use crate::client::needs_reads::judge_with_reads_blocking;
use crate::model::{Claim, CreationTimestamp, Quantity, Volume, VolumeClass};
use crate::rules::judging::exemption::carried;
use crate::rules::mutations::{changed_class, changed_since};
use crate::rules::{
    Change, ChangedObject, Detail, Endpoint, Judgement, Part, Policy, Question, RULES, Transition,
    User, inspect,
};

/// The operation of findings on existing objects.
const OPERATION: &str = "SCAN";

/// One run over all existing objects.
pub(super) struct Inspection<'a> {
    known: &'a KnownObjects,
    policy: &'a Policy,
    now: Timestamp,
    collected: CollectedFindings,
}

impl<'a> Inspection<'a> {
    /// Nothing inspected yet.
    pub(super) fn new(known: &'a KnownObjects, policy: &'a Policy, now: Timestamp) -> Self {
        Self { known, policy, now, collected: CollectedFindings::default() }
    }

    /// Inspects all volumes, then all claims, then all `StatefulSet`s with claims, by name.
    pub(super) fn inspect_all(&mut self) {
        for volume in self.known.view().volumes() {
            self.volume(volume);
        }
        for claim in self.known.view().claims() {
            self.claim(claim);
        }
        for set in templates::sorted(&self.known.sets) {
            let key = stateful_set_key(&set.namespace, &set.name);
            let found = templates::of_set(self.known, set, about(&key));
            if found.is_empty() {
                self.collected.summary.count(FindingResult::Clean);
            } else {
                self.collected.add(about(&key), found);
            }
        }
    }

    fn volume(&mut self, volume: &Arc<Volume>) {
        let subject = ChangedObject::Volume(Transition::Create(Volume::clone(volume)));
        let judged = self.judged(subject);
        let carried = carried(RULES, volume, (self.now, self.policy.longest_exemption));
        let holder = volume.reservation.key().map(|key| &key.namespace);
        // Another volume on its storage is looked for among all.
        let mut needed = vec![(Collection::Volumes, None)];
        needed.extend(holder.map(|namespace| (Collection::Claims, Some(namespace))));
        let lacking = self.known.lacking(&needed);
        if is_silent(&judged) && carried.is_empty() && lacking.is_empty() {
            return self.collected.summary.count(FindingResult::Clean);
        }
        let key = volume_key(volume.name.as_str());
        let stake = Stake::of_volume(volume, self.now);
        let mut found = self.of_verdict(&judged, &key, &stake);
        found.extend(unseen(&key, &stake, &lacking).filter(|_| is_silent(&judged)));
        for (rule, exemption) in carried {
            if found.iter().any(|finding| finding.rule.as_deref() == Some(rule.id)) {
                continue;
            }
            let text = format!(
                "exempt from {} until {}: {}; remove the annotation when that is over",
                rule.id, exemption.until, exemption.reason
            );
            let mut finding =
                about(&key).finding(FindingResult::Exempted, Some("metadata.annotations"), text);
            finding.rule = Some(rule.id.to_owned());
            let (until, reason) = (exemption.until.to_string(), exemption.reason);
            finding.exempt = Some(Exempt { until, reason });
            found.push(stake.ranked(finding));
        }
        self.collected.add(about(&key), found);
    }

    fn claim(&mut self, claim: &Arc<Claim>) {
        let subject = ChangedObject::Claim(Transition::Create(Claim::clone(claim)));
        let judged = self.judged(subject);
        // One that names no volume may have volumes reserved for it.
        let mut needed = vec![(Collection::Volumes, None)];
        needed.extend(changed_since(claim, None).map(|_| (Collection::Classes, None)));
        let lacking = self.known.lacking(&needed);
        let changed = changed_class(self.known.view(), &self.known.listed, claim);
        if is_silent(&judged) && changed.is_none() && lacking.is_empty() {
            return self.collected.summary.count(FindingResult::Clean);
        }
        let key = claim_key(&claim.key.namespace, &claim.key.name);
        let volume = claim.volume.as_ref().and_then(|name| self.known.view().volume(name));
        let stake = Stake::of_claim(claim, volume.map(|volume| &**volume), self.now);
        let mut found = self.of_verdict(&judged, &key, &stake);
        found.extend(changed.map(|text| {
            let mut finding =
                about(&key).finding(FindingResult::Warned, Some("spec.storageClassName"), text);
            finding.rule = Some("delayed-binding".to_owned());
            finding.standing = Some(stake.standing("low"));
            finding
        }));
        found.extend(unseen(&key, &stake, &lacking).filter(|_| is_silent(&judged)));
        self.collected.add(about(&key), found);
    }

    fn of_verdict(&self, judged: &JudgedChange, key: &ObjectId, stake: &Stake<'_>) -> Vec<Finding> {
        let found = of_verdict(judged, self.known, about(key), ToString::to_string).into_iter();
        let is_of_rule = |finding: &Finding| finding.rule.is_some();
        found.map(|one| if is_of_rule(&one) { stake.ranked(one) } else { one }).collect()
    }

    fn judged(&self, subject: ChangedObject) -> JudgedChange {
        let user = User { name: String::new(), groups: Vec::new() };
        let change = Change {
            actor: self.policy.actor(&user),
            user,
            parameters: self.policy.parameters.clone(),
            part: Part::Main,
            detail: Detail::default(),
            subject,
        };
        let question = Question {
            endpoint: Endpoint::Advise,
            change: &change,
            policy: self.policy,
            now: self.now,
        };
        let step =
            |live: &LiveReads| inspect(RULES, question, &Evidence::new(self.known.view(), live));
        let Judgement { verdict, reads: unread, .. } =
            judge_with_reads_blocking(step, |wanted, live| self.known.answer(wanted, live));
        JudgedChange { verdict, unread, ..JudgedChange::default() }
    }

    /// The report on everything that was inspected.
    pub(super) fn report(self) -> Report {
        let mut report = self.collected.report(self.known, 0);
        report.notes.extend(templates::unread_sets(self.known));
        report
    }
}

/// What is at stake with an object.
struct Stake<'a> {
    created: Option<CreationTimestamp>,
    size: &'a Quantity,
    class: Option<String>,
    partner: Option<String>,
    phase: String,
    now: Timestamp,
}

impl<'a> Stake<'a> {
    fn of_volume(volume: &'a Volume, now: Timestamp) -> Self {
        Self {
            created: volume.created,
            size: &volume.capacity,
            class: class_name(volume.class().as_class()),
            partner: volume.reservation.key().map(ToString::to_string),
            phase: volume.phase.to_string(),
            now,
        }
    }

    fn of_claim(claim: &'a Claim, volume: Option<&'a Volume>, now: Timestamp) -> Self {
        let class = match volume {
            Some(volume) => class_name(volume.class().as_class()),
            None => class_name(claim.class().wanted()),
        };
        Self {
            created: claim.created,
            size: volume.map_or(&claim.request, |volume| &volume.capacity),
            class,
            partner: claim.volume.as_ref().map(ToString::to_string),
            phase: claim.phase.to_string(),
            now,
        }
    }

    fn standing(&self, severity: &'static str) -> AtStake {
        let age = self.created.map(|created| self.now.as_second() - created.seconds());
        AtStake {
            severity,
            age: age.map(|age| u64::try_from(age).unwrap_or_default()),
            bytes: Some(self.size.to_string()),
            class: self.class.clone(),
            partner: self.partner.clone(),
            phase: Some(self.phase.clone()),
        }
    }

    /// The finding with what is at stake, as severe as its result.
    fn ranked(&self, mut finding: Finding) -> Finding {
        finding.standing = Some(self.standing(match finding.result {
            FindingResult::Denied | FindingResult::Api => "high",
            FindingResult::Warned | FindingResult::Unverified => "medium",
            FindingResult::Audited | FindingResult::Exempted | FindingResult::Clean => "low",
        }));
        finding
    }
}

fn class_name(class: VolumeClass<'_>) -> Option<String> {
    match class {
        VolumeClass::Named(name) => Some(name.to_string()),
        VolumeClass::Classless => None,
    }
}

/// A finding if objects of these kinds were not all read.
fn unseen(key: &ObjectId, stake: &Stake<'_>, lacking: &BTreeSet<Collection>) -> Option<Finding> {
    if lacking.is_empty() {
        return None;
    }
    let text = format!(
        "whether {key} conflicts with other objects is not known: not all {} were read; give a list of all",
        labels(lacking)
    );
    Some(stake.ranked(about(key).finding(FindingResult::Unverified, None, text)))
}

fn is_silent(judged: &JudgedChange) -> bool {
    judged.verdict.rulings.is_empty() && judged.verdict.exemption_warnings.is_empty()
}

fn about(key: &ObjectId) -> FindingSubject<'_> {
    FindingSubject { key, operation: OPERATION, origin: None }
}
