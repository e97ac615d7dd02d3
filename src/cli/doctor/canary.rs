//! Two writes, as dry runs, that a working webhook does not let pass as they are: one that it edits, one that it
//! refuses. So the whole way is known to work, from the API server to a rule and back.

use serde_json::{Value, json};

use super::{Finding, Patient};
use crate::cli::exit::Failure;
use crate::cli::input::cluster::Reply;
use crate::model::annotations::BIND_COMPLETED;
use crate::rules::mutations::find as find_edit;
use crate::rules::{Mode, Policy, Switch, find};

/// The rule that the volume breaks.
const RULE: &str = "prebind-incomplete";

/// The edit that the claim needs.
const EDIT: &str = "strip-binder-annotations";

const EDITS: &str = "edits";
const REFUSALS: &str = "refusals";

/// The name of what is never stored.
const NAME: &str = "bindery-doctor-canary";

pub(super) fn findings(patient: &Patient) -> Result<Vec<Finding>, Failure> {
    let namespace = patient.installation.namespace();
    let claims = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims?dryRun=All");
    let edited = patient.cluster.create(&claims, &claim())?;
    let refused = patient.cluster.create("/api/v1/persistentvolumes?dryRun=All", &volume())?;
    // A fresh one's, if that of the installation is not to be seen.
    let policy = patient.configuration()?.map(|found| found.policy).unwrap_or_default();
    Ok(judged(&policy, &edited, &refused))
}

/// What the replies to both writes tell under a policy.
fn judged(policy: &Policy, edited: &Reply, refused: &Reply) -> Vec<Finding> {
    let edit = find_edit(EDIT).map_or(Switch::On, |edit| policy.switch(edit));
    let edits = match edit {
        Switch::On => edits(edited),
        Switch::Off => Finding::unknown(
            EDITS,
            format!(
                "edit {EDIT} is off, so that nothing was to be seen; switch it on to try edits"
            ),
        ),
    };
    let refusals = match find(RULE).map_or(Mode::Deny, |rule| policy.mode(rule)) {
        Mode::Deny | Mode::Warn => refuses(refused),
        quiet @ (Mode::Audit | Mode::Off) => Finding::unknown(
            REFUSALS,
            format!(
                "rule {RULE} is set to {}, so that nothing was to be seen; set it to deny or warn to try refusals",
                quiet.as_str()
            ),
        ),
    };
    let mut findings = vec![edits, refusals];
    if [edited, refused].into_iter().all(may_not) {
        findings.push(Finding::bad(
            "way",
            "neither write could be tried; whether the API server asks and hears the answer is not known; give this \
             account the right to create volumes and claims",
        ));
    }
    findings
}

/// A claim that says of itself that it is bound, which [`EDIT`] takes off.
fn claim() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": NAME, "annotations": {BIND_COMPLETED: "yes"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                 "resources": {"requests": {"storage": "1Gi"}}},
    })
}

/// A volume that is kept for a claim without a name, which [`RULE`] refuses.
fn volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": NAME},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
                 "claimRef": {"namespace": "bindery-doctor-canary"},
                 "nfs": {"server": "192.0.2.1", "path": "/bindery-doctor-canary"}},
    })
}

fn edits(reply: &Reply) -> Finding {
    let note = format!("/metadata/annotations/{}", BIND_COMPLETED.replace('/', "~1"));
    match reply.code {
        200 | 201 if reply.object.pointer(&note).is_none() => {
            Finding::good(EDITS, "a claim that says that it is bound was put right")
        }
        200 | 201 => Finding::bad(
            EDITS,
            "a claim that says that it is bound passed as it was; the API server does not ask, or gets no answer \
             in time; look at certificates and replicas, and at webhook.extraMatchConditions",
        ),
        code => not_asked(EDITS, code, reply),
    }
}

