//! AdmissionReview: bytes to a change, a verdict to bytes.
//!
//! The envelope is typed, the objects in it stay borrowed text until the fields that decisions
//! read are taken from them. A request that cannot be read is an error here and an HTTP 4xx on the
//! wire, never a review without uid: the API server would take that for a failed call and, where
//! the entry fails open, let the change pass.
//!
//! Nothing in the envelope is copied that a stranger could make large.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

mod body;
#[cfg(test)]
mod tests;

use self::body::OBJECT_NESTING_MAX;
pub use self::body::prepare;
use super::bounded::{LabelUse, List, Object, SharedAllowance, Text, read_bytes};
use super::claim::claim;
use super::metadata::or_empty;
use super::patch::Patch;
use super::volume::{text_of, volume};
use crate::rules::{Change, Extent, Part, Policy, Spec, Subject, Transition, User};

/// Why a request cannot be read. Each is one line.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// Not JSON, or a field has the wrong type.
    #[error("the body is not a readable AdmissionReview: {0}")]
    Unreadable(serde_json::Error),
    /// Another kind or version.
    #[error("expected an AdmissionReview of admission.k8s.io/v1, got {kind:?} of {version:?}")]
    OtherKind {
        /// The kind that was sent.
        kind: String,
        /// The apiVersion that was sent.
        version: String,
    },
    /// The review has no `request`.
    #[error("the AdmissionReview has no request")]
    NoRequest,
    /// The request has no uid to answer to.
    #[error("request.uid is empty")]
    NoUid,
    /// The uid is none of an API server's.
    #[error("request.uid has {0} bytes; no API server sends more than {UID_BYTES_MAX}")]
    LongUid(usize),
    /// The API server reads no object that is nested like this.
    #[error("the body is nested more than {OBJECT_NESTING_MAX} levels deep")]
    TooDeep,
    /// A long text is not valid JSON.
    #[error("the text at byte {place} cannot be read: {reason}")]
    Text {
        /// Where it opens, from 0.
        place: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A resource that is not judged here.
    #[error(
        "{0:?} is not judged here; register persistentvolumes and persistentvolumeclaims of v1 only"
    )]
    OtherResource(String),
    /// A subresource that is not judged here.
    #[error("subresource {0:?} is not judged here; register no subresource but status")]
    OtherSubresource(String),
    /// An operation that is not judged here.
    #[error("operation {0:?} is not judged here; register CREATE, UPDATE and DELETE only")]
    OtherOperation(String),
    /// An object that the operation needs is missing.
    #[error("{operation} comes without {field}")]
    Missing {
        /// The operation.
        operation: &'static str,
        /// The missing field.
        field: &'static str,
    },
    /// An object cannot be read.
    #[error("{field} cannot be read: {error}")]
    Object {
        /// Which object.
        field: &'static str,
        /// What is wrong with it, with its line and column.
        error: serde_json::Error,
    },
}

/// A uid of the API server has 36 bytes. It is repeated in the answer, so it must not be the body.
const UID_BYTES_MAX: usize = 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewWire<'a> {
    #[serde(default)]
    api_version: Text,
    #[serde(default)]
    kind: Text,
    #[serde(borrow)]
    request: Option<Object<RequestWire<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestWire<'a> {
    #[serde(default, borrow)]
    uid: Cow<'a, str>,
    #[serde(default)]
    resource: Object<ResourceWire>,
    sub_resource: Option<Text>,
    namespace: Option<Text>,
    #[serde(default)]
    operation: Text,
    #[serde(default)]
    user_info: Object<UserWire>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
    dry_run: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResourceWire {
    group: Text,
    version: Text,
    resource: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UserWire {
    username: Text,
    groups: List<Text>,
}

/// A request as it was read.
#[derive(Debug)]
pub struct Request<'a> {
    /// What the answer has to repeat.
    pub uid: String,
    /// The change.
    pub change: Change,
    /// Whether nothing will be stored.
    pub dry_run: DryRun,
    /// The text of the new object, for edits; empty for a deletion.
    pub object: &'a str,
    /// The text of the stored object, for edits; empty for a creation.
    pub old_object: &'a str,
}

/// Whether a request stores anything. It never matters to a verdict, only to a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// It does.
    No,
    /// It does not.
    Yes,
}

/// Reads a review that was prepared. `policy` says who is trusted.
pub fn request<'a>(body: &'a [u8], policy: &Policy) -> Result<Request<'a>, ReviewError> {
    let _allowance = SharedAllowance::begin();
    let review: ReviewWire<'a> = read_bytes(body).map_err(ReviewError::Unreadable)?;
    let (kind, version) = (&*review.kind.0, &*review.api_version.0);
    if kind != "AdmissionReview" || version != "admission.k8s.io/v1" {
        return Err(ReviewError::OtherKind { kind: kind.into(), version: version.into() });
    }
    let Object(request) = review.request.ok_or(ReviewError::NoRequest)?;
    match request.uid.len() {
        0 => return Err(ReviewError::NoUid),
        length if length > UID_BYTES_MAX => return Err(ReviewError::LongUid(length)),
        _ => {}
    }
    let part = part(&request)?;
    let user = User {
        name: request.user_info.0.username.0.to_string(),
        groups: request.user_info.0.groups.0.iter().map(|group| group.0.to_string()).collect(),
    };
    let read = subject(&request)?;
    let change = Change {
        actor: policy.actor(&user),
        user,
        part,
        extent: read.extent,
        spec: read.spec,
        subject: read.subject,
    };
    Ok(Request {
        uid: request.uid.into_owned(),
        change,
        dry_run: if request.dry_run == Some(true) { DryRun::Yes } else { DryRun::No },
        object: request.object.map_or("", RawValue::get),
        old_object: request.old_object.map_or("", RawValue::get),
    })
}

