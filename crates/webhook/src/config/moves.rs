//! The `moves` part of a configuration document.

use std::time::Duration;

use super::read::{ConfigurationParser, time};
use crate::document::TreeNode;

impl ConfigurationParser {
    /// After which time a move is resumed; nothing if never.
    pub(super) fn moves(&mut self, node: &TreeNode) -> Option<Duration> {
        let mut after = None;
        for entry in self.known(node, "moves") {
            if entry.key.as_str() == "resumeAfter" {
                let time = entry.value.text().and_then(time);
                after = time.and_then(|time| Duration::try_from(time).ok());
                if after.is_none() {
                    self.add(entry.value.at, "resumeAfter must be a time like 5m".to_owned());
                }
            }
        }
        after
    }
}
