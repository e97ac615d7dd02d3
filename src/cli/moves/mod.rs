//! `bindery rescue`, `transfer`, `rename`, `swap` and `undo`: moves of volumes, performed step by step; and `export`,
//! `import` and `adopt`, the same between two clusters.

pub(super) mod adopt;
mod create;
pub(super) mod export;
mod find;
pub(super) mod import;
mod labels;
pub(super) mod object;
mod parallel;
mod patience;
mod perform;
mod planned;
pub(super) mod release;
mod rescue;
pub(super) mod retain;
mod reviews;
mod words;

use self::labels::LabelTerms;
use self::object::MovedObject;
use self::planned::PlannedMove;
use self::rescue::Rescue;
use super::args::{MoveArgs, RenameArgs, RescueArgs, SwapArgs, TransferArgs, UndoArgs};
use super::exit::{Exit, Failure};
use super::input::cluster::ClusterClient;
use crate::model::ClaimKey;
use crate::move_runner::MoveRequests;

/// Runs `bindery transfer`.
pub(super) fn transfer(arguments: &TransferArgs) -> Result<Exit, Failure> {
    run(&arguments.common, async |requests, namespace| {
        let claim = object::claim(&arguments.claim, namespace)?;
        let to = object::destination(&arguments.to, &claim.name)?;
        find::transfer(requests, &claim, &to).await
    })
}

/// Runs `bindery rename`.
pub(super) fn rename(arguments: &RenameArgs) -> Result<Exit, Failure> {
    run(&arguments.common, async |requests, namespace| {
        let claim = object::claim(&arguments.claim, namespace)?;
        let to = ClaimKey::new(claim.namespace.clone(), &*arguments.name);
        find::transfer(requests, &claim, &object::valid(to)?).await
    })
}

/// Runs `bindery swap`.
pub(super) fn swap(arguments: &SwapArgs) -> Result<Exit, Failure> {
    run(&arguments.common, async |requests, namespace| {
        let claim = object::claim(&arguments.claim, namespace)?;
        let other = object::claim(&arguments.other, namespace)?;
        find::swap(requests, &claim, &other).await
    })
}

/// Runs `bindery rescue`.
pub(super) fn rescue(arguments: &RescueArgs) -> Result<Exit, Failure> {
    run(&arguments.common, async |requests, namespace| {
        let labels = arguments.selector.as_deref().map(LabelTerms::parse);
        let object = match &arguments.object {
            Some(object) => MovedObject::parse(object, namespace)?,
            None => MovedObject::Namespace(namespace.into()),
        };
        let to = arguments.to.as_deref().map(|to| object::destination(to, object.name()));
        let labels = labels.transpose()?.unwrap_or_default();
        let (to, labels) = (to.transpose()?, &labels);
        let records = arguments.installation.namespace();
        Rescue { requests, labels, to: to.as_ref(), records }.find(&object).await
    })
}

/// Runs `bindery undo`.
pub(super) fn undo(arguments: &UndoArgs) -> Result<Exit, Failure> {
    run(&arguments.common, async |requests, namespace| {
        let object = MovedObject::parse(&arguments.object, namespace)?;
        find::undo(requests, &object).await
    })
}

/// Finds the moves and performs them.
fn run(
    arguments: &MoveArgs,
    find: impl AsyncFnOnce(&MoveRequests, &str) -> Result<Vec<PlannedMove>, Failure>,
) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let namespace = arguments.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| cluster.namespace().to_owned());
    cluster.run(async |client| {
        let requests = MoveRequests::new(client, arguments.cluster.request_timeout);
        let moves = find(&requests, &namespace).await?;
        perform::perform(&requests, &moves, arguments).await
    })
}
