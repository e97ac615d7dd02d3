//! The state of what is stored and registered, as far as the next step depends on it.

use jiff::Timestamp;

use crate::certificates::ca::KeyedPem;
use crate::certificates::parse::{ca_certificates, is_accepted, time};

/// What is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The newest CA; nothing if it is missing or only half of it is there.
    pub ca: Option<KeyedPem>,
    /// The certificates of former CAs that are still trusted, PEM.
    pub former: String,
    /// A renewal that is requested.
    pub asked: Option<RenewalRequest>,
    /// What replicas serve.
    pub serving: Option<KeyedPem>,
}

/// A renewal before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalRequest {
    /// The CA, as after its key became known; all that it has signed goes with it.
    Ca,
    /// The serving certificate.
    Leaf,
}

/// What the next step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotationFacts {
    /// The newest CA.
    pub ca: CaState,
    /// The serving certificate.
    pub leaf: LeafState,
    /// Whether a former CA is still trusted.
    pub has_former: bool,
    /// Whether all registrations show what is trusted, and nothing else.
    pub is_published: bool,
}

/// The state of the newest CA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// There is none that can sign.
    Missing,
    /// It can sign for a while yet.
    Good,
    /// Two thirds of its validity period are over.
    Due,
    /// A renewal is requested.
    Requested,
}

/// The state of the serving certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafState {
    /// There is none that a client would accept.
    Missing,
    /// A former CA signed it.
    Former,
    /// The newest CA signed it.
    Current {
        /// Whether another is due.
        is_due: bool,
    },
}

/// The state of what is `stored` and of the CA bundles that are `registered` (PEM), for a service of this `name`.
pub fn facts(stored: &Stored, registered: &[String], name: &str, now: Timestamp) -> RotationFacts {
    let trust = stored.trust();
    RotationFacts {
        ca: ca(stored, now),
        leaf: leaf(stored, name, now),
        has_former: !ca_certificates(&stored.former).is_empty(),
        is_published: registered.iter().all(|bundle| *bundle == trust),
    }
}

fn ca(stored: &Stored, now: Timestamp) -> CaState {
    let usable = stored.ca.as_ref().filter(|pair| pair.is_whole());
    let time = usable.and_then(|pair| time(&pair.certificate)).filter(|time| time.holds(now));
    match time {
        None => CaState::Missing,
        Some(_) if stored.asked == Some(RenewalRequest::Ca) => CaState::Requested,
        Some(time) if time.is_due(now) => CaState::Due,
        Some(_) => CaState::Good,
    }
}

fn leaf(stored: &Stored, name: &str, now: Timestamp) -> LeafState {
    let newest = stored.ca.as_ref().map_or("", |newest| &newest.certificate);
    let Some(serving) = stored.serving.as_ref().filter(|pair| pair.is_whole()) else {
        return LeafState::Missing;
    };
    let is_accepted = |trust: &str| is_accepted(&serving.certificate, trust, name, now);
    if is_accepted(newest) {
        let is_due = time(&serving.certificate).is_none_or(|time| time.is_due(now));
        LeafState::Current { is_due: is_due || stored.asked == Some(RenewalRequest::Leaf) }
    } else if is_accepted(&stored.former) {
        LeafState::Former
    } else {
        LeafState::Missing
    }
}