fn part(request: &RequestWire<'_>) -> Result<Part, ReviewError> {
    match text_of(request.sub_resource.as_ref()) {
        None | Some("") => Ok(Part::Main),
        Some("status") => Ok(Part::Status),
        Some(other) => Err(ReviewError::OtherSubresource(other.to_owned())),
    }
}

/// A subject with what was learned while reading it.
struct ReadSubject {
    subject: Subject,
    extent: Extent,
    spec: Spec,
}

fn subject(request: &RequestWire<'_>) -> Result<ReadSubject, ReviewError> {
    let Object(resource) = &request.resource;
    let texts = transition(request)?;
    match (&*resource.group.0, &*resource.version.0, &*resource.resource.0) {
        ("", "v1", "persistentvolumes") => volumes(&texts),
        ("", "v1", "persistentvolumeclaims") => {
            claims(&texts, or_empty(request.namespace.as_ref()))
        }
        (group, version, name) => {
            let separator = if group.is_empty() { "" } else { "/" };
            Err(ReviewError::OtherResource(format!("{name} of {group}{separator}{version}")))
        }
    }
}

/// The texts of the objects that the operation comes with.
fn transition<'a>(request: &RequestWire<'a>) -> Result<Transition<&'a str>, ReviewError> {
    let need = |operation, field, object: Option<&'a RawValue>| {
        object.map(RawValue::get).ok_or(ReviewError::Missing { operation, field })
    };
    match &*request.operation.0 {
        "CREATE" => Ok(Transition::Create(need("CREATE", "request.object", request.object)?)),
        "UPDATE" => Ok(Transition::Update {
            old: need("UPDATE", "request.oldObject", request.old_object)?,
            new: need("UPDATE", "request.object", request.object)?,
        }),
        "DELETE" => {
            Ok(Transition::Delete(need("DELETE", "request.oldObject", request.old_object)?))
        }
        other => Err(ReviewError::OtherOperation(other.to_owned())),
    }
}

fn volumes(texts: &Transition<&str>) -> Result<ReadSubject, ReviewError> {
    let read = |field, text| {
        volume(text, LabelUse::Skip).map_err(|error| ReviewError::Object { field, error })
    };
    let (transition, is_cut, spec) = match texts {
        Transition::Create(text) => {
            let new = read("request.object", text)?;
            (Transition::Create(new.value.volume), new.is_cut, Spec::Same)
        }
        Transition::Update { old, new } => {
            let (old, new) = (read("request.oldObject", old)?, read("request.object", new)?);
            let same = old.value.spec == new.value.spec;
            let spec = if same { Spec::Same } else { Spec::Changed };
            let is_cut = old.is_cut || new.is_cut;
            let (old, new) = (old.value.volume, new.value.volume);
            (Transition::Update { old, new }, is_cut, spec)
        }
        Transition::Delete(text) => {
            let old = read("request.oldObject", text)?;
            (Transition::Delete(old.value.volume), old.is_cut, Spec::Same)
        }
    };
    Ok(ReadSubject { subject: Subject::Volume(transition), extent: extent(is_cut), spec })
}

fn claims(texts: &Transition<&str>, namespace: &str) -> Result<ReadSubject, ReviewError> {
    let read =
        |field, text| claim(text, namespace).map_err(|error| ReviewError::Object { field, error });
    let (transition, is_cut) = match texts {
        Transition::Create(text) => {
            let new = read("request.object", text)?;
            (Transition::Create(new.value), new.is_cut)
        }
        Transition::Update { old, new } => {
            let (old, new) = (read("request.oldObject", old)?, read("request.object", new)?);
            (Transition::Update { old: old.value, new: new.value }, old.is_cut || new.is_cut)
        }
        Transition::Delete(text) => {
            let old = read("request.oldObject", text)?;
            (Transition::Delete(old.value), old.is_cut)
        }
    };
    let subject = Subject::Claim(transition);
    Ok(ReadSubject { subject, extent: extent(is_cut), spec: Spec::Same })
}

fn extent(is_cut: bool) -> Extent {
    if is_cut { Extent::Essentials } else { Extent::Whole }
}

/// What to answer.
#[derive(Debug, Default)]
pub struct Answer {
    /// The text of the refusal; empty if the change passes.
    pub refusal: String,
    /// Warnings for the asker.
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    pub audit: Vec<(String, String)>,
    /// Edits; never with a refusal.
    pub patch: Option<Patch>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerWire<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: ResponseWire<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResponseWire<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<std::collections::BTreeMap<&'a str, &'a str>>,
}

#[derive(Serialize)]
struct StatusWire<'a> {
    code: u16,
    reason: &'static str,
    message: &'a str,
}

/// The bytes of an answer: the only place that makes one, so that none is without uid.
///
/// A refusal has code 403: kubectl hides the text of a 422.
pub fn answer(uid: &str, answer: &Answer) -> Vec<u8> {
    let allowed = answer.refusal.is_empty();
    let status = (!allowed).then_some(StatusWire {
        code: 403,
        reason: "Forbidden",
        message: &answer.refusal,
    });
    let patch = answer.patch.as_ref().filter(|_| allowed);
    let audit = answer.audit.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let wire = AnswerWire {
        api_version: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response: ResponseWire {
            uid,
            allowed,
            status,
            patch_type: patch.map(|_| "JSONPatch"),
            patch: patch.map(Patch::to_base64),
            warnings: &answer.warnings,
            audit_annotations: (!answer.audit.is_empty()).then(|| audit.collect()),
        },
    };
    serde_json::to_vec(&wire).unwrap_or_default()
}
