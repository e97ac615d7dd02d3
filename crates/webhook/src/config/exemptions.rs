//! The `exemptions` part of a configuration document: how far ahead an annotation may exempt, and what the
//! operator exempts without one.

use jiff::Timestamp;

use super::read::{ConfigurationParser, duration};
use crate::document::{Position, TreeNode, quoted};
use crate::rules::{self, ConfiguredExemption, ExemptedBy, Policy, Rule};

impl ConfigurationParser {
    pub(super) fn exemptions(&mut self, node: &TreeNode, policy: &mut Policy) {
        for entry in self.known(node, "exemptions") {
            match entry.key.as_str() {
                "maxDuration" => match entry.value.text().and_then(duration) {
                    Some(longest) => policy.longest_exemption = longest,
                    None => self.add(
                        entry.value.at,
                        "exemptions.maxDuration must be a time like 168h or 30m".to_owned(),
                    ),
                },
                "list" => {
                    let list = self.list(&entry.value, "exemptions.list");
                    policy.exemptions =
                        list.iter().filter_map(|item| self.exemption(item)).collect();
                }
                _ => {}
            }
        }
    }

    fn exemption(&mut self, node: &TreeNode) -> Option<ConfiguredExemption> {
        let (mut rules, mut until, mut reason) = (Vec::new(), None, None);
        let (mut namespaces, mut users) = (Vec::new(), Vec::new());
        let has_namespaces = node.get("namespaces").is_some_and(|list| !list.items().is_empty());
        for entry in self.known(node, "exemptions.list[]") {
            let value = &entry.value;
            match entry.key.as_str() {
                "rules" => {
                    rules = self.names(value, "exemptions.list.rules");
                    for item in value.items() {
                        self.exemptable(item, has_namespaces);
                    }
                }
                "namespaces" => namespaces = self.names(value, "exemptions.list.namespaces"),
                "users" => users = self.names(value, "exemptions.list.users"),
                "until" => until = self.time(value),
                "reason" => reason = self.text(value, "reason"),
                _ => {}
            }
        }
        self.needs(node, "exemptions.list[]");
        let (until, reason) = (until?, reason?);
        Some(ConfiguredExemption { rules, namespaces, users, until, reason })
    }

    /// Notes a rule from which the entry cannot exempt.
    fn exemptable(&mut self, node: &TreeNode, has_namespaces: bool) {
        let Some(id) = node.text() else { return };
        self.rule(node.at, id);
        match rules::find(id).map(Rule::exempted_by) {
            Some(ExemptedBy::Nothing) => {
                self.add(node.at, format!("rule {id} knows no exemption; leave it out"));
            }
            Some(ExemptedBy::Cluster) if has_namespaces => self.add(
                node.at,
                format!(
                    "rule {id} is about objects without a Namespace, so an entry with namespaces does not exempt from it; move it \
                     to an entry without namespaces"
                ),
            ),
            Some(ExemptedBy::Cluster | ExemptedBy::Namespace | ExemptedBy::Volume) | None => {}
        }
    }

    fn time(&mut self, node: &TreeNode) -> Option<Timestamp> {
        let time = node.text().and_then(|text| text.parse().ok());
        if time.is_none() {
            let text = "until must be a time like 2030-01-31T18:00:00Z".to_owned();
            self.add(node.at, text);
        }
        time
    }

    /// Notes an id that is no rule's.
    pub(super) fn rule(&mut self, at: Position, id: &str) {
        if rules::find(id).is_none() {
            let similar = rules::most_similar(id);
            let similar = similar.map(|id| format!("did you mean {id}? ")).unwrap_or_default();
            self.add(
                at,
                format!("unknown rule {}; {similar}`bindery rule` lists them", quoted(id)),
            );
        }
    }
}
