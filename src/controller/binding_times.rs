//! How long each step of a binding took, as one log line for each binding.
//!
//! `BINDERY_LOG=info,bindery::timing=debug` switches it on; otherwise nothing is kept.

use std::collections::BTreeMap;
use std::fmt;

use tokio::time::Instant;
use tracing::Level;

use crate::binding::{NewStatus, Observed, Write};
use crate::client::send::WriteOutcome;
use crate::model::{ClaimKey, ClaimPhase, VolumeName, VolumePhase};

/// The target of the log lines.
const TARGET: &str = "bindery::timing";

/// Unbound claims and volumes whose time is kept at most. 100,000: each takes some 100 bytes, and so many bound at once
/// take minutes, of which the last line says nothing that those before do not.
const SEEN_COUNT_MAX: usize = 100_000;

/// When a write was decided on, and when its request began.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteTimes {
    pub(super) decided: Instant,
    pub(super) sent: Instant,
}

/// The bindings that are in progress or may come, each with its times so far.
#[derive(Debug)]
pub(super) struct BindingTimes {
    is_on: bool,
    claims: BTreeMap<ClaimKey, Binding>,
    volumes: BTreeMap<VolumeName, Seen>,
}

/// A claim that is not bound yet.
#[derive(Debug)]
struct Binding {
    seen: Instant,
    /// The volume that was reserved for it.
    volume: Option<VolumeName>,
    steps: Vec<Step>,
}

/// A volume that is not bound yet, and the claim for which it was reserved.
#[derive(Debug)]
struct Seen {
    at: Instant,
    claim: Option<ClaimKey>,
}

/// A binding that came to its end.
#[derive(Debug)]
struct Ended {
    claim: ClaimKey,
    volume: VolumeName,
    start: Instant,
    steps: Vec<Step>,
}

/// A write that was answered.
#[derive(Clone, Copy, Debug)]
struct Step {
    label: &'static str,
    times: WriteTimes,
    replied: Instant,
}

impl BindingTimes {
    /// None yet; whether any are kept depends on what is logged.
    pub(super) fn new() -> Self {
        let is_on = tracing::enabled!(target: TARGET, Level::DEBUG);
        Self { is_on, claims: BTreeMap::new(), volumes: BTreeMap::new() }
    }

    /// Notes when an unbound claim or volume was first seen.
    pub(super) fn on_observed(&mut self, observed: &Observed, now: Instant) {
        if !self.is_on {
            return;
        }
        match observed {
            Observed::Claim(claim) if claim.phase != ClaimPhase::Bound => {
                if self.claims.len() < SEEN_COUNT_MAX {
                    let binding = || Binding { seen: now, volume: None, steps: Vec::new() };
                    self.claims.entry(claim.key.clone()).or_insert_with(binding);
                }
            }
            Observed::Volume(volume) if volume.phase != VolumePhase::Bound => {
                if self.volumes.len() < SEEN_COUNT_MAX {
                    let seen = || Seen { at: now, claim: None };
                    self.volumes.entry(volume.name.clone()).or_insert_with(seen);
                }
            }
            // By another binder: what we write is shown as Bound before the last reply is there.
            Observed::Claim(claim) => {
                if self.claims.get(&claim.key).is_some_and(|binding| binding.steps.is_empty()) {
                    self.claims.remove(&claim.key);
                }
            }
            Observed::Volume(volume) => {
                if self.volumes.get(&volume.name).is_some_and(|seen| seen.claim.is_none()) {
                    self.volumes.remove(&volume.name);
                }
            }
            Observed::ClaimGone(key) => drop(self.claims.remove(key)),
            Observed::VolumeGone(name) => drop(self.volumes.remove(name)),
            Observed::Class(_)
            | Observed::ClassGone(_)
            | Observed::Pod(_)
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_) => {}
        }
    }

    /// Notes the reply to a write, and logs the binding that it ends.
    pub(super) fn on_reply(
        &mut self,
        write: &Write,
        outcome: &WriteOutcome,
        times: WriteTimes,
        replied: Instant,
    ) {
        if let Some(Ended { claim, volume, start, steps }) =
            self.add(write, outcome, times, replied)
        {
            let microseconds = microseconds(start, replied);
            let steps = Steps { start, steps: &steps };
            tracing::debug!(target: TARGET, %claim, %volume, microseconds, %steps, "bound");
        }
    }

    /// Adds the step that a reply ends; the binding, if it was the last.
    fn add(
        &mut self,
        write: &Write,
        outcome: &WriteOutcome,
        times: WriteTimes,
        replied: Instant,
    ) -> Option<Ended> {
        if !self.is_on {
            return None;
        }
        let claim = self.claim_of(write)?;
        let binding = self.claims.get_mut(&claim)?;
        if let Write::Reserve { volume, .. } = write {
            binding.volume = Some(volume.name.clone());
        }
        binding.steps.push(Step { label: write.label(), times, replied });
        let is_bound = matches!(write, Write::Status { status: NewStatus::Bound { .. }, .. });
        let is_stored = matches!(outcome, WriteOutcome::Stored(_));
        if is_bound && is_stored { self.end(claim) } else { None }
    }

    /// The claim that a write of a binding is for.
    fn claim_of(&mut self, write: &Write) -> Option<ClaimKey> {
        match write {
            Write::Reserve { volume, claim, .. } => {
                if let Some(seen) = self.volumes.get_mut(&volume.name) {
                    seen.claim = Some(claim.name.clone());
                }
                Some(claim.name.clone())
            }
            Write::Phase { volume, .. } => self.volumes.get(&volume.name)?.claim.clone(),
            Write::SetVolumeName { claim, .. }
            | Write::Status { claim, .. }
            | Write::SetClass { claim, .. } => Some(claim.name.clone()),
            Write::Unreserve { .. }
            | Write::SetProvisioner { .. }
            | Write::MigrateClaim { .. }
            | Write::MigrateVolume { .. } => None,
        }
    }

    fn end(&mut self, claim: ClaimKey) -> Option<Ended> {
        let Binding { seen, volume, steps } = self.claims.remove(&claim)?;
        // Of a binding that another leader began not all steps are known.
        let (volume, reserved) = self.volumes.remove_entry(&volume?)?;
        // Nothing can be decided before both are there.
        Some(Ended { claim, volume, start: seen.max(reserved.at), steps })
    }
}

