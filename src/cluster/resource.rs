//! The resources that are watched: where they are served, and how their objects are read.

use std::sync::Arc;

use serde::Deserialize;

use crate::binding::{Observed, View};
use crate::k8s::bounded::LabelUse;
use crate::k8s::claim::claim;
use crate::k8s::class::class;
use crate::k8s::pods::pod;
use crate::k8s::volume::volume;
use crate::model::{ClaimKey, ClassName, PodKey, VolumeName};

/// A resource that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// PersistentVolumes.
    Volumes,
    /// PersistentVolumeClaims of all namespaces.
    Claims,
    /// `StorageClass`es.
    Classes,
    /// Pods of all namespaces that wait: those whose phase is Pending.
    Pods,
}

impl Watched {
    /// What a verdict looks at.
    pub const STORAGE: [Self; 3] = [Self::Volumes, Self::Claims, Self::Classes];
    /// What the bind loop looks at.
    pub const ALL: [Self; 4] = [Self::Volumes, Self::Claims, Self::Classes, Self::Pods];

    /// Its name, for logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Volumes => "persistentvolumes",
            Self::Claims => "persistentvolumeclaims",
            Self::Classes => "storageclasses",
            Self::Pods => "pods",
        }
    }

    /// The path of its collection.
    pub fn path(self) -> &'static str {
        match self {
            Self::Volumes => "/api/v1/persistentvolumes",
            Self::Claims => "/api/v1/persistentvolumeclaims",
            Self::Classes => "/apis/storage.k8s.io/v1/storageclasses",
            Self::Pods => "/api/v1/pods",
        }
    }

    /// What a query for it must say besides, to be told of these objects only.
    pub fn selection(self) -> &'static str {
        match self {
            Self::Volumes | Self::Claims | Self::Classes => "",
            Self::Pods => "&fieldSelector=status.phase%3DPending",
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
            Self::Pods => match pod(object)? {
                Some(pod) => Observed::Pod(Arc::new(pod)),
                None => self.gone(&serde_json::from_str::<Named>(object)?.metadata),
            },
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
            Self::Pods => Observed::PodGone(PodKey::new(&*identity.namespace, &*identity.name)),
        }
    }

    /// The resource and the identity of what was observed.
    pub fn identity(observed: &Observed) -> (Self, Identity) {
        let (named, alone) = (Identity::new, |name: &str| Identity::new("", name));
        match observed {
            Observed::Volume(volume) => (Self::Volumes, alone(volume.name.as_str())),
            Observed::VolumeGone(name) => (Self::Volumes, alone(name.as_str())),
            Observed::Claim(claim) => (Self::Claims, named(&claim.key.namespace, &claim.key.name)),
            Observed::ClaimGone(key) => (Self::Claims, named(&key.namespace, &key.name)),
            Observed::Class(class) => (Self::Classes, alone(class.name.as_str())),
            Observed::ClassGone(name) => (Self::Classes, alone(name.as_str())),
            Observed::Pod(pod) => (Self::Pods, named(&pod.key.namespace, &pod.key.name)),
            Observed::PodGone(key) => (Self::Pods, named(&key.namespace, &key.name)),
        }
    }

    /// The identities of all its objects in a view, in order.
    pub fn identities(self, view: &View) -> Vec<Identity> {
        let alone = |name: &str| Identity::new("", name);
        match self {
            Self::Volumes => view.volumes().map(|volume| alone(volume.name.as_str())).collect(),
            Self::Classes => view.classes().map(|class| alone(class.name.as_str())).collect(),
            Self::Claims => {
                let keys = view.claims().map(|claim| &claim.key);
                keys.map(|key| Identity::new(&key.namespace, &key.name)).collect()
            }
            Self::Pods => {
                let keys = view.pods().map(|pod| &pod.key);
                keys.map(|key| Identity::new(&key.namespace, &key.name)).collect()
            }
        }
    }
}

impl Identity {
    fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// Namespace and name of an object; the namespace is empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// The namespace.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

/// An object of which only the identity is read.
#[derive(Deserialize)]
struct Named {
    metadata: Identity,
}
