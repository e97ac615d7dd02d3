//! Where the bytes of one body are collected, each charged before memory is taken for it.
//!
//! Usual bodies are collected on the heap. Large ones get pages of their own: an allocator keeps what
//! was freed for the next time, and after a storm of large bodies the process would stay at its peak.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use super::super::admission::Charge;
use super::super::refusal::Refusal;

/// The first buffer of a body of unknown length. 4 KiB: most reviews fit.
pub(super) const FIRST_BUFFER: usize = 4 * 1024;

/// In what steps a large body is charged. 64 KiB: sixteen pages; as many steps a MiB are few
/// enough not to be seen beside the reading.
const STEP: usize = 64 * 1024;

/// How large bodies may become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Up to so many bytes a body is a usual one.
    pub(super) usual: usize,
    /// And so many it may have at most.
    pub(super) limit: usize,
}

/// A body on its way in, or complete.
#[derive(Debug)]
pub(super) struct Buffer {
    place: Place,
    declared: Option<usize>,
    charge: Charge,
    sizes: Sizes,
}

#[derive(Debug)]
enum Place {
    Heap(Vec<u8>),
    /// Pages as far as the limit, of which only those that were written exist.
    Pages {
        map: MmapMut,
        length: usize,
    },
}

impl Buffer {
    /// An empty buffer for a body that declares its length, or none.
    pub(super) fn new(declared: Option<usize>, charge: Charge, sizes: Sizes) -> Self {
        Self { place: Place::Heap(Vec::new()), declared, charge, sizes }
    }

    /// Adds bytes. Refused: more than a body may have, or no room in the budget.
    pub(super) fn push(&mut self, data: &[u8]) -> Result<(), Refusal> {
        let Sizes { usual, limit } = self.sizes;
        let needed = self.len() + data.len();
        if needed > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
        if needed <= usual {
            self.push_to_heap(data, needed)
        } else {
            self.push_to_pages(data, needed)
        }
    }

    /// Charges what was collected from the bytes; that of a large body is charged with it.
    pub(super) fn charge_collected(&mut self, bytes: usize) -> Result<(), Refusal> {
        match self.place {
            Place::Heap(_) => self.charge.add(bytes),
            Place::Pages { .. } => Ok(()),
        }
    }

    fn push_to_heap(&mut self, data: &[u8], needed: usize) -> Result<(), Refusal> {
        // Bytes only become more, so that what fits the heap is still there.
        let Place::Heap(bytes) = &mut self.place else { return Ok(()) };
        if needed > bytes.capacity() {
            let doubled = bytes.capacity().saturating_mul(2).max(FIRST_BUFFER);
            let whole = self.declared.filter(|declared| *declared <= self.sizes.usual);
            let capacity = whole.unwrap_or(doubled.min(self.sizes.usual)).max(needed);
            self.charge.raise(capacity)?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(data);
        Ok(())
    }

    fn push_to_pages(&mut self, data: &[u8], needed: usize) -> Result<(), Refusal> {
        self.charge.raise(needed.next_multiple_of(STEP).min(self.sizes.limit))?;
        if let Place::Heap(bytes) = &self.place {
            // Refused pages are memory that is not to be had.
            let mut map = MmapMut::map_anon(self.sizes.limit).map_err(|_| Refusal::BodiesFull)?;
            map.get_mut(..bytes.len()).unwrap_or_default().copy_from_slice(bytes);
            self.place = Place::Pages { length: bytes.len(), map };
        }
        if let Place::Pages { map, length } = &mut self.place {
            let free = map.get_mut(*length..needed).unwrap_or_default();
            free.copy_from_slice(data);
            *length = needed;
        }
        Ok(())
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.place {
            Place::Heap(bytes) => bytes,
            Place::Pages { map, length } => map.get(..*length).unwrap_or_default(),
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.place {
            Place::Heap(bytes) => bytes,
            Place::Pages { map, length } => map.get_mut(..*length).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::transport::admission::Admission;
    use crate::webhook::transport::limits::Limits;

    #[test]
    fn a_body_is_whole_wherever_it_is_kept_and_charged_as_it_grows() {
        let admission = Admission::new(Limits { large_review: 7, ..Limits::reviews() });
        let sizes = Sizes { usual: 10_000, limit: 200_000 };
        let mut buffer = Buffer::new(None, admission.charge(), sizes);
        let mut expected = Vec::new();
        let charges =
            [(4_000, 4_096), (6_000, 10_000), (1, 65_536), (55_535, 65_536), (1, 131_079)];
        for (number, (bytes, charged)) in charges.into_iter().enumerate() {
            let data = vec![u8::try_from(number).unwrap(); bytes];
            buffer.push(&data).unwrap();
            expected.extend(data);
            assert_eq!((&*buffer, admission.body_bytes()), (&*expected, charged));
        }
        buffer.push(&vec![9; 200_000 - expected.len()]).unwrap();
        assert_eq!((buffer.len(), admission.body_bytes()), (200_000, 200_007));
        assert_eq!(buffer.push(&[0]), Err(Refusal::BodyTooLarge { limit: 200_000 }));
        drop(buffer);
        assert_eq!(admission.body_bytes(), 0);
    }
}
