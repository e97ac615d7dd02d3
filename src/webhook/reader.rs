//! Live reads for reviews, made on the runtime of the watches.
//!
//! Reviews run on threads of their own; a connection to the API server must not live and die there.

use std::time::Duration;

use kube::Client;
use tokio::runtime::Handle;

use crate::binding::{LiveReads, Read};
use crate::cluster::reads;

/// Makes live reads; without a client every read fails.
#[derive(Clone)]
pub struct Reader {
    client: Option<(Client, Handle)>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("connected", &self.client.is_some()).finish()
    }
}

impl Reader {
    /// Reads through `client` on `runtime`.
    pub fn new(client: Client, runtime: Handle) -> Self {
        Self { client: Some((client, runtime)) }
    }

    /// A reader whose every read fails: for a webhook that knows no cluster.
    pub fn disconnected() -> Self {
        Self { client: None }
    }

    /// Makes `wanted` within `deadline` and adds the answers to `live`.
    pub async fn read(
        &self,
        wanted: Vec<Read>,
        deadline: Duration,
        mut live: LiveReads,
    ) -> LiveReads {
        let Some((client, runtime)) = self.client.clone() else {
            live.fail_all(&wanted);
            return live;
        };
        let before = live.clone();
        let again = wanted.clone();
        let reading = runtime.spawn(async move {
            reads::read(&client, &wanted, deadline, &mut live).await;
            live
        });
        reading.await.unwrap_or_else(|_| {
            let mut live = before;
            live.fail_all(&again);
            live
        })
    }
}
