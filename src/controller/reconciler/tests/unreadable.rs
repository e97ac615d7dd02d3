//! Objects that cannot be read: counted while they are there and unreadable, whatever they are.

use std::sync::Arc;

use super::{Stage, Task, pvc};
use crate::api::class::class;
use crate::binding::Observed;
use crate::client::resource::{Identity, ResourceKind};
use crate::client::watch::Unreadable;
use crate::model::{ResourceVersion, Uid};

fn unreadable(namespace: &str, name: &str) -> Unreadable {
    Unreadable {
        identity: Identity { namespace: namespace.into(), name: name.into() },
        uid: Uid::new("u"),
        version: ResourceVersion::new("101"),
        reason: "no".to_owned(),
    }
}

fn counts(stage: &Stage) -> [usize; 2] {
    [ResourceKind::Claims, ResourceKind::Classes]
        .map(|watched| stage.reconciler.unreadable_count(watched))
}

/// A claim and a class that cannot be read, and a second class.
fn two_unreadable() -> Stage {
    let mut stage = Stage::of(&[], &[]);
    for (watched, namespace, name) in [
        (ResourceKind::Claims, "db", "c"),
        (ResourceKind::Classes, "", "fast"),
        (ResourceKind::Classes, "", "slow"),
    ] {
        stage.reconciler.on_unreadable(watched, unreadable(namespace, name), stage.now);
    }
    assert_eq!(counts(&stage), [1, 2]);
    stage
}

/// A list is mostly complete before the lease is ours.
#[test]
fn a_new_leader_records_what_cannot_be_read() {
    let mut stage = two_unreadable();
    let now = stage.now;
    let recorded = |stage: &mut Stage| {
        let notices = std::iter::from_fn(|| match stage.next() {
            Some(Task::Record(notice)) => {
                stage.reconciler.on_recorded(&notice, true, now);
                Some((notice.event.reason, notice.uid))
            }
            Some(other) => panic!("not recorded: {other:?}"),
            None => None,
        });
        notices.collect::<Vec<_>>()
    };
    let of_the_claim = [("Unreadable", Some(Uid::new("u")))];
    assert_eq!(recorded(&mut stage), of_the_claim, "classes have no events");
    stage.reconciler.on_unreadable(ResourceKind::Claims, unreadable("db", "c"), now);
    assert_eq!(recorded(&mut stage), []);
    stage.reconciler.set_leading(false, now);
    assert_eq!(recorded(&mut stage), []);
    stage.reconciler.set_leading(true, now);
    assert_eq!(recorded(&mut stage), of_the_claim);
}

#[test]
fn what_can_be_read_again_or_is_gone_is_not_counted() {
    let mut stage = two_unreadable();
    stage.see(Observed::Claim(Arc::new(pvc("c", 102, 0))));
    assert_eq!(counts(&stage), [0, 2]);
    let text = r#"{"metadata":{"name":"fast"},"provisioner":"csi.example"}"#;
    let (version, now) = (ResourceVersion::new("103"), stage.now);
    stage.reconciler.on_object(Observed::Class(Arc::new(class(text).unwrap())), &version, now);
    assert_eq!(counts(&stage), [0, 1]);
    let identity = unreadable("", "slow").identity;
    stage.reconciler.on_object(ResourceKind::Classes.gone(&identity), &version, now);
    assert_eq!(counts(&stage), [0, 0]);
}

#[test]
fn what_has_vanished_when_everything_is_listed_again_is_not_counted() {
    let mut stage = two_unreadable();
    let (version, now) = (ResourceVersion::new("200"), stage.now);
    stage.reconciler.on_list_started(ResourceKind::Classes);
    stage.reconciler.on_unreadable(ResourceKind::Classes, unreadable("", "slow"), now);
    stage.reconciler.on_listed(ResourceKind::Classes, &version, now);
    assert_eq!(counts(&stage), [1, 1], "a list of classes says nothing of claims");
    stage.reconciler.on_list_started(ResourceKind::Claims);
    stage.reconciler.on_listed(ResourceKind::Claims, &version, now);
    assert_eq!(counts(&stage), [0, 1]);
}
