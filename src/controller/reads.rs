//! Live reads that decisions wait for.
//!
//! An answer counts for a question only if it was fetched after the question was asked, and if nothing
//! that it speaks of was seen to change meanwhile: an older one proves no absence. Not here: how a read
//! is made (`client::reads`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::binding::{LiveReads, ObjectKey, Read, ReadResult, View};
use crate::model::{Class, NonEmpty, ResourceVersion};

/// Live reads in flight at once. An API server on two cores takes no more of them a second however many are pending.
const IN_FLIGHT_COUNT_MAX: usize = 32;

/// Reads in flight, and the objects whose decisions wait for them.
#[derive(Debug, Default)]
pub struct Reads {
    pending: BTreeMap<Read, Waiting>,
    to_send: VecDeque<Read>,
    questions: BTreeMap<ObjectKey, Question>,
    answered: BTreeMap<ObjectKey, ReadAnswers>,
    in_flight: usize,
    sent: u64,
}

/// A read to be made, and the number under which its answer is taken.
#[derive(Clone, Debug)]
pub struct PendingRead {
    /// The read.
    pub read: Read,
    number: u64,
}

/// The objects that wait for a read: those that asked before it was sent, and those that came later and need the next.
#[derive(Debug, Default)]
struct Waiting {
    /// The number under which it was sent, once it was.
    number: Option<u64>,
    for_this: Vec<ObjectKey>,
    for_next: Vec<ObjectKey>,
}

#[derive(Debug)]
struct Question {
    /// What is still to be read.
    missing: BTreeSet<Read>,
    known: ReadAnswers,
}

/// What was read for one question.
#[derive(Debug)]
pub struct ReadAnswers {
    /// The answers.
    pub live: LiveReads,
    /// The object as it was seen when its question came up.
    own: Seen,
    /// What the view showed of each read's object when the read was sent.
    seen: BTreeMap<Read, Seen>,
}

/// What a view shows of an object, as far as it distinguishes one state from another.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Nothing,
    Version(ResourceVersion),
    Class(Arc<Class>),
}

impl Reads {
    /// Asks for `reads` because a decision about `key` needs them besides what is `known`.
    pub fn ask(&mut self, key: &ObjectKey, reads: &NonEmpty<Read>, known: ReadAnswers) {
        let missing: BTreeSet<Read> = reads.iter().cloned().collect();
        for read in &missing {
            let waiting = self.pending.entry(read.clone()).or_insert_with(|| {
                self.to_send.push_back(read.clone());
                Waiting::default()
            });
            // What is on its way may be answered by now, with what was true before this question.
            let line = match waiting.number {
                None => &mut waiting.for_this,
                Some(_) => &mut waiting.for_next,
            };
            // Once only: an object has one question at a time. In the order in which they were asked.
            line.push(key.clone());
        }
        self.questions.insert(key.clone(), Question { missing, known });
    }

    /// Returns whether a decision about `key` waits.
    pub fn is_awaited_by(&self, key: &ObjectKey) -> bool {
        self.questions.contains_key(key)
    }

    /// The next read to send, if another may be in flight.
    pub fn next(&mut self, view: &View) -> Option<PendingRead> {
        if self.in_flight >= IN_FLIGHT_COUNT_MAX {
            return None;
        }
        let read = self.to_send.pop_front()?;
        self.in_flight += 1;
        let seen = seen(view, &read);
        self.sent += 1;
        if let Some(waiting) = self.pending.get_mut(&read) {
            waiting.number = Some(self.sent);
            for key in &waiting.for_this {
                if let Some(question) = self.questions.get_mut(key) {
                    question.known.seen.insert(read.clone(), seen.clone());
                }
            }
        }
        Some(PendingRead { read, number: self.sent })
    }

