//! What the scenarios were about, so that they are known to be about something.

use std::collections::BTreeMap;
use std::fmt;

use bindery::binding::Mismatch;

use super::documented::{self, Documented};
use super::scene::Scene;

/// Counts over scenarios.
#[derive(Debug, Default)]
pub(super) struct Tally {
    scenarios: usize,
    contending: usize,
    leaving_a_wait: usize,
    steps: usize,
    skipped: usize,
    denied: usize,
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
    /// Counts a scenario that was played.
    pub(super) fn scenario(&mut self) {
        self.scenarios += 1;
    }

    /// Counts a step that was taken, and whether both servers rejected it.
    pub(super) fn step(&mut self, outcomes: &[Result<(), String>; 2]) {
        let [ours, theirs] = outcomes;
        assert_eq!(ours.is_ok(), theirs.is_ok(), "one server rejects: {ours:?} {theirs:?}");
        self.steps += 1;
        if let Err(reason) = ours {
            self.denied += 1;
            println!("a step is rejected by both: {reason}");
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

    /// Counts what a scenario ends with.
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
        self.scenarios += other.scenarios;
        self.contending += other.contending;
        self.leaving_a_wait += other.leaving_a_wait;
        self.steps += other.steps;
        self.skipped += other.skipped;
        self.denied += other.denied;
        for (sum, counts) in
            [(&mut self.mismatches, other.mismatches), (&mut self.documented, other.documented)]
        {
            for (name, count) in counts {
                *sum.entry(name).or_default() += count;
            }
        }
    }

    /// Fails if the scenarios were too tame to show anything.
    pub(super) fn assert_reported(&self) {
        assert!(self.contending * 100 >= self.scenarios * 30, "too few compete for a volume");
        assert!(self.leaving_a_wait * 100 >= self.scenarios * 20, "too few leave a claim waiting");
        let missing: Vec<_> =
            MISMATCHES.iter().filter(|label| !self.mismatches.contains_key(**label)).collect();
        assert!(missing.is_empty(), "no volume failed for {missing:?}");
        assert!(self.denied * 10 <= self.steps, "too many steps are rejected by the server");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} scenarios, {} compete for a volume, {} leave a claim waiting; {} steps taken, {} rejected by \
             both servers, {} left out",
            self.scenarios,
            self.contending,
            self.leaving_a_wait,
            self.steps,
            self.denied,
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
