//! What is stored and registered comes to, as far as the next step depends on it.

use jiff::Timestamp;

use super::KeyedPem;
use crate::certificates::reading::{authorities, is_accepted, time};

/// What is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The newest authority; nothing if it is missing or only half of it is there.
    pub authority: Option<KeyedPem>,
    /// The certificates of former authorities that are still trusted, PEM.
    pub former: String,
    /// What somebody asked to be made anew.
    pub asked: Option<RenewalRequest>,
    /// What replicas serve.
    pub serving: Option<KeyedPem>,
}

/// What somebody wants to be made anew before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalRequest {
    /// The authority, as after its key became known; all that it has signed goes with it.
    Ca,
    /// The serving certificate.
    Leaf,
}

/// What the next step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The newest authority.
    pub authority: CaState,
    /// The serving certificate.
    pub leaf: LeafState,
    /// Whether a former authority is still trusted.
    pub has_former: bool,
    /// Whether all registrations show what is trusted, and nothing else.
    pub is_published: bool,
}

/// How it is about the newest authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// There is none that can sign.
    Missing,
    /// It can sign for a while yet.
    Good,
    /// It is time for another.
    Due,
    /// Somebody wants another.
    Requested,
}

/// How it is about the serving certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafState {
    /// There is none that anybody would accept.
    Missing,
    /// A former authority signed it.
    Former,
    /// The newest authority signed it.
    Current {
        /// Whether it is time for another.
        is_due: bool,
    },
}

/// The facts about what is `stored` and what each registered entry trusts (PEM), for a service of this `name`.
pub fn facts(stored: &Stored, registered: &[String], name: &str, now: Timestamp) -> Facts {
    let trust = stored.trust();
    Facts {
        authority: authority(stored, now),
        leaf: leaf(stored, name, now),
        has_former: !authorities(&stored.former).is_empty(),
        is_published: registered.iter().all(|bundle| *bundle == trust),
    }
}

fn authority(stored: &Stored, now: Timestamp) -> CaState {
    let usable = stored.authority.as_ref().filter(|pair| pair.is_whole());
    let time = usable.and_then(|pair| time(&pair.certificate)).filter(|time| time.holds(now));
    match time {
        None => CaState::Missing,
        Some(_) if stored.asked == Some(RenewalRequest::Ca) => CaState::Requested,
        Some(time) if time.is_due(now) => CaState::Due,
        Some(_) => CaState::Good,
    }
}

fn leaf(stored: &Stored, name: &str, now: Timestamp) -> LeafState {
    let newest = stored.authority.as_ref().map_or("", |newest| &newest.certificate);
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
