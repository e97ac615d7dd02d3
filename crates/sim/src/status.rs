//! Errors, worded as kube-apiserver words them.
//!
//! Clients decide by code and reason, people read the message, kubectl prints the causes; so all
//! three are spelt here once. Source of the texts: `k8s.io/apimachinery/pkg/api/errors` and
//! `.../util/validation/field` of Kubernetes 1.36, checked against a recorded server. Which request
//! deserves which error is decided elsewhere.

use bindery::api::server::Cause;
use serde_json::{Map, Value, json};

use super::resource::ResourceType;

/// A request that was not done, as a `Status` object in the making.
#[derive(Debug, Clone)]
pub(super) struct StatusError {
    pub(super) code: u16,
    reason: &'static str,
    message: String,
    details: Option<Value>,
    carry_on: Option<String>,
}

impl StatusError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, carry_on: None }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let mut details = Map::new();
        for (key, value) in [("group", group), ("kind", kind), ("name", name)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), json!(value));
            }
        }
        self.details = Some(Value::Object(details));
        self
    }

    /// 404 for a named object.
    pub(super) fn not_found(resource: &ResourceType, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(404, "NotFound", message).about(resource.group, resource.plural, name)
    }

    /// 404 for a path that serves nothing.
    pub(super) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .about("", "", "")
    }

    /// 405 for a verb that the path does not serve.
    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).about("", "", "")
    }

    /// 409 for a name that is taken.
    pub(super) fn already_exists(resource: &ResourceType, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).about(resource.group, resource.plural, name)
    }

    /// 409 for a write that was decided on another state.
    pub(super) fn conflict(resource: &ResourceType, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(resource.group, resource.plural, name)
    }

    /// 409 for a subresource that cannot be written now; the server names it beside the resource.
    pub(super) fn conflict_at(resource: &ResourceType, part: &str, name: &str, why: &str) -> Self {
        let (plural, qualified) = (format!("{}/{part}", resource.plural), resource.qualified());
        let message =
            format!("Operation cannot be fulfilled on {qualified}/{part} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(resource.group, &plural, name)
    }

    /// 409 for a delete whose preconditions fail; the server names the kind here.
    pub(super) fn failed_precondition(resource: &ResourceType, name: &str, why: &str) -> Self {
        let kind = resource.qualified_kind();
        let message = format!("Operation cannot be fulfilled on {kind} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(resource.group, resource.kind, name)
    }

    /// 403 by a built-in admission plugin.
    pub(super) fn forbidden(resource: &ResourceType, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource.qualified());
        Self::new(403, "Forbidden", message).about(resource.group, resource.plural, name)
    }

    /// 403 for new content in a namespace that is going away.
    pub(super) fn terminating_namespace(resource: &ResourceType, name: &str, space: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {space} because it is being terminated"
        );
        let mut error = Self::forbidden(resource, name, &why);
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {space} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        error
    }

    /// 422 with every cause. Equal texts are named once in the message, as the server does.
    pub(super) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut lines: Vec<String> = Vec::new();
        for cause in causes {
            let line = format!("{}: {}", cause.field, cause.problem);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let all = match lines.as_slice() {
            [one] => one.clone(),
            _ => format!("[{}]", lines.join(", ")),
        };
        let mut error =
            Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {all}"))
                .about(group, kind, name);
        if let Some(details) = &mut error.details {
            details["causes"] = causes.iter().map(to_json).collect();
        }
        error
    }

    /// 422 for a JSON patch that cannot be carried out.
    pub(super) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message).about("", "", "")
    }

    /// 400 with a text.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 415 with a text; the real server says the same code to types that it does not know.
    pub(super) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message).about("", "", "")
    }

    /// 410 for a version whose history is gone; `carry_on` is a token to list on from.
    pub(super) fn expired(message: impl Into<String>, carry_on: Option<String>) -> Self {
        Self { carry_on, ..Self::new(410, "Expired", message) }
    }

    /// 504 for a version that does not exist yet.
    pub(super) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let details = json!({
            "causes": [{
                "reason": "ResourceVersionTooLarge",
                "message": "Too large resource version",
            }],
            "retryAfterSeconds": 1,
        });
        Self { details: Some(details), ..Self::new(504, "Timeout", message) }
    }

    /// 500 without a reason: what the server makes of a plain error.
    pub(super) fn plain_error(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 500 for a webhook that could not be asked.
    pub(super) fn internal(why: &str) -> Self {
        let details = json!({"causes": [{"message": why}]});
        let message = format!("Internal error occurred: {why}");
        Self { details: Some(details), ..Self::new(500, "InternalError", message) }
    }

    /// The `Status` object of the reply.
    pub(super) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        if let Some(token) = &self.carry_on {
            status["metadata"] = json!({"continue": token});
        }
        status
    }
}

fn to_json(cause: &Cause) -> Value {
    json!({"reason": cause.reason(), "message": cause.problem.to_string(), "field": cause.field})
}

/// Returns what the server says about a version that is no number.
pub(super) fn unreadable_version(version: &str) -> String {
    format!(
        "resourceVersion: Invalid value: {version:?}: strconv.ParseUint: parsing {version:?}: \
         invalid syntax"
    )
}
