//! Which tombstones of deleted volumes stay.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};

use crate::model::Uid;

/// Tombstones at a time. 200: of a mistake that is larger, a backup of etcd is what is left; and a person reads them as one
/// list.
pub const TOMBSTONES_COUNT_MAX: usize = 200;

/// Bytes of all of them. 700 KiB: they are in one object, of which the API server stores 1 MiB.
pub const TOMBSTONES_BYTES_MAX: usize = 700 * 1024;

/// How long one stays. 30 days: as long as backups are usually kept; and who had a volume is not recorded for ever.
pub const TOMBSTONE_AGE_MAX: SignedDuration = SignedDuration::from_hours(30 * 24);

/// What is left of a volume whose object was deleted while its storage stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The uid of the volume.
    pub uid: Uid,
    /// When its deletion was seen.
    pub deleted: Timestamp,
    /// How large it is, in bytes.
    pub bytes: usize,
}

/// Returns the uids of the tombstones that stay: none that is too old or larger than all the room, and the newest of the
/// others as far as there is room.
pub fn tombstones_that_stay(mut tombstones: Vec<Tombstone>, now: Timestamp) -> Vec<Uid> {
    tombstones.retain(|tombstone| {
        let age = now.duration_since(tombstone.deleted);
        // All others would go for one that does not fit.
        age <= TOMBSTONE_AGE_MAX && tombstone.bytes <= TOMBSTONES_BYTES_MAX
    });
    tombstones.sort_by_key(|tombstone| Reverse(tombstone.deleted));
    let mut room = TOMBSTONES_BYTES_MAX;
    let fitting = tombstones.into_iter().take(TOMBSTONES_COUNT_MAX).map_while(|tombstone| {
        room = room.checked_sub(tombstone.bytes)?;
        Some(tombstone.uid)
    });
    fitting.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tombstone(number: i64, hours_ago: i64, bytes: usize) -> Tombstone {
        let deleted = Timestamp::default() + SignedDuration::from_hours(10_000 - hours_ago);
        Tombstone { uid: Uid::new(format!("v{number}")), deleted, bytes }
    }

    fn stay(tombstones: Vec<Tombstone>) -> Vec<String> {
        let now = Timestamp::default() + SignedDuration::from_hours(10_000);
        tombstones_that_stay(tombstones, now).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn old_ones_go_and_the_newest_stay() {
        assert_eq!(
            stay(vec![tombstone(1, 5, 9), tombstone(2, 721, 9), tombstone(3, 1, 9)]),
            ["v3", "v1"]
        );
        let many = (0..300).map(|number| tombstone(number, 300 - number, 9)).collect();
        let left = stay(many);
        assert_eq!((left.len(), left[0].as_str()), (TOMBSTONES_COUNT_MAX, "v299"));
        let large = (0..10).map(|number| tombstone(number, number, 100 * 1024)).collect();
        assert_eq!(stay(large).len(), 7);
        let huge = tombstone(1, 0, TOMBSTONES_BYTES_MAX + 1);
        assert_eq!(stay(vec![huge, tombstone(2, 1, 9)]), ["v2"]);
        // A clock that was set back makes none old.
        assert_eq!(stay(vec![tombstone(1, -5, 9)]), ["v1"]);
    }
}
