//! What an operator reads after installing: how the installation is, and what to do in an emergency.

use super::helm::{NAMESPACE, RELEASE, helm};

fn notes(arguments: &[&str]) -> String {
    let fixed =
        ["install", RELEASE, "charts/bindery", "--namespace", NAMESPACE, "--dry-run=client"];
    let reported = helm(&[fixed.as_slice(), arguments].concat()).expect("a dry run installs");
    reported.split_once("NOTES:").expect("there are notes").1.to_owned()
}

#[test]
fn they_name_mode_policies_and_certificates() {
    let defaults = notes(&[]);
    for line in [
        "Bindery is installed as store/rel-bindery.",
        "webhook       2 pods; guard: Fail, advise: Ignore, tenancy: Fail, mutate: Ignore",
        "rules         profile baseline",
        "controller    mode observe, sidecar",
        "certificates  selfSigned",
        "helm test rel -n store",
    ] {
        assert!(defaults.contains(line), "{line}: {defaults}");
    }
    let other =
        notes(&["--values", "tests/chart/sets/policy.yaml", "--set", "controller.mode=prebind"]);
    for line in [
        "guard: Ignore, advise: Fail, tenancy: Ignore, mutate: Fail",
        "profile strict",
        "mode prebind",
    ] {
        assert!(other.contains(line), "{line}: {other}");
    }
}

#[test]
fn they_say_that_the_profile_audit_fails_open() {
    let audit = notes(&["--set", "rules.profile=audit"]);
    for line in ["guard: Ignore, advise: Ignore, tenancy: Ignore, mutate: Ignore", "profile audit"]
    {
        assert!(audit.contains(line), "{line}: {audit}");
    }
}

/// Both commands name what is really there, so that they can be copied in an emergency.
#[test]
fn they_explain_what_to_do_in_an_emergency() {
    let defaults = notes(&[]);
    let selector = "-l app.kubernetes.io/name=bindery,app.kubernetes.io/instance=rel";
    let off = "kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration";
    assert!(defaults.contains(&format!("{off} {selector}")), "{defaults}");
    assert!(defaults.contains("--as-group=bindery.dev:break-glass"), "{defaults}");
    assert!(defaults.contains("ClusterRole rel-bindery-break-glass"), "{defaults}");
    assert!(defaults.contains("bindery scan"), "{defaults}");
    let named = notes(&["--values", "tests/chart/sets/named.yaml"]);
    assert!(named.contains("-l app.kubernetes.io/name=pairs,app.kubernetes.io/instance=rel"));
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let labels = &super::helm::set("named").object(kind, "rel-pairs")["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/name"], "pairs");
        assert_eq!(labels["app.kubernetes.io/instance"], "rel");
    }
}

#[test]
fn they_name_the_classes_of_local_disks_and_what_their_pods_need() {
    let pools = notes(&["--values", "tests/chart/sets/local-pools.yaml"]);
    for line in [
        "local disks   nvme: fast, raw (privileged); hdd: slow, slower",
        "kubectl label namespace store pod-security.kubernetes.io/enforce=privileged",
        "Stop any other local static provisioner first",
    ] {
        assert!(pools.contains(line), "{line}: {pools}");
    }
    let plain = notes(&["--values", "tests/chart/sets/local.yaml"]);
    assert!(plain.contains("local disks   fast-disks\n"), "{plain}");
    assert!(!notes(&[]).contains("local"));
}

#[test]
fn they_warn_of_what_is_left_to_the_operator() {
    const AUTHORITY: &str = "No CA certificate was given";
    const ROLES: &str = "No roles were created";
    let defaults = notes(&[]);
    assert!(!defaults.contains(AUTHORITY) && !defaults.contains(ROLES));
    let alone = notes(&["--values", "tests/chart/sets/webhook-only.yaml"]);
    assert!(alone.contains(AUTHORITY) && alone.contains("controller    none"), "{alone}");
    assert!(!notes(&["--values", "tests/chart/sets/provided.yaml"]).contains(AUTHORITY));
    assert!(notes(&["--set", "rbac.create=false"]).contains(ROLES));
}
