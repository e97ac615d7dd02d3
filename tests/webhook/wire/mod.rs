//! Bytes through the real accept loop: what is rejected, with which status and which one line; and
//! what is odd but judged all the same.
//!
//! Rejections that only a full server gives are in `transport::rejections`, on ports with small limits.

mod accepted;
mod large;
mod rejected;

use crate::stage::{Reply, Stage};

/// A review of these fields of its request, the uid besides.
pub(crate) fn review(fields: &str) -> String {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u-1",{fields}}}}}"#
    )
}

/// The fields of a request about a volume.
pub(crate) fn volumes(operation: &str, rest: &str) -> String {
    about("persistentvolumes", operation, rest)
}

/// The fields of a request about a claim.
fn claims(operation: &str, rest: &str) -> String {
    about("persistentvolumeclaims", operation, rest)
}

pub(crate) fn about(resource: &str, operation: &str, rest: &str) -> String {
    format!(
        r#""resource":{{"group":"","version":"v1","resource":"{resource}"}},"operation":"{operation}"{rest}"#
    )
}

/// A review of the creation of this object, a volume.
fn volume_review(object: &str) -> String {
    review(&volumes("CREATE", &format!(r#","object":{object}"#)))
}

/// A review of the creation of this object, a claim.
fn claim_review(object: &str) -> String {
    review(&claims("CREATE", &format!(r#","object":{object}"#)))
}

/// The one line of a rejection, after the promises that all rejections keep.
fn line(reply: &Reply) -> &str {
    assert!(reply.head.contains("content-type: text/plain; charset=utf-8"), "{reply:?}");
    let line = reply.body.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {reply:?}"));
    assert!(!line.contains(char::is_control) && line.chars().count() <= 360, "{reply:?}");
    line
}

/// Posts `body` to the three review paths, which must agree, and returns their answer.
async fn everywhere(stage: &Stage, body: &[u8]) -> Reply {
    let mut replies = Vec::new();
    for path in ["/validate/guard", "/validate/advise", "/mutate"] {
        replies.push(stage.raw(&crate::stage::post(path, body)).await);
    }
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    replies.swap_remove(0)
}