/// Steps in words: for each how long after the one before it was decided, then sent, then answered, in microseconds.
struct Steps<'a> {
    start: Instant,
    steps: &'a [Step],
}

impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = self.start;
        for (number, Step { label, times: WriteTimes { decided, sent }, replied }) in
            self.steps.iter().enumerate()
        {
            let separator = if number == 0 { "" } else { ", " };
            let [decided_in, sent_in, replied_in] = [
                microseconds(before, *decided),
                microseconds(*decided, *sent),
                microseconds(*sent, *replied),
            ];
            write!(
                f,
                "{separator}{label} decided {decided_in} sent {sent_in} replied {replied_in}"
            )?;
            before = *replied;
        }
        Ok(())
    }
}

fn microseconds(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::api::claim::claim;
    use crate::api::volume::{Wanted, volume};
    use crate::binding::{ChosenBy, ObjectRef};
    use crate::model::AccessModes;

    const VOLUME: &str = r#"{"metadata":{"name":"pv-a"},"status":{"phase":"Available"}}"#;
    const CLAIM: &str =
        r#"{"metadata":{"name":"data","namespace":"db"},"status":{"phase":"Pending"}}"#;

    #[test]
    fn a_binding_is_told_from_when_both_were_seen_to_the_last_reply() {
        let read = volume(VOLUME, Wanted::Labels).unwrap().volume;
        let claim = claim(CLAIM, "db").unwrap();
        let (of_volume, of_claim) = (ObjectRef::of_volume(&read), ObjectRef::of_claim(&claim));
        let status = NewStatus::Bound {
            access_modes: AccessModes::default(),
            capacity: None,
            attributes_class: None,
        };
        let writes = [
            // Before it is known whose it will be: no step.
            Write::Phase {
                volume: of_volume.clone(),
                phase: VolumePhase::Available,
                message: String::new(),
            },
            Write::Reserve {
                volume: of_volume.clone(),
                claim: of_claim.clone(),
                chosen: ChosenBy::Binder,
                tenant: None,
            },
            Write::Phase { volume: of_volume, phase: VolumePhase::Bound, message: String::new() },
            Write::SetVolumeName {
                claim: of_claim.clone(),
                volume: read.name.clone(),
                chosen: ChosenBy::Binder,
            },
            Write::Status { claim: of_claim, status },
        ];
        let start = Instant::now();
        let at = |microseconds| start + Duration::from_micros(microseconds);
        let (mut times, mut now) = (BindingTimes { is_on: true, ..BindingTimes::new() }, 0);
        let volume = Observed::Volume(Arc::new(read));
        times.on_observed(&volume, at(0));
        times.on_observed(&Observed::Claim(Arc::new(claim)), at(100));
        let mut ended = Vec::new();
        for write in &writes {
            now += 1_000;
            let of_write = WriteTimes { decided: at(now - 700), sent: at(now - 600) };
            let stored = WriteOutcome::Stored(volume.clone());
            ended.extend(times.add(write, &stored, of_write, at(now)));
        }
        let [Ended { claim, volume, start: both, steps }] = &ended[..] else { panic!("{ended:?}") };
        assert_eq!(
            (claim.to_string(), volume.to_string(), *both),
            ("db/data".into(), "pv-a".into(), at(100))
        );
        assert_eq!(
            Steps { start: *both, steps }.to_string(),
            "reserve decided 1200 sent 100 replied 600, volume_phase decided 300 sent 100 replied 600, \
             name decided 300 sent 100 replied 600, claim_status decided 300 sent 100 replied 600"
        );
        assert!(times.claims.is_empty() && times.volumes.is_empty());
    }

    #[test]
    fn what_another_binder_binds_is_forgotten() {
        let mut times = BindingTimes { is_on: true, ..BindingTimes::new() };
        for phase in ["Pending", "Bound"] {
            let (of_volume, of_claim) =
                (VOLUME.replace("Available", phase), CLAIM.replace("Pending", phase));
            let read = volume(&of_volume, Wanted::Labels).unwrap().volume;
            let claim = claim(&of_claim, "db").unwrap();
            times.on_observed(&Observed::Volume(Arc::new(read)), Instant::now());
            times.on_observed(&Observed::Claim(Arc::new(claim)), Instant::now());
            let is_kept = phase == "Pending";
            assert_eq!((times.volumes.is_empty(), times.claims.is_empty()), (!is_kept, !is_kept));
        }
    }

    #[test]
    fn nothing_is_kept_unless_it_is_logged() {
        let mut times = BindingTimes { is_on: false, ..BindingTimes::new() };
        let read = volume(VOLUME, Wanted::Labels).unwrap().volume;
        times.on_observed(&Observed::Volume(Arc::new(read)), Instant::now());
        assert!(times.volumes.is_empty());
    }
}
