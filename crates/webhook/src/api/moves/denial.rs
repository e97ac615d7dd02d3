//! Which rules of ours deny a request, by the message of the API server.

use crate::rules::RULES;

/// Returns whether this rule denies, and no other rule of ours does.
pub fn is_denied_by(message: &str, id: &str) -> bool {
    let mut denying = RULES.iter().filter(|rule| message.contains(&format!("[{}] ", rule.id)));
    denying.next().is_some_and(|rule| rule.id == id) && denying.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_denies_alone_if_the_message_names_no_other() {
        let of = |ids: &[&str]| {
            let line = |id: &&str| format!("[{id}] PVC \"data\" names PV \"pv-a\"");
            let lines: Vec<String> = ids.iter().map(line).collect();
            let webhook = "admission webhook \"advise.bindery.dev\" denied the request: ";
            is_denied_by(&format!("{webhook}{}", lines.join("\n")), "missing-volume")
        };
        assert!(of(&["missing-volume"]));
        assert!(!of(&["prebind-taken"]) && !of(&["missing-volume", "ignored-by-prebind"]));
        assert!(!is_denied_by("exceeded quota: storage", "missing-volume"));
    }
}
