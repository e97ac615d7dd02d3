//! Labels that many volumes have in common, kept once.
//!
//! In a large cluster a few sets of labels are those of nearly all volumes, and a claim that selects by labels looks at those
//! of thousands of volumes: they have to be in the processor's cache. Not here: what a label means.

use std::hash::BuildHasher;

use super::name_hasher::NameHasher;
use crate::model::Labels;

/// How many sets are remembered.
const COUNT: usize = 256;

/// How many labels a set has at most that is remembered: what is held is small however large an object is.
const LABELS_MAX: usize = 16;

/// The sets of labels that were seen last, each in the place of its hash.
#[derive(Clone, Debug)]
pub(super) struct RecentLabels {
    places: Box<[Labels]>,
    hasher: NameHasher,
}

impl RecentLabels {
    /// Lets labels use the text of the same labels that were seen before.
    pub(super) fn share(&mut self, labels: &mut Labels) {
        if labels.iter().nth(LABELS_MAX).is_some() {
            return;
        }
        let hash = self.hasher.hash_one(&*labels);
        let place = usize::try_from(hash % COUNT as u64).ok();
        let Some(held) = place.and_then(|place| self.places.get_mut(place)) else { return };
        labels.share(held);
        held.clone_from(labels);
    }
}

impl Default for RecentLabels {
    fn default() -> Self {
        Self { places: vec![Labels::default(); COUNT].into(), hasher: NameHasher::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_were_seen_are_shared_unless_there_are_many() {
        let text = |labels: &Labels| labels.iter().next().map(|(key, _)| key.as_ptr());
        for (count, is_shared) in [(1, true), (LABELS_MAX, true), (LABELS_MAX + 1, false)] {
            let labels = || (0..count).map(|key| (key.to_string(), "a")).collect::<Labels>();
            let (mut other, mut first, mut again) =
                (labels().with("b", Some("")), labels(), labels());
            let mut recent = RecentLabels::default();
            for labels in [&mut other, &mut first, &mut again] {
                recent.share(labels);
            }
            assert_eq!((text(&again) == text(&first), &again), (is_shared, &first));
            assert_ne!(text(&other), text(&first));
        }
    }
}
