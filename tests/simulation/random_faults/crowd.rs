//! Thousands of released volumes delay no claim, neither at the start nor later.
//!
//! Kubernetes' own binder reads the claim of each again and again, and claims that could be bound at once
//! wait for minutes.

use std::time::Duration;

use bindery::client::lease::Timing;
use bindery_sim::faults::{Fault, Faults};
use bindery_sim::{ApiRequest, ApiServer, Method};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::calm;
use super::replica::Replica;
use crate::controller::{CLAIMS, VOLUMES, claim, send, server, until, volume};

/// The volumes, each of a claim that is gone.
const RELEASED_COUNT: usize = 5_000;

/// How long a claim may wait that comes while all of them are looked at for the first time, besides the
/// list of them.
const AT_THE_START: Duration = Duration::from_secs(2);

#[tokio::test(start_paused = true)]
async fn thousands_of_released_volumes_delay_no_claim() {
    let server = server();
    (0..RELEASED_COUNT).for_each(|number| release(&server, number));
    let mut faults = Faults::none().with(Fault::Latency, 1000);
    faults.longest_latency = Duration::from_millis(20);
    let (name, timing) = ("binder", Timing::default());
    let replica = Replica::start(&server, name, timing, faults, 1);
    let begin = Instant::now();
    send(&server, Method::Post, VOLUMES, volume("pv-new", "10Gi"));
    send(&server, Method::Post, CLAIMS, claim("new", "5Gi"));
    until(&server, &format!("{CLAIMS}/new"), "Bound").await;
    let waited = begin.elapsed();
    assert!(waited < AT_THE_START, "the claim waited {waited:?}");
    sleep(Duration::from_mins(1)).await;
    let reads = replica.requests.take_reads();
    assert_eq!(reads.len(), RELEASED_COUNT, "each has to be proven gone");
    let again = reads.iter().find(|(_, count)| **count > 1);
    assert_eq!(again, None, "once is enough");
    let broken = calm::look(&server, &[replica]).await;
    assert!(broken.is_empty(), "{broken:?}");
}

/// A volume as it is left when its claim is gone.
fn release(server: &ApiServer, number: usize) {
    let name = format!("pv-{number}");
    let mut object = volume(&name, "10Gi");
    object["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
    object["spec"]["claimRef"] = json!({
        "kind": "PersistentVolumeClaim", "namespace": "default", "name": format!("gone-{number}"),
        "uid": format!("uid-{number}"),
    });
    send(server, Method::Post, VOLUMES, object);
    let status = json!({"status": {"phase": "Released"}});
    let path = format!("{VOLUMES}/{name}/status");
    let reply = server.with(|cluster| cluster.handle(ApiRequest::merge_patch(path, status)));
    assert_eq!(reply.code, 200, "{reply:?}");
}
