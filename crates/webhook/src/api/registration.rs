//! The registrations: which requests the API server sends to the webhook.
//!
//! Built from the request types of rules and mutations alone, so that a new rule cannot be left out. Chart and command
//! line print the same values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations,
    ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::installation::GUARD_PROBE;
use crate::rules::judging::filter;
use crate::rules::mutations::MUTATIONS;
use crate::rules::{Endpoint, Operation, RULES, RequestType, Resource, spelling};

/// Where the API server reaches the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookTarget {
    /// An address outside the cluster; the paths are appended.
    Url(String),
    /// A service, on port 443.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What a registration depends on besides the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Where the webhook is.
    pub target: WebhookTarget,
    /// The PEM of the CA that signs the webhook's certificate; empty where something else
    /// fills it in.
    pub ca_pem: String,
    /// The user name of our own controller, whose requests are not sent.
    pub own_controller: String,
    /// The keys of the labels of namespaces that only some may change; each is a label's key, or stands for several.
    pub namespace_labels: Arc<[String]>,
    /// The value of `tenancy.label`, or a placeholder for it.
    pub tenant_label: String,
}

/// The name of both configurations.
pub const NAME: &str = "bindery";

/// How long the API server waits for `guard` and `tenancy`: they fail closed, so a slow answer is better than none.
const GUARD_SECONDS: i32 = 3;
/// How long for `advise` and `restricted`: they fail open.
const ADVISE_SECONDS: i32 = 2;
/// How long for mutations: they are a convenience and delay every new claim of a dead webhook.
const MUTATE_SECONDS: i32 = 1;
/// The port of the service in front of the webhook.
const SERVICE_PORT: i32 = 443;

/// Whether a request is the dry run by which the controller finds out whether guard answers, as CEL.
pub fn is_guard_probe() -> String {
    format!(
        "request.operation == 'CREATE' && request.?dryRun.orValue(false) && \
         request.?name.orValue('') == '{GUARD_PROBE}'"
    )
}

/// The path under which `endpoint` is served.
pub fn path(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Guard => "/validate/guard",
        Endpoint::Advise => "/validate/advise",
        Endpoint::Restricted => "/validate/restricted",
        Endpoint::Tenancy => "/validate/tenancy",
        // One handler; which mutations look at a request follows from its request types.
        Endpoint::Mutate | Endpoint::Restore => "/mutate",
    }
}

/// The name of the webhook of `endpoint` in its configuration; messages of the API server begin with it.
pub fn name(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Guard => "guard.bindery.dev",
        Endpoint::Advise => "advise.bindery.dev",
        Endpoint::Restricted => "restricted.bindery.dev",
        Endpoint::Tenancy => "tenancy.bindery.dev",
        Endpoint::Mutate => "mutate.bindery.dev",
        Endpoint::Restore => "restore.bindery.dev",
    }
}

impl Registration {
    /// The configuration of the endpoints that judge.
    pub fn validating(&self) -> ValidatingWebhookConfiguration {
        let webhook = |endpoint, seconds, failure_policy: &str| ValidatingWebhook {
            name: name(endpoint).to_owned(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: self.client(endpoint),
            failure_policy: Some(failure_policy.to_owned()),
            match_conditions: Some(self.conditions(endpoint)),
            match_policy: Some("Equivalent".to_owned()),
            rules: Some(rules(endpoint)),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(seconds),
            ..ValidatingWebhook::default()
        };
        ValidatingWebhookConfiguration {
            metadata: metadata(),
            webhooks: Some(vec![
                webhook(Endpoint::Guard, GUARD_SECONDS, "Fail"),
                webhook(Endpoint::Advise, ADVISE_SECONDS, "Ignore"),
                webhook(Endpoint::Restricted, ADVISE_SECONDS, "Ignore"),
                webhook(Endpoint::Tenancy, GUARD_SECONDS, "Fail"),
            ]),
        }
    }

    /// The configuration of the endpoints that mutate.
    pub fn mutating(&self) -> MutatingWebhookConfiguration {
        let webhook = |endpoint| MutatingWebhook {
            name: name(endpoint).to_owned(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: self.client(endpoint),
            failure_policy: Some("Ignore".to_owned()),
            match_conditions: Some(self.conditions(endpoint)),
            match_policy: Some("Equivalent".to_owned()),
            reinvocation_policy: Some("IfNeeded".to_owned()),
            rules: Some(rules(endpoint)),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(MUTATE_SECONDS),
            ..MutatingWebhook::default()
        };
        MutatingWebhookConfiguration {
            metadata: metadata(),
            webhooks: Some(vec![webhook(Endpoint::Mutate), webhook(Endpoint::Restore)]),
        }
    }

    fn client(&self, endpoint: Endpoint) -> WebhookClientConfig {
        let ca = (!self.ca_pem.is_empty()).then(|| ByteString(self.ca_pem.clone().into_bytes()));
        let path = path(endpoint);
        match &self.target {
            WebhookTarget::Url(base) => WebhookClientConfig {
                ca_bundle: ca,
                url: Some(format!("{}{path}", base.trim_end_matches('/'))),
                service: None,
            },
            WebhookTarget::Service { namespace, name } => WebhookClientConfig {
                ca_bundle: ca,
                url: None,
                service: Some(ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path.to_owned()),
                    port: Some(SERVICE_PORT),
                }),
            },
        }
    }

