//! Whether API servers trust what replicas serve, and for how long.

use jiff::Timestamp;

use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use super::registrations::path;
use crate::api::bundle::RegisteredWebhooks;
use crate::api::secret::Secret;
use crate::certificates::{KeyedPem, is_accepted, time};
use crate::cli::exit::Failure;

const CHECK: &str = "certificates";

/// Days before expiry from which on the certificate is overdue: it is renewed much earlier.
const DAYS_LEAST: i64 = 3;

pub(super) fn findings(subject: &InspectedInstallation) -> Result<Vec<CheckResult>, Failure> {
    let installation = &subject.installation;
    let serving = installation.secret_path(&subject.serving_secret);
    let served = match subject.get(&serving)? {
        Found::Object(object) => Secret::read(&object.to_string()).ok().and_then(|it| it.serving()),
        Found::Missing => None,
        Found::Hidden => {
            return Ok(vec![CheckResult::unknown(CHECK, format!("you may not read {serving}"))]);
        }
    };
    let Some(served) = served else {
        let text = format!(
            "{serving} holds no serving certificate; replicas cannot answer API servers; look at the log of the controller or of \
             cert-manager, or name another Secret with --serving-secret"
        );
        return Ok(vec![CheckResult::bad(CHECK, text)]);
    };
    let mut findings = vec![end(&served)];
    for collection in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let path = path(collection, installation.name());
        if let Found::Object(object) = subject.get(&path)? {
            findings.push(trusted(subject, collection, &served, &object.to_string()));
        }
    }
    Ok(findings)
}

fn end(served: &KeyedPem) -> CheckResult {
    let Some(time) = time(&served.certificate) else {
        return CheckResult::bad(CHECK, "the serving certificate cannot be read; write another");
    };
    let left = time.end.duration_since(Timestamp::now());
    if left.as_hours() < DAYS_LEAST * 24 {
        let text = format!(
            "the serving certificate expires on {}; afterwards replicas cannot answer API servers; renew it",
            time.end
        );
        return CheckResult::bad(CHECK, text);
    }
    CheckResult::good(CHECK, format!("the serving certificate expires on {}", time.end))
}

/// Returns whether every webhook trusts the pair, for the name that is called.
fn trusted(
    subject: &InspectedInstallation,
    collection: &str,
    served: &KeyedPem,
    object: &str,
) -> CheckResult {
    let host = subject.installation.host();
    let Ok(registered) = RegisteredWebhooks::read(object, &subject.installation) else {
        return CheckResult::unknown(CHECK, format!("{collection} cannot be read"));
    };
    let is_own = subject.serving_secret == subject.installation.serving_secret();
    if !is_own && registered.trust().all(str::is_empty) {
        let text = format!(
            "{collection} have no caBundle, so API servers use the CA certificates of their hosts; the checks mutations and \
             denials show whether that is enough"
        );
        return CheckResult::unknown(CHECK, text);
    }
    let now = Timestamp::now();
    let is_untrusted = |trust: &&str| !is_accepted(&served.certificate, trust, &host, now);
    match registered.trust().filter(is_untrusted).count() {
        0 => CheckResult::good(CHECK, format!("{collection} trust it as {host}")),
        count => CheckResult::bad(
            CHECK,
            format!(
                "{count} webhooks of {collection} do not trust the serving certificate as {host}; their calls fail; \
                 look at the log of the controller or of cert-manager, which fills in caBundle"
            ),
        ),
    }
}
