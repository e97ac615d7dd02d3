//! The resources that are watched: where they are served, and how their objects are read.

use std::sync::Arc;

use crate::binding::{Observed, View};
use crate::k8s::bounded::LabelUse;
use crate::k8s::claim::claim;
use crate::k8s::class::class;
use crate::k8s::volume::volume;
use crate::model::{ClaimKey, ClassName, VolumeName};

/// A resource that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// PersistentVolumes.
    Volumes,
    /// PersistentVolumeClaims of all namespaces.
    Claims,
    /// `StorageClass`es.
    Classes,
}

impl Watched {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Volumes, Self::Claims, Self::Classes];

    /// Its name, for logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Volumes => "persistentvolumes",
            Self::Claims => "persistentvolumeclaims",
            Self::Classes => "storageclasses",
        }
    }

    /// Its place among [`Watched::ALL`].
    pub fn index(self) -> usize {
        match self {
            Self::Volumes => 0,
            Self::Claims => 1,
            Self::Classes => 2,
        }
    }

    /// The path of its collection.
    pub fn path(self) -> &'static str {
        match self {
            Self::Volumes => "/api/v1/persistentvolumes",
            Self::Claims => "/api/v1/persistentvolumeclaims",
            Self::Classes => "/apis/storage.k8s.io/v1/storageclasses",
        }
    }

    /// What an object (JSON text) that exists says.
    pub fn observed(self, object: &str) -> Result<Observed, serde_json::Error> {
        Ok(match self {
            Self::Volumes => {
                let read = volume(object, LabelUse::Collect)?;
                Observed::Volume(Arc::new(read.value.volume))
            }
            Self::Claims => Observed::Claim(Arc::new(claim(object, "")?.value)),
            Self::Classes => Observed::Class(Arc::new(class(object)?)),
        })
    }

    /// The observation that the object with this identity is gone.
    pub fn gone(self, identity: &Identity) -> Observed {
        match self {
            Self::Volumes => Observed::VolumeGone(VolumeName::new(&*identity.name)),
            Self::Claims => {
                Observed::ClaimGone(ClaimKey::new(&*identity.namespace, &*identity.name))
            }
            Self::Classes => Observed::ClassGone(ClassName::new(&*identity.name)),
        }
    }

    /// The identities of all its objects in a view, in order.
    pub fn identities(self, view: &View) -> Vec<Identity> {
        let alone = |name: &str| Identity { namespace: "".into(), name: name.into() };
        match self {
            Self::Volumes => view.volumes().map(|volume| alone(volume.name.as_str())).collect(),
            Self::Classes => view.classes().map(|class| alone(class.name.as_str())).collect(),
            Self::Claims => {
                let keys = view.claims().map(|claim| claim.key.clone());
                keys.map(|key| Identity { namespace: key.namespace, name: key.name }).collect()
            }
        }
    }
}

/// Namespace and name of an object; the namespace is empty where there is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The namespace.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}
