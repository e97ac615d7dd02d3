//! AdmissionReview: bytes to a change, a verdict to bytes.
//!
//! Envelope and objects are parsed in one pass. A request that cannot be parsed is an error here and an HTTP 4xx on the wire, never a review without uid: the API server
//! would count that as a failed call and, where the failure policy is Ignore, let the change pass.
//!
//! Nothing in the envelope is copied that a client could make large.

use std::borrow::Cow;

use serde::Serialize;

mod body;
mod error;
#[cfg(test)]
mod tests;

pub use self::body::{is_shortened, prepare};
pub use self::error::ReviewError;
use self::error::UID_BYTES_MAX;
use super::attachment::{
    AttachmentWire, DriverWire, NodeWire, attachment_of, csi_driver_of, node_object_of,
};
use super::bounded::{
    ByteMeter, LabelUse, List, Nested, OptionalText, Parse, RawText, Section, Text, parse,
    parse_metered, wire,
};
use super::claim::{ClaimSpecWire, claim_of};
use super::class::metered as class_metered;
use super::metadata::Metadata;
use super::namespace::{NamespaceWire, namespace_of};
use super::object::{ObjectWire, VolumeSpecWire};
use super::snapshot::{ContentWire, content_of};
use super::spec_change::spec_change;
use super::volume::{VolumeWire, spec_after, spec_of, volume_of};
use crate::model::Owner;
use crate::rules::{
    AddedOwners, Change, ChangedObject, Detail, Field, OWNERS_ADDED_MAX, Part, Policy, Transition,
    User,
};

/// A review whose objects are read with these specs.
type ReadReview<'a, S> = ReviewWire<'a, ObjectWire<'a, S>>;

/// A review whose objects stay text.
type TextReview<'a> = ReviewWire<'a, RawText<'a>>;

wire! {
    struct ReviewWire<'a, O> {
        api_version: Text<'a> = "apiVersion",
        kind: Text<'a> = "kind",
        request: Option<RequestWire<'a, O>> = "request",
    }

    struct RequestWire<'a, O> {
        uid: Cow<'a, str> = "uid",
        resource: ResourceWire<'a> = "resource",
        sub_resource: Option<Text<'a>> = "subResource",
        namespace: Option<Text<'a>> = "namespace",
        operation: Text<'a> = "operation",
        user_info: UserWire<'a> = "userInfo",
        object: Option<O> = "object",
        old_object: Option<O> = "oldObject",
        dry_run: Option<bool> = "dryRun",
    }

    struct ResourceWire<'a> {
        group: Text<'a> = "group",
        version: Text<'a> = "version",
        resource: Text<'a> = "resource",
    }

    struct UserWire<'a> {
        username: Text<'a> = "username",
        groups: Section<List<Text<'a>>> = "groups",
    }
}

/// A parsed request.
#[derive(Debug)]
pub struct AdmissionRequest {
    /// The uid that the response repeats.
    pub uid: String,
    /// The change.
    pub change: Change,
    /// Whether nothing will be stored.
    pub dry_run: DryRun,
    /// Bytes that it takes beside the body.
    pub collected: usize,
}

/// The texts of the objects of a review, for mutations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts<'a> {
    /// The new object; empty for a deletion.
    pub object: &'a str,
    /// The stored object; empty for a creation.
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

/// What the objects of a review are read as, before it is known what they are. What turns out to be something else is read
/// once more.
trait ReviewedSpec<'a>: Parse<'a> + Default {
    /// The spec of a volume.
    fn volume(spec: Nested<'a, Self>) -> Nested<'a, VolumeSpecWire<'a>> {
        spec.unread()
    }

    /// The spec of a claim.
    fn claim(spec: Nested<'a, Self>) -> Nested<'a, ClaimSpecWire<'a>> {
        spec.unread()
    }
}

impl<'a> ReviewedSpec<'a> for VolumeSpecWire<'a> {
    fn volume(spec: Nested<'a, Self>) -> Nested<'a, Self> {
        spec
    }
}

impl<'a> ReviewedSpec<'a> for ClaimSpecWire<'a> {
    fn claim(spec: Nested<'a, Self>) -> Nested<'a, Self> {
        spec
    }
}

/// Where an API server has written the resource: before anything that a user can make long.
const HEAD_BYTES: usize = 512;

/// Parses a prepared review. `policy` says which accounts are trusted.
pub fn parse_request(body: &[u8], policy: &Policy) -> Result<AdmissionRequest, ReviewError> {
    let text = text_of(body)?;
    let head = text.get(..text.floor_char_boundary(HEAD_BYTES)).unwrap_or_default();
    if head.contains("\"persistentvolumeclaims\"") {
        request_of::<ClaimSpecWire<'_>>(text, policy)
    } else {
        request_of::<VolumeSpecWire<'_>>(text, policy)
    }
}

