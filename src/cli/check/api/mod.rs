//! What the API server itself will refuse, so that a pipeline learns of it together with the rest.
//!
//! Its validation of volumes and claims, and what people meet when they edit stored ones: fields that cannot change,
//! and a request that shrinks.

mod metadata;
mod refusal;
mod sources;
mod specs;
mod terms;
mod update;

use serde_json::Value;

use self::refusal::Refusals;
use super::objects::{Kind, ObjectKey};
use crate::model::ClassName;

pub(super) use self::refusal::Refusal;
pub(super) use self::update::Growth;

/// What the API server would refuse of a CREATE or UPDATE, to `new`. What was wrong in `old` already is not told: it is
/// stored, so that the API server lets it be.
///
/// Kubernetes: `pkg/apis/core/validation/validation.go`.
pub(super) fn refusals(
    key: &ObjectKey,
    old: Option<&Value>,
    new: &Value,
    growth: impl Fn(&ClassName) -> Growth,
) -> Vec<Refusal> {
    let mut found = invalid(key, new);
    if let Some(old) = old {
        let before = invalid(key, old);
        found.retain(|refusal| !before.iter().any(|known| known.field == refusal.field));
        found.extend(update::refusals(key, old, new, growth));
    }
    found
}

/// What is wrong with an object by itself.
fn invalid(key: &ObjectKey, object: &Value) -> Vec<Refusal> {
    let mut found = Refusals::new(key);
    match key.kind {
        Kind::Volume | Kind::Claim => metadata::check(&mut found, &object["metadata"]),
        Kind::Class | Kind::Pod | Kind::Node | Kind::Namespace => {}
    }
    match key.kind {
        Kind::Volume => specs::of_volume(&mut found, &object["spec"]),
        Kind::Claim => specs::of_claim(&mut found, &object["spec"]),
        Kind::Class | Kind::Pod | Kind::Node | Kind::Namespace => {}
    }
    found.into_list()
}

#[cfg(test)]
mod tests;
