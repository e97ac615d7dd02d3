//! Two writes, as dry runs, that a working webhook does not let pass unchanged: one that it mutates, one that it denies.
//! They prove the whole path, from the API server to a rule and back.

use serde_json::{Value, json};

use super::check_result::CheckResult;
use super::installation::InspectedInstallation;
use crate::api::installation::CANARY;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::CreateResponse;
use crate::model::annotations::BIND_COMPLETED;
use crate::rules::mutations::find as find_mutation;
use crate::rules::{Mode, Policy, Switch, find};

/// The rule that the volume breaks.
const RULE: &str = "prebind-incomplete";

/// The mutation that the claim needs.
const MUTATION: &str = "strip-binder-annotations";

const MUTATIONS: &str = "mutations";
const DENIALS: &str = "denials";

pub(super) fn findings(subject: &InspectedInstallation) -> Result<Vec<CheckResult>, Failure> {
    if !subject.has_webhook() {
        let denied = subject.cluster.create("/api/v1/persistentvolumes?dryRun=All", &volume())?;
        let policy = subject.configuration()?.map(|found| found.policy).unwrap_or_default();
        return Ok(vec![denied_by_policies(&policy, &denied)]);
    }
    let namespace = subject.installation.namespace();
    let claims = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims?dryRun=All");
    let mutated = subject.cluster.create(&claims, &claim())?;
    let denied = subject.cluster.create("/api/v1/persistentvolumes?dryRun=All", &volume())?;
    // The default, if that of the installation cannot be read.
    let policy = subject.configuration()?.map(|found| found.policy).unwrap_or_default();
    Ok(judged(&policy, &mutated, &denied))
}

/// Returns what the responses to both writes prove under a policy.
fn judged(policy: &Policy, mutated: &CreateResponse, denied: &CreateResponse) -> Vec<CheckResult> {
    let mutation = find_mutation(MUTATION).map_or(Switch::On, |mutation| policy.switch(mutation));
    let mutations = match mutation {
        Switch::On => mutations(mutated),
        Switch::Off => CheckResult::unknown(
            MUTATIONS,
            format!(
                "mutation {MUTATION} is off, so mutations were not tried; switch it on to try them"
            ),
        ),
    };
    let denials = match find(RULE).map_or(Mode::Deny, |rule| policy.mode(rule)) {
        Mode::Deny | Mode::Warn => denies(denied),
        Mode::Audit => audits(denied),
        Mode::Off => CheckResult::unknown(
            DENIALS,
            format!(
                "rule {RULE} is set to off, so denials were not tried; set it to audit, warn or deny to try them"
            ),
        ),
    };
    let mut findings = vec![mutations, denials];
    if [mutated, denied].into_iter().all(may_not) {
        findings.push(CheckResult::bad(
            "requests",
            "neither write was allowed; whether the API server calls the webhook is not known; give this \
             account permission to create PersistentVolumes and PersistentVolumeClaims",
        ));
    }
    findings
}

/// Returns what the response to the write that breaks a rule proves where there is no webhook.
fn denied_by_policies(policy: &Policy, denied: &CreateResponse) -> CheckResult {
    match find(RULE).map_or(Mode::Deny, |rule| policy.mode(rule)) {
        Mode::Deny | Mode::Warn
            if matches!(denied.code, 200 | 201) && denied.warnings.is_empty() =>
        {
            CheckResult::bad(
                DENIALS,
                "a PersistentVolume with an incomplete claimRef was admitted without a warning; the policies are not in force; look \
                 for the ValidatingAdmissionPolicies of the installation and their bindings",
            )
        }
        Mode::Deny | Mode::Warn => denies(denied),
        mode @ (Mode::Audit | Mode::Off) => CheckResult::unknown(
            DENIALS,
            format!(
                "rule {RULE} is set to {}, so denials were not tried; set it to warn or deny to try them",
                mode.as_str()
            ),
        ),
    }
}

