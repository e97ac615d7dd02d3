//! Live reads for reviews, made on the runtime of the watches.
//!
//! Reviews run on threads of their own, and connections to the API server are shared by all of them.

use std::time::Duration;

use kube::Client;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::binding::{LiveReads, Read};
use crate::client::reads::LiveReader;

/// Makes live reads; without a client every read fails.
#[derive(Clone, Debug)]
pub struct ReadDispatcher {
    live: Option<(LiveReader, Handle)>,
}

impl ReadDispatcher {
    /// Reads through `client` on `runtime`.
    pub fn new(client: Client, runtime: Handle) -> Self {
        Self { live: Some((LiveReader::new(client), runtime)) }
    }

    /// A reader whose every read fails: for a webhook that knows no cluster.
    pub fn disconnected() -> Self {
        Self { live: None }
    }

    /// Makes `wanted` within `deadline` and adds the answers to `live`. Returns how many of them ended in a
    /// panic.
    ///
    /// The deadline is enforced here too, on the thread of the review, so that a busy runtime of the watches delays no
    /// review.
    pub async fn read(
        &self,
        wanted: &[Read],
        deadline: Duration,
        live: LiveReads,
    ) -> (LiveReads, usize) {
        let failed = |mut live: LiveReads| {
            live.fail_all(wanted);
            (live, 0)
        };
        let Some((reader, runtime)) = self.live.clone() else { return failed(live) };
        let (reads, mut answers) = (wanted.to_vec(), live.clone());
        let mut reading = JoinSet::new();
        let reading_there = async move {
            let panics = reader.read(&reads, deadline, &mut answers).await;
            (answers, panics)
        };
        reading.spawn_on(reading_there, &runtime);
        // An eighth more: those that were answered in time count although others were not.
        match timeout(deadline * 9 / 8, reading.join_next()).await {
            Ok(Some(Ok(read))) => read,
            // Dropped, the set ends what is still in flight.
            Ok(Some(Err(_)) | None) | Err(_) => failed(live),
        }
    }
}
