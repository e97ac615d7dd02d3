//! Several pieces of work at a time.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::planned::impossible;
use crate::cli::exit::Failure;

/// Moves at a time. 32: a namespace of 200 claims takes seconds, and the API server lets one client have hundreds of
/// requests in flight.
const MOVES_COUNT_MAX: usize = 32;

/// Runs `work` for all items, at most [`MOVES_COUNT_MAX`] at a time, and returns the results in their order.
pub(super) async fn for_each<I, T, F>(items: &[I], work: impl Fn(I) -> F) -> Vec<Result<T, Failure>>
where
    I: Clone,
    T: Send + 'static,
    F: Future<Output = Result<T, Failure>> + Send + 'static,
{
    let limit = Arc::new(Semaphore::new(MOVES_COUNT_MAX));
    let mut running = Vec::new();
    for item in items {
        let (work, limit) = (work(item.clone()), Arc::clone(&limit));
        running.push(tokio::spawn(async move {
            // It is never closed.
            let _permit = limit.acquire_owned().await;
            work.await
        }));
    }
    let mut results = Vec::new();
    for running in running {
        results.push(running.await.unwrap_or_else(|panic| Err(impossible(panic.to_string()))));
    }
    results
}

/// Returns the results, or the failures of all in one.
///
/// # Errors
///
/// At least one failed: the exit code is that of the first.
pub(super) fn all<T>(results: Vec<Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(result) => done.push(result),
            Err(failure) => failures.push(failure),
        }
    }
    let Some(first) = failures.first() else { return Ok(done) };
    let mut messages: Vec<&str> = failures.iter().map(|failure| &*failure.message).collect();
    messages.dedup();
    Err(Failure { exit: first.exit, message: messages.join("\n") })
}
