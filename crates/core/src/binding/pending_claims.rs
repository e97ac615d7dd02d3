//! An index of pending claims: a volume that becomes free finds the claims that match it.
//!
//! Not here: whether a claim is pending (`claim`), whether a volume fits it (`fit`), and which claim gets the
//! volume (`claimant`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::grouped::{Group, Grouped};
use super::index::MatchKey;
use crate::model::{AccessModes, Claim, ClaimKey, CreationTimestamp, Quantity, Volume};

/// The pending claims of a view, by key and request.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingClaims {
    by_key: Grouped<MatchKey, Requests>,
    places: BTreeMap<ClaimKey, (MatchKey, <Requests as Group>::Entry)>,
}

type Requests = Grouped<AccessModes, Grouped<Quantity, BTreeSet<CreationOrder>>>;

/// The order in which claims are bound.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CreationOrder {
    is_not_stored: bool,
    created: Option<CreationTimestamp>,
    key: ClaimKey,
}

impl PendingClaims {
    /// Adds a claim.
    pub(super) fn insert(&mut self, claim: &Claim) {
        self.remove(&claim.key);
        let (is_not_stored, created, key) = claim.creation_order();
        let order = CreationOrder { is_not_stored, created, key: key.clone() };
        let request = (claim.access_modes.clone(), (claim.request.clone(), order));
        let place = (MatchKey::of_claim(claim), request);
        self.by_key.insert(place.clone());
        self.places.insert(claim.key.clone(), place);
    }

    /// Removes a claim.
    pub(super) fn remove(&mut self, key: &ClaimKey) {
        if let Some(place) = self.places.remove(key) {
            self.by_key.remove(&place);
        }
    }

    /// Returns the claims that match the volume in class, modes and size, in order of creation.
    ///
    /// For k different requests that match, the first claim costs O(k log k) and each further one O(log k), however
    /// many claims make the same request.
    pub(super) fn served_by(&self, volume: &Volume) -> impl Iterator<Item = &ClaimKey> {
        let needs = self.by_key.get(&MatchKey::of_volume(volume));
        let needs = needs.into_iter().flat_map(Grouped::groups);
        let offered = needs.filter(|(modes, _)| volume.access_modes.offers(modes));
        let served = offered.flat_map(|(_, sizes)| sizes.groups().range(..=&volume.capacity));
        let mut queues: Vec<_> = served.map(|(_, claims)| claims.iter()).collect();
        let heads = queues.iter_mut().enumerate();
        let mut heads: BinaryHeap<_> =
            heads.filter_map(|(place, queue)| Some(Reverse((queue.next()?, place)))).collect();
        std::iter::from_fn(move || {
            let Reverse((order, place)) = heads.pop()?;
            let next = queues.get_mut(place).and_then(Iterator::next);
            heads.extend(next.map(|next| Reverse((next, place))));
            Some(&order.key)
        })
    }
}
