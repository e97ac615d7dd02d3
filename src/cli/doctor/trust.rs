//! Whether API servers trust what replicas serve, and for how long.

use jiff::Timestamp;

use super::registrations::path;
use super::{Finding, Found, Patient};
use crate::api::bundle::RegisteredWebhooks;
use crate::api::secret::Secret;
use crate::certificates::{KeyedPem, is_accepted, time};
use crate::cli::exit::Failure;

const CHECK: &str = "certificates";

/// Days before the end at which something is wrong: whoever renews begins much earlier.
const DAYS_LEAST: i64 = 3;

pub(super) fn findings(patient: &Patient) -> Result<Vec<Finding>, Failure> {
    let installation = &patient.installation;
    let serving = installation.secret_path(&patient.serving_secret);
    let mut findings = Vec::new();
    let served = match patient.get(&serving)? {
        Found::Object(object) => Secret::read(&object.to_string()).ok().and_then(|it| it.serving()),
        Found::Missing => None,
        Found::Hidden => {
            findings.push(Finding::unknown(CHECK, format!("you may not read {serving}")));
            return Ok(findings);
        }
    };
    let Some(served) = served else {
        let text = format!(
            "{serving} holds no serving pair; replicas that serve it can answer nobody; look at the log of whoever \
             makes it, or name another Secret with --serving-secret"
        );
        return Ok(vec![Finding::bad(CHECK, text)]);
    };
    findings.push(end(&served));
    for collection in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let path = path(collection, installation.name());
        if let Found::Object(object) = patient.get(&path)? {
            findings.push(trusted(patient, collection, &served, &object.to_string()));
        }
    }
    Ok(findings)
}

fn end(served: &KeyedPem) -> Finding {
    let Some(time) = time(&served.certificate) else {
        return Finding::bad(CHECK, "the serving certificate cannot be read; write another");
    };
    let left = time.end.duration_since(Timestamp::now());
    if left.as_hours() < DAYS_LEAST * 24 {
        let text = format!(
            "the serving certificate ends on {}; afterwards replicas can answer nobody; renew it",
            time.end
        );
        return Finding::bad(CHECK, text);
    }
    Finding::good(CHECK, format!("the serving certificate ends on {}", time.end))
}

/// Whether every entry trusts the pair, for the name that is called.
fn trusted(patient: &Patient, collection: &str, served: &KeyedPem, object: &str) -> Finding {
    let host = patient.installation.host();
    let Ok(registered) = RegisteredWebhooks::read(object, &patient.installation) else {
        return Finding::unknown(CHECK, format!("{collection} cannot be read"));
    };
    let is_own = patient.serving_secret == patient.installation.serving_secret();
    if !is_own && registered.trust().all(str::is_empty) {
        let text = format!(
            "{collection} have no caBundle, so that API servers go by the authorities of their hosts; edits and \
             refusals tell whether that is enough"
        );
        return Finding::unknown(CHECK, text);
    }
    let now = Timestamp::now();
    let is_stranger = |trust: &&str| !is_accepted(&served.certificate, trust, &host, now);
    match registered.trust().filter(is_stranger).count() {
        0 => Finding::good(CHECK, format!("{collection} trust it as {host}")),
        count => Finding::bad(
            CHECK,
            format!(
                "{count} entries of {collection} do not trust the serving certificate as {host}; their calls fail; \
                 look at the log of whoever fills in caBundle"
            ),
        ),
    }
}
