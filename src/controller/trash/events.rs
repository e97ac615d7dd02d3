//! Events about the trash, on the claims: a tenant sees them in the namespace.

use kube::Client;

use crate::binding::EventType;
use crate::client::events::{COMPONENT, EventMessage, Regarding, store_event};
use crate::model::Reservation;
use crate::move_runner::StoredVolume;
use crate::trash::{TrashState, TrashWrite};

/// Stores the events.
pub(super) struct TrashEvents {
    client: Client,
    is_on: bool,
}

impl TrashEvents {
    pub(super) fn new(client: Client, is_on: bool) -> Self {
        Self { client, is_on }
    }

    /// Logs a write to a volume, as it was before, and stores an event about it.
    pub(super) async fn record(&self, write: &TrashWrite, stored: &StoredVolume) {
        let Some((reason, text)) = event(write, stored) else { return };
        let volume = stored.moved.name.as_str();
        tracing::info!(volume, reason, "{text}");
        let (Reservation::Held(key, _) | Reservation::Named(key)) = &stored.moved.reservation
        else {
            return;
        };
        if !self.is_on {
            return;
        }
        let message = EventMessage {
            component: COMPONENT,
            kind: "PersistentVolumeClaim",
            namespace: &key.namespace,
            name: &key.name,
            event_type: EventType::Normal,
            reason,
            text: &text,
        };
        let uid = stored.moved.reservation.uid();
        let about = Regarding { uid, version: None, count: 1, detail: volume };
        // What is not stored was logged.
        store_event(&self.client, message, about).await;
    }
}

/// Reason and text of the event about a write; nothing about those that only a machine reads.
fn event(write: &TrashWrite, stored: &StoredVolume) -> Option<(&'static str, String)> {
    let name = stored.moved.name.as_str();
    let claim = stored.moved.reservation.key()?;
    match write {
        TrashWrite::Record(record) => {
            let until = record.release.as_ref()?.until;
            let until = until.strftime("%Y-%m-%dT%H:%M:%SZ");
            let text = format!(
                "the PVC was deleted; PV {name:?} stays with its data until {until}; `bindery rescue pvc/{claim}` gives it back"
            );
            Some(("MovedToTrash", text))
        }
        TrashWrite::Restore(policy) => {
            let text = format!("PV {name:?} has its reclaim policy {policy} again");
            Some(("ReclaimPolicyRestored", text))
        }
        TrashWrite::Hold(_)
        | TrashWrite::Copy(_)
        | TrashWrite::OfferToName(..)
        | TrashWrite::ReserveForGone(..) => None,
    }
}

/// Why a volume in this state waits for a person; nothing if it does not.
pub(super) fn blocked_reason(state: TrashState) -> Option<&'static str> {
    match state {
        TrashState::NamedByClaim => Some("named-by-claim"),
        TrashState::ReservedByHand => Some("reserved-by-hand"),
        TrashState::Unreserved => Some("unreserved"),
        TrashState::RetentionUnreadable => Some("keep-unreadable"),
        TrashState::NotHeld
        | TrashState::Held
        | TrashState::Staying(_)
        | TrashState::Moving
        | TrashState::Terminating
        | TrashState::AwaitsBinder => None,
    }
}
