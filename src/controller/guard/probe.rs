//! One probe: a dry run through the API server, which guard must deny. Nothing is ever stored, also where it is not denied.

use std::time::Duration;

use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::api::installation::{GUARD_PROBE, GUARD_PROBE_DENIAL};
use crate::api::registration::name;
use crate::client::request::{RequestError, request, send_text};
use crate::rules::Endpoint;
use crate::telemetry::logging::cause;

/// Longer than the API server waits for guard by default.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why a probe did not pass.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeError {
    #[error(
        "the API server admitted the dry run without asking guard; look at the webhook configurations and at \
         webhook.extraMatchConditions"
    )]
    Admitted,
    #[error("{}", cause(.0))]
    NotAnswered(RequestError),
}

/// Returns whether guard answers a request through the API server.
pub(super) async fn probe(client: &Client) -> Result<(), ProbeError> {
    let path = "/api/v1/persistentvolumes?dryRun=All";
    match send_text(client, request(Method::POST, path, Some(&volume())), TIMEOUT).await {
        Ok(_) => Err(ProbeError::Admitted),
        Err(error) if error.status().is_some_and(|it| is_of_guard(it.code, &it.message)) => Ok(()),
        Err(error) => Err(ProbeError::NotAnswered(error)),
    }
}

/// Returns whether guard itself denied it.
///
/// Kubernetes: `apiserver/pkg/admission/plugin/webhook/errors/statuserror.go`: how the API server passes a denial on.
fn is_of_guard(code: u16, message: &str) -> bool {
    let denied = format!("admission webhook {:?} denied the request: ", name(Endpoint::Guard));
    code == 403 && message.contains(&(denied + GUARD_PROBE_DENIAL))
}

/// A PersistentVolume of no use to anybody.
fn volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": GUARD_PROBE},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": GUARD_PROBE,
                 "nfs": {"server": "192.0.2.1", "path": "/bindery-guard-probe"}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_denial_of_guard_counts() {
        let by = |webhook: &str| {
            format!("admission webhook \"{webhook}\" denied the request: {GUARD_PROBE_DENIAL}")
        };
        assert!(is_of_guard(403, &by("guard.bindery.dev")));
        for (code, message) in [
            (403, by("advise.bindery.dev")),
            (403, "admission webhook \"guard.bindery.dev\" denied the request: no".to_owned()),
            (403, "persistentvolumes is forbidden".to_owned()),
            (
                500,
                "failed calling webhook \"guard.bindery.dev\": no endpoints available".to_owned(),
            ),
            (500, by("guard.bindery.dev")),
        ] {
            assert!(!is_of_guard(code, &message), "{message}");
        }
    }
}