fn request_of<'a, S: ReviewedSpec<'a>>(
    text: &'a str,
    policy: &Policy,
) -> Result<AdmissionRequest, ReviewError> {
    let meter = ByteMeter::default();
    let read = parse_metered::<ReadReview<'a, S>>(text, LabelUse::Judged, &meter);
    let read = read.map_err(|error| explain(text, error))?;
    let request = envelope(read.value)?;
    let part = part(&request)?;
    let objects = transition(&request.operation, request.object, request.old_object)?;
    let kind = kind(&request.resource)?;
    let user = User {
        name: request.user_info.username.0.to_string(),
        groups: request.user_info.groups.value.0.iter().map(|group| group.0.to_string()).collect(),
    };
    let uid = request.uid.into_owned();
    let dry_run = if request.dry_run == Some(true) { DryRun::Yes } else { DryRun::No };
    let owners_added = owners_added(&objects);
    let (subject, detail) = match kind {
        Kind::Volume => volumes(objects.map(|wire| wire.with_spec(S::volume)), &meter)?,
        Kind::Claim => {
            let namespace = request.namespace.or_empty();
            let claim =
                |wire: ObjectWire<'a, S>, _| claim_of(wire.with_spec(S::claim), namespace, &meter);
            (ChangedObject::Claim(each(objects, [SPEC, OLD_SPEC], claim)?), Detail::default())
        }
        Kind::Reread(kind) => (reread(kind, objects, (text, &meter), policy)?, Detail::default()),
    };
    let detail = Detail { owners_added, ..detail };
    let (actor, parameters) = (policy.actor(&user), policy.parameters.clone());
    let change = Change { user, actor, parameters, part, detail, subject };
    Ok(AdmissionRequest { uid, change, dry_run, collected: meter.bytes() })
}

/// The objects of a review that are neither volumes nor claims: of those few are reviewed, so that they are read again as
/// what they are.
fn reread<O>(
    kind: RereadKind,
    objects: Transition<O>,
    (text, meter): (&str, &ByteMeter),
    policy: &Policy,
) -> Result<ChangedObject, ReviewError> {
    let texts = object_texts(text.as_bytes())?;
    let text = |field| if field == OBJECT { texts.object } else { texts.old_object };
    let fields = [OBJECT, OLD_OBJECT];
    // The configuration decides which labels are guarded.
    let guarded = LabelUse::Only(&policy.parameters.namespace_labels);
    Ok(match kind {
        RereadKind::Namespace => ChangedObject::Namespace(each(objects, fields, |_, field| {
            let read = parse_metered::<NamespaceWire<'_>>(text(field), guarded, meter)?;
            Ok(namespace_of(read.value))
        })?),
        RereadKind::Class => ChangedObject::Class(each(objects, fields, |_, field| {
            class_metered(text(field), meter)
        })?),
        RereadKind::Attachment => ChangedObject::Attachment(each(objects, fields, |_, field| {
            let read = parse_metered::<AttachmentWire<'_>>(text(field), LabelUse::Skip, meter)?;
            Ok(attachment_of(read.value))
        })?),
        RereadKind::Node => ChangedObject::Node(each(objects, fields, |_, field| {
            let read = parse_metered::<NodeWire<'_>>(text(field), LabelUse::Collect, meter)?;
            Ok(node_object_of(read.value))
        })?),
        RereadKind::Driver => ChangedObject::Driver(each(objects, fields, |_, field| {
            let read = parse_metered::<DriverWire<'_>>(text(field), LabelUse::Skip, meter)?;
            Ok(csi_driver_of(&read.value))
        })?),
        RereadKind::SnapshotContent => {
            ChangedObject::SnapshotContent(each(objects, fields, |_, field| {
                let read = parse_metered::<ContentWire<'_>>(text(field), LabelUse::Skip, meter)?;
                Ok(content_of(read.value))
            })?)
        }
    })
}

/// The objects of a review as they were sent.
pub fn object_texts(body: &[u8]) -> Result<Texts<'_>, ReviewError> {
    let request = text_request(text_of(body)?)?;
    Ok(Texts {
        object: request.object.map_or("", |object| object.0),
        old_object: request.old_object.map_or("", |object| object.0),
    })
}

/// The text of a body, which is UTF-8 also where nothing reads it: what is mutated is read whole.
fn text_of(body: &[u8]) -> Result<&str, ReviewError> {
    std::str::from_utf8(body).map_err(|error| ReviewError::Text {
        place: error.valid_up_to(),
        reason: "it is not UTF-8".to_owned(),
    })
}

/// The request of a review, its objects as text.
fn text_request(text: &str) -> Result<RequestWire<'_, RawText<'_>>, ReviewError> {
    let review =
        parse::<TextReview<'_>>(text, LabelUse::Judged).map_err(ReviewError::Unreadable)?;
    envelope(review.value)
}

