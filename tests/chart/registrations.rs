//! The registrations that the chart renders are those that the command line prints, but for what belongs
//! to the installation.

use std::process::Command;

use base64::Engine as _;
use bindery::api::registration::is_guard_probe;
use serde_json::{Value, json};

use super::helm::{NAME, Rendering, rendered, set, sets_with_webhook};

const KINDS: [&str; 2] = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];

/// Returns what `bindery generate webhooks` prints for the same service and account.
fn generated(own_controller: &str) -> Value {
    generated_from(own_controller, "")
}

/// The same with more of a configuration.
fn generated_from(own_controller: &str, more: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let config = format!(
        "apiVersion: bindery.dev/v1\nkind: Config\nownController: {own_controller}\n{more}"
    );
    std::fs::write(folder.path().join("config.yaml"), config).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["generate", "webhooks", "--service", "store/rel-bindery", "-o", "json"])
        .args(["--config", "config.yaml"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

/// The name of the condition under which the API server calls what fails closed.
const ANSWERED: &str = "is-answered";

/// Takes the entries off by which the same webhooks are called, failing open, until they were found to answer.
fn take_unanswered(entries: &mut Value) -> Vec<Value> {
    let all = entries.as_array_mut().expect("entries");
    let is_open = |entry: &mut Value| {
        entry["name"].as_str().is_some_and(|name| name.starts_with("unanswered."))
    };
    all.extract_if(.., is_open).collect()
}

/// Takes those off, and the condition that the chart adds to what fails closed. Returns its expression of each entry that had
/// it.
fn take_answered(entries: &mut Value) -> Vec<(String, String)> {
    take_unanswered(entries);
    let mut taken = Vec::new();
    for entry in entries.as_array_mut().expect("entries") {
        let name = entry["name"].as_str().unwrap_or_default().to_owned();
        let conditions = entry["matchConditions"].as_array_mut().expect("conditions");
        conditions.retain(|condition| {
            let is_answered = condition["name"] == ANSWERED;
            if is_answered {
                let expression = condition["expression"].as_str().unwrap_or_default();
                taken.push((name.clone(), expression.to_owned()));
            }
            !is_answered
        });
    }
    taken
}

/// A webhook that fails closed is called only while the controller has found it to answer, and one that fails open always.
#[test]
fn what_fails_closed_is_called_only_while_somebody_answers() {
    let answered = "authorizer.serviceAccount('store', 'rel-bindery-answering').group('bindery.dev')\
        .resource('webhooks').namespace('store').check('answer').allowed()";
    for (name, rendering) in sets_with_webhook() {
        let has_probe = !["webhook-only", "no-roles"].contains(&name.as_str());
        let mut all = Value::Array(entries(rendering));
        expect_open_before_closed(name, &all);
        let open = take_unanswered(&mut all);
        assert!(all.as_array().expect("entries").iter().filter_map(while_unanswered).eq(open));
        let taken = take_answered(&mut all);
        let closed = all.as_array().expect("entries").iter();
        let closed = closed.filter(|entry| entry["failurePolicy"] == "Fail" && has_probe);
        let names: Vec<&str> = closed.filter_map(|entry| entry["name"].as_str()).collect();
        assert!(taken.iter().map(|(name, _)| name.as_str()).eq(names), "{name}: {taken:?}");
        let answered = if name == "named" {
            answered.replace("bindery-a", "pairs-a")
        } else {
            answered.to_owned()
        };
        for (webhook, expression) in taken {
            let probe = format!("{} || ", is_guard_probe());
            let probe = if webhook == "guard.bindery.dev" { probe.as_str() } else { "" };
            assert_eq!(expression, format!("{probe}{answered}"), "{name}: {webhook}");
        }
        let binds = |kind: &str| {
            let bound = rendering.of_kind(kind).into_iter();
            bound
                .filter(|object| {
                    object["metadata"]["name"].as_str().is_some_and(|it| it.ends_with("-answering"))
                })
                .count()
        };
        assert_eq!(binds("Role"), usize::from(has_probe), "{name}");
        assert_eq!(binds("RoleBinding"), 0, "{name}: the controller makes it");
    }
}

/// A webhook that is found to answer between two conditions would else be sent nothing: the API server evaluates them in this
/// order.
fn expect_open_before_closed(set: &str, entries: &Value) {
    let entries = entries.as_array().expect("entries");
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let place = |name: &str| names.iter().position(|other| *other == name).expect("an entry");
    for open in names.iter().filter(|name| name.starts_with("unanswered.")) {
        let closed = open.trim_start_matches("unanswered.");
        assert!(place(open) < place(closed), "{set}: {names:?}");
    }
}

/// The entry that stands for one while it is not found to answer: it differs in its name, its failure policy and that
/// condition.
fn while_unanswered(closed: &Value) -> Option<Value> {
    let mut open = closed.clone();
    let conditions = open["matchConditions"].as_array_mut()?;
    let condition = conditions.iter_mut().find(|condition| condition["name"] == ANSWERED)?;
    let expression = condition["expression"].as_str()?;
    *condition = json!({"name": "is-unanswered", "expression": format!("!({expression})")});
    open["name"] = json!(format!("unanswered.{}", closed["name"].as_str()?));
    open["failurePolicy"] = json!("Ignore");
    Some(open)
}

/// The entries but those that stand for another.
fn answered(rendering: &Rendering) -> Vec<Value> {
    let mut all = Value::Array(entries(rendering));
    take_unanswered(&mut all);
    all.as_array().cloned().unwrap_or_default()
}

fn entries(rendering: &Rendering) -> Vec<Value> {
    let of_kind = |kind| {
        let found = rendering.of_kind(kind);
        assert_eq!(found.len(), 1, "{kind}");
        found[0]["webhooks"].as_array().expect("entries").clone()
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

#[test]
fn they_are_those_of_the_command_line() {
    for (name, account) in [("defaults", "rel-bindery"), ("prebind", "rel-bindery-controller")] {
        let printed = generated(&format!("system:serviceaccount:store:{account}"));
        for (kind, item) in KINDS.into_iter().zip(printed["items"].as_array().expect("two")) {
            assert_eq!(item["kind"], kind);
            let mut rendered = set(name).object(kind, NAME).clone();
            take_answered(&mut rendered["webhooks"]);
            assert_eq!(rendered["webhooks"], item["webhooks"], "{name}: {kind}");
            assert_eq!(rendered["apiVersion"], item["apiVersion"]);
        }
    }
}

/// The labels are spelled by the template for the chart, and by the code for everybody else.
#[test]
fn labels_by_which_overrides_select_are_guarded() {
    let overrides = json!([
        {"namespaceSelector": {"matchLabels": {"team": "qa", "floor": "1", "kubernetes.io/metadata.name": "old"}},
            "rules": {"prebind-class": "off"}},
        {"namespaceSelector": {"matchExpressions": [
            {"key": "example.com/stage", "operator": "In", "values": ["test"]},
            {"key": "bindery.dev/tenant", "operator": "Exists"}, {"key": "team", "operator": "Exists"},
        ]}, "rules": {"prebind-class": "off"}},
    ]);
    let more = format!("overrides: {overrides}\n");
    let printed = generated_from("system:serviceaccount:store:rel-bindery", &more);
    let chart = rendered(&["--set-json", &format!("overrides={overrides}")]);
    let mut rendered = chart.object(KINDS[0], NAME).clone();
    take_answered(&mut rendered["webhooks"]);
    assert_eq!(rendered["webhooks"], printed["items"][0]["webhooks"]);
    let guarded = "['bindery.dev/tenant', 'example.com/stage', 'floor', 'team'].exists";
    assert!(rendered.to_string().contains(guarded), "{rendered}");
}

/// The template puts the word in for the chart, and the code for everybody else.
#[test]
fn reservations_are_sent_where_they_are_labelled() {
    let printed =
        generated_from("system:serviceaccount:store:rel-bindery", "tenancy: {label: auto}\n");
    let chart = rendered(&["--set", "tenancy.label=auto"]);
    let labelling = chart.object(KINDS[1], NAME);
    assert_eq!(labelling["webhooks"], printed["items"][1]["webhooks"]);
    assert!(labelling.to_string().contains("'auto' == 'auto' && "), "{labelling}");
    let others = set("defaults").object(KINDS[1], NAME).to_string();
    assert!(others.contains("'manual' == 'auto' && "), "{others}");
}

/// What only observes stops nothing, and labels nothing.
#[test]
fn the_profile_audit_fails_open_here_and_there() {
    let more = "profile: audit\ntenancy: {label: auto}\n";
    let printed = generated_from("system:serviceaccount:store:rel-bindery", more);
    let values = ["--set", "rules.profile=audit,tenancy.label=auto"];
    let chart = rendered(&values);
    for (kind, item) in KINDS.into_iter().zip(printed["items"].as_array().expect("two")) {
        assert_eq!(chart.object(kind, NAME)["webhooks"], item["webhooks"], "{kind}");
        for webhook in item["webhooks"].as_array().expect("webhooks") {
            assert_eq!(webhook["failurePolicy"], "Ignore", "{}", webhook["name"]);
        }
    }
}

/// The issuer of the certificate writes it; what a template says of it would be put back at each upgrade.
#[test]
fn no_authority_is_rendered_but_one_that_was_given() {
    for (name, rendering) in sets_with_webhook() {
        for entry in entries(rendering) {
            let ca = entry["clientConfig"].get("caBundle");
            if name == "provided" {
                let pem = "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n\
                    -----END CERTIFICATE-----\n";
                let encoded = base64::engine::general_purpose::STANDARD.encode(pem);
                assert_eq!(ca, Some(&json!(encoded)));
            } else {
                assert_eq!(ca, None, "{name}");
                assert!(!rendering.text.contains("caBundle:"), "{name}");
            }
        }
    }
    // Given beside another mode it is not used: two would write it.
    let beside = "certs.provided.caBundle=\"-----BEGIN CERTIFICATE-----\"";
    assert!(!rendered(&["--set-json", beside]).text.contains("caBundle:"));
}

#[test]
fn cert_manager_learns_where_the_ca_is() {
    const KEY: &str = "cert-manager.io/inject-ca-from";
    for (name, rendering) in sets_with_webhook() {
        for kind in KINDS {
            let object = rendering.of_kind(kind)[0];
            let reported = object["metadata"]["annotations"].get(KEY);
            if name.starts_with("cert-manager") {
                assert_eq!(reported, Some(&json!("store/rel-bindery-tls")));
                let certificate = rendering.object("Certificate", "rel-bindery-tls");
                assert_eq!(certificate["spec"]["dnsNames"], json!(["rel-bindery.store.svc"]));
            } else {
                assert_eq!(reported, None, "{name}");
            }
        }
    }
}

#[test]
fn values_set_what_belongs_to_the_installation() {
    let reported = |entry: &Value| {
        let policy = entry["failurePolicy"].as_str().unwrap_or_default().to_owned();
        (
            entry["name"].as_str().unwrap_or_default().to_owned(),
            policy,
            entry["timeoutSeconds"].clone(),
        )
    };
    let of = |name: &str, policy: &str, seconds: u8| {
        (format!("{name}.bindery.dev"), policy.to_owned(), json!(seconds))
    };
    let defaults: Vec<_> = answered(set("defaults")).iter().map(reported).collect();
    let expected = [
        of("guard", "Fail", 3),
        of("advise", "Ignore", 2),
        of("restricted", "Ignore", 2),
        of("tenancy", "Fail", 3),
        of("mutate", "Ignore", 1),
        of("restore", "Ignore", 1),
    ];
    assert_eq!(defaults, expected);
    let policy: Vec<_> = answered(set("policy")).iter().map(reported).collect();
    let expected = [
        of("guard", "Ignore", 5),
        of("advise", "Fail", 4),
        of("restricted", "Fail", 4),
        of("tenancy", "Ignore", 6),
        of("mutate", "Fail", 3),
        of("restore", "Fail", 3),
    ];
    assert_eq!(policy, expected);
    let without = |name: &str| {
        let mut entries = Value::Array(entries(set(name)));
        take_answered(&mut entries);
        entries.as_array().cloned().unwrap_or_default()
    };
    for (plain, more) in without("defaults").iter().zip(without("policy")) {
        let plain = plain["matchConditions"].as_array().expect("conditions");
        let more = more["matchConditions"].as_array().expect("conditions");
        let Some((last, first)) = more.split_last() else { panic!("conditions") };
        let text = json!(first).to_string().replace(", 'team'", "");
        let text = text.replace("'auto' == 'auto'", "'manual' == 'auto'");
        assert_eq!(text, json!(plain).to_string(), "the built-in conditions stay");
        assert_eq!(last["name"], "not-the-backup");
    }
}

/// A request that only one webhook is to leave alone stays with the others.
#[test]
fn conditions_of_one_entry_are_in_no_other() {
    let name_of = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
    for (key, own) in [
        ("guard", &["guard.bindery.dev"][..]),
        ("advise", &["advise.bindery.dev", "restricted.bindery.dev"]),
        ("tenancy", &["tenancy.bindery.dev"]),
        ("mutate", &["mutate.bindery.dev", "restore.bindery.dev"]),
    ] {
        let one = r#"[{"name": "no-backups", "expression": "request.name != 'backup'"}]"#;
        let rendering =
            rendered(&["--set-json", &format!("webhook.{key}.extraMatchConditions={one}")]);
        let with = answered(&rendering).into_iter().filter(|entry| {
            let last = entry["matchConditions"].as_array().and_then(|all| all.last().cloned());
            last.is_some_and(|last| last["name"] == "no-backups")
        });
        assert_eq!(with.map(|entry| name_of(&entry)).collect::<Vec<_>>(), own, "{key}");
    }
}

/// A label would be a way around the rules, and a star would match resources that were not considered.
#[test]
fn no_entry_selects_by_labels_or_catches_everything() {
    for (name, rendering) in sets_with_webhook() {
        for entry in entries(rendering) {
            assert_eq!(entry.get("objectSelector"), None, "{name}");
            assert_eq!(entry.get("namespaceSelector"), None, "{name}");
            assert_eq!(entry["sideEffects"], "None", "{name}");
            assert_eq!(entry["matchPolicy"], "Equivalent", "{name}");
            for rule in entry["rules"].as_array().expect("rules") {
                for key in ["apiGroups", "apiVersions", "operations", "resources"] {
                    let listed = rule[key].as_array().expect("a list");
                    let is_star =
                        |value: &Value| value.as_str().is_none_or(|text| text.contains('*'));
                    assert!(!listed.is_empty() && !listed.iter().any(is_star), "{name}: {rule}");
                }
            }
        }
        for kind in KINDS {
            let annotations = &rendering.of_kind(kind)[0]["metadata"]["annotations"];
            assert_eq!(annotations["argocd.argoproj.io/sync-wave"], "10", "{name}");
        }
    }
}

/// The service that they name exists and leads to the port that the webhook listens on.
#[test]
fn they_lead_to_the_webhook() {
    for (name, rendering) in sets_with_webhook() {
        for entry in entries(rendering) {
            let target = &entry["clientConfig"]["service"];
            let service = rendering.object("Service", target["name"].as_str().expect("a name"));
            assert_eq!(service["metadata"]["namespace"], target["namespace"], "{name}");
            let port = &service["spec"]["ports"][0];
            assert_eq!(port["port"], target["port"], "{name}");
            let pods = rendering.of_kind("Deployment").into_iter().find(|deployment| {
                deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
            });
            let pods = pods.expect("the service has pods");
            let webhook = &pods["spec"]["template"]["spec"]["containers"][0];
            let open = &webhook["ports"][0];
            assert_eq!(open["name"], port["targetPort"], "{name}");
            let arguments = webhook["args"].as_array().expect("arguments");
            let listens = json!(format!("[::]:{}", open["containerPort"]));
            assert!(arguments.contains(&listens), "{name}: {arguments:?}");
        }
    }
}
