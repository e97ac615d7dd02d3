//! Judging with live reads: judge, read what the judgement depends on, judge again.
//!
//! The same for the webhook and the command line; only how reads are made differs, so that is passed in. Not here: what
//! is decided (`rules`), and how a read reaches an API server (`reads`).

use std::collections::BTreeSet;
use std::future::ready;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::binding::{LiveReads, Read};
use crate::rules::{Judgement, PlannedMutations};

/// How often reads are made for one question. Each round reads at least one new object, and the longest chain is a volume,
/// its holder, and what the holder depends on.
const ROUNDS_COUNT_MAX: usize = 4;

/// A decision that names the reads that would settle it.
pub trait NeedsReads {
    /// Reads to make; empty when the decision stands.
    fn reads(&self) -> &[Read];
}

impl NeedsReads for Judgement {
    fn reads(&self) -> &[Read] {
        &self.reads
    }
}

impl NeedsReads for PlannedMutations {
    fn reads(&self) -> &[Read] {
        &self.reads
    }
}

/// Decides by `step` until nothing is left to read; `read` adds answers to what was read so far.
///
/// Each read is asked for once. One that `read` leaves without an answer is still named by the
/// decision that comes back. What is wanted after `ROUNDS_COUNT_MAX` rounds counts as failed.
pub async fn judge_with_reads<T: NeedsReads, F: Future<Output = LiveReads>>(
    mut step: impl FnMut(&LiveReads) -> T,
    mut read: impl FnMut(Vec<Read>, LiveReads) -> F,
) -> T {
    let mut live = LiveReads::default();
    let mut asked = BTreeSet::new();
    let mut rounds = 0..ROUNDS_COUNT_MAX;
    loop {
        let decision = step(&live);
        let fresh = decision.reads().iter().filter(|read| !asked.contains(*read));
        let wanted: Vec<Read> = fresh.cloned().collect();
        if wanted.is_empty() {
            return decision;
        }
        asked.extend(wanted.iter().cloned());
        match rounds.next() {
            Some(_) => live = read(wanted, live).await,
            None => live.fail_all(&wanted),
        }
    }
}

/// The same for a caller that has nothing else to do while it reads: `read` may block.
pub fn judge_with_reads_blocking<T: NeedsReads>(
    step: impl FnMut(&LiveReads) -> T,
    mut read: impl FnMut(&[Read], &mut LiveReads),
) -> T {
    let mut settling = pin!(judge_with_reads(step, |wanted, mut live| {
        read(&wanted, &mut live);
        ready(live)
    }));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // Every answer is there when it is asked for, so the first poll is the last.
        if let Poll::Ready(decision) = settling.as_mut().poll(&mut context) {
            return decision;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::{Confirmation, ReadResult};
    use crate::model::VolumeName;

    fn volume(number: usize) -> Read {
        Read::Volume(VolumeName::new(format!("pv-{number}")))
    }

    /// Wants those of `reads` that were not tried yet.
    fn wanting(reads: &[Read], live: &LiveReads) -> PlannedMutations {
        let open = |read: &&Read| live.confirmation(read) == Confirmation::NotTried;
        PlannedMutations {
            reads: reads.iter().filter(open).cloned().collect(),
            ..PlannedMutations::default()
        }
    }

    #[test]
    fn each_read_is_asked_for_once_and_what_no_one_answers_stays_named() {
        let both = [volume(1), volume(2)];
        let mut asked = Vec::new();
        let settled = judge_with_reads_blocking(
            |live| wanting(&both, live),
            |wanted, live| {
                asked.extend(wanted.to_vec());
                live.volumes.insert(VolumeName::new("pv-1"), ReadResult::NotFound);
            },
        );
        assert_eq!(asked, both);
        assert_eq!(settled.reads, [volume(2)]);
    }

    #[test]
    fn a_question_without_end_is_cut_off() {
        let (mut asked, mut failed) = (Vec::new(), 0);
        let settled = judge_with_reads_blocking(
            |live| {
                failed = (0..10)
                    .filter(|number| live.confirmation(&volume(*number)) == Confirmation::Failed)
                    .count();
                let next = (0..10)
                    .map(volume)
                    .find(|read| live.confirmation(read) == Confirmation::NotTried);
                PlannedMutations {
                    reads: next.into_iter().collect(),
                    ..PlannedMutations::default()
                }
            },
            |wanted, live| {
                for read in wanted {
                    let Read::Volume(name) = read else { panic!("{read:?}") };
                    live.volumes.insert(name.clone(), ReadResult::NotFound);
                }
                asked.extend(wanted.to_vec());
            },
        );
        assert_eq!(asked, (0..ROUNDS_COUNT_MAX).map(volume).collect::<Vec<_>>());
        assert_eq!((failed, settled.reads), (10 - ROUNDS_COUNT_MAX, Vec::new()));
    }
}
