//! The rotation of an installation's certificates, in which every certificate is trusted before it is served.
//!
//! API servers trust what is registered (`caBundle`), replicas serve what is stored, and both see a change a moment
//! later. So a new CA is registered beside the former one; after a propagation time it signs the serving certificate; after
//! another one the former CA is removed. The next step follows from what is stored and registered, so that a new leader
//! resumes after a crash. How long a state has lasted is not stored: a new leader waits for the whole time again.

mod facts;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use facts::{CaState, LeafState, RenewalRequest, RotationFacts, Stored, facts};

use super::ca::{CertificateAuthority, CertificateError, SubjectNames};
use super::parse::{ca_certificates, time};

/// The validity periods, and the propagation time after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// The lifetime of a CA certificate.
    pub ca: SignedDuration,
    /// The lifetime of a serving certificate.
    pub leaf: SignedDuration,
    /// How long API servers and replicas may take to see a change.
    pub propagation: Duration,
}

impl Default for Periods {
    /// A year, as a new CA costs every API server new connections; thirty days; a minute, in which watches
    /// that were cut are back.
    fn default() -> Self {
        Self {
            ca: SignedDuration::from_hours(365 * 24),
            leaf: SignedDuration::from_hours(30 * 24),
            propagation: Duration::from_mins(1),
        }
    }
}

/// How long a state has been seen to last; nothing if it does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// That everything that is trusted is registered.
    pub published: Option<Duration>,
    /// That the serving certificate is signed by the newest CA.
    pub switched: Option<Duration>,
}

/// The next step of a rotation. Each is one write at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationStep {
    /// Store a new CA, the former one beside it.
    CreateCa(RenewalReason),
    /// Store a serving certificate that the newest CA signs.
    CreateLeaf(RenewalReason),
    /// Register everything that is trusted.
    Publish,
    /// Remove the former CA.
    Retire,
    /// Wait this long for the last change to be seen.
    Wait(Duration),
    /// Nothing.
    Rest,
}

/// Why a CA or certificate is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalReason {
    /// There was none, or none that can be used.
    Missing,
    /// Two thirds of its validity period are over.
    Due,
    /// It was requested.
    Requested,
    /// It is not signed by the newest CA.
    Former,
}

impl RenewalReason {
    /// Its spelling in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Due => "due",
            Self::Requested => "requested",
            Self::Former => "former",
        }
    }
}

/// The next step.
///
/// # Guarantees
///
/// A serving certificate is stored only after its CA has been registered for the propagation time, unless no other CA is
/// trusted. A CA is removed only after no serving certificate of it has been stored for that time.
pub fn decide(facts: RotationFacts, ages: Ages, propagation: Duration) -> RotationStep {
    let left = |age: Option<Duration>| propagation.saturating_sub(age.unwrap_or_default());
    let renewal = match facts.ca {
        CaState::Missing => return RotationStep::CreateCa(RenewalReason::Missing),
        CaState::Good => None,
        CaState::Due => Some(RenewalReason::Due),
        CaState::Requested => Some(RenewalReason::Requested),
    };
    // One renewal ends before the next begins.
    if let Some(reason) = renewal.filter(|_| !facts.has_former) {
        return RotationStep::CreateCa(reason);
    }
    match facts.leaf {
        LeafState::Current { is_due: true } => return RotationStep::CreateLeaf(RenewalReason::Due),
        // No other one is served meanwhile.
        LeafState::Missing if !facts.has_former => {
            return RotationStep::CreateLeaf(RenewalReason::Missing);
        }
        LeafState::Missing | LeafState::Former | LeafState::Current { is_due: false } => {}
    }
    if !facts.is_published {
        return RotationStep::Publish;
    }
    match facts.leaf {
        LeafState::Missing | LeafState::Former if !left(ages.published).is_zero() => {
            RotationStep::Wait(left(ages.published))
        }
        LeafState::Missing => RotationStep::CreateLeaf(RenewalReason::Missing),
        LeafState::Former => RotationStep::CreateLeaf(RenewalReason::Former),
        LeafState::Current { .. } if !facts.has_former => RotationStep::Rest,
        LeafState::Current { .. } if left(ages.switched).is_zero() => RotationStep::Retire,
        LeafState::Current { .. } => RotationStep::Wait(left(ages.switched)),
    }
}

/// How many former CAs stay trusted if it is unknown which of them signed the certificate that is served.
const FORMER_AT_MOST: usize = 4;

impl Stored {
    /// Everything that is trusted, PEM: the newest CA and the former ones.
    pub fn trust(&self) -> String {
        let newest = self.ca.as_ref().map_or("", |newest| &newest.certificate);
        ca_certificates(&format!("{newest}\n{}", self.former)).concat()
    }

    /// With a new CA. What was trusted is trusted on: the newest CA so far or, if that is lost,
    /// whatever is `registered`.
    pub fn with_new_ca(
        &self,
        (installation, registered): (&str, &str),
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Self, CertificateError> {
        let newest = self.ca.as_ref().map_or("", |newest| &newest.certificate);
        let candidates = if newest.is_empty() {
            format!("{}\n{registered}", self.former)
        } else {
            newest.to_owned()
        };
        let holds = |pem: &String| time(pem).is_some_and(|time| time.holds(now));
        let former: Vec<String> = ca_certificates(&candidates).into_iter().filter(holds).collect();
        let name = format!("{installation} {now}");
        Ok(Self {
            ca: Some(CertificateAuthority::make(&name, now, life)?),
            former: former.into_iter().take(FORMER_AT_MOST).collect::<Vec<_>>().concat(),
            asked: None,
            serving: self.serving.clone(),
        })
    }

    /// With a new serving pair; nothing if there is no CA to sign it.
    pub fn with_new_leaf(
        &self,
        names: &SubjectNames,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Option<Self>, CertificateError> {
        let Some(ca) = &self.ca else { return Ok(None) };
        // No leaf outlasts its CA.
        let rest = time(&ca.certificate).map_or(life, |time| time.end.duration_since(now));
        let serving = CertificateAuthority::of(ca)?.sign(names, now, life.min(rest))?;
        Ok(Some(Self { serving: Some(serving), asked: None, ..self.clone() }))
    }

    /// Without the former CAs.
    pub fn without_former(&self) -> Self {
        Self { former: String::new(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
