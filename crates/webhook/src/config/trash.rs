//! The `trash` part of a configuration document.

use jiff::SignedDuration;

use super::read::{ConfigurationParser, time};
use crate::document::TreeNode;
use crate::trash::{ReturnTo, TrashOverride, TrashPolicy};

impl ConfigurationParser {
    pub(super) fn trash(&mut self, node: &TreeNode) -> TrashPolicy {
        let mut policy = TrashPolicy::default();
        for entry in self.known(node, "trash") {
            let value = &entry.value;
            match entry.key.as_str() {
                "keep" => policy.all.keep = self.keep(value).unwrap_or_default(),
                "soft" => policy.all.return_to = self.soft(value).unwrap_or_default(),
                "overrides" => {
                    let list = self.list(value, "trash.overrides");
                    policy.overrides = list.iter().map(|item| self.trash_override(item)).collect();
                }
                _ => {}
            }
        }
        policy
    }

    fn trash_override(&mut self, node: &TreeNode) -> TrashOverride {
        let mut found = TrashOverride::default();
        for entry in self.known(node, "trash.overrides[]") {
            let value = &entry.value;
            match entry.key.as_str() {
                "storageClasses" => {
                    found.classes = self.names(value, "trash.overrides.storageClasses");
                }
                "namespaces" => found.namespaces = self.names(value, "trash.overrides.namespaces"),
                "keep" => found.keep = self.keep(value),
                "soft" => found.return_to = self.soft(value),
                _ => {}
            }
        }
        found
    }

    /// A time, or `0s` for none.
    fn keep(&mut self, node: &TreeNode) -> Option<SignedDuration> {
        let time = node.text().and_then(time).filter(|time| !time.is_negative());
        if time.is_none() {
            self.add(node.at, "keep must be a time like 72h, or 0s".to_owned());
        }
        time
    }

    fn soft(&mut self, node: &TreeNode) -> Option<ReturnTo> {
        let soft = node.bool();
        if soft.is_none() {
            self.add(node.at, "soft must be true or false".to_owned());
        }
        soft.map(|soft| if soft { ReturnTo::SameName } else { ReturnTo::Rescue })
    }
}
