//! Finds the volumes of the trash.

use jiff::Timestamp;
use serde_json::Value;

use crate::api::moves::is_moving;
use crate::api::trash::trash_record;
use crate::api::volume::{Wanted, volume};
use crate::cli::exit::Failure;
use crate::model::annotations::TRASH;
use crate::model::{ClaimKey, Reservation, VolumeClass, VolumeName, VolumePhase};
use crate::move_runner::MoveRequests;
use crate::moves::MovedVolume;
use crate::trash::TrashRecord;

/// A volume of the trash.
#[derive(Clone, Debug)]
pub(super) struct TrashedVolume {
    /// What a move reads of it.
    pub moved: MovedVolume,
    /// The claim that had it.
    pub claim: ClaimKey,
    /// Its StorageClass; empty if it has none.
    pub class: String,
    /// Its capacity, as it is stored.
    pub capacity: String,
    /// Its trash record.
    pub record: TrashRecord,
    /// Whether a move has a journal on it.
    pub is_moving: bool,
    /// Whether a person has reserved it for the next claim of a name: it does not go.
    pub is_reserved_by_hand: bool,
}

impl TrashedVolume {
    /// When its claim was seen to be gone; nothing if the controller has not seen it yet.
    pub(super) fn released_at(&self) -> Option<Timestamp> {
        self.record.release.as_ref().map(|release| release.at)
    }

    /// When its reclaim policy is set again, likewise; nothing if it does not go.
    pub(super) fn until(&self) -> Option<Timestamp> {
        let release = self.record.release.as_ref().filter(|_| !self.is_reserved_by_hand);
        release.map(|release| release.until)
    }

    fn read(text: &str) -> Result<Option<Self>, serde_json::Error> {
        if !text.contains(TRASH) {
            return Ok(None);
        }
        let object: Value = serde_json::from_str(text)?;
        let read = volume(text, Wanted::Labels)?.volume;
        let Some(moved) = MovedVolume::of(&read) else { return Ok(None) };
        let record = object["metadata"]["annotations"][TRASH].as_str();
        let record = record.map(|text| trash_record(text, &moved.uid)).transpose()?.flatten();
        let (Some(record), Some(claim)) = (record, moved.reservation.key().cloned()) else {
            return Ok(None);
        };
        let is_released = match moved.phase {
            // Available: offered to any claim of that name, by the trash or by a person.
            VolumePhase::Released | VolumePhase::Failed | VolumePhase::Available => true,
            VolumePhase::Pending | VolumePhase::Bound | VolumePhase::Unknown(_) => false,
        };
        let class = match read.class().as_class() {
            VolumeClass::Named(name) => name.to_string(),
            VolumeClass::Classless => String::new(),
        };
        let capacity = object["spec"]["capacity"]["storage"].as_str().unwrap_or_default();
        let capacity = capacity.to_owned();
        let is_moving = is_moving(&object["metadata"]["annotations"], &moved.uid);
        let is_reserved_by_hand = is_reserved_by_hand(&moved, &record);
        Ok(is_released.then_some(Self {
            moved,
            claim,
            class,
            capacity,
            record,
            is_moving,
            is_reserved_by_hand,
        }))
    }
}

/// Whether a person has reserved the volume for a name: the trash offers it only where its record says so.
fn is_reserved_by_hand(volume: &MovedVolume, record: &TrashRecord) -> bool {
    let Reservation::Named(key) = &volume.reservation else { return false };
    let release = record.release.as_ref();
    release.is_none_or(|release| !release.is_offered || release.key != *key)
}

/// What the list of volumes has shown.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The volumes of the trash, by namespace and name of their claims.
    pub(super) volumes: Vec<TrashedVolume>,
    /// The names of volumes that cannot be read, and why.
    pub(super) unreadable: Vec<(VolumeName, String)>,
}

/// Returns the volumes of the trash.
pub(super) async fn find(requests: &MoveRequests) -> Result<Found, Failure> {
    let mut found = Found::default();
    let take = |text: &str| {
        match TrashedVolume::read(text) {
            Ok(volume) => found.volumes.extend(volume),
            Err(error) => {
                let object: Value = serde_json::from_str(text)?;
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                found.unreadable.push((VolumeName::new(name), error.to_string()));
            }
        }
        Ok(())
    };
    requests.volume_texts(take).await?;
    found.volumes.sort_by(|one, other| {
        (&one.claim, &one.moved.name).cmp(&(&other.claim, &other.moved.name))
    });
    Ok(found)
}
