//! The faults, their rates and their measures.

use std::time::Duration;

use crate::rng::SeededRng;

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A request takes its time.
    Latency,
    /// Another client writes the object just before a write that names its version.
    Conflict,
    /// The server sheds the request: 429 with `Retry-After`.
    TooManyRequests,
    /// 500; nothing was written.
    InternalError,
    /// 503; nothing was written.
    Unavailable,
    /// The request never arrives, and no answer comes.
    LostRequest,
    /// The write lands, and no answer comes.
    LostReply,
    /// No answer comes, and the write lands after the client has given up.
    LateWrite,
    /// The client and the server do not reach each other for a while.
    Partition,
    /// A list or watch that allows it is served from an older state.
    StaleRead,
    /// The history is compacted when a watch begins: older versions get 410.
    Compaction,
    /// An event, and all behind it, comes late.
    DelayedEvent,
    /// An event comes twice.
    DuplicatedEvent,
    /// An object's events do not come before the client lists again.
    LostEvent,
    /// A watch ends in mid-burst: cleanly, in the middle of a line, or with a broken connection.
    CutStream,
    /// A watch stays open and brings nothing any more.
    SilentStream,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Latency,
        Self::Conflict,
        Self::TooManyRequests,
        Self::InternalError,
        Self::Unavailable,
        Self::LostRequest,
        Self::LostReply,
        Self::LateWrite,
        Self::Partition,
        Self::StaleRead,
        Self::Compaction,
        Self::DelayedEvent,
        Self::DuplicatedEvent,
        Self::LostEvent,
        Self::CutStream,
        Self::SilentStream,
    ];

    /// The highest rate that [`Faults::all`] gives it: what hurts for long is rarer.
    fn most(self) -> u16 {
        match self {
            Self::Latency => 500,
            Self::DelayedEvent | Self::StaleRead => 200,
            Self::Conflict | Self::DuplicatedEvent | Self::Compaction => 100,
            Self::TooManyRequests
            | Self::InternalError
            | Self::Unavailable
            | Self::LostReply
            | Self::CutStream => 50,
            Self::LostRequest | Self::LateWrite | Self::LostEvent => 30,
            Self::Partition | Self::SilentStream => 10,
        }
    }
}

/// How often each fault happens, in a thousand occasions, and how bad it is then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    rates: [u16; Fault::ALL.len()],
    /// The longest time that a request takes because of [`Fault::Latency`].
    pub longest_latency: Duration,
    /// How long a request without an answer hangs before its connection breaks. Kubernetes: the
    /// server gives up after `--request-timeout`, a minute.
    pub patience: Duration,
    /// The longest delay of an event, and of a late write after `patience`.
    pub longest_delay: Duration,
    /// The longest partition.
    pub longest_partition: Duration,
    /// By how many versions a stale read is behind at most.
    pub most_versions_behind: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self {
            rates: [0; Fault::ALL.len()],
            longest_latency: Duration::from_millis(500),
            patience: Duration::from_mins(1),
            longest_delay: Duration::from_secs(10),
            longest_partition: Duration::from_secs(40),
            most_versions_behind: 20,
        }
    }

    /// Everything goes wrong at times; how often each thing does depends on `seed`, so that different
    /// seeds meet different mixtures.
    pub fn all(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        Fault::ALL.into_iter().fold(Self::none(), |faults, fault| {
            let rate = rng.below(u64::from(fault.most())).saturating_add(1);
            faults.with(fault, u16::try_from(rate).unwrap_or(u16::MAX))
        })
    }

    /// The same with another rate of one fault, in a thousand.
    pub fn with(mut self, fault: Fault, rate: u16) -> Self {
        if let Some(slot) = self.rates.get_mut(fault as usize) {
            *slot = rate;
        }
        self
    }

    /// Returns how often a fault happens, in a thousand occasions.
    pub fn rate(&self, fault: Fault) -> u16 {
        self.rates.get(fault as usize).copied().unwrap_or_default()
    }
}
