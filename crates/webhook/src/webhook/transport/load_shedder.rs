//! Load shedding: a budget of body bytes, and a limit on reviews in progress.
//!
//! Bytes are reserved while a body arrives (in `body`), before memory is allocated for them, and released when the
//! body is dropped. A review counts once its body is complete, so that slow bodies do not use up the limit.
//! tower-http's limits know no budget that requests share, so this is done by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::limits::Limits;
use super::rejection::Rejection;

/// The limits on bodies and reviews of one port and what is used of them.
#[derive(Debug)]
pub struct LoadShedder {
    limits: Limits,
    body_bytes: AtomicUsize,
    reviews: Semaphore,
}

/// Bytes reserved for one body, which are released when it is dropped.
#[derive(Debug)]
pub(crate) struct ByteReservation {
    shedder: Arc<LoadShedder>,
    bytes: usize,
}

impl LoadShedder {
    /// Nothing used yet.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            body_bytes: AtomicUsize::new(0),
            reviews: Semaphore::new(limits.reviews),
            limits,
        })
    }

    /// A permit for one review, to be held until its response is made; or [`Rejection::ReviewsFull`].
    pub fn admit(&self) -> Result<SemaphorePermit<'_>, Rejection> {
        self.reviews.try_acquire().map_err(|_| Rejection::ReviewsFull)
    }

    /// Bytes of bodies held now, as memory taken for them.
    pub fn body_bytes(&self) -> usize {
        self.body_bytes.load(Ordering::Relaxed)
    }

    /// Reviews in flight now.
    pub fn reviews(&self) -> usize {
        self.limits.reviews - self.reviews.available_permits()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn reserve(self: &Arc<Self>) -> ByteReservation {
        ByteReservation { shedder: Arc::clone(self), bytes: 0 }
    }
}

impl ByteReservation {
    /// Raises the reservation of this body to `total` bytes, and to what the review of a large one needs beside it; or
    /// leaves it and returns [`Rejection::BodiesFull`].
    pub(crate) fn grow_to(&mut self, total: usize) -> Result<(), Rejection> {
        let limits = &self.shedder.limits;
        let (total, ceiling) = if total > limits.small_body {
            (total.saturating_add(limits.large_review), limits.large_body_budget)
        } else {
            (total, limits.body_budget)
        };
        self.take(total.saturating_sub(self.bytes), ceiling)
    }

    /// Reserves so many more bytes, which were collected from a usual body. Many of them count as a large body.
    pub(crate) fn add(&mut self, more: usize) -> Result<(), Rejection> {
        let limits = &self.shedder.limits;
        let is_much = more > limits.usual_review;
        let ceiling = if is_much { limits.large_body_budget } else { limits.body_budget };
        self.take(more, ceiling)
    }

    fn take(&mut self, more: usize, ceiling: usize) -> Result<(), Rejection> {
        self.shedder
            .body_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(more).filter(|&sum| sum <= ceiling)
            })
            .map_err(|_| Rejection::BodiesFull)?;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for ByteReservation {
    fn drop(&mut self) {
        self.shedder.body_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shedder() -> Arc<LoadShedder> {
        LoadShedder::new(Limits {
            reviews: 2,
            body_budget: 100,
            large_body_budget: 60,
            small_body: 20,
            large_review: 5,
            usual_review: 8,
            ..Limits::reviews()
        })
    }

    #[test]
    fn a_review_too_many_is_rejected_and_does_not_stay_counted() {
        let shedder = shedder();
        let held = [shedder.admit().unwrap(), shedder.admit().unwrap()];
        assert_eq!(shedder.admit().unwrap_err(), Rejection::ReviewsFull);
        assert_eq!(shedder.reviews(), 2);
        drop(held);
        assert_eq!(shedder.reviews(), 0);
    }

    #[test]
    fn what_is_collected_is_charged_and_much_of_it_leaves_room_for_usual_bodies() {
        let shedder = shedder();
        let mut reservation = shedder.reserve();
        reservation.grow_to(20).unwrap();
        reservation.add(40).unwrap();
        let mut other = shedder.reserve();
        other.grow_to(20).unwrap();
        assert_eq!(
            other.add(9),
            Err(Rejection::BodiesFull),
            "much, more than large bodies may have"
        );
        other.add(8).unwrap();
        assert_eq!(shedder.body_bytes(), 88);
        drop((reservation, other));
        assert_eq!(shedder.body_bytes(), 0);
    }

    #[test]
    fn large_bodies_leave_room_for_usual_bodies_and_all_bytes_come_back() {
        let shedder = shedder();
        let mut large = shedder.reserve();
        large.grow_to(55).unwrap();
        assert_eq!(large.grow_to(56), Err(Rejection::BodiesFull));
        let mut small = [shedder.reserve(), shedder.reserve(), shedder.reserve()];
        small[0].grow_to(20).unwrap();
        small[1].grow_to(20).unwrap();
        assert_eq!(small[2].grow_to(1), Err(Rejection::BodiesFull));
        assert_eq!(shedder.body_bytes(), 100);
        drop((large, small));
        assert_eq!(shedder.body_bytes(), 0);
    }
}
