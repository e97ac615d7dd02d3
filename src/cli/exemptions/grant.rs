//! What an administrator does to grant a request: a command for a volume, or an entry of the configuration.
//!
//! The reason is a tenant's text: it is quoted, on one line and short, so that a shell and a reader see what it is.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::cli::output::one_line;
use crate::cli::shell::quoted;
use crate::model::annotations::ALLOW_PREFIX;
use crate::model::{Claim, Volume};
use crate::rules::{ExemptedBy, Rule};

/// Letters of a reason that a grant repeats: enough for a sentence.
const REASON_CHARS_MAX: usize = 200;

/// What grants an exemption.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(in crate::cli) enum Grant {
    /// The command that annotates the volume of a claim.
    Command(String),
    /// The entry of the configuration for the claim's Namespace.
    ConfigurationEntry(String),
}

/// What grants an exemption from `rule` until a time: the command for the volume of a claim, or an entry of the configuration
/// if the claim has none or no volume carries an exemption from that rule.
pub(super) fn grant(
    (claim, volume): (&Claim, Option<&Volume>),
    (rule, reason): (&Rule, &str),
    until: Timestamp,
) -> Grant {
    let reason: String = one_line(reason).chars().take(REASON_CHARS_MAX).collect();
    let until = format!("{until:.0}");
    let reason = format!("{reason} (requested by PVC {})", claim.key);
    let carrier = volume.filter(|_| rule.exempted_by() == ExemptedBy::Volume);
    if let Some(volume) = carrier {
        let annotation = format!("{ALLOW_PREFIX}{}={until} {reason}", rule.id);
        let name = quoted(volume.name.as_str());
        let command = format!("kubectl annotate --overwrite pv {name} {}", quoted(&annotation));
        return Grant::Command(command);
    }
    let entry = json!({
        "rules": [rule.id], "namespaces": [&*claim.key.namespace], "until": until, "reason": reason,
    });
    Grant::ConfigurationEntry(format!("exemptions: {{list: [{entry}]}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::claim::claim as parse_claim;
    use crate::api::volume::{Wanted, volume as parse_volume};
    use crate::rules::find;

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
        let rule = find("recycle-policy").unwrap();
        let Grant::Command(command) = grant((&claim(), Some(&volume())), (rule, reason), until)
        else {
            panic!("no command for a volume");
        };
        assert_eq!(
            command,
            "kubectl annotate --overwrite pv pv-a 'allow.bindery.dev/recycle-policy=2030-01-31T18:00:00Z \
             x'\\''; kubectl delete ns db; echo '\\''  $(reboot) (requested by PVC db/data)'"
        );
        let entry = |volume: Option<&Volume>, id: &str, reason: &str| match grant(
            (&claim(), volume),
            (find(id).unwrap(), reason),
            until,
        ) {
            Grant::ConfigurationEntry(entry) => entry,
            Grant::Command(command) => panic!("a command instead of an entry: {command}"),
        };
        let listed = entry(None, "recycle-policy", "a\"b");
        assert!(listed.contains(r#""reason":"a\"b (requested by PVC db/data)""#), "{listed}");
        assert!(listed.contains(r#""namespaces":["db"]"#), "{listed}");
        let long = entry(None, "recycle-policy", &"é".repeat(5_000));
        assert!(long.len() < 1_000, "{long}");
        // No volume carries it, so an annotation there would grant nothing.
        let of_namespace = entry(Some(&volume()), "namespace-delete-bound-claims", "moving");
        assert!(of_namespace.contains(r#"["namespace-delete-bound-claims"]"#), "{of_namespace}");
    }
}