    /// Takes in the answer to a read: the objects whose questions are answered by it.
    pub fn answer(&mut self, asked: &PendingRead, answer: &LiveReads) -> Vec<ObjectKey> {
        self.in_flight = self.in_flight.saturating_sub(1);
        let read = &asked.read;
        let is_this = |waiting: &Waiting| waiting.number == Some(asked.number);
        if !self.pending.get(read).is_some_and(is_this) {
            return Vec::new();
        }
        let Some(waiting) = self.pending.remove(read) else { return Vec::new() };
        if !waiting.for_next.is_empty() {
            let again = Waiting { for_this: waiting.for_next, ..Waiting::default() };
            self.pending.insert(read.clone(), again);
            self.to_send.push_back(read.clone());
        }
        let mut complete = Vec::new();
        for key in waiting.for_this {
            let Some(question) = self.questions.get_mut(&key) else { continue };
            question.known.live.merge(answer.clone());
            question.missing.remove(read);
            if question.missing.is_empty()
                && let Some(question) = self.questions.remove(&key)
            {
                self.answered.insert(key.clone(), question.known);
                complete.push(key);
            }
        }
        complete
    }

    /// Returns what was read for a decision about `key`, if it still speaks of what the view shows; else nothing.
    /// What was found was applied to the view before.
    pub fn take(&mut self, key: &ObjectKey, view: &View) -> ReadAnswers {
        let known = self.answered.remove(key).filter(|known| known.stands(key, view));
        known.unwrap_or_else(|| ReadAnswers {
            live: LiveReads::default(),
            own: seen_of(view, key),
            seen: BTreeMap::new(),
        })
    }

    /// Returns whether any read is in flight.
    pub fn is_any_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// Returns how many reads are pending or in flight.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.pending.len()
    }

    /// Forgets all questions; the answers to reads in flight are ignored.
    pub fn clear(&mut self) {
        self.to_send.clear();
        self.questions.clear();
        self.answered.clear();
        self.pending.clear();
    }
}

impl ReadAnswers {
    /// Returns whether the answers still speak of what the view shows.
    fn stands(&self, key: &ObjectKey, view: &View) -> bool {
        seen_of(view, key) == self.own
            && self.seen.iter().all(|(read, before)| {
                let now = seen(view, read);
                now == *before || Some(now) == found(&self.live, read)
            })
    }
}

fn seen(view: &View, read: &Read) -> Seen {
    match read {
        Read::Claim(key) => seen_of(view, &ObjectKey::Claim(key.clone())),
        Read::Volume(name) => seen_of(view, &ObjectKey::Volume(name.clone())),
        Read::Class(name) => {
            view.class(name).map_or(Seen::Nothing, |class| Seen::Class(Arc::clone(class)))
        }
        Read::PodsUsing(_)
        | Read::LivePods(_)
        | Read::Node(_)
        | Read::NodeState(_)
        | Read::AnyNode(_)
        | Read::Namespace(_)
        | Read::Owner(..)
        | Read::DefaultClass
        | Read::Lease(..) => Seen::Nothing,
    }
}

fn seen_of(view: &View, key: &ObjectKey) -> Seen {
    let version = match key {
        ObjectKey::Claim(key) => view.claim(key).and_then(|claim| claim.version.clone()),
        ObjectKey::Volume(name) => view.volume(name).and_then(|volume| volume.version.clone()),
    };
    version.map_or(Seen::Nothing, Seen::Version)
}

/// Returns what was found, as a view would show it.
fn found(live: &LiveReads, read: &Read) -> Option<Seen> {
    fn of<T>(answer: Option<&ReadResult<T>>, seen: impl Fn(&Arc<T>) -> Seen) -> Option<Seen> {
        match answer {
            Some(ReadResult::Found(object)) => Some(seen(object)),
            Some(ReadResult::NotFound | ReadResult::Unreadable | ReadResult::Failed) | None => None,
        }
    }
    let version =
        |version: &Option<ResourceVersion>| version.clone().map_or(Seen::Nothing, Seen::Version);
    match read {
        Read::Claim(key) => of(live.claims.get(key), |claim| version(&claim.version)),
        Read::Volume(name) => of(live.volumes.get(name), |volume| version(&volume.version)),
        Read::Class(name) => of(live.classes.get(name), |class| Seen::Class(Arc::clone(class))),
        Read::PodsUsing(_)
        | Read::LivePods(_)
        | Read::Node(_)
        | Read::NodeState(_)
        | Read::AnyNode(_)
        | Read::Namespace(_)
        | Read::Owner(..)
        | Read::DefaultClass
        | Read::Lease(..) => None,
    }
}