    fn conditions(&self, endpoint: Endpoint) -> Vec<MatchCondition> {
        let setting = filter::Setting {
            own_controller: &self.own_controller,
            namespace_labels: &self.namespace_labels,
            tenant_label: &self.tenant_label,
        };
        let conditions = filter::conditions(endpoint, setting);
        conditions
            .into_iter()
            .map(|condition| MatchCondition {
                name: condition.name.to_owned(),
                expression: if endpoint == Endpoint::Guard {
                    or_guard_probe(condition)
                } else {
                    condition.expression
                },
            })
            .collect()
    }
}

/// A condition of guard that the probe meets too. Of what is created guard is sent nothing else, and its own condition knows
/// no creations. Of the others, that about our own controller matters: it sends the probe.
fn or_guard_probe(condition: filter::Condition) -> String {
    let (probe, expression) = (is_guard_probe(), condition.expression);
    match condition.name {
        "can-harm-bound-data" => format!("request.operation == 'CREATE' ? {probe} : {expression}"),
        "not-own-controller" => format!("{probe} || {expression}"),
        _ => expression,
    }
}

/// Has every webhook fail open: what only observes must stop nothing.
pub fn fail_open(
    validating: &mut ValidatingWebhookConfiguration,
    mutating: &mut MutatingWebhookConfiguration,
) {
    let ignore = || Some("Ignore".to_owned());
    for webhook in validating.webhooks.iter_mut().flatten() {
        webhook.failure_policy = ignore();
    }
    for webhook in mutating.webhooks.iter_mut().flatten() {
        webhook.failure_policy = ignore();
    }
}

/// Returns whether `endpoint` is registered for requests of this kind.
pub fn is_registered(endpoint: Endpoint, resource: Resource, operation: Operation) -> bool {
    request_types(endpoint).any(|request_type| {
        (request_type.resource, request_type.operation) == (resource, operation)
    })
}

fn metadata() -> ObjectMeta {
    let labels = [("app.kubernetes.io/name".to_owned(), NAME.to_owned())];
    ObjectMeta {
        name: Some(NAME.to_owned()),
        labels: Some(BTreeMap::from(labels)),
        ..ObjectMeta::default()
    }
}

/// The request types that lead to `endpoint`. What guard's conditions do not match is judged in `advise`, so that
/// is sent guard's request types too; what they take is judged there by the rules of `advise` as well. `restricted` is sent
/// those of them by which a claim can come to name a volume.
fn request_types(endpoint: Endpoint) -> impl Iterator<Item = RequestType> {
    let of_rules = RULES.iter().flat_map(|rule| rule.request_types.iter());
    let of_mutations = MUTATIONS.iter().flat_map(|mutation| mutation.request_types.iter());
    let leads = move |request_type: &RequestType| {
        let is_advised = matches!(request_type.endpoint, Endpoint::Advise | Endpoint::Guard);
        match endpoint {
            Endpoint::Advise => is_advised,
            Endpoint::Restricted => is_advised && can_name_volume(*request_type),
            Endpoint::Guard | Endpoint::Tenancy | Endpoint::Mutate | Endpoint::Restore => {
                request_type.endpoint == endpoint
            }
        }
    };
    of_rules.chain(of_mutations).copied().filter(leads)
}

fn can_name_volume(request_type: RequestType) -> bool {
    request_type.resource == Resource::Claims
        && matches!(request_type.operation, Operation::Create | Operation::Update)
}

/// The requests that the endpoints which judge are sent, each once.
pub(super) fn judged_rules() -> Vec<RuleWithOperations> {
    let mut all = Vec::new();
    for endpoint in [Endpoint::Guard, Endpoint::Advise, Endpoint::Restricted, Endpoint::Tenancy] {
        for rule in rules(endpoint) {
            if !all.contains(&rule) {
                all.push(rule);
            }
        }
    }
    all
}

