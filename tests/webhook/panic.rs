//! A defect in a rule costs the one request that meets it.

use bindery::binding::Evidence;
use bindery::rules::{
    Change, Exemptable, Mode, Operation, Page, RequestType, RequestTypes, Resource, Rule,
    RuleOptions, Terminating, Violation,
};

use crate::stage::{Scene, Stage};

/// A rule that fails on volumes named `boom`, and takes no other.
static PLANTED: Rule = Rule {
    id: "planted",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Volumes, Operation::Delete)]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        exemption: Exemptable::No,
        ..RuleOptions::DEFAULT
    },
    page: Page { hazard: "", consequence: "", instead: "" },
    policy: bindery::rules::PolicyForm::NotExpressible("it is of a test"),
    denied: &[],
    allowed: &[],
    check,
};

pub(crate) static RULES: &[&Rule] = &[&PLANTED];

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let name = change.volume().map(|volume| volume.latest().name.to_string());
    assert_ne!(name.as_deref(), Some("boom"), "planted");
    Vec::new()
}

#[tokio::test]
async fn a_panicking_rule_costs_one_request_and_is_counted() {
    let stage = Stage::judging(&Scene::empty(), RULES).await;
    let delete = |name: &str| {
        super::wire::review(&super::wire::volumes(
            "DELETE",
            &format!(
                r#","oldObject":{{"metadata":{{"name":"{name}"}},"status":{{"phase":"Bound"}}}}"#
            ),
        ))
    };
    let mut bystander = stage.connect().await;
    assert_eq!(stage.metric("bindery_panics_total").await, 0);

    for panics in 1..=3 {
        let reply = stage.post("/validate/guard", &delete("boom")).await;
        assert_eq!(reply.status, 500, "{reply:?}");
        let line =
            "the review failed on a defect of this server; nothing was judged; see its log\n";
        assert_eq!(reply.body, line);
        assert!(reply.head.contains("connection: close"), "{reply:?}");
        assert_eq!(stage.metric("bindery_panics_total").await, panics);

        let reply = stage.post("/validate/guard", &delete("pv-a")).await;
        assert_eq!(reply.response()["allowed"], true);
        bystander.send(&crate::stage::post("/validate/guard", delete("pv-b").as_bytes())).await;
        assert!(bystander.reply().await.unwrap().starts_with("HTTP/1.1 200 "));
    }
    assert_eq!(stage.probe("/readyz").await.status, 200);
}
