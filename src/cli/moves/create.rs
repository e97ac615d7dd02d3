//! Creates pairs: reports every problem that prevents it, or makes one step after another.

use std::fmt::Write as _;
use std::time::Duration;

use super::parallel::{all, for_each};
use super::patience::{Patience, repeated};
use super::planned::impossible;
use crate::cli::args::CreationArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::cluster::ClusterClient;
use crate::cli::output::{print, readable};
use crate::move_runner::{
    ImportAdvance, ImportOrder, MoveRequests, advance_import, import_target, read_pair,
};
use crate::moves::{ClaimRead, ImportWrite, ImportedPair, ImportedVolume, import_problems};

/// Creates the pairs, or shows the writes.
pub(super) fn create(
    orders: &[ImportOrder],
    age_max: Duration,
    arguments: &CreationArgs,
) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    cluster.run(async |client| {
        let requests = MoveRequests::new(client, arguments.cluster.request_timeout);
        let pairs = checked(&requests, orders, age_max).await?;
        if arguments.dry_run {
            let text: String =
                orders.iter().zip(&pairs).map(|(order, pair)| preview(order, pair)).collect();
            print(&readable(&text))?;
            return Ok(Exit::Clean);
        }
        let timeout = arguments.timeout;
        let ended = for_each(orders, move |order| {
            let requests = requests.clone();
            async move { create_one(&requests, &order, timeout).await }
        });
        all(ended.await).map(|_| Exit::Clean)
    })
}

/// The pairs, as far as they exist.
///
/// # Errors
///
/// Every problem of any of them, a line each: then none begins.
async fn checked(
    requests: &MoveRequests,
    orders: &[ImportOrder],
    age_max: Duration,
) -> Result<Vec<ImportedPair>, Failure> {
    let target = import_target(requests, orders, age_max).await?;
    let (reader, asker) = (requests.clone(), requests.clone());
    let pairs = for_each(orders, move |order| {
        let requests = reader.clone();
        async move { Ok(read_pair(&requests, &order).await?) }
    });
    let pairs = all(pairs.await)?;
    let mut problems = import_problems(&pairs, &target);
    // Under a name that is taken, or in a namespace that is gone, every creation is denied.
    let is_open = |pair: &ImportedPair| {
        let namespace = target.namespaces.get(&*pair.key.namespace);
        pair.stored == ImportedVolume::Absent
            && pair.claim == ClaimRead::Absent
            && namespace.is_some_and(Option::is_some)
    };
    let open = orders.iter().zip(&pairs).filter(|(_, pair)| is_open(pair));
    let open: Vec<ImportOrder> = open.map(|(order, _)| order.clone()).collect();
    let denials = for_each(&open, move |order| {
        let requests = asker.clone();
        async move { Ok(requests.import_denials(&order).await?) }
    });
    problems.extend(all(denials.await)?.into_iter().flatten());
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.dedup();
    if lines.is_empty() { Ok(pairs) } else { Err(impossible(lines.join("\n"))) }
}

/// Creates one pair.
async fn create_one(
    requests: &MoveRequests,
    order: &ImportOrder,
    timeout: Duration,
) -> Result<(), Failure> {
    let name = order.volume.name.as_str();
    let stopped =
        |reason: String| impossible(format!("PV {name:?}: the import has not ended: {reason}"));
    let mut patience = Patience::new(timeout);
    let mut text = title(order);
    loop {
        let waits_for = match advance_import(requests, order).await {
            Ok(ImportAdvance::Made(write)) => {
                // Writing to a string does not fail.
                let _ = writeln!(text, "  ✓ {}", done(order, write));
                if write == ImportWrite::Finish {
                    return print(&readable(&text));
                }
                patience.renew();
                continue;
            }
            Ok(ImportAdvance::Ended) => {
                return print(&readable(&format!("{text}  nothing is left to do\n")));
            }
            Ok(ImportAdvance::Changed) => "its objects change all the time".to_owned(),
            Ok(ImportAdvance::Waiting) => {
                format!("waiting for the binder to bind PVC \"{}\"", order.key)
            }
            Ok(ImportAdvance::Stopped(problem)) => return Err(stopped(problem.to_string())),
            Err(error) => repeated(error).map_err(stopped)?,
        };
        patience.wait(waits_for).await.map_err(stopped)?;
    }
}

/// What an import is about: one line.
fn title(order: &ImportOrder) -> String {
    format!("PV {}: for PVC {}\n", order.volume.name, order.key)
}

/// The writes of an import.
fn preview(order: &ImportOrder, pair: &ImportedPair) -> String {
    let ImportOrder { volume, key, policy, .. } = order;
    let name = &volume.name;
    let writes = [
        format!("create PV {name} with reclaim policy Retain, reserved for PVC {key}"),
        format!("create PVC {key} with spec.volumeName {name}; the binder binds them"),
        format!("set the reclaim policy of PV {name} to {policy} and remove the mark"),
    ];
    let has_claim = matches!(pair.claim, ClaimRead::Present(_));
    let begins = match &pair.stored {
        ImportedVolume::Made(made) if made.is_finished => writes.len(),
        ImportedVolume::Made(_) if has_claim => 2,
        ImportedVolume::Made(_) => 1,
        ImportedVolume::Absent | ImportedVolume::Foreign => 0,
    };
    let mut text = title(order);
    for (index, write) in writes.iter().skip(begins).enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {}. {write}", index + 1);
    }
    text
}

/// What a write has done.
fn done(order: &ImportOrder, write: ImportWrite) -> String {
    let ImportOrder { volume, key, policy, .. } = order;
    let name = &volume.name;
    match write {
        ImportWrite::CreateVolume => {
            format!("PV {name} is created with reclaim policy Retain, reserved for PVC {key}")
        }
        ImportWrite::CreateClaim => format!("PVC {key} is created"),
        ImportWrite::Finish => format!("PVC {key} is bound; PV {name} has reclaim policy {policy}"),
    }
}