/// Returns why a review could not be parsed: its envelope first, then its objects.
fn explain(text: &str, error: serde_json::Error) -> ReviewError {
    let object_at_fault = || {
        let request = text_request(text)?;
        part(&request)?;
        let objects = transition(&request.operation, request.object, request.old_object)?;
        kind(&request.resource)?;
        let read = |field, text: RawText<'_>| {
            let read = parse::<ObjectWire<'_, RawText<'_>>>(text.0, LabelUse::Judged);
            read.map(drop).map_err(|error| ReviewError::Object { field, error })
        };
        match objects {
            Transition::Create(new) => read(OBJECT, new),
            Transition::Update { old, new } => {
                read(OLD_OBJECT, old).and_then(|()| read(OBJECT, new))
            }
            Transition::Delete(old) => read(OLD_OBJECT, old),
        }
    };
    object_at_fault().err().unwrap_or(ReviewError::Unreadable(error))
}

const OBJECT: &str = "request.object";
const OLD_OBJECT: &str = "request.oldObject";

/// A spec is read by itself, so that places are counted from its own beginning.
const SPEC: &str = "request.object.spec";
const OLD_SPEC: &str = "request.oldObject.spec";

/// The request of a review that is one.
fn envelope<O>(review: ReviewWire<'_, O>) -> Result<RequestWire<'_, O>, ReviewError> {
    let (kind, version) = (&*review.kind.0, &*review.api_version.0);
    if kind != "AdmissionReview" || version != "admission.k8s.io/v1" {
        return Err(ReviewError::OtherKind { kind: kind.into(), version: version.into() });
    }
    let request = review.request.ok_or(ReviewError::NoRequest)?;
    match request.uid.len() {
        0 => Err(ReviewError::NoUid),
        length if length > UID_BYTES_MAX => Err(ReviewError::LongUid(length)),
        _ => Ok(request),
    }
}

fn part<O>(request: &RequestWire<'_, O>) -> Result<Part, ReviewError> {
    match request.sub_resource.text() {
        None | Some("") => Ok(Part::Main),
        Some("status") => Ok(Part::Status),
        Some("finalize") if &*request.resource.resource.0 == "namespaces" => Ok(Part::Finalize),
        Some(other) => Err(ReviewError::OtherSubresource(other.to_owned())),
    }
}

/// What a review is about.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Volume,
    Claim,
    Reread(RereadKind),
}

/// Neither a volume nor a claim.
#[derive(Clone, Copy, Debug)]
enum RereadKind {
    Namespace,
    Class,
    Attachment,
    Node,
    Driver,
    SnapshotContent,
}

/// The API group of what is said about storage.
const STORAGE: &str = "storage.k8s.io";

fn kind(resource: &ResourceWire<'_>) -> Result<Kind, ReviewError> {
    match (&*resource.group.0, &*resource.version.0, &*resource.resource.0) {
        ("", "v1", "persistentvolumes") => Ok(Kind::Volume),
        ("", "v1", "persistentvolumeclaims") => Ok(Kind::Claim),
        ("", "v1", "namespaces") => Ok(Kind::Reread(RereadKind::Namespace)),
        ("", "v1", "nodes") => Ok(Kind::Reread(RereadKind::Node)),
        (STORAGE, "v1", "storageclasses") => Ok(Kind::Reread(RereadKind::Class)),
        (STORAGE, "v1", "volumeattachments") => Ok(Kind::Reread(RereadKind::Attachment)),
        (STORAGE, "v1", "csidrivers") => Ok(Kind::Reread(RereadKind::Driver)),
        ("snapshot.storage.k8s.io", "v1", "volumesnapshotcontents") => {
            Ok(Kind::Reread(RereadKind::SnapshotContent))
        }
        (group, version, name) => {
            let separator = if group.is_empty() { "" } else { "/" };
            Err(ReviewError::OtherResource(format!("{name} of {group}{separator}{version}")))
        }
    }
}

/// The objects that the operation comes with.
fn transition<O>(
    operation: &Text<'_>,
    object: Option<O>,
    old_object: Option<O>,
) -> Result<Transition<O>, ReviewError> {
    let need = |operation, field, object: Option<O>| {
        object.ok_or(ReviewError::Missing { operation, field })
    };
    match &*operation.0 {
        "CREATE" => Ok(Transition::Create(need("CREATE", OBJECT, object)?)),
        "UPDATE" => Ok(Transition::Update {
            old: need("UPDATE", OLD_OBJECT, old_object)?,
            new: need("UPDATE", OBJECT, object)?,
        }),
        "DELETE" => Ok(Transition::Delete(need("DELETE", OLD_OBJECT, old_object)?)),
        other => Err(ReviewError::OtherOperation(other.to_owned())),
    }
}

