//! The lease on a machine that sleeps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bindery::client::lease::{LeadershipChannels, LeadershipDeadline, campaign_with};
use bindery_sim::faults::{Fault, Faults, FaultyTransport};
use bindery_sim::{ApiRequest, ApiServer, Method};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tower::{BoxError, ServiceExt as _, service_fn};

use crate::controller::{election, send, server};

/// The lease that [`election`] is for.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bindery-controller";

/// A candidate on a clock of the test's; what it believes, and what stops it.
struct Candidate {
    until: watch::Receiver<LeadershipDeadline>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Candidate {
    fn start(suspended_time: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self::on(&server(), "we", suspended_time)
    }

    fn on(
        server: &ApiServer,
        identity: &str,
        suspended_time: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self::through(Client::new(server.clone(), "default"), identity, suspended_time)
    }

    fn through(
        client: Client,
        identity: &str,
        suspended_time: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        let (sender, until) = watch::channel(None);
        let (stop, stopped) = oneshot::channel();
        let channels = LeadershipChannels { until: sender, other_binder: watch::Sender::default() };
        let task = tokio::spawn(campaign_with(
            suspended_time,
            client,
            election(identity),
            channels,
            stopped,
        ));
        Self { until, stop, task }
    }

    fn leads(&self) -> bool {
        self.until.borrow().is_some()
    }

    async fn stop(self) {
        self.stop.send(()).expect("it runs");
        self.task.await.expect("it does not panic");
    }
}

/// Two on a lease that was not there: the first, which made it and leads, and one that waits.
async fn leader_and_other(server: &ApiServer) -> (Candidate, Candidate) {
    let candidate = Candidate::on(server, "we", || Duration::ZERO);
    sleep(Duration::from_secs(3)).await;
    assert!(candidate.leads(), "one that was never there is made at once");
    let other = Candidate::on(server, "they", || Duration::ZERO);
    sleep(Duration::from_secs(3)).await;
    (candidate, other)
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_suspended_does_not_lead_until_it_holds_the_lease_again() {
    let seconds = Arc::new(AtomicU64::new(100));
    let clock = Arc::clone(&seconds);
    let mut candidate =
        Candidate::start(move || Duration::from_secs(clock.load(Ordering::Relaxed)));
    // The clocks are looked at each second, the lease is renewed every other one: at an odd second nothing
    // else happens.
    sleep(Duration::from_millis(2_500)).await;
    assert!(candidate.leads());

    // As long as others leave us.
    seconds.fetch_add(2, Ordering::Relaxed);
    let lost = timeout(Duration::from_secs(10), candidate.until.wait_for(Option::is_none));
    assert!(lost.await.is_err(), "two seconds are no sleep");

    seconds.fetch_add(3, Ordering::Relaxed);
    let lost = timeout(Duration::from_secs(1), candidate.until.wait_for(Option::is_none));
    assert!(lost.await.is_ok(), "it still believes that it leads");
    let won = timeout(Duration::from_secs(3), candidate.until.wait_for(Option::is_some));
    assert!(won.await.is_ok(), "the lease is still its own");
    candidate.stop().await;
}

/// An uninstallation removes it first; a deployment tool may never bring it.
#[tokio::test(start_paused = true)]
async fn a_lease_that_stays_away_is_created_again_while_its_holder_leads() {
    let server = server();
    let (candidate, other) = leader_and_other(&server).await;
    send(&server, Method::Delete, LEASE, Value::Null);
    let is_there = || {
        server.with(|cluster| cluster.handle(ApiRequest::new(Method::Get, LEASE, Value::Null))).code
            == 200
    };
    for _ in 0..50 {
        assert!(!is_there(), "deleting everything is possible");
        assert!(candidate.leads() && !other.leads());
        sleep(Duration::from_millis(100)).await;
    }
    for _ in 0..200 {
        assert!(candidate.leads() && !other.leads(), "only one leads");
        sleep(Duration::from_millis(100)).await;
    }
    assert!(is_there());
    other.stop().await;
    candidate.stop().await;
}

/// It was stored before the suspension or after it: it is unknown.
#[tokio::test(start_paused = true)]
async fn a_renewal_sent_before_a_suspension_counts_for_nothing() {
    let seconds = AtomicU64::new(0);
    // Each look at the clock is a sleep later.
    let candidate =
        Candidate::start(move || Duration::from_secs(seconds.fetch_add(10, Ordering::Relaxed)));
    for _ in 0..300 {
        sleep(Duration::from_millis(100)).await;
        assert!(!candidate.leads());
    }
    candidate.stop().await;
}

/// As a deployment tool does that replaces what it finds.
#[tokio::test(start_paused = true)]
async fn who_leads_goes_on_where_the_holder_was_wiped_out() {
    let server = server();
    let (candidate, other) = leader_and_other(&server).await;
    for _ in 0..5 {
        let wiped = json!({"spec": {"holderIdentity": null, "leaseDurationSeconds": null, "renewTime": null}});
        let response = server.with(|cluster| cluster.handle(ApiRequest::merge_patch(LEASE, wiped)));
        assert_eq!(response.code, 200);
        for _ in 0..70 {
            assert!(candidate.leads() && !other.leads(), "only one leads");
            sleep(Duration::from_millis(100)).await;
        }
    }
    candidate.stop().await;
    sleep(Duration::from_millis(1_100)).await;
    assert!(other.leads(), "one that was given up is free at once");
    other.stop().await;
}

/// An API server in trouble must not be flooded, least of all when the lease has run out.
#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_taken_is_asked_for_once_a_second() {
    let server = server();
    let other = Candidate::on(&server, "they", || Duration::ZERO);
    sleep(Duration::from_secs(3)).await;
    let faulty = FaultyTransport::new(server, Faults::none(), 1);
    let candidate =
        Candidate::through(Client::new(faulty.clone(), "default"), "we", || Duration::ZERO);
    sleep(Duration::from_secs(3)).await;
    other.task.abort();
    faulty.set(Faults::none().with(Fault::Unavailable, 1000));
    sleep(Duration::from_mins(1)).await;
    let asked = faulty.tally()[&Fault::Unavailable];
    assert!((50..=62).contains(&asked), "{asked} times in a minute");
    assert!(!candidate.leads());
    faulty.set(Faults::none());
    sleep(Duration::from_secs(3)).await;
    assert!(candidate.leads());
    candidate.stop().await;
}

/// Until a write is stored whose reply does not come.
async fn await_lost_reply(faulty: &FaultyTransport) {
    let before = faulty.tally().get(&Fault::LostReply).copied().unwrap_or_default();
    faulty.set(Faults::none().with(Fault::LostReply, 1000));
    while faulty.tally().get(&Fault::LostReply).copied().unwrap_or_default() == before {
        sleep(Duration::from_millis(10)).await;
    }
    faulty.set(Faults::none());
}

/// The others would wait for its whole duration: a rolling update may have replaced all pods by then.
#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_while_it_takes_the_lease_or_renews_it_gives_it_up() {
    let server = server();
    let faulty = FaultyTransport::new(server.clone(), Faults::none(), 1);
    let through = |identity| {
        Candidate::through(Client::new(faulty.clone(), "default"), identity, || Duration::ZERO)
    };
    let candidate = through("we");
    sleep(Duration::from_secs(3)).await;
    await_lost_reply(&faulty).await;
    assert!(candidate.leads(), "the renewal is stored, and its reply is waited for");
    candidate.stop().await;
    let second = through("they");
    await_lost_reply(&faulty).await;
    assert!(!second.leads(), "it is the holder, and its reply is waited for");
    let third = Candidate::on(&server, "others", || Duration::ZERO);
    sleep(Duration::from_secs(1)).await;
    assert!(!third.leads(), "it has seen the holder");
    second.stop().await;
    sleep(Duration::from_millis(1_100)).await;
    assert!(third.leads(), "it is free at once");
    third.stop().await;
}