fn rules(endpoint: Endpoint) -> Vec<RuleWithOperations> {
    let mut operations: BTreeMap<(&str, String), BTreeSet<&'static str>> = BTreeMap::new();
    for request_type in request_types(endpoint) {
        let (resource, operation) = spelling(request_type.resource, request_type.operation);
        let group = request_type.resource.group();
        operations.entry((group, resource)).or_default().insert(operation);
    }
    if endpoint == Endpoint::Guard {
        let (resource, operation) = spelling(Resource::Volumes, Operation::Create);
        let group = Resource::Volumes.group();
        operations.entry((group, resource)).or_default().insert(operation);
    }
    let rule =
        |((group, resource), operations): ((&str, String), BTreeSet<&str>)| RuleWithOperations {
            api_groups: Some(vec![group.to_owned()]),
            api_versions: Some(vec!["v1".to_owned()]),
            operations: Some(operations.into_iter().map(str::to_owned).collect()),
            resources: Some(vec![resource]),
            scope: Some("*".to_owned()),
        };
    operations.into_iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Registration {
        Registration {
            target: WebhookTarget::Url("https://localhost:8443/".to_owned()),
            ca_pem: "pem".to_owned(),
            own_controller: "me".to_owned(),
            namespace_labels: Arc::default(),
            tenant_label: String::new(),
        }
    }

    /// Returns what an endpoint is sent, as `resource: OPERATIONS`.
    fn sent(endpoint: Endpoint) -> Vec<String> {
        let lines = rules(endpoint).into_iter().map(|rule| {
            format!(
                "{}: {}",
                rule.resources.unwrap_or_default().join(","),
                rule.operations.unwrap_or_default().join(",")
            )
        });
        lines.collect()
    }

    #[test]
    fn every_request_type_of_a_rule_or_mutation_is_sent() {
        let all = RULES.iter().flat_map(|rule| rule.request_types.iter());
        for request_type in
            all.chain(MUTATIONS.iter().flat_map(|mutation| mutation.request_types.iter()))
        {
            let (resource, operation) = spelling(request_type.resource, request_type.operation);
            let lines = sent(request_type.endpoint);
            let line = lines.iter().find(|line| line.starts_with(&format!("{resource}: ")));
            assert!(
                line.is_some_and(|line| line.contains(operation)),
                "{request_type:?}: {lines:?}"
            );
        }
    }

    #[test]
    fn what_guard_lets_by_is_sent_to_advise() {
        for line in sent(Endpoint::Guard) {
            let (resource, operations) = line.split_once(": ").expect("a line");
            let advise = sent(Endpoint::Advise);
            let wider = advise.iter().find(|line| line.starts_with(&format!("{resource}: ")));
            let wider = wider.expect("the resource is sent");
            assert!(operations.split(',').all(|operation| wider.contains(operation)), "{wider}");
        }
    }

    /// It is sent by our own controller, and harms nothing.
    #[test]
    fn the_probe_meets_every_condition_of_guard() {
        let conditions = made().conditions(Endpoint::Guard);
        let knows_probe = |it: &&MatchCondition| it.expression.contains(&is_guard_probe());
        let names: Vec<&str> =
            conditions.iter().filter(knows_probe).map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["not-own-controller", "can-harm-bound-data"]);
        assert!(
            sent(Endpoint::Guard).contains(&"persistentvolumes: CREATE,DELETE,UPDATE".to_owned())
        );
    }

    /// `advise` leaves to guard what can harm bound data: guard must be asked wherever that can be.
    #[test]
    fn what_advise_leaves_to_guard_is_sent_to_guard() {
        let advised = request_types(Endpoint::Advise)
            .filter(|request_type| request_type.resource == Resource::Volumes);
        for request_type in
            advised.filter(|request_type| request_type.operation != Operation::Create)
        {
            assert!(
                is_registered(Endpoint::Guard, request_type.resource, request_type.operation),
                "{request_type:?}"
            );
        }
    }

    #[test]
    fn mutating_webhooks_are_never_sent_deletions() {
        for endpoint in [Endpoint::Mutate, Endpoint::Restore] {
            assert!(!sent(endpoint).is_empty());
            assert!(
                sent(endpoint).iter().all(|line| !line.contains("DELETE")),
                "{:?}",
                sent(endpoint)
            );
        }
    }

    #[test]
    fn a_dead_webhook_stops_only_what_guard_and_tenancy_hold() {
        let policies = |name: &str, policy: Option<&String>| {
            let is_closed = ["guard.bindery.dev", "tenancy.bindery.dev"].contains(&name);
            assert_eq!(policy.is_some_and(|policy| policy == "Fail"), is_closed, "{name}");
        };
        for webhook in made().validating().webhooks.unwrap_or_default() {
            policies(&webhook.name, webhook.failure_policy.as_ref());
        }
        for webhook in made().mutating().webhooks.unwrap_or_default() {
            policies(&webhook.name, webhook.failure_policy.as_ref());
        }
    }

    #[test]
    fn targets_are_spelt_as_the_api_server_wants_them() {
        let url = made().client(Endpoint::Guard);
        assert_eq!(url.url.as_deref(), Some("https://localhost:8443/validate/guard"));
        let service = Registration {
            target: WebhookTarget::Service { namespace: "n".to_owned(), name: "s".to_owned() },
            ca_pem: String::new(),
            ..made()
        };
        let client = service.client(Endpoint::Restore);
        assert_eq!(client.ca_bundle, None);
        let service = client.service.expect("a service");
        assert_eq!((service.path.as_deref(), service.port), (Some("/mutate"), Some(443)));
    }
}
