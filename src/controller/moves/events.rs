//! Events about moves, on their volumes.

use kube::Client;

use crate::binding::EventType;
use crate::client::events::{COMPONENT, EventMessage, Regarding, store_event};
use crate::model::{Uid, VolumeName};

/// Stores the events.
#[derive(Clone)]
pub(super) struct MoveEvents {
    client: Client,
    is_on: bool,
}

impl MoveEvents {
    pub(super) fn new(client: Client, is_on: bool) -> Self {
        Self { client, is_on }
    }

    /// Logs that a move was ended, and stores an event about it.
    pub(super) async fn ended(&self, name: &VolumeName, uid: &Uid) {
        let text = format!(
            "the command that moved PV {:?} was cut off; the move is ended, and can be undone: bindery undo pv/{name}",
            name.as_str()
        );
        tracing::info!(volume = %name, "{text}");
        self.record((name, uid), EventType::Normal, "MoveEnded", &text).await;
    }

    /// Logs why a move has not ended, and stores an event about it.
    pub(super) async fn stopped(&self, name: &VolumeName, uid: &Uid, reason: &str) {
        let text = format!(
            "the move of PV {:?} has not ended: {reason}; unless its command still runs, end it: bindery explain pv/{name} says \
             how",
            name.as_str()
        );
        tracing::warn!(volume = %name, "{text}");
        self.record((name, uid), EventType::Warning, "MoveUnfinished", &text).await;
    }

    async fn record(
        &self,
        (name, uid): (&VolumeName, &Uid),
        event_type: EventType,
        reason: &str,
        text: &str,
    ) {
        if !self.is_on {
            return;
        }
        let message = EventMessage {
            component: COMPONENT,
            kind: "PersistentVolume",
            namespace: "",
            name: name.as_str(),
            event_type,
            reason,
            text,
        };
        // What is not stored was logged.
        let about = Regarding { uid: Some(uid), version: None, count: 1, detail: "" };
        store_event(&self.client, message, about).await;
    }
}
