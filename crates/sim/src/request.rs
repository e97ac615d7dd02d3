//! A request as it arrives, and what it addresses.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kinds::Strategy;
use super::resource::ResourceType;
use super::status::StatusError;
use super::store::Key;
use super::table::{self, Served};

/// One HTTP request without HTTP.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    /// The verb.
    pub method: Method,
    /// Path and query, percent-encoded as it travels.
    pub target: String,
    /// Content type of the body, parameters included; matters for `PATCH`.
    pub content_type: String,
    /// The body; `Value::Null` when there is none.
    pub body: Value,
    /// Who asks.
    pub user: RequestUser,
    /// By how many versions the cache of the server that answers lags. Only reads that allow an
    /// older state notice it: lists and watches from version 0 or "not older than".
    pub lag: u64,
}

/// The HTTP verbs that an API server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads, lists and watches.
    Get,
    /// Creates.
    Post,
    /// Replaces.
    Put,
    /// Changes in part.
    Patch,
    /// Deletes one object or a collection.
    Delete,
}

/// An authenticated user, as admission sees one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestUser {
    /// `userInfo.username`.
    pub name: String,
    /// `userInfo.uid`; empty when the authenticator gives none.
    pub uid: String,
    /// `userInfo.groups`.
    pub groups: Vec<String>,
}

/// What a request addresses, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) resource: &'static ResourceType,
    pub(super) strategy: &'static dyn Strategy,
    /// Empty for cluster scope and for all namespaces.
    pub(super) namespace: String,
    /// Empty for a collection.
    pub(super) name: String,
    /// Empty, `status`, `finalize` or `binding`.
    pub(super) subresource: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) content_type: String,
    pub(super) body: Value,
    pub(super) user: RequestUser,
    pub(super) lag: u64,
}

impl ApiRequest {
    /// A request with a JSON body (`Value::Null` for none) by the cluster's administrator.
    pub fn new(method: Method, target: impl Into<String>, body: Value) -> Self {
        let content_type = "application/json".to_owned();
        Self {
            method,
            target: target.into(),
            content_type,
            body,
            user: RequestUser::admin(),
            lag: 0,
        }
    }

    /// A JSON merge patch (RFC 7396) by the administrator.
    pub fn merge_patch(target: impl Into<String>, patch: Value) -> Self {
        let content_type = "application/merge-patch+json".to_owned();
        Self { content_type, ..Self::new(Method::Patch, target, patch) }
    }

    /// The same request by another user.
    pub fn by(self, user: RequestUser) -> Self {
        Self { user, ..self }
    }
}

impl RequestUser {
    /// A user with only a name and groups.
    pub fn named(name: impl Into<String>, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Self { name: name.into(), uid: String::new(), groups }
    }

    /// The administrator: `system:masters`.
    pub fn admin() -> Self {
        Self::named("admin", &["system:masters", "system:authenticated"])
    }
}

impl Call {
    /// Takes a request apart. 404 for a path that is not served, 405 for a verb that is not served
    /// there.
    pub(super) fn parse(request: ApiRequest) -> Result<Self, StatusError> {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let place = Place::parse(path).ok_or_else(StatusError::no_such_path)?;
        let call = Self {
            method: request.method,
            resource: &place.row.resource,
            strategy: place.row.strategy,
            namespace: place.namespace,
            name: place.name,
            subresource: place.subresource,
            query: query.split('&').filter_map(parse_pair).collect(),
            content_type: request.content_type,
            body: request.body,
            user: request.user,
            lag: request.lag,
        };
        if call.is_served() { Ok(call) } else { Err(StatusError::method_not_allowed()) }
    }

    /// Returns where the named object lives.
    pub(super) fn key(&self) -> Key {
        Key::new(self.resource, &self.namespace, &self.name)
    }

    /// The value of a query parameter; empty when it is absent.
    pub(super) fn parameter(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    /// Returns whether a query parameter is switched on. Kubernetes: anything but `false` and `0` is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.query.get(name).is_some_and(|value| value != "false" && value != "0")
    }

    /// Returns whether nothing may be stored.
    pub(super) fn is_dry_run(&self) -> bool {
        let in_body = self.method == Method::Delete
            && self.body.get("dryRun").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        self.parameter("dryRun") == "All" || in_body
    }

    fn is_served(&self) -> bool {
        let whole = self.name.is_empty();
        let homeless = self.resource.namespaced && self.namespace.is_empty();
        match self.method {
            Method::Get => self.subresource != PLACING,
            Method::Post => !homeless && (whole || self.subresource == PLACING),
            Method::Put | Method::Patch => !whole && self.subresource != PLACING,
            Method::Delete => self.subresource.is_empty() && !homeless,
        }
    }
}

/// The subresource that puts a pod on a node: it is only created.
const PLACING: &str = "binding";

struct Place {
    row: &'static Served,
    namespace: String,
    name: String,
    subresource: String,
}

impl Place {
    fn parse(path: &str) -> Option<Self> {
        let steps: Vec<String> =
            path.trim_matches('/').split('/').map(decode).collect::<Option<_>>()?;
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let (group, rest) = match steps.as_slice() {
            ["api", "v1", rest @ ..] => ("", rest),
            ["apis", group, "v1", rest @ ..] if !group.is_empty() => (*group, rest),
            _ => return None,
        };
        if let ["namespaces", space, plural, rest @ ..] = rest
            && let Some(row) = table::find(group, plural).filter(|row| row.resource.namespaced)
        {
            return Self::with(row, space, rest);
        }
        let (plural, rest) = rest.split_first()?;
        let row = table::find(group, plural)?;
        // A named object of a namespaced resource has no path without its namespace.
        (rest.is_empty() || !row.resource.namespaced).then(|| Self::with(row, "", rest))?
    }

    fn with(row: &'static Served, namespace: &str, rest: &[&str]) -> Option<Self> {
        let (name, subresource) = match rest {
            [] => ("", ""),
            [name] => (*name, ""),
            [name, subresource] if row.resource.subresources.contains(subresource) => {
                (*name, *subresource)
            }
            _ => return None,
        };
        Some(Self {
            row,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
        })
    }
}

fn parse_pair(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let name = decode(&name.replace('+', " "))?;
    (!name.is_empty()).then_some((name, decode(&value.replace('+', " "))?))
}

/// Undoes percent-encoding; `None` when it is broken or not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
