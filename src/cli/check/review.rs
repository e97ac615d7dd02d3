//! AdmissionReviews of the input, as an API server sends them.

use serde_json::{Value, json};

use super::run::Run;
use super::unverified;
use crate::api::review::ReviewError;
use crate::cli::exit::Failure;
use crate::cli::input::manifests::ReviewManifest;
use crate::cli::input::manifests::field::wrong_field;
use crate::cli::input::object_id::{
    ObjectId, ObjectKind, claim_key, cluster_key, namespace_key, volume_key,
};
use crate::cli::judge::failure::{unreadable, unreviewable};
use crate::cli::judge::findings::{FindingSubject, Origin, of_verdict};
use crate::cli::judge::{ProposedChange, judge_review};
use crate::rules::{Part, Ruling, User};

impl Run<'_> {
    /// Judges a review of the input as the webhook would.
    pub(super) fn review(&mut self, review: &ReviewManifest) -> Result<(), Failure> {
        let mut body = review.node.to_json();
        if let (Some(user), Some(request)) =
            (&self.arguments.for_user, body["request"].as_object_mut())
        {
            let groups = &self.arguments.for_group;
            request.insert("userInfo".to_owned(), json!({"username": user, "groups": groups}));
        }
        let request = &body["request"];
        let text = |field: &str| text_of(&request[field]);
        let resource = text_of(&request["resource"]["resource"]);
        let mut name = text("name");
        for field in ["object", "oldObject"] {
            if name.is_empty() {
                let given = request.pointer(&format!("/{field}/metadata/name"));
                given.and_then(Value::as_str).unwrap_or_default().clone_into(&mut name);
            }
        }
        let key = match resource.as_str() {
            "persistentvolumes" => volume_key(&name),
            "namespaces" => namespace_key(&name),
            "storageclasses" => cluster_key(ObjectKind::Class, &name),
            "volumeattachments" => cluster_key(ObjectKind::Attachment, &name),
            "nodes" => cluster_key(ObjectKind::Node, &name),
            "csidrivers" => cluster_key(ObjectKind::Driver, &name),
            "volumesnapshotcontents" => cluster_key(ObjectKind::SnapshotContent, &name),
            _ => claim_key(&text("namespace"), &name),
        };
        let operation = match text("operation").as_str() {
            "CREATE" => "CREATE",
            "DELETE" => "DELETE",
            _ => "UPDATE",
        };
        let place = format!("{}:{}", review.file, review.node.at);
        let invalid = |error: ReviewError| {
            let fields = ["object", "oldObject"].into_iter();
            let objects = fields.filter_map(|field| review.node.get("request")?.get(field));
            let mut wrong = objects.filter_map(|object| wrong_field(key.kind, object));
            match (&error, wrong.next()) {
                (ReviewError::Object { .. }, Some((at, reason))) => {
                    Failure::usage(format!("{}:{at}: {reason}; correct the field", review.file))
                }
                _ => unreviewable(&error, &place),
            }
        };
        let judged = judge_review(body.to_string().into_bytes(), self.terms()).map_err(invalid)?;
        let request = review.node.get("request");
        let object = |field| request.and_then(|request| request.get(field));
        let node = object("object").filter(|object| !object.entries().is_empty());
        let node = node.or_else(|| object("oldObject")).unwrap_or(&review.node);
        let origin = Origin { file: &review.file, source: None, node };
        let about = FindingSubject { key: &key, operation, origin: Some(origin) };
        self.take_mutations(&judged, about);
        let mut found = of_verdict(&judged, &self.known, about, Ruling::message);
        found.extend(unverified::of_gaps(&self.known, about));
        if self.known.is_input_alone() && found.is_empty() {
            let of = |field: &str| Some(body["request"][field].clone()).filter(Value::is_object);
            let user = User { name: String::new(), groups: Vec::new() };
            let (old, new) = (of("oldObject"), of("object"));
            let proposal = ProposedChange { key: key.clone(), old, new, part: Part::Main, user };
            found.extend(unverified::unseen_loss(&proposal, &self.known, about));
        }
        let is_stored = request_is_stored(&body) && !found.iter().any(|one| one.result.is_denial());
        self.collected.add(about, found);
        if is_stored { self.take_result(&key, &body["request"]["object"]) } else { Ok(()) }
    }

    /// Takes in what a reviewed request leaves.
    fn take_result(&mut self, key: &ObjectId, object: &Value) -> Result<(), Failure> {
        let taken = if object.is_object() {
            self.known.change(key, object.clone())
        } else {
            self.known.delete(key)
        };
        taken.map_err(|error| unreadable(&error))
    }
}

/// Whether a request stores its result: not a dry run, and a write of an object itself.
fn request_is_stored(review: &Value) -> bool {
    let request = &review["request"];
    request["dryRun"] != json!(true) && request["operation"] != "CONNECT"
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
