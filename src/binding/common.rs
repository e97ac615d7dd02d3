//! Texts that a volume and its claim have in common, kept once.
//!
//! Either of a bound pair names the other, so that a view of many pairs would hold each name and uid
//! twice. Not here: what the texts mean.

use std::sync::Arc;

use super::view::View;
use crate::model::{Claim, Reservation, Volume};

impl View {
    /// Lets a volume that nobody else holds yet name its claim by the claim's own texts.
    pub(super) fn share_with_claim(&self, volume: &mut Arc<Volume>) {
        let Some(volume) = Arc::get_mut(volume) else { return };
        if let Reservation::Held(key, uid) = &mut volume.reservation
            && let Some(claim) = self.claim(key)
        {
            *key = claim.key.clone();
            if let Some(same) = claim.uid.as_ref().filter(|same| *same == uid) {
                *uid = same.clone();
            }
        }
    }

    /// Lets a claim that nobody else holds yet name its volume, and itself, by the volume's own texts.
    pub(super) fn share_with_volume(&self, claim: &mut Arc<Claim>) {
        let Some(claim) = Arc::get_mut(claim) else { return };
        let Some(name) = &mut claim.volume else { return };
        let Some(volume) = self.volume(name) else { return };
        *name = volume.name.clone();
        if let Reservation::Held(key, uid) = &volume.reservation
            && *key == claim.key
            && claim.uid.as_ref() == Some(uid)
        {
            claim.key = key.clone();
            claim.uid = Some(uid.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::{Observed, tests};
    use crate::model::{ClaimKey, Uid, VolumeName};

    fn volume() -> Observed {
        let reservation = Reservation::Held(ClaimKey::new("db", "data"), Uid::new("c"));
        let name = VolumeName::new("pv");
        Observed::Volume(Arc::new(Volume { name, reservation, ..tests::volume() }))
    }

    fn claim(uid: &str) -> Observed {
        let (key, uid) = (ClaimKey::new("db", "data"), Some(Uid::new(uid)));
        let volume = Some(VolumeName::new("pv"));
        Observed::Claim(Arc::new(Claim { key, uid, volume, ..tests::claim() }))
    }

    /// Whether uid, namespace and name of the claim, and the name of the volume, are the same memory.
    fn shared(observations: [Observed; 2]) -> [bool; 4] {
        let mut view = View::default();
        for observed in observations {
            view.apply(observed);
        }
        let (volume, claim) = (view.volumes().next().unwrap(), view.claims().next().unwrap());
        let same = |one: &str, other: &str| std::ptr::eq(one, other);
        let (key, uid) = (volume.reservation.key().unwrap(), volume.reservation.uid().unwrap());
        [
            same(uid.as_str(), claim.uid.as_ref().unwrap().as_str()),
            same(&key.namespace, &claim.key.namespace),
            same(&key.name, &claim.key.name),
            same(volume.name.as_str(), claim.volume.as_ref().unwrap().as_str()),
        ]
    }

    #[test]
    fn a_pair_keeps_its_texts_once_whichever_side_comes_first() {
        assert_eq!(shared([volume(), claim("c")]), [true; 4]);
        assert_eq!(shared([claim("c"), volume()]), [true, true, true, false]);
    }

    #[test]
    fn another_claim_of_the_name_keeps_its_own_uid() {
        let mut view = View::default();
        for observed in [claim("other"), volume()] {
            view.apply(observed);
        }
        let claim = view.claims().next().unwrap();
        assert_eq!(claim.uid.as_ref().unwrap().as_str(), "other");
        let volume = view.volumes().next().unwrap();
        assert_eq!(volume.reservation.uid().unwrap().as_str(), "c");
    }
}