/// The owners that the new object has and the old one has not.
fn owners_added<S>(objects: &Transition<ObjectWire<'_, S>>) -> AddedOwners {
    let (old, new) = match objects {
        Transition::Create(new) => (None, &new.metadata),
        Transition::Update { old, new } => (Some(&old.metadata), &new.metadata),
        Transition::Delete(_) => return AddedOwners::default(),
    };
    if old.is_some_and(|old| old.owner_references.equals(&new.owner_references)) {
        return AddedOwners::default();
    }
    let former: Vec<Owner> = old.into_iter().flat_map(Metadata::owners).collect();
    let is_new = |owner: &Owner| former.iter().all(|former| former.uid != owner.uid);
    let added: Vec<Owner> = new.owners().filter(is_new).take(OWNERS_ADDED_MAX + 1).collect();
    if new.owner_references.is_cut() || added.len() > OWNERS_ADDED_MAX {
        AddedOwners::TooMany
    } else {
        AddedOwners::These(added)
    }
}

fn volumes(
    objects: Transition<VolumeWire<'_>>,
    meter: &ByteMeter,
) -> Result<(ChangedObject, Detail), ReviewError> {
    let at = |field| move |error| ReviewError::Object { field, error };
    let (transition, detail) = match objects {
        Transition::Create(mut new) => {
            let spec = spec_of(new.spec.take(), meter).map_err(at(SPEC))?;
            (Transition::Create(volume_of(new, spec).volume), Detail::default())
        }
        Transition::Update { mut old, mut new } => {
            let spec = spec_of(old.spec.take(), meter).map_err(at(OLD_SPEC))?;
            let spec_after = spec_after(&spec, new.spec.take(), meter).map_err(at(SPEC))?;
            let (old, new) = (volume_of(old, spec), volume_of(new, spec_after));
            let field = |old, new| if old == new { Field::Same } else { Field::Changed };
            let detail = Detail {
                spec: spec_change(old.spec, new.spec),
                mount_options: field(old.mount_options, new.mount_options),
                owners_added: AddedOwners::default(),
            };
            (Transition::Update { old: old.volume, new: new.volume }, detail)
        }
        Transition::Delete(mut old) => {
            let spec = spec_of(old.spec.take(), meter).map_err(at(OLD_SPEC))?;
            (Transition::Delete(volume_of(old, spec).volume), Detail::default())
        }
    };
    Ok((ChangedObject::Volume(transition), detail))
}

/// The objects as `read` reads each; `new` and `old` name, in errors, what it reads of them.
fn each<O, T>(
    objects: Transition<O>,
    [new, old]: [&'static str; 2],
    read: impl Fn(O, &'static str) -> Result<T, serde_json::Error>,
) -> Result<Transition<T>, ReviewError> {
    let read =
        |wire, field| read(wire, field).map_err(|error| ReviewError::Object { field, error });
    Ok(match objects {
        Transition::Create(wire) => Transition::Create(read(wire, new)?),
        Transition::Update { old: before, new: after } => {
            Transition::Update { old: read(before, old)?, new: read(after, new)? }
        }
        Transition::Delete(wire) => Transition::Delete(read(wire, old)?),
    })
}

/// The response to a request.
#[derive(Debug, Default)]
pub struct AdmissionResponse {
    /// The message of the denial; empty if the request is allowed.
    pub denial: String,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    pub audit: Vec<(String, String)>,
    /// A JSON Patch in base64; never with a denial.
    pub patch: Option<String>,
}

/// What every review begins with, up to its response. A serializer would look at each byte for what it has to escape.
const REVIEW_HEAD: &[u8] =
    br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":"#;

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

/// Serializes a response. The only function that does, so that none is without uid.
///
/// A denial has code 403: kubectl hides the message of a 422.
pub fn response_bytes(uid: &str, response: &AdmissionResponse) -> Vec<u8> {
    let allowed = response.denial.is_empty();
    let status = (!allowed).then_some(StatusWire {
        code: 403,
        reason: "Forbidden",
        message: &response.denial,
    });
    let patch = response.patch.clone().filter(|_| allowed);
    let audit = response.audit.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let wire = ResponseWire {
        uid,
        allowed,
        status,
        patch_type: patch.as_ref().map(|_| "JSONPatch"),
        patch,
        warnings: &response.warnings,
        audit_annotations: (!response.audit.is_empty()).then(|| audit.collect()),
    };
    // An answer that allows, whole.
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(REVIEW_HEAD);
    match serde_json::to_writer(&mut bytes, &wire) {
        Ok(()) => bytes.push(b'}'),
        // Texts and numbers always serialize; no answer fails closed where the registration does.
        Err(_) => bytes.clear(),
    }
    bytes
}
