//! Objects of a dump that are still to be created: those without a uid.
//!
//! Not here: what the API server and the webhook make of them (`preview::admission`).

use std::sync::Arc;

use crate::binding::{ObjectKey, Observed, View};
use crate::model::{Claim, ClaimKey, ClassRequest, Uid};

/// A claim or a volume that is still to be applied.
#[derive(Debug)]
pub(in crate::cli) struct NewObject {
    pub(in crate::cli) key: ObjectKey,
    /// The object, as JSON.
    pub(in crate::cli) text: Box<str>,
}

/// The key of an object that was never stored.
pub(super) fn key_of_new(observed: &Observed) -> Option<ObjectKey> {
    match observed {
        Observed::Claim(claim) if claim.uid.is_none() => Some(ObjectKey::Claim(claim.key.clone())),
        Observed::Volume(volume) if volume.uid.is_none() => {
            Some(ObjectKey::Volume(volume.name.clone()))
        }
        Observed::Claim(_)
        | Observed::Volume(_)
        | Observed::Class(_)
        | Observed::Pod(_)
        | Observed::Namespace(_)
        | Observed::VolumeGone(_)
        | Observed::ClaimGone(_)
        | Observed::ClassGone(_)
        | Observed::PodGone(_)
        | Observed::NamespaceGone(_) => None,
    }
}

/// Gives each claim that is still to be created and has no class the default class, as the API server does
/// before admission webhooks see the claim. A stored one gets it from the binder, if nothing matches.
///
/// Kubernetes: `plugin/pkg/admission/storage/storageclass/setdefault`.
pub(super) fn set_default_class(view: &mut View, manifests: &[NewObject]) {
    let Some(default) = view.default_class().map(|class| class.name.clone()) else {
        return;
    };
    for manifest in manifests {
        let ObjectKey::Claim(key) = &manifest.key else { continue };
        if is_stored(view, &manifest.key) {
            continue;
        }
        let Some(claim) = view.claim(key) else { continue };
        if claim.class() == ClassRequest::Unset {
            let class_field = ClassRequest::Named(default.clone());
            let claim = Claim { class_field, ..Claim::clone(claim) };
            view.apply(Observed::Claim(Arc::new(claim)));
        }
    }
}

/// The uid of a claim once it was stored.
pub(super) fn uid_once_stored(key: &ClaimKey) -> Uid {
    Uid::new(format!("not stored yet: {key}"))
}

/// Returns whether the view shows an object that is stored.
pub(in crate::cli) fn is_stored(view: &View, key: &ObjectKey) -> bool {
    match key {
        ObjectKey::Volume(name) => view.volume(name).is_some_and(|volume| volume.uid.is_some()),
        ObjectKey::Claim(key) => {
            view.claim(key).is_some_and(|claim| claim.uid != Some(uid_once_stored(key)))
        }
    }
}

/// The claim once its manifest was stored: it has a uid.
pub(in crate::cli) fn stored(mut claim: Arc<Claim>) -> Arc<Claim> {
    if claim.uid.is_none() {
        let uid = uid_once_stored(&claim.key);
        Arc::make_mut(&mut claim).uid = Some(uid);
    }
    claim
}
