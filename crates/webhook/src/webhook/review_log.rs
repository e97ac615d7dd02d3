//! The log line about a review in which a rule found something: who does what to which object, and each sentence.
//!
//! Without the object itself. Not here: how many lines a user gets (`lines`).

use jiff::Timestamp;

use crate::api::review::{AdmissionRequest, DryRun};
use crate::rules::{ChangedObject, Ruling, Transition, Verdict};
use crate::telemetry::metrics::result_label;

/// Characters of the sentences of one line: several of the longest, and no more than a terminal shows.
const SENTENCES_CHARS_MAX: usize = 2_000;

/// Writes the line. `withheld` is how many lines about the user were left out before it.
pub(super) fn log_review(
    request: &AdmissionRequest,
    verdict: &Verdict,
    started: Timestamp,
    withheld: u64,
) {
    let result = |ruling: &Ruling| format!("{}={}", ruling.rule.id, result_label(ruling));
    let rules: Vec<String> = verdict.rulings.iter().map(result).collect();
    let (operation, kind, name) = changed(&request.change.subject);
    let took = Timestamp::now().duration_since(started).as_micros();
    tracing::info!(
        uid = request.uid,
        user = &*request.change.user.name,
        operation,
        kind,
        name,
        rules = rules.join(","),
        decision = if verdict.is_allowed() { "allowed" } else { "denied" },
        dry_run = request.dry_run == DryRun::Yes,
        withheld,
        microseconds = u64::try_from(took).unwrap_or_default(),
        sentence = sentences(verdict),
        "review"
    );
}

/// What each rule found, as a user reads it where the rule denies.
fn sentences(verdict: &Verdict) -> String {
    let texts: Vec<&str> = verdict.rulings.iter().map(|ruling| &*ruling.violation.text).collect();
    let mut line = texts.join(" | ");
    if let Some((end, _)) = line.char_indices().nth(SENTENCES_CHARS_MAX) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// The operation, and kind and name of the object.
fn changed(subject: &ChangedObject) -> (&'static str, &'static str, String) {
    fn of<T>(
        transition: &Transition<T>,
        kind: &'static str,
        name: impl Fn(&T) -> String,
    ) -> (&'static str, &'static str, String) {
        let operation = match transition {
            Transition::Create(_) => "CREATE",
            Transition::Update { .. } => "UPDATE",
            Transition::Delete(_) => "DELETE",
        };
        (operation, kind, name(transition.latest()))
    }
    match subject {
        ChangedObject::Volume(change) => {
            of(change, "PersistentVolume", |object| object.name.to_string())
        }
        ChangedObject::Claim(change) => {
            of(change, "PersistentVolumeClaim", |object| object.key.to_string())
        }
        ChangedObject::Namespace(change) => {
            of(change, "Namespace", |object| object.name.to_string())
        }
        ChangedObject::Class(change) => {
            of(change, "StorageClass", |object| object.name.to_string())
        }
        ChangedObject::Attachment(change) => {
            of(change, "VolumeAttachment", |object| object.name.to_string())
        }
        ChangedObject::Node(change) => of(change, "Node", |object| object.node.name.to_string()),
        ChangedObject::Driver(change) => of(change, "CSIDriver", |object| object.name.to_string()),
        ChangedObject::SnapshotContent(change) => {
            of(change, "VolumeSnapshotContent", |object| object.name.to_string())
        }
    }
}
