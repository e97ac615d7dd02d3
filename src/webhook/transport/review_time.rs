//! How long the API server waits for the answer to a review.

use std::time::Duration;

use tokio::time::Instant;

/// Kubernetes: the timeout of a webhook whose registration names none.
const DEFAULT: Duration = Duration::from_secs(10);

/// Kubernetes: a registration may name 1 to 30 seconds.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Kept for judging and for the way back. The API server rounds the time it has left up to a whole
/// second, so half a second is gone on average before the request is sent.
const MARGIN: Duration = Duration::from_millis(500);

/// The time in which a review must be answered, from the `timeout` of its query.
///
/// Kubernetes: the API server sends the time it has left as `?timeout=Ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewTime {
    arrived: Instant,
    allowed: Duration,
}

impl ReviewTime {
    /// The time of a review whose head arrived at `arrived` with this query (the part behind `?`).
    /// A missing or unreadable timeout is 10 s; others are brought into 1–30 s.
    pub fn new(arrived: Instant, query: Option<&str>) -> Self {
        let named = query
            .unwrap_or_default()
            .split('&')
            .find_map(|pair| pair.strip_prefix("timeout="))
            .and_then(|value| value.strip_suffix('s'))
            .and_then(|seconds| seconds.parse::<u32>().ok());
        let allowed = named.map_or(DEFAULT, |seconds| Duration::from_secs(seconds.into()));
        Self { arrived, allowed: allowed.clamp(SHORTEST, LONGEST) }
    }

    /// When the answer must be ready: the API server's deadline minus a margin of half a second.
    pub fn deadline(&self) -> Instant {
        self.arrived + self.allowed.saturating_sub(MARGIN)
    }

    /// What is left until [`ReviewTime::deadline`] at `now`; zero when it has passed.
    pub fn left(&self, now: Instant) -> Duration {
        self.deadline().saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_the_query_counts_within_kubernetes_bounds() {
        let arrived = Instant::now();
        for (query, milliseconds) in [
            (None, 9_500),
            (Some(""), 9_500),
            (Some("timeout=10s"), 9_500),
            (Some("timeout=1s"), 500),
            (Some("a=b&timeout=3s"), 2_500),
            (Some("timeout=30s&x=y"), 29_500),
            (Some("timeout=31s"), 29_500),
            (Some("timeout=0s"), 500),
            (Some("timeout=99999999999999999999s"), 9_500),
            (Some("timeout=-1s"), 9_500),
            (Some("timeout=soon"), 9_500),
            (Some("xtimeout=3s"), 9_500),
        ] {
            let left = ReviewTime::new(arrived, query).left(arrived);
            assert_eq!(left, Duration::from_millis(milliseconds), "{query:?}");
        }
    }

    #[test]
    fn nothing_is_left_after_the_deadline() {
        let time = ReviewTime::new(Instant::now(), None);
        assert_eq!(time.left(time.deadline() + SHORTEST), Duration::ZERO);
    }
}
