//! A cluster at rest: no replica reads it again and again, and a new claim is served at once.
//!
//! What a binder that lags does in the end a resync does as well, minutes later; so that only the time
//! shows that a wake-up is missing.

use std::time::Duration;

use bindery_sim::{ApiRequest, ApiServer, Method, RequestUser};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::replica::Replica;
use crate::invariants::Invariant;
use crate::users::unreadable::is_unreadable;

/// How long nothing happens: twice the resync of Kubernetes' own binder, and a little.
const REST: Duration = Duration::from_secs(35);

/// How often a claim may be read by its name meanwhile: our own resync may come just now.
const READS_COUNT_MAX: u64 = 1;

/// How often one that cannot be read is tried: after 20 ms, and twice as long each time.
const TRIALS_COUNT_MAX: u64 = 12;

/// How long two that fit may wait for each other; the server takes no time here.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Between the two that are to find each other.
const PAUSE: Duration = Duration::from_secs(1);

/// Who comes first, and who names whom.
#[derive(Clone, Copy, Debug)]
enum Pair {
    ClaimFirst,
    VolumeFirst,
    Together,
    /// The claim names the volume, which comes later.
    ClaimNames,
    /// The volume is reserved for the claim, which comes later.
    VolumeKept,
}

/// Looks at a cluster that has come to rest. What is broken, in words.
pub(super) async fn look(server: &ApiServer, replicas: &[Replica]) -> Vec<String> {
    for replica in replicas {
        replica.requests.take_reads();
    }
    sleep(REST).await;
    let mut broken = Vec::new();
    for replica in replicas {
        for (address, count) in replica.requests.take_reads() {
            let get = ApiRequest::new(Method::Get, address.as_str(), Value::Null);
            let found = server.with(|cluster| cluster.handle(get));
            let is_unreadable_kind = found.object().is_some_and(is_unreadable);
            if count > if is_unreadable_kind { TRIALS_COUNT_MAX } else { READS_COUNT_MAX } {
                let invariant = Invariant::ReadRate;
                broken.push(format!("{invariant:?}: {address} is read {count} times in {REST:?}"));
            }
        }
    }
    let pairs =
        [Pair::ClaimFirst, Pair::VolumeFirst, Pair::Together, Pair::ClaimNames, Pair::VolumeKept];
    for pair in pairs {
        if !is_bound_at_once(server, pair).await {
            let invariant = Invariant::BoundAtOnce;
            broken.push(format!("{invariant:?}: {pair:?} is not bound within {AT_ONCE:?}"));
        }
    }
    broken
}

/// Makes a claim and a volume of a class of their own.
async fn is_bound_at_once(server: &ApiServer, pair: Pair) -> bool {
    let name = format!("{pair:?}").to_lowercase();
    let (volume, claim) = (volume(&name, pair), claim(&name, pair));
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let (volume, claim) = (("/api/v1/persistentvolumes", volume), (claims, claim));
    let (first, second) = match pair {
        Pair::ClaimFirst | Pair::ClaimNames => (claim, volume),
        Pair::VolumeFirst | Pair::Together | Pair::VolumeKept => (volume, claim),
    };
    create(server, first);
    if !matches!(pair, Pair::Together) {
        sleep(PAUSE).await;
    }
    create(server, second);
    let begin = Instant::now();
    while begin.elapsed() < AT_ONCE {
        sleep(Duration::from_millis(10)).await;
        let request = ApiRequest::new(Method::Get, format!("{claims}/{name}"), Value::Null);
        let reply = server.with(|cluster| cluster.handle(request));
        if reply.object().is_some_and(|claim| claim["status"]["phase"] == "Bound") {
            return true;
        }
    }
    false
}

fn create(server: &ApiServer, (path, object): (&str, Value)) {
    let request =
        ApiRequest::new(Method::Post, path, object).by(RequestUser::named("latecomer", &[]));
    let reply = server.with(|cluster| cluster.handle(request));
    assert_eq!(reply.code, 201, "{reply:?}");
}

fn volume(name: &str, pair: Pair) -> Value {
    let kept = matches!(pair, Pair::VolumeKept);
    let reference = kept.then(|| json!({"namespace": "default", "name": name}));
    json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": name, "nfs": {"server": "a", "path": format!("/{name}")}, "claimRef": reference,
        },
    })
}

fn claim(name: &str, pair: Pair) -> Value {
    let named = matches!(pair, Pair::ClaimNames).then_some(name);
    json!({
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": name, "volumeName": named,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}
