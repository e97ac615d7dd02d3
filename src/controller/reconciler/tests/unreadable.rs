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
fn poisoned() -> Stage {
    let mut stage = Stage::of(&[], &[]);
    for (watched, namespace, name) in [
        (ResourceKind::Claims, "db", "c"),
        (ResourceKind::Classes, "", "fast"),
        (ResourceKind::Classes, "", "slow"),
    ] {
        stage.reconciler.unreadable(watched, unreadable(namespace, name), stage.now);
    }
    assert_eq!(counts(&stage), [1, 2]);
    stage
}

/// A list is mostly complete before the lease is ours.
#[test]
fn whoever_begins_to_lead_tells_what_cannot_be_read() {
    let mut stage = poisoned();
    let now = stage.now;
    let told = |stage: &mut Stage| {
        let notices = std::iter::from_fn(|| match stage.next() {
            Some(Task::Tell(notice)) => {
                stage.reconciler.told(&notice, true, now);
                Some((notice.announcement.reason, notice.uid))
            }
            Some(other) => panic!("not told: {other:?}"),
            None => None,
        });
        notices.collect::<Vec<_>>()
    };
    let of_the_claim = [("Unreadable", Some(Uid::new("u")))];
    assert_eq!(told(&mut stage), of_the_claim, "classes have no events");
    stage.reconciler.unreadable(ResourceKind::Claims, unreadable("db", "c"), now);
    assert_eq!(told(&mut stage), []);
    stage.reconciler.lead(false, now);
    assert_eq!(told(&mut stage), []);
    stage.reconciler.lead(true, now);
    assert_eq!(told(&mut stage), of_the_claim);
}

#[test]
fn what_can_be_read_again_or_is_gone_is_not_counted() {
    let mut stage = poisoned();
    stage.see(Observed::Claim(Arc::new(pvc("c", 102, 0))));
    assert_eq!(counts(&stage), [0, 2]);
    let text = r#"{"metadata":{"name":"fast"},"provisioner":"csi.example"}"#;
    let (version, now) = (ResourceVersion::new("103"), stage.now);
    stage.reconciler.observe(Observed::Class(Arc::new(class(text).unwrap())), &version, now);
    assert_eq!(counts(&stage), [0, 1]);
    let identity = unreadable("", "slow").identity;
    stage.reconciler.observe(ResourceKind::Classes.gone(&identity), &version, now);
    assert_eq!(counts(&stage), [0, 0]);
}

#[test]
fn what_has_vanished_when_everything_is_listed_again_is_not_counted() {
    let mut stage = poisoned();
    let (version, now) = (ResourceVersion::new("200"), stage.now);
    stage.reconciler.begin_list(ResourceKind::Classes);
    stage.reconciler.unreadable(ResourceKind::Classes, unreadable("", "slow"), now);
    stage.reconciler.end_list(ResourceKind::Classes, &version, now);
    assert_eq!(counts(&stage), [1, 1], "a list of classes says nothing of claims");
    stage.reconciler.begin_list(ResourceKind::Claims);
    stage.reconciler.end_list(ResourceKind::Claims, &version, now);
    assert_eq!(counts(&stage), [0, 1]);
}