/// A claim with a binder annotation, which [`MUTATION`] removes.
fn claim() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": CANARY, "annotations": {BIND_COMPLETED: "yes"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                 "resources": {"requests": {"storage": "1Gi"}}},
    })
}

/// A volume that is reserved for a claim without a name, which [`RULE`] denies.
fn volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": CANARY},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
                 "claimRef": {"namespace": CANARY},
                 "nfs": {"server": "192.0.2.1", "path": "/bindery-doctor-canary"}},
    })
}

fn mutations(reply: &CreateResponse) -> CheckResult {
    let note = format!("/metadata/annotations/{}", BIND_COMPLETED.replace('/', "~1"));
    match reply.code {
        200 | 201 if reply.object.pointer(&note).is_none() => CheckResult::good(
            MUTATIONS,
            "the annotation of a binder was removed from a PersistentVolumeClaim",
        ),
        200 | 201 => CheckResult::bad(
            MUTATIONS,
            "the annotation of a binder stayed on a PersistentVolumeClaim; the API server does not call the webhook, or gets no answer \
             in time; look at certificates and replicas, and at webhook.extraMatchConditions",
        ),
        code => not_asked(MUTATIONS, code, reply),
    }
}

fn denies(reply: &CreateResponse) -> CheckResult {
    let mark = format!("[{RULE}] ");
    let has_mark = |text: &str| text.contains(&mark);
    if reply.code == 403 && has_mark(&reply.message()) {
        return CheckResult::good(
            DENIALS,
            "a PersistentVolume with an incomplete claimRef was denied",
        );
    }
    if reply.warnings.iter().any(|warning| has_mark(warning)) {
        return CheckResult::good(
            DENIALS,
            "a PersistentVolume with an incomplete claimRef was warned about",
        );
    }
    match reply.code {
        200 | 201 => CheckResult::bad(
            DENIALS,
            "a PersistentVolume with an incomplete claimRef was admitted without a warning; the API server does not call the webhook, or gets no answer \
             in time; look at certificates and replicas, and at webhook.extraMatchConditions",
        ),
        code => not_asked(DENIALS, code, reply),
    }
}

/// In mode audit the webhook tells this dry run alone what it would deny.
fn audits(reply: &CreateResponse) -> CheckResult {
    let mark = format!("[{RULE}] ");
    let is_reported = reply.warnings.iter().any(|warning| warning.contains(&mark));
    match reply.code {
        403 if reply.message().contains(&mark) => CheckResult::unknown(
            DENIALS,
            format!(
                "rule {RULE} is set to audit, and the webhook still denies; pods load a new configuration within a \
                 minute or two, so run the doctor again then"
            ),
        ),
        200 | 201 if is_reported => CheckResult::good(
            DENIALS,
            "a PersistentVolume with an incomplete claimRef was evaluated, and admitted as mode audit has it",
        ),
        200 | 201 => CheckResult::unknown(
            DENIALS,
            format!(
                "rule {RULE} is set to audit, and no answer shows that the webhook was called; unless \
                 webhook.extraMatchConditions excludes this request, look at certificates and replicas"
            ),
        ),
        code => not_asked(DENIALS, code, reply),
    }
}

/// The API server answered by itself: it could not call the webhook, or did not get that far.
fn not_asked(check: &'static str, code: u16, reply: &CreateResponse) -> CheckResult {
    let message = reply.message();
    if message.contains(UNREACHED) {
        return CheckResult::bad(
            check,
            format!(
                "the API server does not reach the webhook: {message}; changes that can harm bound volumes are \
                 denied; look at replicas, network policies, firewalls and certificates"
            ),
        );
    }
    CheckResult::unknown(check, format!("the API server answered {code} by itself: {message}"))
}

/// Returns whether the account lacks the permission.
///
/// Kubernetes: `apiserver/pkg/endpoints/handlers/responsewriters/errors.go`: how authorization denies.
fn may_not(reply: &CreateResponse) -> bool {
    reply.code == 403 && reply.message().contains(" cannot create resource ")
}

