//! The registrations: which requests the API server sends, made from the routes of rules and
//! repairs and from the conditions in `rules::judging::filter`.
//!
//! The one source for the command line, the chart and the tests.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations,
    ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::rules::edits::REPAIRS;
use crate::rules::judging::filter::conditions;
use crate::rules::{Entry, Operation, RULES, Resource, Route};

/// How the API server reaches the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// At a URL; the paths are appended.
    Url(String),
    /// Through a Service on port 443.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What differs between installations.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Where the webhook is.
    pub destination: Destination,
    /// The certificates that the API server trusts, in PEM; empty where another tool fills them in.
    pub ca_bundle: Vec<u8>,
    /// The user name of our own controller, whose writes are not sent.
    pub own_controller: String,
}

/// The name of both registrations.
pub const NAME: &str = "bindery";

/// What one entry is to the API server.
struct Terms {
    name: &'static str,
    path: &'static str,
    failure_policy: &'static str,
    timeout_seconds: i32,
}

/// Time-outs: the API server waits for guard, which must answer, longest; an edit is a courtesy.
fn terms(entry: Entry) -> Terms {
    let of = |name, path, failure_policy, timeout_seconds| Terms {
        name,
        path,
        failure_policy,
        timeout_seconds,
    };
    match entry {
        Entry::Guard => of("guard.bindery.dev", "/validate/guard", "Fail", 3),
        Entry::Advise => of("advise.bindery.dev", "/validate/advise", "Ignore", 2),
        Entry::Mutate => of("mutate.bindery.dev", "/mutate", "Ignore", 1),
        Entry::Restore => of("restore.bindery.dev", "/mutate", "Ignore", 1),
    }
}

/// The validating registration: guard and advise.
pub fn validating(installation: &Installation) -> ValidatingWebhookConfiguration {
    let entry = |entry| {
        let terms = terms(entry);
        ValidatingWebhook {
            admission_review_versions: vec!["v1".to_owned()],
            client_config: client_config(installation, terms.path),
            failure_policy: Some(terms.failure_policy.to_owned()),
            match_conditions: Some(match_conditions(entry, installation)),
            match_policy: Some("Equivalent".to_owned()),
            name: terms.name.to_owned(),
            rules: Some(rules(entry)),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(terms.timeout_seconds),
            ..Default::default()
        }
    };
    ValidatingWebhookConfiguration {
        metadata: metadata(),
        webhooks: Some(vec![entry(Entry::Guard), entry(Entry::Advise)]),
    }
}

/// The mutating registration: mutate and restore.
pub fn mutating(installation: &Installation) -> MutatingWebhookConfiguration {
    let entry = |entry| {
        let terms = terms(entry);
        MutatingWebhook {
            admission_review_versions: vec!["v1".to_owned()],
            client_config: client_config(installation, terms.path),
            failure_policy: Some(terms.failure_policy.to_owned()),
            match_conditions: Some(match_conditions(entry, installation)),
            match_policy: Some("Equivalent".to_owned()),
            name: terms.name.to_owned(),
            reinvocation_policy: Some("IfNeeded".to_owned()),
            rules: Some(rules(entry)),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(terms.timeout_seconds),
            ..Default::default()
        }
    };
    MutatingWebhookConfiguration {
        metadata: metadata(),
        webhooks: Some(vec![entry(Entry::Mutate), entry(Entry::Restore)]),
    }
}

fn metadata() -> ObjectMeta {
    let labels = [("app.kubernetes.io/name", NAME), ("app.kubernetes.io/component", "webhook")];
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    ObjectMeta {
        name: Some(NAME.to_owned()),
        labels: Some(labels.into_iter().map(owned).collect()),
        ..Default::default()
    }
}

fn client_config(installation: &Installation, path: &str) -> WebhookClientConfig {
    let bundle = &installation.ca_bundle;
    let ca_bundle = (!bundle.is_empty()).then(|| ByteString(bundle.clone()));
    match &installation.destination {
        Destination::Url(base) => WebhookClientConfig {
            ca_bundle,
            url: Some(format!("{}{path}", base.trim_end_matches('/'))),
            service: None,
        },
        Destination::Service { namespace, name } => WebhookClientConfig {
            ca_bundle,
            url: None,
            service: Some(ServiceReference {
                name: name.clone(),
                namespace: namespace.clone(),
                path: Some(path.to_owned()),
                port: Some(443),
            }),
        },
    }
}

fn match_conditions(entry: Entry, installation: &Installation) -> Vec<MatchCondition> {
    let made = conditions(entry, &installation.own_controller).into_iter();
    let wire = made.map(|condition| MatchCondition {
        name: condition.name.to_owned(),
        expression: condition.expression,
    });
    wire.collect()
}

/// What the API server sends to `entry`. Advise also takes what guard's conditions let by.
fn rules(entry: Entry) -> Vec<RuleWithOperations> {
    let of_rules = RULES.iter().flat_map(|rule| rule.routes);
    let of_repairs = REPAIRS.iter().flat_map(|repair| repair.routes);
    let wanted = |route: &&Route| {
        route.entry == entry || (entry == Entry::Advise && route.entry == Entry::Guard)
    };
    let mut operations = BTreeMap::<String, BTreeSet<&str>>::new();
    for route in of_rules.chain(of_repairs).filter(wanted) {
        let (resource, operation) = address(*route);
        operations.entry(resource).or_default().insert(operation);
    }
    let rule = |(resource, operations): (String, BTreeSet<&str>)| RuleWithOperations {
        api_groups: Some(vec![String::new()]),
        api_versions: Some(vec!["v1".to_owned()]),
        operations: Some(operations.into_iter().map(str::to_owned).collect()),
        resources: Some(vec![resource]),
        scope: Some("*".to_owned()),
    };
    operations.into_iter().map(rule).collect()
}

fn address(route: Route) -> (String, &'static str) {
    let resource = match route.resource {
        Resource::Volumes => "persistentvolumes",
        Resource::Claims => "persistentvolumeclaims",
    };
    match route.operation {
        Operation::Create => (resource.to_owned(), "CREATE"),
        Operation::Update => (resource.to_owned(), "UPDATE"),
        Operation::Delete => (resource.to_owned(), "DELETE"),
        Operation::UpdateStatus => (format!("{resource}/status"), "UPDATE"),
    }
}
