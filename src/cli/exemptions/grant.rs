//! What an administrator does to grant a request: a command for a volume, else an entry of the configuration.
//!
//! The reason is a tenant's text: it is quoted, on one line and short, so that a shell and a reader see what it is.

use jiff::Timestamp;
use serde_json::json;

use crate::cli::output::one_line;
use crate::cli::shell::quoted;
use crate::model::annotations::ALLOW_PREFIX;
use crate::model::{Claim, Volume};

/// Letters of a reason that a grant repeats: enough for a sentence.
const REASON_CHARS_MAX: usize = 200;

/// The command that grants an exemption from `rule` until a time for the volume of a claim; for a claim that has none, the
/// entry of the configuration that grants it in the claim's Namespace.
pub(super) fn grant(
    (claim, volume): (&Claim, Option<&Volume>),
    (rule, reason): (&str, &str),
    until: Timestamp,
) -> String {
    let reason: String = one_line(reason).chars().take(REASON_CHARS_MAX).collect();
    let until = format!("{until:.0}");
    let reason = format!("{reason} (requested by PVC {})", claim.key);
    if let Some(volume) = volume {
        let annotation = format!("{ALLOW_PREFIX}{rule}={until} {reason}");
        let name = quoted(volume.name.as_str());
        return format!("kubectl annotate --overwrite pv {name} {}", quoted(&annotation));
    }
    let entry = json!({
        "rules": [rule], "namespaces": [&*claim.key.namespace], "until": until, "reason": reason,
    });
    format!("exemptions: {{list: [{entry}]}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::claim::claim as parse_claim;
    use crate::api::volume::{Wanted, volume as parse_volume};

    fn claim() -> Claim {
        let text =
            r#"{"metadata": {"namespace": "db", "name": "data"}, "spec": {"volumeName": "pv-a"}}"#;
        parse_claim(text, "").unwrap()
    }

    fn volume() -> Volume {
        let text = r#"{"metadata": {"name": "pv-a"}, "spec": {"capacity": {"storage": "1Gi"}}}"#;
        parse_volume(text, Wanted::Both).unwrap().volume
    }

    #[test]
    fn a_reason_cannot_leave_its_quotes_or_its_line() {
        let until: Timestamp = "2030-01-31T18:00:00Z".parse().unwrap();
        let reason = "x'; kubectl delete ns db; echo '\n\u{202e}$(reboot)";
        let granted = grant((&claim(), Some(&volume())), ("recycle-policy", reason), until);
        assert_eq!(
            granted,
            "kubectl annotate --overwrite pv pv-a 'allow.bindery.dev/recycle-policy=2030-01-31T18:00:00Z \
             x'\\''; kubectl delete ns db; echo '\\''  $(reboot) (requested by PVC db/data)'"
        );
        let listed = grant((&claim(), None), ("recycle-policy", "a\"b"), until);
        assert!(listed.contains(r#""reason":"a\"b (requested by PVC db/data)""#), "{listed}");
        assert!(listed.contains(r#""namespaces":["db"]"#), "{listed}");
        let long = grant((&claim(), None), ("recycle-policy", &"é".repeat(5_000)), until);
        assert!(long.len() < 1_000, "{long}");
    }
}
