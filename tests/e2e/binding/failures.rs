//! The controller process while the way to the API server, or its own kind, fails it.

use std::mem::ManuallyDrop;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::controller::{Controller, Election};
use crate::eventually::{eventually, wait};
use crate::plane::persona::{ADMIN, BINDERY_CONTROLLER};
use crate::plane::{Objects, Peers, Plane, claim_path, volume_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, alone, case, extent};

pub(crate) const CASES: &[Case] = &[
    case!(a_provisioned_volume_survives_a_late_claim_event),
    case!(it_survives_a_faulty_connection),
    case!(it_starts_on_a_crowd_and_outlives_the_api_server),
    alone!(another_takes_over_from_one_that_is_killed_or_terminated),
];

/// Cases that take a minute each, whatever the machine.
pub(crate) const LENGTHY: &[Case] = &[case!(a_rejected_token_is_read_again)];

/// How long the machine may take to do what takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns how long the API server is away.
fn absence() -> Duration {
    Duration::from_secs(if extent().is_full { 60 } else { 3 })
}

fn until(plane: &Plane, path: &str, phase: &str) -> Value {
    until_within(PATIENCE, plane, path, phase)
}

fn until_within(patience: Duration, plane: &Plane, path: &str, phase: &str) -> Value {
    eventually(&format!("{path} is {phase}"), patience, || {
        let object = plane.get(ADMIN, path).json;
        let seen = object["status"]["phase"].as_str().unwrap_or("absent").to_owned();
        if seen == phase { Ok(object) } else { Err(seen) }
    })
}

/// Pairs that are bound while trouble lasts, or after it.
struct Pairs<'a> {
    plane: &'a Plane,
    objects: Objects<'a>,
    made: usize,
}

impl Pairs<'_> {
    fn make(&mut self, count: usize) {
        for number in self.made..self.made + count {
            self.objects.volume(&format!("v{number}"), &json!({}));
            self.objects.claim(&format!("c{number}"), &json!({}));
        }
        self.made += count;
    }

    fn await_all(&self) {
        self.await_within(PATIENCE);
    }

    fn await_within(&self, patience: Duration) {
        for number in 0..self.made {
            let path = claim_path(self.objects.namespace(), &format!("c{number}"));
            until_within(patience, self.plane, &path, "Bound");
        }
    }
}

fn it_survives_a_faulty_connection() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let proxy = Proxy::start(&plane);
    let controller =
        Controller::start_by(&proxy.kubeconfig(&plane, BINDERY_CONTROLLER), Election::None);
    let mut pairs = Pairs { plane: &plane, objects: plane.objects("survives"), made: 0 };
    pairs.make(1);
    pairs.await_all();
    it_goes_on_after_an_absence(&proxy, &mut pairs);
    watches_may_end_in_mid_burst(&proxy, &mut pairs);
    a_compacted_history_is_listed_again(&proxy, &mut pairs);
    a_busy_server_is_given_the_time_that_it_asks_for(&proxy, &mut pairs);
    let log = controller.log();
    assert!(!log.contains("panicked"), "{log}");
}

/// A volume was destroyed because the event of the claim for which it was made came late.
fn a_provisioned_volume_survives_a_late_claim_event() {
    let plane = &Plane::start(Peers::WithoutBinder).unwrap();
    let proxy = Proxy::start(plane);
    let _controller =
        Controller::start_by(&proxy.kubeconfig(plane, BINDERY_CONTROLLER), Election::None);
    let mut pairs = Pairs { plane, objects: plane.objects("before"), made: 0 };
    pairs.make(1);
    pairs.await_all();
    let objects = plane.objects("late");
    proxy.set(Trouble::LateClaims);
    let claim = objects.claim("data", &json!({}));
    let made_for = |suffix: &str, uid: &Value| {
        let overlay = json!({
            "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "disk.example"}},
            "spec": {
                "persistentVolumeReclaimPolicy": "Delete", "nfs": null,
                "csi": {"driver": "disk.example", "volumeHandle": suffix},
                "claimRef": {"namespace": objects.namespace(), "name": "data", "uid": uid},
            },
        });
        objects.volume(suffix, &overlay);
        volume_path(&objects.name(suffix))
    };
    let (ours, dead) =
        (made_for("made", &claim["metadata"]["uid"]), made_for("dead", &json!("gone")));
    // It looks at volumes all the while: one whose claim is really gone is released.
    until(plane, &dead, "Released");
    wait(Duration::from_secs(1));
    let phase = plane.get(ADMIN, &ours).expect_ok()["status"]["phase"].clone();
    assert_ne!(phase, "Released", "the claim is there, only not seen");
    proxy.set(Trouble::None);
    until(plane, &claim_path(objects.namespace(), "data"), "Bound");
    until(plane, &ours, "Bound");
}

