//! Texts that objects have in common, kept once.
//!
//! Either of a bound pair names the other, and a namespace, a class, labels, annotations and finalizers are
//! those of thousands of objects: each for itself would take half of the memory. What is shared is looked
//! for in the view, next to where the object will stand, so that no index of texts has to be kept; labels are
//! looked for among those that were seen lately. Not here: what the texts mean.

use std::sync::Arc;

use super::view::View;
use crate::model::{Claim, ClassRequest, Reservation, Volume};

impl View {
    /// Lets a volume that is not shared yet use the texts of itself before, of its claim and of a volume
    /// next to it in its class, and labels that were seen lately.
    pub(super) fn share_with_volume(&mut self, volume: &mut Arc<Volume>) {
        let Some(volume) = Arc::get_mut(volume) else { return };
        self.recent_labels.share(&mut volume.labels);
        let old = self.volume(&volume.name);
        if let Some(old) = old {
            volume.name = old.name.clone();
            share(&mut volume.reservation, &old.reservation);
        }
        if let Reservation::Held(key, _) = &mut volume.reservation {
            if let Some(claim) = self.claim(key) {
                *key = claim.key.clone();
                if let (None, Some(name)) = (old, &claim.volume) {
                    share(&mut volume.name, name);
                }
            } else if let Some(same) = self.namespace(&key.namespace) {
                key.namespace = same.clone();
            }
        }
        for like in [self.volume_next_to(volume), old].into_iter().flatten() {
            share_among_volumes(volume, like);
        }
    }

    /// Lets a claim that is not shared yet use the texts of itself before, of its volume and of a claim
    /// next to it in its namespace.
    pub(super) fn share_with_claim(&self, claim: &mut Arc<Claim>) {
        let Some(claim) = Arc::get_mut(claim) else { return };
        if let Some(like) = self.claim_next_to(&claim.key) {
            claim.key.namespace = like.key.namespace.clone();
            share_among_claims(claim, like);
        } else if let Some(same) = self.namespace(&claim.key.namespace) {
            claim.key.namespace = same.clone();
        }
        if let Some(old) = self.claim(&claim.key) {
            claim.key = old.key.clone();
            share_among_claims(claim, old);
        }
        if let Some(volume) = claim.volume.as_ref().and_then(|name| self.volume(name)) {
            share_in_pair(claim, volume);
        }
    }
}

/// Keeps what `other` has if it is the same.
fn share<T: Clone + PartialEq>(mine: &mut T, other: &T) {
    if mine == other {
        mine.clone_from(other);
    }
}

fn share_among_volumes(volume: &mut Volume, like: &Volume) {
    share(&mut volume.class_field, &like.class_field);
    share(&mut volume.backend, &like.backend);
    volume.labels.share(&like.labels);
    volume.annotations.share(&like.annotations);
    volume.finalizers.share(&like.finalizers);
}

fn share_among_claims(claim: &mut Claim, like: &Claim) {
    share(&mut claim.class_field, &like.class_field);
    claim.annotations.share(&like.annotations);
    claim.finalizers.share(&like.finalizers);
}

/// Lets a claim name its volume, itself and the class by the volume's own texts.
fn share_in_pair(claim: &mut Claim, volume: &Volume) {
    claim.volume = Some(volume.name.clone());
    if let (ClassRequest::Named(class), Some(same)) = (&mut claim.class_field, &volume.class_field)
        && class == same
    {
        *class = same.clone();
    }
    if let Reservation::Held(key, uid) = &volume.reservation
        && *key == claim.key
        && claim.uid.as_ref() == Some(uid)
    {
        claim.key = key.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::{Observed, tests};
    use crate::model::annotations::SELECTED_NODE;
    use crate::model::{Annotations, Backend, ClaimKey, Uid, VolumeName};

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

    /// Returns whether namespace and name of the claim, and the name of the volume, are the same memory.
    fn shared(observations: [Observed; 2]) -> [bool; 3] {
        let mut view = View::default();
        for observed in observations {
            view.apply(observed);
        }
        let (volume, claim) = (view.volumes().next().unwrap(), view.claims().next().unwrap());
        let same = |one: &str, other: &str| std::ptr::eq(one, other);
        let key = volume.reservation.key().unwrap();
        [
            same(&key.namespace, &claim.key.namespace),
            same(&key.name, &claim.key.name),
            same(volume.name.as_str(), claim.volume.as_ref().unwrap().as_str()),
        ]
    }

    #[test]
    fn a_pair_keeps_its_texts_once_whichever_side_comes_first() {
        assert_eq!(shared([volume(), claim("c")]), [true; 3]);
        assert_eq!(shared([claim("c"), volume()]), [true; 3]);
    }

    /// The first of a namespace or of a class may be unlike all others.
    #[test]
    fn texts_are_shared_with_what_stands_next_to_an_object() {
        let annotations = |value: &str| {
            let mut annotations = Annotations::default();
            annotations.insert(SELECTED_NODE, value);
            annotations
        };
        let mut view = View::default();
        for (name, node) in [("a", "other"), ("c", "same"), ("d", "same"), ("d", "same")] {
            let (key, annotations) = (ClaimKey::new("db", name), annotations(node));
            let backend = Backend::Csi(node.into());
            let volume = Volume { name: VolumeName::new(name), backend, ..tests::volume() };
            view.apply(Observed::Volume(Arc::new(volume)));
            view.apply(Observed::Claim(Arc::new(Claim { key, annotations, ..tests::claim() })));
        }
        let claims: Vec<_> = view.claims().skip(1).collect();
        let texts = claims.iter().filter_map(|claim| claim.annotations.get(SELECTED_NODE));
        let texts: Vec<_> = texts.map(str::as_ptr).collect();
        let drivers = view.volumes().skip(1).filter_map(|volume| match &volume.backend {
            Backend::Csi(driver) => Some(driver.as_ptr()),
            Backend::Nfs | Backend::HostPath | Backend::Local | Backend::Other => None,
        });
        for shared in [texts, drivers.collect()] {
            assert!(matches!(shared[..], [one, other] if one == other), "{shared:?}");
        }
    }

    #[test]
    fn another_claim_of_the_name_keeps_its_own_uid() {
        let mut view = View::default();
        for observed in [claim("other"), volume()] {
            view.apply(observed);
        }
        let claim = view.claims().next().unwrap();
        assert_eq!(claim.uid, Some(Uid::new("other")));
        let volume = view.volumes().next().unwrap();
        assert_eq!(volume.reservation.uid(), Some(&Uid::new("c")));
    }
}
