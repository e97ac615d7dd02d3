//! The order in which an installation's own certificates are renewed, so that nobody ever meets one that it does not
//! trust.
//!
//! API servers trust what is registered (`caBundle`), replicas serve what is stored, and both learn of a change a
//! moment later. So a new authority is registered beside the former one, after a while everything is signed by it,
//! and after another while the former one goes. Which step is next follows from what is stored and registered:
//! whoever takes over after a crash goes on from there. How long a state has lasted is known only to who saw it; a
//! successor waits anew.

mod facts;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use facts::{CaState, Facts, LeafState, RenewalRequest, Stored, facts};

use super::ca::{CertificateAuthority, CertificateError, KeyedPem, Names};
use super::reading::{authorities, time};

/// How long certificates last, and how long others need to learn of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// The life of an authority.
    pub authority: SignedDuration,
    /// The life of a serving certificate.
    pub leaf: SignedDuration,
    /// How long after a change everybody goes by it.
    pub settle: Duration,
}

impl Default for Periods {
    /// A year, as a new authority costs every API server new connections; thirty days; a minute, in which watches
    /// that were cut are back.
    fn default() -> Self {
        Self {
            authority: SignedDuration::from_hours(365 * 24),
            leaf: SignedDuration::from_hours(30 * 24),
            settle: Duration::from_mins(1),
        }
    }
}

/// How long a state has been seen to last; nothing if it does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// That everything that is trusted is registered.
    pub published: Option<Duration>,
    /// That the serving certificate is signed by the newest authority.
    pub switched: Option<Duration>,
}

/// What is to be done next. Each is one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Store a new authority, the former one beside it.
    MakeCa(Reason),
    /// Store a serving certificate that the newest authority signs.
    MakeLeaf(Reason),
    /// Register everything that is trusted.
    Publish,
    /// Forget the former authority.
    Retire,
    /// Wait this long for others to learn of the last change.
    Settle(Duration),
    /// Nothing.
    Rest,
}

/// Why something is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There was none, or none that can be used.
    Missing,
    /// Two thirds of its time are over, or somebody wants another.
    Due,
    /// Somebody asked for it.
    Requested,
    /// It is not signed by the newest authority.
    Former,
}

impl Reason {
    /// Its spelling in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Due => "due",
            Self::Requested => "asked",
            Self::Former => "former",
        }
    }
}

/// The next step.
///
/// # Guarantees
///
/// A serving certificate is stored only when its authority has been registered for the time to settle, unless nobody
/// trusts anything else; an authority goes only when no serving certificate of it has been stored for that time.
pub fn decide(facts: Facts, ages: Ages, settle: Duration) -> Step {
    let left = |age: Option<Duration>| settle.saturating_sub(age.unwrap_or_default());
    let renewal = match facts.authority {
        CaState::Missing => return Step::MakeCa(Reason::Missing),
        CaState::Good => None,
        CaState::Due => Some(Reason::Due),
        CaState::Requested => Some(Reason::Requested),
    };
    // One renewal is ended before the next begins.
    if let Some(reason) = renewal.filter(|_| !facts.has_former) {
        return Step::MakeCa(reason);
    }
    match facts.leaf {
        LeafState::Current { is_due: true } => return Step::MakeLeaf(Reason::Due),
        // Nobody is served by another one meanwhile.
        LeafState::Missing if !facts.has_former => return Step::MakeLeaf(Reason::Missing),
        LeafState::Missing | LeafState::Former | LeafState::Current { is_due: false } => {}
    }
    if !facts.is_published {
        return Step::Publish;
    }
    match facts.leaf {
        LeafState::Missing | LeafState::Former if !left(ages.published).is_zero() => {
            Step::Settle(left(ages.published))
        }
        LeafState::Missing => Step::MakeLeaf(Reason::Missing),
        LeafState::Former => Step::MakeLeaf(Reason::Former),
        LeafState::Current { .. } if !facts.has_former => Step::Rest,
        LeafState::Current { .. } if left(ages.switched).is_zero() => Step::Retire,
        LeafState::Current { .. } => Step::Settle(left(ages.switched)),
    }
}

/// So many former authorities are trusted on at most, where it is not known which of them signed what is served.
const FORMER_AT_MOST: usize = 4;

impl Stored {
    /// Everything that is trusted, PEM: the newest authority and the former ones.
    pub fn trust(&self) -> String {
        let newest = self.authority.as_ref().map_or("", |newest| &newest.certificate);
        authorities(&format!("{newest}\n{}", self.former)).concat()
    }

    /// With a new authority. What was trusted is trusted on: the newest authority so far or, if that is lost,
    /// whatever is `registered`.
    pub fn with_new_authority(
        &self,
        (installation, registered): (&str, &str),
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Self, CertificateError> {
        let newest = self.authority.as_ref().map_or("", |newest| &newest.certificate);
        let candidates = if newest.is_empty() {
            format!("{}\n{registered}", self.former)
        } else {
            newest.to_owned()
        };
        let holds = |pem: &String| time(pem).is_some_and(|time| time.holds(now));
        let former: Vec<String> = authorities(&candidates).into_iter().filter(holds).collect();
        let name = format!("{installation} {now}");
        Ok(Self {
            authority: Some(CertificateAuthority::make(&name, now, life)?),
            former: former.into_iter().take(FORMER_AT_MOST).collect::<Vec<_>>().concat(),
            asked: None,
            serving: self.serving.clone(),
        })
    }

    /// With a new serving pair; nothing if there is no authority to sign it.
    pub fn with_new_leaf(
        &self,
        names: &Names,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Option<Self>, CertificateError> {
        let Some(authority) = &self.authority else { return Ok(None) };
        // No leaf outlasts its authority.
        let rest = time(&authority.certificate).map_or(life, |time| time.end.duration_since(now));
        let serving = CertificateAuthority::of(authority)?.sign(names, now, life.min(rest))?;
        Ok(Some(Self { serving: Some(serving), asked: None, ..self.clone() }))
    }

    /// Without the former authorities.
    pub fn without_former(&self) -> Self {
        Self { former: String::new(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