/// A token that the server does not take any more is replaced in its file, as kubelets do it: the client
/// looks at the file about once a minute.
fn a_rejected_token_is_read_again() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (token, kubeconfig) = (folder.path().join("token"), folder.path().join("kubeconfig"));
    let text = std::fs::read_to_string(plane.kubeconfig(BINDERY_CONTROLLER)).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    let valid = config["users"][0]["user"]["token"].take();
    config["users"][0]["user"] = json!({"tokenFile": token});
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    std::fs::write(&token, "expired").unwrap();
    let controller = Controller::start_by(&kubeconfig, Election::None);
    eventually("the token is rejected", PATIENCE, || {
        if controller.log().contains("Unauthorized") { Ok(()) } else { Err(controller.log()) }
    });
    std::fs::write(&token, valid.as_str().unwrap()).unwrap();
    let mut pairs = Pairs { plane: &plane, objects: plane.objects("token"), made: 0 };
    pairs.make(1);
    wait(Duration::from_mins(1));
    pairs.await_all();
}

fn it_goes_on_after_an_absence(proxy: &Proxy, pairs: &mut Pairs<'_>) {
    let cut = proxy.met(Trouble::Away);
    proxy.set(Trouble::Away);
    pairs.make(3);
    wait(absence());
    assert!(proxy.met(Trouble::Away) > cut, "watches were cut");
    proxy.set(Trouble::None);
    pairs.await_all();
}

fn watches_may_end_in_mid_burst(proxy: &Proxy, pairs: &mut Pairs<'_>) {
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..10 {
                proxy.cut();
                wait(Duration::from_millis(50));
            }
        });
        pairs.make(40);
    });
    pairs.await_all();
}

fn a_compacted_history_is_listed_again(proxy: &Proxy, pairs: &mut Pairs<'_>) {
    proxy.set(Trouble::Forgotten);
    pairs.make(2);
    eventually("the history is rejected", PATIENCE, || match proxy.met(Trouble::Forgotten) {
        0 => Err("not yet".to_owned()),
        _ => Ok(()),
    });
    pairs.await_all();
    proxy.set(Trouble::None);
}

fn a_busy_server_is_given_the_time_that_it_asks_for(proxy: &Proxy, pairs: &mut Pairs<'_>) {
    proxy.set(Trouble::Busy);
    pairs.make(20);
    // The watches may still pause after what was forgotten.
    eventually("a write is answered with Retry-After", PATIENCE, || {
        match proxy.met(Trouble::Busy) {
            0 => Err("not yet".to_owned()),
            _ => Ok(()),
        }
    });
    wait(Duration::from_secs(4));
    let met = proxy.met(Trouble::Busy);
    assert!(met <= 400, "{met} writes in four seconds that had to wait for one");
    proxy.set(Trouble::None);
    pairs.await_all();
}

fn it_starts_on_a_crowd_and_outlives_the_api_server() {
    const HANDS: usize = 8;
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    // They go with their plane: to delete them one by one takes longer than all else here.
    let objects = ManuallyDrop::new(plane.objects("crowd"));
    let count = if extent().is_full { 50_000 } else { 400 };
    thread::scope(|scope| {
        for hand in 0..HANDS {
            let (objects, numbers) = (&objects, (hand..count).step_by(HANDS));
            // One in five is a volume, which none of the claims can take.
            scope.spawn(move || {
                for number in numbers {
                    if number % 5 == 0 {
                        let other = json!({"spec": {"storageClassName": "unused"}});
                        objects.volume(&format!("v{number}"), &other);
                    } else {
                        objects.claim(&format!("c{number}"), &json!({}));
                    }
                }
            });
        }
    });
    let mut pairs = Pairs { plane: &plane, objects: plane.objects("among"), made: 0 };
    pairs.make(1);
    let start = Instant::now();
    let _controller = Controller::start(&plane, Election::None);
    // Each PV of the crowd is made Available before: the API server stores 640 such writes a second beside a
    // controller that is not optimised, on two cores, and may take three times as long.
    pairs.await_within(PATIENCE + Duration::from_secs(u64::try_from(count / 5 / 200).unwrap()));
    println!("a pair among {count} objects is bound {:?} after the start", start.elapsed());
    plane.restart_api_server(absence()).unwrap();
    pairs.make(2);
    pairs.await_all();
}

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bindery-controller";

fn another_takes_over_from_one_that_is_killed_or_terminated() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let mut pairs = Pairs { plane: &plane, objects: plane.objects("failover"), made: 0 };
    let mut all: Vec<Controller> =
        (0..3).map(|_| Controller::start(&plane, Election::Lease)).collect();
    pairs.make(1);
    pairs.await_all();
    // Terminated: the lease is given up.
    let first = leading(&plane, &mut all);
    let start = Instant::now();
    first.stop();
    pairs.make(1);
    pairs.await_all();
    let after_stop = start.elapsed();
    // Killed: the lease runs out.
    let second = leading(&plane, &mut all);
    let start = Instant::now();
    drop(second);
    pairs.make(1);
    pairs.await_all();
    let after_kill = start.elapsed();
    println!("another bound {after_stop:?} after a stop, {after_kill:?} after a kill");
    assert!(after_stop <= Duration::from_secs(3), "{after_stop:?} after a stop");
    assert!(after_kill <= Duration::from_secs(17), "{after_kill:?} after a kill");
}

/// Takes the one that leads out of them.
fn leading(plane: &Plane, all: &mut Vec<Controller>) -> Controller {
    let lease = plane.get(ADMIN, LEASE).expect_ok();
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
    let leads = |controller: &Controller| holder.contains(&format!("_{}_", controller.id()));
    let place = all.iter().position(leads);
    all.remove(place.unwrap_or_else(|| panic!("no replica is {holder}")))
}