/// The connection breaks, and another one leads by the time it is told to stop: that one must not be put out.
#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_does_not_give_up_the_lease_of_another() {
    let server = server();
    // Without a holder, as the chart makes it.
    let lease = json!({"metadata": {"name": "bindery-controller"}});
    let leases = LEASE.rsplit_once('/').expect("a path").0;
    send(&server, Method::Post, leases, lease);
    let is_broken = Arc::new(AtomicBool::new(true));
    let (flag, api_server) = (Arc::clone(&is_broken), server.clone());
    let transport = service_fn(move |request: http::Request<Body>| {
        let is_lost = request.method() == http::Method::PATCH && flag.load(Ordering::Relaxed);
        let api_server = api_server.clone();
        async move {
            if is_lost {
                return Err(BoxError::from(io::Error::from(io::ErrorKind::ConnectionReset)));
            }
            api_server.oneshot(request).await.map_err(BoxError::from)
        }
    });
    let candidate = Candidate::through(Client::new(transport, "default"), "we", || Duration::ZERO);
    sleep(Duration::from_millis(100)).await;
    let other = Candidate::on(&server, "they", || Duration::ZERO);
    sleep(Duration::from_secs(5)).await;
    assert!(other.leads() && !candidate.leads());
    is_broken.store(false, Ordering::Relaxed);
    candidate.stop().await;
    let stored = send(&server, Method::Get, LEASE, Value::Null);
    assert_eq!(stored["spec"]["holderIdentity"], "they");
    other.stop().await;
}
