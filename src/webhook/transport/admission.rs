//! Who may come in: a budget of body bytes and a number of reviews under way.
//!
//! Bytes are charged while a body arrives (`body` does it), before memory is taken for them, and
//! given back when the body is dropped. A review is counted once its body is complete, so that
//! bodies that drip in do not take the places of reviews.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::limits::Limits;
use super::refusal::Refusal;

/// The limits on bodies and reviews of one port and what is used of them.
#[derive(Debug)]
pub struct Admission {
    limits: Limits,
    body_bytes: AtomicUsize,
    reviews: AtomicUsize,
}

/// A review under way; dropping it makes room for another.
#[derive(Debug)]
pub struct ReviewPlace {
    admission: Arc<Admission>,
}

/// Bytes charged for one body; dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Charge {
    admission: Arc<Admission>,
    bytes: usize,
}

impl Admission {
    /// Nothing used yet.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, body_bytes: AtomicUsize::new(0), reviews: AtomicUsize::new(0) })
    }

    /// A place for one review, to be held until its answer is made; or [`Refusal::ReviewsFull`].
    pub fn enter(self: &Arc<Self>) -> Result<ReviewPlace, Refusal> {
        // Made before the check, so that its drop undoes the count on either way out.
        let place = ReviewPlace { admission: Arc::clone(self) };
        if self.reviews.fetch_add(1, Ordering::Relaxed) >= self.limits.reviews {
            return Err(Refusal::ReviewsFull);
        }
        Ok(place)
    }

    /// Bytes of bodies held now, as memory taken for them.
    pub fn body_bytes(&self) -> usize {
        self.body_bytes.load(Ordering::Relaxed)
    }

    /// Reviews under way now.
    pub fn reviews(&self) -> usize {
        self.reviews.load(Ordering::Relaxed)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn charge(self: &Arc<Self>) -> Charge {
        Charge { admission: Arc::clone(self), bytes: 0 }
    }
}

impl Drop for ReviewPlace {
    fn drop(&mut self) {
        self.admission.reviews.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Charge {
    /// Raises the charge of this body to `total` bytes, and what a large one takes beside, or leaves it and says
    /// [`Refusal::BodiesFull`].
    pub(crate) fn raise(&mut self, total: usize) -> Result<(), Refusal> {
        let limits = &self.admission.limits;
        let (total, ceiling) = if total > limits.small_body {
            (total.saturating_add(limits.large_review), limits.large_body_budget)
        } else {
            (total, limits.body_budget)
        };
        self.take(total.saturating_sub(self.bytes), ceiling)
    }

    /// Charges so many bytes more, which were collected from a usual body: much of it as of a large one.
    pub(crate) fn add(&mut self, more: usize) -> Result<(), Refusal> {
        let limits = &self.admission.limits;
        let is_much = more > limits.usual_review;
        let ceiling = if is_much { limits.large_body_budget } else { limits.body_budget };
        self.take(more, ceiling)
    }

    fn take(&mut self, more: usize, ceiling: usize) -> Result<(), Refusal> {
        self.admission
            .body_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(more).filter(|&sum| sum <= ceiling)
            })
            .map_err(|_| Refusal::BodiesFull)?;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.admission.body_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission() -> Arc<Admission> {
        Admission::new(Limits {
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
    fn a_review_too_many_is_refused_and_does_not_stay_counted() {
        let admission = admission();
        let held = [admission.enter().unwrap(), admission.enter().unwrap()];
        assert_eq!(admission.enter().unwrap_err(), Refusal::ReviewsFull);
        assert_eq!(admission.reviews(), 2);
        drop(held);
        assert_eq!(admission.reviews(), 0);
    }

    #[test]
    fn what_is_collected_is_charged_and_much_of_it_leaves_room_for_usual_bodies() {
        let admission = admission();
        let mut charge = admission.charge();
        charge.raise(20).unwrap();
        charge.add(40).unwrap();
        let mut other = admission.charge();
        other.raise(20).unwrap();
        assert_eq!(other.add(9), Err(Refusal::BodiesFull), "much, beyond what giants may have");
        other.add(8).unwrap();
        assert_eq!(admission.body_bytes(), 88);
        drop((charge, other));
        assert_eq!(admission.body_bytes(), 0);
    }

    #[test]
    fn giants_leave_room_for_usual_bodies_and_all_bytes_come_back() {
        let admission = admission();
        let mut giant = admission.charge();
        giant.raise(55).unwrap();
        assert_eq!(giant.raise(56), Err(Refusal::BodiesFull));
        let mut small = [admission.charge(), admission.charge(), admission.charge()];
        small[0].raise(20).unwrap();
        small[1].raise(20).unwrap();
        assert_eq!(small[2].raise(1), Err(Refusal::BodiesFull));
        assert_eq!(admission.body_bytes(), 100);
        drop((giant, small));
        assert_eq!(admission.body_bytes(), 0);
    }
}
