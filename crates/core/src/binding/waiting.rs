//! Claims that wait for a volume, ordered so that a volume finds those that it could serve.
//!
//! Whether a claim waits is decided elsewhere (`claim`) and only noted here. Not here: whether a volume
//! fits (`fit`) and who gets it (`offer`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::index::Shelf;
use crate::model::{AccessModes, Claim, ClaimKey, Created, Quantity, Volume};

/// The waiting claims of a view, on the shelf from which they would be served, by what they need.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingClaims {
    shelves: BTreeMap<Shelf, Needs>,
    places: BTreeMap<ClaimKey, (Shelf, AccessModes, Quantity, Turn)>,
}

type Needs = BTreeMap<AccessModes, BTreeMap<Quantity, BTreeSet<Turn>>>;

/// Who is served before whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    is_not_stored: bool,
    created: Option<Created>,
    key: ClaimKey,
}

impl WaitingClaims {
    /// Takes in a claim.
    pub(super) fn insert(&mut self, claim: &Claim) {
        self.remove(&claim.key);
        let shelf = Shelf::of_claim(claim);
        let (modes, size) = (claim.access_modes.clone(), claim.request.clone());
        let (is_not_stored, created, key) = claim.turn();
        let turn = Turn { is_not_stored, created, key: key.clone() };
        let needs = self.shelves.entry(shelf.clone()).or_default();
        let sizes = needs.entry(modes.clone()).or_default();
        sizes.entry(size.clone()).or_default().insert(turn.clone());
        self.places.insert(claim.key.clone(), (shelf, modes, size, turn));
    }

    /// Takes out a claim, if it is there.
    pub(super) fn remove(&mut self, key: &ClaimKey) {
        let Some((shelf, modes, size, turn)) = self.places.remove(key) else { return };
        let Some(needs) = self.shelves.get_mut(&shelf) else { return };
        if let Some(sizes) = needs.get_mut(&modes) {
            if let Some(turns) = sizes.get_mut(&size) {
                turns.remove(&turn);
                if turns.is_empty() {
                    sizes.remove(&size);
                }
            }
            if sizes.is_empty() {
                needs.remove(&modes);
            }
        }
        if needs.is_empty() {
            self.shelves.remove(&shelf);
        }
    }

    /// The claims that the volume could serve by class, modes and size, in their order.
    ///
    /// Costs O(k log k) to the first for k different needs that it could serve, O(log k) to each
    /// further one; however many claims there are of one need.
    pub(super) fn served_by(&self, volume: &Volume) -> impl Iterator<Item = &ClaimKey> {
        let needs = self.shelves.get(&Shelf::of_volume(volume)).into_iter().flatten();
        let offered = needs.filter(|(modes, _)| volume.access_modes.offers(modes));
        let served = offered.flat_map(|(_, sizes)| sizes.range(..=&volume.capacity));
        let mut queues: Vec<_> = served.map(|(_, turns)| turns.iter()).collect();
        let heads = queues.iter_mut().enumerate();
        let mut heads: BinaryHeap<_> =
            heads.filter_map(|(place, queue)| Some(Reverse((queue.next()?, place)))).collect();
        std::iter::from_fn(move || {
            let Reverse((turn, place)) = heads.pop()?;
            let next = queues.get_mut(place).and_then(Iterator::next);
            heads.extend(next.map(|next| Reverse((next, place))));
            Some(&turn.key)
        })
    }
}
