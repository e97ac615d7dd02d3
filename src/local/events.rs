//! Events about disks: on their volume, or on the node where there is none.

use std::sync::Arc;

use super::shared::Shared;
use crate::binding::EventType;
use crate::client::events::{EventMessage, Regarding, store_event};
use crate::disks::{LocalVolume, LocalVolumeState};
use crate::model::VolumeName;

/// The source of the events, as `kubectl describe` shows it.
pub(super) const COMPONENT: &str = "bindery-local";

/// What is said about a disk, or about a StorageClass.
#[derive(Clone, Debug)]
pub(super) struct DiskEvent {
    /// The name of the disk's volume.
    pub(super) volume: Option<VolumeName>,
    /// The disk's path, or the name of the StorageClass.
    pub(super) about: String,
    pub(super) event_type: EventType,
    pub(super) reason: &'static str,
    /// What it says.
    pub(super) text: String,
}

/// Records an event. Whether it is stored decides nothing: the log has it too.
pub(super) async fn record(shared: Arc<Shared>, event: DiskEvent) {
    let DiskEvent { volume, about, event_type, reason, text } = event;
    let volume: Option<LocalVolume> = volume.and_then(|name| match shared.volumes.get(&name) {
        LocalVolumeState::Present(volume) => Some(*volume),
        LocalVolumeState::Absent | LocalVolumeState::Unread => None,
    });
    let text = format!("{about}: {text}");
    let (kind, on) = match &volume {
        Some(volume) => ("PersistentVolume", volume.name.as_str()),
        None => ("Node", shared.node.name.as_str()),
    };
    let regarding = Regarding {
        uid: Some(volume.as_ref().map_or(&shared.node.uid, |volume| &volume.uid)),
        version: volume.as_ref().map(|volume| &volume.version),
        count: shared.events.next(&about, reason),
        detail: &about,
    };
    let message = EventMessage {
        component: COMPONENT,
        kind,
        namespace: "",
        name: on,
        event_type,
        reason,
        text: &text,
    };
    store_event(shared.requests.client(), message, regarding).await;
}
