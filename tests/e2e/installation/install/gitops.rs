//! What tools see that compare the cluster with the chart's rendering again and again, and apply it again: Argo CD as
//! `kubectl apply` does, or by server-side apply, as Flux does too.
//!
//! Not here: PVs and PVCs that such tools apply (`no_false_denials`); an installation by helm (`changes`).

use std::iter;

use serde_json::{Value, json};

use super::site::{CHART, NAME, Site, installation};
use crate::denials::policies::mutation_version;
use crate::plane::Output;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(tools_that_apply_the_chart_see_no_difference)];

/// With nearly every object that the chart can make. What an operator has to bring along is left out, as a `ServiceMonitor`.
const SET: &[&str] = &[
    "policies=beside",
    "networkPolicy.enabled=true",
    "trash.enabled=true",
    "moves.resumeAfter=5m",
    "reports.enabled=true",
    "local.enabled=true",
    "local.classes.fast.hostDir=/mnt/disks",
    "local.createStorageClasses=true",
    "local.onNodeLoss.fast=release",
];

/// The two ways in which such tools compare and apply; each takes what another way has set.
const WAYS: [&[&str]; 2] =
    [&[], &["--server-side", "--force-conflicts", "--field-manager=argocd-controller"]];

fn tools_that_apply_the_chart_see_no_difference() {
    let site = Site::empty();
    let stage = format!("{CHART}/values-deny.yaml");
    let set = format!("mutationPolicies={},{}", mutation_version(site.plane), SET.join(","));
    let named =
        ["template", NAME, CHART, "-n", NAME, "--no-hooks", "--values", &stage, "--set", &set];
    let rendered = site.helm(&named);
    with(&site, &["apply"], &rendered).expect_ok();
    site.await_ready();
    site.await_denial();
    site.await_closed();
    let filled_in = filled_in(&site);
    for way in WAYS {
        expect_no_difference(&site, way, &rendered);
        with(&site, &[&["apply"], way].concat(), &rendered).expect_ok();
        expect_no_difference(&site, way, &rendered);
        assert_eq!(self::filled_in(&site), filled_in, "{way:?}");
        assert!(site.is_answered(), "{way:?}: nothing fails closed");
    }
    // Nothing of it would be pruned: tools find what they have applied by its labels.
    let bindings = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{NAME}/rolebindings");
    let binding = format!("{bindings}/{}", installation().answering());
    let binding = site.plane.get(ADMIN, &binding).expect_ok();
    assert_eq!(binding["metadata"]["labels"], Value::Null);
    // That a difference is one.
    let opened = json!({"webhooks": [{"name": "guard.bindery.dev", "failurePolicy": "Ignore"}]});
    let patch = ["patch", "validatingwebhookconfiguration", NAME, "--patch", &opened.to_string()];
    site.plane.kubectl(ADMIN, &patch, "").expect_ok();
    for way in WAYS {
        let compared = with(&site, &[&["diff"], way].concat(), &rendered);
        assert_eq!(compared.code, 1, "{way:?}: {compared:?}");
        let changed = compared.stdout.lines().filter(|line| line.starts_with(['+', '-']));
        let changed: Vec<&str> = changed.filter(|line| line.contains("Policy: ")).collect();
        assert_eq!(changed, ["-  failurePolicy: Ignore", "+  failurePolicy: Fail"], "{way:?}");
    }
}

/// kubectl with what helm has rendered.
fn with(site: &Site, arguments: &[&str], rendered: &str) -> Output {
    let arguments: Vec<&str> =
        arguments.iter().copied().chain(["--namespace", NAME, "--filename", "-"]).collect();
    site.plane.kubectl(ADMIN, &arguments, rendered)
}

#[track_caller]
fn expect_no_difference(site: &Site, way: &[&str], rendered: &str) {
    let compared = with(site, &[&["diff"], way].concat(), rendered);
    assert_eq!(compared.code, 0, "{way:?}: {}{}", compared.stdout, compared.stderr);
}

/// What the controller has filled in: the bundle of the registrations, and the certificates.
fn filled_in(site: &Site) -> Vec<String> {
    let bundle = site.bundle().expect("both registrations trust the same");
    let own = installation();
    let secrets = [(own.serving_secret(), "tls.crt"), (own.ca_secret(), "ca.crt")];
    let secrets = secrets.map(|(name, key)| site.secret(&name, key).expect("it was filled in"));
    iter::once(bundle).chain(secrets).collect()
}
