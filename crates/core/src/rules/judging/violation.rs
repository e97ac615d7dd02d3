//! One reason to deny a change, and what it depends on.
//!
//! `judge` decides whether it denies, warns or is only counted.

use crate::binding::{Confirmation, Evidence, Lookup, Read};

/// One reason against a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The field that is wrong, as a path from the object's root.
    pub field: &'static str,
    /// Fact; consequence; what to do.
    pub text: String,
    /// The most that the rule itself makes of it.
    pub weight: Weight,
    /// The other objects without which it would not hold.
    pub depends_on: Vec<Dependency>,
}

/// How much a rule makes of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// As much as the rule's mode says.
    Full,
    /// A warning at most.
    Warning,
    /// Nothing yet: the object was not read.
    Open,
}

/// A fact about another object on which a violation or a mutation depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The live read that confirms it.
    pub read: Read,
    /// Whether the object was seen at all.
    pub certainty: Certainty,
}

/// Whether the object that a fact is about was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It was seen in the view or live: positive evidence.
    Seen,
    /// It was assumed, to be on the safe side until a live read settles it.
    Assumed,
}

impl Dependency {
    /// A dependency on `lookup`, which `read` would confirm.
    pub fn on<T>(read: Read, lookup: Lookup<'_, T>) -> Self {
        let certainty = match lookup {
            Lookup::Present(_) | Lookup::Absent => Certainty::Seen,
            Lookup::Unknown => Certainty::Assumed,
        };
        Self { read, certainty }
    }

    /// Returns whether the fact was only assumed, or a read failed to confirm it.
    pub(super) fn is_unsure(&self, evidence: &Evidence<'_>) -> bool {
        self.certainty == Certainty::Assumed
            || evidence.confirmation(&self.read) == Confirmation::Failed
    }
}

/// The reads behind `dependencies` that were not made yet.
pub(super) fn unread(dependencies: &[Dependency], evidence: &Evidence<'_>) -> Vec<Read> {
    let reads = dependencies.iter().map(|dependency| &dependency.read);
    reads.filter(|read| evidence.confirmation(read) == Confirmation::NotTried).cloned().collect()
}

impl Violation {
    /// A reason that counts in full and follows from the request alone.
    ///
    /// It may quote free text of other users, which must not start a line of its own on a terminal.
    pub fn new(field: &'static str, mut text: String) -> Self {
        if text.contains(char::is_control) {
            text = text.replace(char::is_control, " ");
        }
        Self { field, text, weight: Weight::Full, depends_on: Vec::new() }
    }

    /// An open question that `read` answers: whether there is a violation depends on an object that was not read yet.
    /// If the read fails, it stays open.
    pub fn open(field: &'static str, read: Read) -> Self {
        let text = format!(
            "this depends on {read}, which could not be read; the result is not known; try again \
             with a complete dump, or with a cluster that can be read"
        );
        let dependency = Dependency { read, certainty: Certainty::Assumed };
        Self { weight: Weight::Open, ..Self::new(field, text) }.depending_on(dependency)
    }

    /// Returns whether an object that it depends on was not seen.
    pub fn is_assumed(&self) -> bool {
        self.depends_on.iter().any(|dependency| dependency.certainty == Certainty::Assumed)
    }

    /// Returns whether a report of it reveals that another volume or claim exists.
    pub(super) fn reveals_storage(&self) -> bool {
        let is_storage =
            |dependency: &Dependency| matches!(dependency.read, Read::Volume(_) | Read::Claim(_));
        self.depends_on.iter().any(is_storage)
    }

    /// The same, with one more dependency.
    pub fn depending_on(mut self, dependency: Dependency) -> Self {
        self.depends_on.push(dependency);
        self
    }

    /// The same, with these dependencies more.
    pub fn depending_on_all(mut self, dependencies: impl IntoIterator<Item = Dependency>) -> Self {
        self.depends_on.extend(dependencies);
        self
    }

    /// The same, as a warning at most.
    pub fn as_warning(mut self) -> Self {
        self.weight = Weight::Warning;
        self
    }
}
