//! Fair shares of pages and large answers: no namespace can use them all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Pages that may be read at once, and lists of each namespace.
#[derive(Debug)]
pub(super) struct Shares {
    pages: Semaphore,
    lists_each: usize,
    namespaces: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// A list that may be read, a page at a time.
#[derive(Debug)]
pub(super) struct ListPermit<'s, 'n> {
    shares: &'s Shares,
    namespace: &'n str,
    /// None once it is given back.
    turn: Option<OwnedSemaphorePermit>,
}

impl Shares {
    /// So many pages at once, of so many lists in each namespace.
    pub(super) fn new(pages: usize, lists_each: usize) -> Self {
        Self { pages: Semaphore::new(pages), lists_each, namespaces: Mutex::new(BTreeMap::new()) }
    }

    /// A list of the namespace, once not too many others of it are in flight.
    pub(super) async fn list<'s, 'n>(&'s self, namespace: &'n str) -> ListPermit<'s, 'n> {
        // Made first: a caller that stops waiting leaves nothing behind either.
        let mut list = ListPermit { shares: self, namespace, turn: None };
        let lists = {
            let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            let lists = namespaces.entry(namespace.to_owned());
            Arc::clone(lists.or_insert_with(|| Arc::new(Semaphore::new(self.lists_each))))
        };
        // It is never closed.
        list.turn = lists.acquire_owned().await.ok();
        list
    }
}

impl<'s> ListPermit<'s, '_> {
    /// The next page, in turn with those of other lists.
    pub(super) async fn page(&self) -> Option<SemaphorePermit<'s>> {
        self.shares.pages.acquire().await.ok()
    }
}

impl Drop for ListPermit<'_, '_> {
    fn drop(&mut self) {
        drop(self.turn.take());
        let mut namespaces = self.shares.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        // Callers that wait or read hold it too.
        if namespaces.get(self.namespace).is_some_and(|lists| Arc::strong_count(lists) == 1) {
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
    fn a_namespace_has_its_share_of_lists_and_each_page_is_a_turn() {
        let shares = Shares::new(1, 2);
        let held = [now(shares.list("a")).unwrap(), now(shares.list("a")).unwrap()];
        assert!(now(shares.list("a")).is_none(), "a third of the same namespace");
        let other = now(shares.list("b")).unwrap();
        let page = now(held[0].page()).unwrap();
        assert!(now(other.page()).is_none(), "one page at a time");
        drop(page);
        assert!(now(other.page()).is_some());
        drop((held, other));
        assert!(shares.namespaces.lock().unwrap().is_empty());
    }
}
