//! A semaphore that no namespace can use up alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Permits for all namespaces together, of which each namespace may hold and await a limited number.
#[derive(Debug)]
pub(super) struct FairSemaphore {
    permits: Semaphore,
    per_namespace: usize,
    namespaces: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// A permit of one namespace; it acquires those of the semaphore one after another.
#[derive(Debug)]
pub(super) struct NamespacePermit<'s, 'n> {
    semaphore: &'s FairSemaphore,
    namespace: &'n str,
    /// None once it is given back.
    permit: Option<OwnedSemaphorePermit>,
}

impl FairSemaphore {
    /// A semaphore of `permits`, which `per_namespace` permits of one namespace may acquire.
    pub(super) fn new(permits: usize, per_namespace: usize) -> Self {
        Self {
            permits: Semaphore::new(permits),
            per_namespace,
            namespaces: Mutex::new(BTreeMap::new()),
        }
    }

    /// Waits for a permit of the namespace.
    pub(super) async fn of_namespace<'s, 'n>(
        &'s self,
        namespace: &'n str,
    ) -> NamespacePermit<'s, 'n> {
        // Made first: a caller that stops waiting leaves nothing behind either.
        let mut permit = NamespacePermit { semaphore: self, namespace, permit: None };
        let of_namespace = {
            let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = namespaces.entry(namespace.to_owned());
            Arc::clone(entry.or_insert_with(|| Arc::new(Semaphore::new(self.per_namespace))))
        };
        // It is never closed.
        permit.permit = of_namespace.acquire_owned().await.ok();
        permit
    }
}

impl<'s> NamespacePermit<'s, '_> {
    /// Waits for the next permit of the semaphore, in order of arrival.
    pub(super) async fn acquire(&self) -> Option<SemaphorePermit<'s>> {
        self.semaphore.permits.acquire().await.ok()
    }
}

impl Drop for NamespacePermit<'_, '_> {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut namespaces =
            self.semaphore.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        // Callers that wait or read hold it too.
        if namespaces.get(self.namespace).is_some_and(|permits| Arc::strong_count(permits) == 1) {
            namespaces.remove(self.namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_namespace_has_few_permits_and_one_of_them_acquires_at_a_time() {
        let semaphore = FairSemaphore::new(1, 2);
        let held =
            [now(semaphore.of_namespace("a")).unwrap(), now(semaphore.of_namespace("a")).unwrap()];
        assert!(now(semaphore.of_namespace("a")).is_none(), "a third of the same namespace");
        let other = now(semaphore.of_namespace("b")).unwrap();
        let permit = now(held[0].acquire()).unwrap();
        assert!(now(other.acquire()).is_none(), "one permit at a time");
        drop(permit);
        assert!(now(other.acquire()).is_some());
        drop((held, other));
        assert!(semaphore.namespaces.lock().unwrap().is_empty());
    }
}
