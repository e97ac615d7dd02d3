//! What the message of a denied claim says of the volume that the claim names.

use crate::rules::RULES;

/// Returns whether our own rules deny a claim for no other reason than that its volume is not there yet, or that another claim
/// has it. `message` is that of the API server.
pub fn is_for_its_volume(message: &str) -> bool {
    let mut ids = RULES
        .iter()
        .map(|rule| rule.id)
        .filter(|id| message.contains(&format!("[{id}] ")))
        .peekable();
    ids.peek().is_some() && ids.all(|id| matches!(id, "missing-volume" | "prebind-taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_for_the_volume_if_no_other_rule_and_nobody_else_denies() {
        let of = |ids: &[&str]| {
            let lines: Vec<String> =
                ids.iter().map(|id| format!("[{id}] PVC \"data\" names PV \"pv-a\"")).collect();
            let webhook = "admission webhook \"advise.bindery.dev\" denied the request: ";
            is_for_its_volume(&format!("{webhook}{}", lines.join("\n")))
        };
        assert!(of(&["missing-volume"]) && of(&["prebind-taken"]));
        assert!(!of(&["missing-volume", "ignored-by-prebind"]));
        assert!(!is_for_its_volume("exceeded quota: storage"));
    }
}
