//! The bare load: the four patches of a bind, in order, for a pair that is known beforehand.
//!
//! Each patch is what our controller would send, each with the version that the one before it left. It
//! exists as the measure of what the API server can take. Not here: creating the pair (`users`).

use bindery::api::write::write_patch;
use bindery::binding::{ChosenBy, NewStatus, ObjectRef, Write};
use bindery::client::send::FIELD_MANAGER;
use bindery::model::{
    AccessModes, ClaimKey, Quantity, ResourceVersion, Uid, VolumeName, VolumePhase,
};
use hyper::Method;
use kube::Client;

use crate::pairs::{Pairs, Shape};
use crate::users::{Stored, send};

/// Binds the pair.
pub(crate) async fn bind(
    client: &Client,
    pairs: Pairs,
    number: usize,
    volume: &Stored,
    claim: &Stored,
) -> Result<(), String> {
    let (volume_name, claim_name) = names(pairs, number);
    let chosen = match pairs.shape {
        Shape::Like | Shape::Sizes => ChosenBy::Binder,
        Shape::Named => ChosenBy::Other,
    };
    let reserve = Write::Reserve {
        volume: basis(&volume_name, volume),
        claim: basis(&claim_name, claim),
        chosen: ChosenBy::Binder,
        tenant: None,
    };
    let volume = patch(client, &reserve).await?;
    let phase = Write::Phase {
        volume: basis(&volume_name, &volume),
        phase: VolumePhase::Bound,
        message: String::new(),
    };
    patch(client, &phase).await?;
    let name =
        Write::SetVolumeName { claim: basis(&claim_name, claim), volume: volume_name, chosen };
    let claim = patch(client, &name).await?;
    let capacity = Quantity::parse(&pairs.size(number)).map_err(|error| error.to_string())?;
    let status = NewStatus::Bound {
        access_modes: AccessModes::from_names(["ReadWriteOnce"]),
        capacity: Some(capacity),
        attributes_class: None,
    };
    patch(client, &Write::Status { claim: basis(&claim_name, &claim), status }).await.map(drop)
}

fn names(pairs: Pairs, number: usize) -> (VolumeName, ClaimKey) {
    let name = pairs.name(number);
    (VolumeName::new(name.as_str()), ClaimKey::new("default", name))
}

fn basis<N: Clone>(name: &N, stored: &Stored) -> ObjectRef<N> {
    ObjectRef {
        name: name.clone(),
        uid: Some(Uid::new(stored.uid.as_str())),
        version: Some(ResourceVersion::new(stored.version.as_str())),
    }
}

async fn patch(client: &Client, write: &Write) -> Result<Stored, String> {
    let patch = write_patch(write);
    let path = format!("{}?fieldManager={FIELD_MANAGER}", patch.path);
    send(client, Method::PATCH, &path, patch.content_type, &patch.body).await
}