fn refuses(reply: &Reply) -> Finding {
    let mark = format!("[{RULE}] ");
    let is_told = |text: &str| text.contains(&mark);
    if reply.code == 403 && is_told(&reply.message()) {
        return Finding::good(REFUSALS, "a volume that is kept for nobody was refused");
    }
    if reply.warnings.iter().any(|warning| is_told(warning)) {
        return Finding::good(REFUSALS, "a volume that is kept for nobody was warned about");
    }
    match reply.code {
        200 | 201 => Finding::bad(
            REFUSALS,
            "a volume that is kept for nobody passed without a word; the API server does not ask, or gets no answer \
             in time; look at certificates and replicas, and at webhook.extraMatchConditions",
        ),
        code => not_asked(REFUSALS, code, reply),
    }
}

/// The API server said it by itself: as it could not ask, or before it asked anybody.
fn not_asked(check: &'static str, code: u16, reply: &Reply) -> Finding {
    let message = reply.message();
    if message.contains(UNREACHED) {
        return Finding::bad(
            check,
            format!(
                "the API server does not reach the webhook: {message}; changes that can harm bound volumes are \
                 refused; look at replicas, network policies and firewalls on the way, and certificates"
            ),
        );
    }
    Finding::unknown(check, format!("the API server answered {code} by itself: {message}"))
}

/// Whether the account has no right to try it.
///
/// Kubernetes: `apiserver/pkg/endpoints/handlers/responsewriters/errors.go`: how authorization refuses.
fn may_not(reply: &Reply) -> bool {
    reply.code == 403 && reply.message().contains(" cannot create resource ")
}

/// Kubernetes: `apiserver/pkg/admission/plugin/webhook/errors/statuserror.go` and `apiserver/pkg/util/webhook/error.go`:
/// what it answers where it asked in vain and the entry fails closed.
const UNREACHED: &str = "failed calling webhook";

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    fn reply(code: u16, message: &str) -> Reply {
        Reply { code, object: json!({"message": message}), warnings: Vec::new() }
    }

    fn outcomes(policy: &Policy, edited: &Reply, refused: &Reply) -> Vec<Outcome> {
        judged(policy, edited, refused).iter().map(|finding| finding.outcome).collect()
    }

    #[test]
    fn what_the_api_server_says_is_told_apart() {
        use Outcome::{Bad, Good, Unknown};
        let policy = Policy::default();
        let passed = reply(201, "");
        let refused = reply(403, &format!("admission webhook denied the request: [{RULE}] no"));
        let unreached = reply(
            500,
            "Internal error occurred: failed calling webhook \"guard\": no route to host",
        );
        let forbidden = reply(
            403,
            "persistentvolumes is forbidden: User \"me\" cannot create resource \"persistentvolumes\"",
        );
        let quota = reply(403, "exceeded quota");
        let outcomes = |edited, refused| outcomes(&policy, edited, refused);
        assert_eq!(outcomes(&passed, &refused), [Good, Good]);
        assert_eq!(outcomes(&passed, &passed), [Good, Bad]);
        assert_eq!(outcomes(&passed, &unreached), [Good, Bad]);
        assert_eq!(outcomes(&unreached, &unreached), [Bad, Bad]);
        assert_eq!(outcomes(&quota, &refused), [Unknown, Good]);
        assert_eq!(outcomes(&quota, &quota), [Unknown, Unknown], "somebody else has a word in it");
        assert_eq!(outcomes(&forbidden, &forbidden), [Unknown, Unknown, Bad], "nothing was tried");
    }

    #[test]
    fn a_write_that_was_not_edited_is_told() {
        let unedited = Reply { code: 201, object: claim(), warnings: Vec::new() };
        let found = judged(&Policy::default(), &unedited, &reply(201, ""));
        assert_eq!(found[0].outcome, Outcome::Bad, "{}", found[0].text);
        let off = Policy { edits: [(EDIT.to_owned(), Switch::Off)].into(), ..Policy::default() };
        let found = judged(&off, &unedited, &reply(201, ""));
        assert_eq!(found[0].outcome, Outcome::Unknown, "{}", found[0].text);
    }

    #[test]
    fn what_is_tried_there_is() {
        assert!(find(RULE).is_some() && find_edit(EDIT).is_some());
    }
}
