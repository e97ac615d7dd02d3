//! The kinds of resources that are watched: where they are served, and how their objects are decoded.

use std::collections::BTreeSet;
use std::sync::Arc;

use arcstr::ArcStr;

use crate::api::claim::claim;
use crate::api::class::class;
use crate::api::head::{ObjectHead, object_head};
use crate::api::namespace::namespace;
use crate::api::pods::pod;
use crate::api::volume::{Wanted, volume};
use crate::binding::{Observed, View};
use crate::model::{ClaimKey, ClassName, PodKey, VolumeName};

/// A kind of resource that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// PersistentVolumes.
    Volumes,
    /// PersistentVolumeClaims of all namespaces.
    Claims,
    /// `StorageClass`es.
    Classes,
    /// Pods of all namespaces that wait: those whose phase is Pending.
    Pods,
    /// Namespaces.
    Namespaces,
}

impl ResourceKind {
    /// What holds storage.
    pub const STORAGE: [Self; 3] = [Self::Volumes, Self::Claims, Self::Classes];
    /// What a verdict looks at.
    pub const JUDGED: [Self; 4] = [Self::Volumes, Self::Claims, Self::Classes, Self::Namespaces];
    /// What the bind loop looks at.
    pub const ALL: [Self; 5] =
        [Self::Volumes, Self::Claims, Self::Classes, Self::Pods, Self::Namespaces];

    /// Its name, for logs and metrics.
    pub fn label(self) -> &'static str {
        let path = self.path();
        path.rsplit_once('/').map_or(path, |(_, name)| name)
    }

    /// The path of its collection.
    pub fn path(self) -> &'static str {
        match self {
            Self::Volumes => "/api/v1/persistentvolumes",
            Self::Claims => "/api/v1/persistentvolumeclaims",
            Self::Classes => "/apis/storage.k8s.io/v1/storageclasses",
            Self::Pods => "/api/v1/pods",
            Self::Namespaces => "/api/v1/namespaces",
        }
    }

    /// The rest of a query for these objects only.
    pub fn selection(self) -> &'static str {
        match self {
            Self::Volumes | Self::Claims | Self::Classes | Self::Namespaces => "",
            Self::Pods => "&fieldSelector=status.phase%3DPending",
        }
    }

    /// Returns what an object (JSON text) that exists says, as matching wants it.
    pub fn observed(self, object: &str) -> Result<Observed, serde_json::Error> {
        self.observed_for(Wanted::Labels, object)
    }

    /// The same; of a volume, as much as is wanted.
    pub fn observed_for(self, wanted: Wanted, object: &str) -> Result<Observed, serde_json::Error> {
        Ok(match self {
            Self::Volumes => {
                let read = volume(object, wanted)?;
                Observed::Volume(Arc::new(read.volume))
            }
            Self::Claims => Observed::Claim(Arc::new(claim(object, "")?)),
            Self::Classes => Observed::Class(Arc::new(class(object)?)),
            Self::Namespaces => Observed::Namespace(Arc::new(namespace(object)?)),
            Self::Pods => {
                if let Some(pod) = pod(object)? {
                    return Ok(Observed::Pod(Arc::new(pod)));
                }
                self.gone(&(&object_head(object)?).into())
            }
        })
    }

    /// The observation that the object with this identity is gone.
    pub fn gone(self, identity: &Identity) -> Observed {
        let Identity { namespace, name } = identity.clone();
        match self {
            Self::Volumes => Observed::VolumeGone(VolumeName::new(name)),
            Self::Claims => Observed::ClaimGone(ClaimKey::new(namespace, name)),
            Self::Classes => Observed::ClassGone(ClassName::new(name)),
            Self::Pods => Observed::PodGone(PodKey::new(namespace, name)),
            Self::Namespaces => Observed::NamespaceGone(name),
        }
    }

    /// The identities of all its objects in a view.
    pub fn identities(self, view: &View) -> BTreeSet<Identity> {
        match self {
            Self::Volumes => view.volumes().map(|volume| volume.name.text().into()).collect(),
            Self::Classes => view.classes().map(|class| class.name.text().into()).collect(),
            Self::Namespaces => view.namespaces().map(|space| space.name.clone().into()).collect(),
            Self::Claims => view.claims().map(|claim| (&claim.key).into()).collect(),
            Self::Pods => view.pods().map(|pod| (&pod.key).into()).collect(),
        }
    }
}

/// Namespace and name of an object; the namespace is empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The namespace.
    pub namespace: ArcStr,
    /// The name.
    pub name: ArcStr,
}

impl From<ArcStr> for Identity {
    fn from(name: ArcStr) -> Self {
        Self { namespace: ArcStr::new(), name }
    }
}

impl From<&ClaimKey> for Identity {
    fn from(key: &ClaimKey) -> Self {
        Self { namespace: key.namespace.clone(), name: key.name.clone() }
    }
}

impl From<&PodKey> for Identity {
    fn from(key: &PodKey) -> Self {
        Self { namespace: key.namespace.clone(), name: key.name.clone() }
    }
}

impl From<&ObjectHead<'_>> for Identity {
    fn from(head: &ObjectHead<'_>) -> Self {
        Self { namespace: head.namespace().into(), name: head.name().into() }
    }
}

impl Identity {
    /// Of which resource an observed object is, and its identity.
    pub fn of(observed: &Observed) -> (ResourceKind, Self) {
        match observed {
            Observed::Volume(volume) => (ResourceKind::Volumes, volume.name.text().into()),
            Observed::VolumeGone(name) => (ResourceKind::Volumes, name.text().into()),
            Observed::Claim(claim) => (ResourceKind::Claims, (&claim.key).into()),
            Observed::ClaimGone(key) => (ResourceKind::Claims, key.into()),
            Observed::Class(class) => (ResourceKind::Classes, class.name.text().into()),
            Observed::ClassGone(name) => (ResourceKind::Classes, name.text().into()),
            Observed::Pod(pod) => (ResourceKind::Pods, (&pod.key).into()),
            Observed::PodGone(key) => (ResourceKind::Pods, key.into()),
            Observed::Namespace(space) => (ResourceKind::Namespaces, space.name.clone().into()),
            Observed::NamespaceGone(name) => (ResourceKind::Namespaces, name.clone().into()),
        }
    }
}