/// Kubernetes: `apiserver/pkg/admission/plugin/webhook/errors/statuserror.go` and `apiserver/pkg/util/webhook/error.go`:
/// what it answers if a call fails and the webhook's failure policy is Fail.
const UNREACHED: &str = "failed calling webhook";

#[cfg(test)]
mod tests {
    use super::super::check_result::CheckOutcome;
    use super::*;

    fn reply(code: u16, message: &str) -> CreateResponse {
        CreateResponse { code, object: json!({"message": message}), warnings: Vec::new() }
    }

    fn outcomes(
        policy: &Policy,
        mutated: &CreateResponse,
        denied: &CreateResponse,
    ) -> Vec<CheckOutcome> {
        judged(policy, mutated, denied).iter().map(|finding| finding.outcome).collect()
    }

    #[test]
    fn answers_of_the_api_server_are_distinguished() {
        use CheckOutcome::{Bad, Good, Unknown};
        let policy = Policy::default();
        let passed = reply(201, "");
        let denied = reply(403, &format!("admission webhook denied the request: [{RULE}] no"));
        let unreached = reply(
            500,
            "Internal error occurred: failed calling webhook \"guard\": no route to host",
        );
        let forbidden = reply(
            403,
            "persistentvolumes is forbidden: User \"me\" cannot create resource \"persistentvolumes\"",
        );
        let quota = reply(403, "exceeded quota");
        let outcomes = |mutated, denied| outcomes(&policy, mutated, denied);
        assert_eq!(outcomes(&passed, &denied), [Good, Good]);
        assert_eq!(outcomes(&passed, &passed), [Good, Bad]);
        assert_eq!(outcomes(&passed, &unreached), [Good, Bad]);
        assert_eq!(outcomes(&unreached, &unreached), [Bad, Bad]);
        assert_eq!(outcomes(&quota, &denied), [Unknown, Good]);
        assert_eq!(
            outcomes(&quota, &quota),
            [Unknown, Unknown],
            "another admission plugin denies it"
        );
        assert_eq!(outcomes(&forbidden, &forbidden), [Unknown, Unknown, Bad], "nothing was tried");
    }

    #[test]
    fn a_write_that_was_not_mutated_is_reported() {
        let unmutated = CreateResponse { code: 201, object: claim(), warnings: Vec::new() };
        let found = judged(&Policy::default(), &unmutated, &reply(201, ""));
        assert_eq!(found[0].outcome, CheckOutcome::Bad, "{}", found[0].text);
        let off =
            Policy { mutations: [(MUTATION.to_owned(), Switch::Off)].into(), ..Policy::default() };
        let found = judged(&off, &unmutated, &reply(201, ""));
        assert_eq!(found[0].outcome, CheckOutcome::Unknown, "{}", found[0].text);
    }

    #[test]
    fn mode_audit_is_proven_by_what_the_webhook_reports() {
        let audit = Policy { modes: [(RULE.to_owned(), Mode::Audit)].into(), ..Policy::default() };
        let passed = reply(201, "");
        let warnings = vec![format!("[{RULE}] no name; it is never bound; name it")];
        let reported = CreateResponse { warnings, ..reply(201, "") };
        let unreached = reply(500, "failed calling webhook \"guard\": no route to host");
        let late = reply(403, &format!("denied the request: [{RULE}] no name"));
        for (denied, expected) in [
            (&reported, CheckOutcome::Good),
            (&late, CheckOutcome::Unknown),
            (&passed, CheckOutcome::Unknown),
            (&unreached, CheckOutcome::Bad),
        ] {
            assert_eq!(outcomes(&audit, &passed, denied)[1], expected, "{}", denied.message());
        }
    }

    #[test]
    fn what_is_tried_there_is() {
        assert!(find(RULE).is_some() && find_mutation(MUTATION).is_some());
    }
}
