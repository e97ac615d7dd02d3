//! What the stories were about, so that they are known to be about something.

use std::collections::BTreeMap;
use std::fmt;

use bindery::binding::Mismatch;

use super::documented::{self, Documented};
use super::scene::Scene;

/// Counts over stories.
#[derive(Debug, Default)]
pub(super) struct Tally {
    stories: usize,
    contending: usize,
    leaving_a_wait: usize,
    steps: usize,
    skipped: usize,
    refused: usize,
    mismatches: BTreeMap<&'static str, usize>,
    documented: BTreeMap<&'static str, usize>,
}

/// Every reason why a volume does not fit.
const MISMATCHES: [&str; 12] = [
    "access_modes",
    "attributes_class",
    "claim_elsewhere",
    "class",
    "node_affinity",
    "not_available",
    "reserved_for_other",
    "selector",
    "terminating",
    "too_small",
    "volume_mode",
    "waits_for_consumer",
];

impl Tally {
    /// Counts a story that was played.
    pub(super) fn story(&mut self) {
        self.stories += 1;
    }

    /// Counts a step that was taken, and whether both servers refused it.
    pub(super) fn step(&mut self, outcomes: &[Result<(), String>; 2]) {
        let [ours, theirs] = outcomes;
        assert_eq!(ours.is_ok(), theirs.is_ok(), "one server refuses: {ours:?} {theirs:?}");
        self.steps += 1;
        if let Err(reason) = ours {
            self.refused += 1;
            println!("a step is refused by both: {reason}");
        }
    }

    /// Counts a step that could not happen, or whose end Kubernetes leaves to chance.
    pub(super) fn skipped(&mut self) {
        self.skipped += 1;
    }

    /// Counts the reasons against volumes as things stand.
    pub(super) fn look(&mut self, scene: &Scene) {
        for found in scene.mismatches() {
            let is_contended =
                found.iter().any(|mismatch| matches!(mismatch, Mismatch::ReservedForOther { .. }))
                    && found.iter().all(|mismatch| {
                        matches!(
                            mismatch,
                            Mismatch::ReservedForOther { .. } | Mismatch::NotAvailable { .. }
                        )
                    });
            self.contending |= usize::from(is_contended);
            for mismatch in found {
                *self.mismatches.entry(mismatch.label()).or_default() += 1;
            }
        }
    }

    /// Counts what a story ends with.
    pub(super) fn end(&mut self, scene: &Scene) {
        let waits = scene.claims.values().any(|claim| claim["status"]["phase"] == "Pending");
        self.leaving_a_wait |= usize::from(waits);
    }

    /// Counts differences that are documented.
    pub(super) fn documented(&mut self, found: &[&'static Documented]) {
        for documented in found {
            *self.documented.entry(documented.name).or_default() += 1;
        }
    }

    /// Adds another's counts.
    pub(super) fn add(&mut self, other: Self) {
        self.stories += other.stories;
        self.contending += other.contending;
        self.leaving_a_wait += other.leaving_a_wait;
        self.steps += other.steps;
        self.skipped += other.skipped;
        self.refused += other.refused;
        for (sum, counts) in
            [(&mut self.mismatches, other.mismatches), (&mut self.documented, other.documented)]
        {
            for (name, count) in counts {
                *sum.entry(name).or_default() += count;
            }
        }
    }

    /// Fails if the stories were too tame to tell anything.
    pub(super) fn assert_telling(&self) {
        assert!(self.contending * 100 >= self.stories * 30, "too few contend for a volume");
        assert!(self.leaving_a_wait * 100 >= self.stories * 20, "too few leave a claim waiting");
        let missing: Vec<_> =
            MISMATCHES.iter().filter(|label| !self.mismatches.contains_key(**label)).collect();
        assert!(missing.is_empty(), "no volume failed for {missing:?}");
        assert!(self.refused * 10 <= self.steps, "too many steps are refused by the server");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} stories, {} contend for a volume, {} leave a claim waiting; {} steps taken, {} refused by \
             both servers, {} left out",
            self.stories,
            self.contending,
            self.leaving_a_wait,
            self.steps,
            self.refused,
            self.skipped
        )?;
        for (label, count) in &self.mismatches {
            writeln!(f, "  {label}: {count}")?;
        }
        for difference in documented::ALL {
            let count = self.documented.get(difference.name).copied().unwrap_or_default();
            writeln!(f, "  {} ({count}): {}", difference.name, difference.reason)?;
        }
        Ok(())
    }
}
