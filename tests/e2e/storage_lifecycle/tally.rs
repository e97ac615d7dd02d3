//! What became of every write, from the API server's audit log: a controller does not report that it was
//! denied.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::no_false_denials::world::VOLUMES;

/// A write, as far as it matters here.
#[derive(Debug)]
struct Event {
    user: String,
    /// Verb, resource and name, for messages.
    what: String,
    verb: String,
    code: u64,
    message: String,
    /// The webhooks that changed the object.
    mutating_webhooks: Vec<String>,
}

/// What became of the writes of one user.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Those that were stored, one object each.
    pub(crate) stored: u64,
    /// Those that lost against another write, or came too late; their writer tries again.
    pub(crate) outrun: u64,
    /// What was said to those that were denied; they are made again and again.
    denied: BTreeSet<String>,
    /// Those that a mutating webhook changed.
    pub(crate) mutated: Vec<String>,
    /// What was stored: verb, resource, subresource and name, a blank after each but the last.
    pub(crate) done: BTreeSet<String>,
}

/// All writes by user.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<String, Writes>);

impl Tally {
    /// Counts what the log says of objects of which `belongs` holds, given a volume's name or a claim's
    /// namespace.
    pub(crate) fn of(log: &str, belongs: impl Fn(&str) -> bool) -> Self {
        let mut tally = Self::default();
        for line in log.lines() {
            // The last line may still be incomplete.
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
            if belongs(place(&event)) {
                tally.count(read(&event));
            }
        }
        tally
    }

    fn count(&mut self, event: Event) {
        let Event { user, what, verb, code, message, mutating_webhooks } = event;
        let writes = self.0.entry(user).or_default();
        match code {
            // Of a collection it is unknown how many it were.
            200..300 if verb == "deletecollection" => {}
            200..300 => {
                writes.stored += 1;
                writes.done.insert(what.clone());
            }
            404 | 409 => writes.outrun += 1,
            _ => drop(writes.denied.insert(format!("{what}: {code} {message}"))),
        }
        if !mutating_webhooks.is_empty() {
            writes.mutated.push(format!("{what} by {}", mutating_webhooks.join(", ")));
        }
    }

    /// Returns what is known of a user.
    pub(crate) fn by(&self, user: &str) -> Option<&Writes> {
        self.0.get(user)
    }

    /// Every denial, after the user whom it met.
    pub(crate) fn denials(&self) -> Vec<String> {
        let lines = self.0.iter().flat_map(|(user, writes)| {
            writes.denied.iter().map(move |denial| format!("{user}: {denial}"))
        });
        lines.collect()
    }

    /// Users with something mutated.
    pub(crate) fn mutations(&self) -> Vec<(&str, &[String])> {
        let mutated = self.0.iter().filter(|(_, writes)| !writes.mutated.is_empty());
        mutated.map(|(user, writes)| (user.as_str(), writes.mutated.as_slice())).collect()
    }
}

/// A claim's namespace or a volume's name; that of a new one is in the reply only, and in the path of none.
fn place(event: &Value) -> &str {
    let reference = &event["objectRef"];
    let place = reference["namespace"].as_str().or(reference["name"].as_str());
    // A new volume has no name in its path.
    place.unwrap_or(VOLUMES)
}

fn read(event: &Value) -> Event {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reference = &event["objectRef"];
    let impersonated = event["impersonatedUser"]["username"].as_str();
    let user = impersonated.or(event["user"]["username"].as_str()).unwrap_or_default();
    let what = format!(
        "{} {} {} {}",
        text(&event["verb"]),
        text(&reference["resource"]),
        text(&reference["subresource"]),
        text(&reference["name"]),
    );
    Event {
        user: user.to_owned(),
        what,
        verb: text(&event["verb"]),
        code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        message: text(&event["responseStatus"]["message"]),
        mutating_webhooks: mutating_webhooks(&event["annotations"]),
    }
}

/// Kubernetes: `mutation.webhook.admission.k8s.io/round_0_index_1`, with the name and whether it mutated.
fn mutating_webhooks(annotations: &Value) -> Vec<String> {
    let annotations = annotations.as_object().into_iter().flatten();
    let mutations = annotations.filter(|(key, _)| key.starts_with("mutation.webhook.admission."));
    let read =
        mutations.filter_map(|(_, value)| serde_json::from_str::<Value>(value.as_str()?).ok());
    let mutated = read.filter(|mutation| mutation["mutated"] == true);
    mutated.filter_map(|mutation| mutation["webhook"].as_str().map(str::to_owned)).collect()
}
