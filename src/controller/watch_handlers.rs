//! Passes what the watches show to each loop of the controller.

use std::sync::Arc;

use super::event_sender::EventSender;
use super::moves::MoveWatch;
use super::trash::TrashWatch;
use crate::binding::Observed;
use crate::client::resource::ResourceKind;
use crate::client::watch::{EventHandler, Unreadable};
use crate::model::annotations::MOVE;
use crate::model::{ResourceVersion, Uid};

/// The loops.
pub(super) struct WatchHandlers {
    pub(super) reconciler: Arc<EventSender>,
    pub(super) trash: Arc<TrashWatch>,
    pub(super) moves: Arc<MoveWatch>,
}

impl EventHandler for WatchHandlers {
    fn on_object(
        &self,
        kind: ResourceKind,
        observed: Observed,
        version: ResourceVersion,
        text: &str,
    ) {
        self.trash.on_observed(&observed, text);
        self.moves.on_observed(&observed, text);
        self.reconciler.on_object(kind, observed, version, text);
    }

    fn on_unread(
        &self,
        kind: ResourceKind,
        uid: &Uid,
        version: &ResourceVersion,
        text: &str,
    ) -> bool {
        let is_handled = self.reconciler.on_unread(kind, uid, version, text);
        // The reconciler knows its own writes from their replies; the other loops do not.
        if is_handled
            && (self.trash.is_active() || text.contains(MOVE))
            && let Ok(observed) = kind.observed(text)
        {
            self.trash.on_observed(&observed, text);
            self.moves.on_observed(&observed, text);
        }
        is_handled
    }

    fn on_list_started(&self, kind: ResourceKind) {
        self.trash.on_list_started(kind);
        self.moves.on_list_started(kind);
        self.reconciler.on_list_started(kind);
    }

    fn on_listed(&self, kind: ResourceKind, version: ResourceVersion) {
        self.trash.on_listed(kind);
        self.moves.on_listed(kind);
        self.reconciler.on_listed(kind, version);
    }

    fn on_unreadable(&self, kind: ResourceKind, unreadable: Unreadable) {
        self.reconciler.on_unreadable(kind, unreadable);
    }

    fn on_activity(&self, kind: ResourceKind, now: u64) {
        self.reconciler.on_activity(kind, now);
    }

    async fn room(&self) {
        self.reconciler.room().await;
    }

    fn spread(&self) -> u64 {
        self.reconciler.spread()
    }
}
