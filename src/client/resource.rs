//! The kinds of resources that are watched: where they are served, and how their objects are decoded.

use std::collections::BTreeSet;
use std::sync::Arc;

use arcstr::ArcStr;
use serde::Deserialize;

use crate::api::claim::claim;
use crate::api::class::class;
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
        match self {
            Self::Volumes => "persistentvolumes",
            Self::Claims => "persistentvolumeclaims",
            Self::Classes => "storageclasses",
            Self::Pods => "pods",
            Self::Namespaces => "namespaces",
        }
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

    /// What an object (JSON text) that exists says, as matching wants it.
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
                let NamedMetadata { namespace, name } =
                    serde_json::from_str::<Named>(object)?.metadata;
                Observed::PodGone(PodKey::new(&*namespace, &*name))
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
        let alone = |name: ArcStr| Identity { namespace: ArcStr::new(), name };
        let in_namespace = |namespace: &ArcStr, name: &ArcStr| Identity {
            namespace: namespace.clone(),
            name: name.clone(),
        };
        match self {
            Self::Volumes => view.volumes().map(|volume| alone(volume.name.text())).collect(),
            Self::Classes => view.classes().map(|class| alone(class.name.text())).collect(),
            Self::Namespaces => view.namespaces().map(|space| alone(space.name.clone())).collect(),
            Self::Claims => {
                let keys = view.claims().map(|claim| &claim.key);
                keys.map(|key| in_namespace(&key.namespace, &key.name)).collect()
            }
            Self::Pods => {
                let keys = view.pods().map(|pod| &pod.key);
                keys.map(|key| in_namespace(&key.namespace, &key.name)).collect()
            }
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

impl Identity {
    /// Of which resource an observed object is, and its identity.
    pub fn of(observed: &Observed) -> (ResourceKind, Self) {
        let alone = |name: ArcStr| Self { namespace: ArcStr::new(), name };
        let of_claim = |key: &ClaimKey| {
            let (namespace, name) = (key.namespace.clone(), key.name.clone());
            (ResourceKind::Claims, Self { namespace, name })
        };
        let of_pod = |key: &PodKey| {
            let (namespace, name) = (key.namespace.clone(), key.name.clone());
            (ResourceKind::Pods, Self { namespace, name })
        };
        match observed {
            Observed::Volume(volume) => (ResourceKind::Volumes, alone(volume.name.text())),
            Observed::VolumeGone(name) => (ResourceKind::Volumes, alone(name.text())),
            Observed::Claim(claim) => of_claim(&claim.key),
            Observed::ClaimGone(key) => of_claim(key),
            Observed::Class(class) => (ResourceKind::Classes, alone(class.name.text())),
            Observed::ClassGone(name) => (ResourceKind::Classes, alone(name.text())),
            Observed::Pod(pod) => of_pod(&pod.key),
            Observed::PodGone(key) => of_pod(key),
            Observed::Namespace(namespace) => {
                (ResourceKind::Namespaces, alone(namespace.name.clone()))
            }
            Observed::NamespaceGone(name) => (ResourceKind::Namespaces, alone(name.clone())),
        }
    }
}

/// An object of which only the identity is read.
#[derive(Deserialize)]
struct Named {
    metadata: NamedMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedMetadata {
    namespace: Box<str>,
    name: Box<str>,
}
