//! The Kubernetes events that report an outcome on a claim or a volume.
//!
//! Reasons and texts of Kubernetes stand as they are, as people and tools search for them; what more is
//! known follows after a semicolon. An event about a claim is for its tenant: it names no volume but the
//! one that the claim names, no claim of others, and gives numbers only. Not here: when an event is
//! sent, and when again.

mod claim;
mod prebind;
#[cfg(test)]
mod tests;
mod volume;

pub use claim::claim_event;
pub use prebind::prebind_event;
pub use volume::{recycler_pod_event, recycling_event, volume_events};

use super::object_key::ObjectKey;

/// Kubernetes: `apis/core/validation/events.go`, `NoteLengthLimit`: a longer text is invalid.
const TEXT_BYTES_MAX: usize = 1024;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
    /// The object that it is about.
    pub on: ObjectKey,
    /// Its type.
    pub event_type: EventType,
    /// Its reason: one word for programs.
    pub reason: &'static str,
    /// What it says, at most 1024 bytes.
    pub text: String,
}

/// The `type` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// It is expected.
    Normal,
    /// It needs attention.
    Warning,
}

impl EventType {
    /// The `type` of the event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl ObjectEvent {
    /// An event; a text that is too long is cut.
    pub fn new(on: ObjectKey, event_type: EventType, reason: &'static str, text: String) -> Self {
        Self { on, event_type, reason, text: cut(text) }
    }
}

fn cut(mut text: String) -> String {
    const MARK: &str = "…";
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX - MARK.len()));
        text.push_str(MARK);
    }
    text
}
