//! One client and the limits of all reads through it.
//!
//! Tenants choose how large their claims, pods and config maps are, and how many reviews read them at once. Usual
//! answers are read as they come; of large ones few are held at a time, and of each namespace one.

use std::ops::Deref;
use std::sync::Arc;

use kube::Client;
use tokio::sync::SemaphorePermit;

use super::fair_semaphore::{FairSemaphore, NamespacePermit};
use super::text::{ANSWER_BYTES_MAX, Missing, USUAL_BYTES_MAX, whole};
use crate::binding::ReadResult;

/// Live reads through one client. Clones share its limits, so that all who read through one of them together keep
/// within the bounds.
#[derive(Clone)]
pub struct LiveReader {
    pub(super) client: Client,
    pub(super) limits: Arc<ReadLimits>,
}

/// How much is in flight at once, of all namespaces and of each.
#[derive(Debug)]
pub(super) struct ReadLimits {
    /// Requests. 64: each has a connection to the API server, of some 100 KiB, which would be hundreds of MiB if every
    /// read of 1,024 reviews had one; and it does not answer more of them at a time than it has cores.
    requests: FairSemaphore,
    /// Large answers: one is 10 MiB. It is requested again once it has a permit, so that a read which waits for one
    /// holds neither a connection nor the permit of a usual read.
    large: FairSemaphore,
    /// Pages of pods: tenants choose how many pods they have, and how large those are. Two pages take 4 MiB; a
    /// namespace of thousands waits for its own lists, and others for a page of it.
    pub(super) lists: FairSemaphore,
}

impl std::fmt::Debug for LiveReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveReader").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl LiveReader {
    /// Reads through `client`.
    pub fn new(client: Client) -> Self {
        let limits = ReadLimits {
            requests: FairSemaphore::new(64, 32),
            large: FairSemaphore::new(1, 1),
            lists: FairSemaphore::new(2, 1),
        };
        Self { client, limits: Arc::new(limits) }
    }

    /// Returns what the API server says at `path`, about an object of this namespace; empty where there is none.
    pub(super) async fn fetch<'a>(
        &'a self,
        namespace: &'a str,
        path: &str,
    ) -> Result<AnswerText<'a>, Missing> {
        let usual = {
            let _permit = acquire(&self.limits.requests, namespace).await;
            whole(&self.client, path, USUAL_BYTES_MAX).await
        };
        match usual {
            Ok(text) => Ok(text.into()),
            Err(Missing::TooLong) => {
                let permit = acquire(&self.limits.large, namespace).await;
                let text =
                    whole(&self.client, path, ANSWER_BYTES_MAX).await.inspect_err(|missing| {
                        if *missing == Missing::TooLong {
                            tracing::warn!(
                                path,
                                "the API server sent more bytes than an object can have"
                            );
                        }
                    })?;
                Ok(AnswerText { text, _permit: Some(permit) })
            }
            Err(missing) => Err(missing),
        }
    }

    /// The object at `path`, as `decode` reads it; in this namespace, empty where there is none.
    pub(super) async fn get<T>(
        &self,
        namespace: &str,
        path: &str,
        decode: impl FnOnce(&str) -> Result<T, serde_json::Error>,
    ) -> ReadResult<T> {
        match self.fetch(namespace, path).await {
            Ok(text) => decoded(decode(&text)),
            Err(missing) => missing.into(),
        }
    }
}

/// An answer, and its permit if it is large.
#[derive(Debug)]
pub(super) struct AnswerText<'a> {
    text: String,
    _permit: Option<ReadPermit<'a>>,
}

/// A permit for a request, or for a large answer, until it is dropped.
#[derive(Debug)]
struct ReadPermit<'a>(
    #[expect(dead_code, reason = "held")] (Option<SemaphorePermit<'a>>, NamespacePermit<'a, 'a>),
);

/// Waits for a permit of the namespace, then for one of the semaphore.
async fn acquire<'a>(semaphore: &'a FairSemaphore, namespace: &'a str) -> ReadPermit<'a> {
    let of_namespace = semaphore.of_namespace(namespace).await;
    // It is never closed.
    ReadPermit((of_namespace.acquire().await, of_namespace))
}

impl Deref for AnswerText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for AnswerText<'_> {
    fn from(text: String) -> Self {
        Self { text, _permit: None }
    }
}

pub(super) fn decoded<T>(read: Result<T, serde_json::Error>) -> ReadResult<T> {
    match read {
        Ok(object) => ReadResult::Found(Arc::new(object)),
        Err(error) => {
            tracing::warn!(%error, "the API server sent an object that cannot be read");
            ReadResult::Unreadable
        }
    }
}

impl<T> From<Missing> for ReadResult<T> {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Absent => Self::NotFound,
            other @ (Missing::Forbidden(_) | Missing::TooLong | Missing::Failed) => other.failed(),
        }
    }
}

impl Missing {
    /// Something that is not known, also if it would be absent.
    pub(super) fn failed<T>(self) -> ReadResult<T> {
        if let Self::Forbidden(path) = self {
            tracing::warn!(
                %path,
                "the API server denies this account a read, so that what rests on it is not decided; grant the \
                 permission, as the chart's roles do"
            );
        }
        ReadResult::Failed
    }
}
