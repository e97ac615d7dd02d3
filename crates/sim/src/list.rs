//! Lists and their pages.
//!
//! A page is read at the version of the first one, from the history; when that was compacted the
//! answer is 410 with a token to go on inconsistently, as the real server's. Options that the real
//! server rejects together are rejected with its words (`metainternalversion/validation`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::cluster::ClusterState;
use super::outcome::{Body, Progress, Response};
use super::request::Call;
use super::selector::ListSelector;
use super::status::{StatusError, unreadable_version};
use super::watch::Watch;
use bindery::api::server::Cause;
use bindery::api::server::fields::{remove, text};

/// Where a page goes on: at a version, after a key. Version 0 reads the newest state.
struct Token {
    version: u64,
    after: String,
}

impl Token {
    /// Opaque to clients, so that no client builds one: hexadecimal.
    fn to_text(&self) -> String {
        let plain = format!("{}:{}", self.version, self.after);
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
        plain.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    fn parse(token: &str) -> Option<Self> {
        let digits = token.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let plain = String::from_utf8(bytes?).ok()?;
        let (version, after) = plain.split_once(':')?;
        Some(Self { version: version.parse().ok()?, after: after.to_owned() })
    }
}

impl ClusterState {
    /// Lists or watches.
    pub(super) fn collection(&mut self, call: &Call) -> Result<Progress, StatusError> {
        let is_watch = call.is_on("watch");
        check_options(call, is_watch)?;
        if !is_watch {
            return self.list(call);
        }
        let body = Body::Watch(Box::new(Watch::open(call, &self.store)?));
        Ok(Progress::Done(Response { code: 200, warnings: Vec::new(), body }))
    }

    fn list(&self, call: &Call) -> Result<Progress, StatusError> {
        let selector = ListSelector::parse(call)?;
        let asked = call.parameter("resourceVersion");
        self.check_known_version(asked)?;
        // A list from "any version" comes from the cache, which knows no pages.
        let limit = call.parameter("limit").parse::<usize>().ok().filter(|limit| *limit > 0);
        let limit = limit.filter(|_| asked != "0");
        let token = match call.parameter("continue") {
            "" => None,
            text => Some(Token::parse(text).ok_or_else(|| {
                StatusError::bad_request("invalid continue token: continue key is not valid")
            })?),
        };
        let is_exact = call.parameter("resourceVersionMatch") == "Exact"
            || (limit.is_some() && call.parameter("resourceVersionMatch").is_empty());
        let newest = self.store.version();
        let version = match &token {
            Some(token) if token.version == 0 => newest,
            Some(token) => token.version,
            None if is_exact => asked.parse().unwrap_or(newest),
            None if asked.is_empty() => newest,
            None => self.store.cached(call.lag, asked.parse().unwrap_or(newest)),
        };
        if version < self.store.compacted() {
            return Err(expired(token.as_ref(), version, self.store.compacted()));
        }
        let mut found = Vec::new();
        let mut left = 0_usize;
        for object in self.store.objects_at(call.resource, &call.namespace, version) {
            if token.as_ref().is_some_and(|token| path(&object) <= token.after) {
                continue;
            }
            // A full page has a successor if any object follows, whether it is meant or not.
            if limit.is_some_and(|limit| found.len() >= limit) {
                left += 1;
            } else if selector.matches(&object) {
                found.push(object);
            }
        }
        let mut list = list_of(call, &found, version);
        if left > 0 {
            let after = found.last().map(path).unwrap_or_default();
            list["metadata"]["continue"] = json!(Token { version, after }.to_text());
            if selector.is_empty() {
                list["metadata"]["remainingItemCount"] = json!(left);
            }
        }
        Ok(Progress::Done(Response::json(200, list)))
    }

    /// Rejects a version that is no number or lies in the future.
    pub(super) fn check_known_version(&self, asked: &str) -> Result<(), StatusError> {
        if asked.is_empty() {
            return Ok(());
        }
        let version: u64 = asked.parse().map_err(|_| {
            StatusError::bad_request(format!(
                "invalid resource version: {}",
                unreadable_version(asked)
            ))
        })?;
        if version > self.store.version() {
            return Err(StatusError::too_large_version(version, self.store.version()));
        }
        Ok(())
    }
}

/// The list object of some objects.
pub(super) fn list_of(call: &Call, objects: &[Arc<Value>], version: u64) -> Value {
    let bare = |object: &Arc<Value>| {
        let mut item = (**object).clone();
        // Items of a typed list do not repeat what the list says.
        remove(&mut item, &["apiVersion"]);
        remove(&mut item, &["kind"]);
        item
    };
    let items: Vec<Value> = objects.iter().map(bare).collect();
    json!({
        "apiVersion": call.resource.api_version(),
        "kind": format!("{}List", call.resource.kind),
        "metadata": {"resourceVersion": version.to_string()},
        "items": items,
    })
}

fn path(object: &Arc<Value>) -> String {
    let space = text(object, &["metadata", "namespace"]);
    let name = text(object, &["metadata", "name"]);
    if space.is_empty() { name.to_owned() } else { format!("{space}/{name}") }
}

fn expired(token: Option<&Token>, version: u64, compacted: u64) -> StatusError {
    let Some(token) = token else {
        let message = format!(
            "The resourceVersion for the provided list is too old: {version} ({compacted})"
        );
        return StatusError::expired(message, None);
    };
    let message = "The provided continue parameter is too old to display a consistent list result. \
                   You can start a new list without the continue parameter, or use the continue \
                   token in this response to retrieve the remainder of the results. Continuing with \
                   the provided token results in an inconsistent list - objects that were created, \
                   modified, or deleted between the time the first chunk was returned and now may \
                   show up in the list.";
    let carry_on = Token { version: 0, after: token.after.clone() };
    StatusError::expired(message, Some(carry_on.to_text()))
}

fn check_options(call: &Call, is_watch: bool) -> Result<(), StatusError> {
    let version = call.parameter("resourceVersion");
    let matching = call.parameter("resourceVersionMatch");
    let sends_initial = call.query.contains_key("sendInitialEvents");
    let match_is = |detail: &str| Cause::forbidden("resourceVersionMatch", detail);
    let cause = if is_watch && sends_initial && matching != "NotOlderThan" {
        match_is("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    } else if is_watch && !sends_initial && !matching.is_empty() {
        match_is("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    } else if !is_watch && sends_initial {
        Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    } else if !is_watch && !matching.is_empty() && version.is_empty() {
        match_is("resourceVersionMatch is forbidden unless resourceVersion is provided")
    } else if !is_watch && !matching.is_empty() && !call.parameter("continue").is_empty() {
        match_is("resourceVersionMatch is forbidden when continue is provided")
    } else if matching == "Exact" && version == "0" {
        match_is("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
    } else if !["", "Exact", "NotOlderThan"].contains(&matching) {
        let supported = ["Exact", "NotOlderThan", ""];
        Cause::not_supported("resourceVersionMatch", &json!(matching), &supported)
    } else {
        return Ok(());
    };
    Err(StatusError::invalid("meta.k8s.io", "ListOptions", "", &[cause]))
}
