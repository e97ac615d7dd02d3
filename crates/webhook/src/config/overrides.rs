//! The `overrides` part of a configuration document: other modes in namespaces with these labels.

use std::collections::BTreeMap;

use super::read::ConfigurationParser;
use crate::document::{Entry, TreeNode};
use crate::model::{Selector, Term};
use crate::rules::{Mode, Override};

impl ConfigurationParser {
    /// Every override of a list, in order.
    pub(super) fn overrides(&mut self, node: &TreeNode) -> Vec<Override> {
        self.list(node, "overrides").iter().filter_map(|item| self.one_override(item)).collect()
    }

    fn one_override(&mut self, node: &TreeNode) -> Option<Override> {
        let (mut selector, mut modes) = (None, BTreeMap::new());
        for entry in self.known(node, "overrides[]") {
            match entry.key.as_str() {
                "namespaceSelector" => selector = self.selector(&entry.value),
                "rules" => {
                    for entry in self.map(&entry.value, "overrides.rules") {
                        if let Some(mode) = self.mode(entry) {
                            modes.insert(entry.key.clone(), mode);
                        }
                    }
                }
                _ => {}
            }
        }
        self.needs(node, "overrides[]");
        Some(Override { namespaces: selector?, modes })
    }

    fn selector(&mut self, node: &TreeNode) -> Option<Selector> {
        let before = self.problems();
        let mut terms = Vec::new();
        for entry in self.map(node, "namespaceSelector") {
            match entry.key.as_str() {
                "matchLabels" => {
                    for label in self.map(&entry.value, "matchLabels") {
                        let Some(value) = self.label(&label.value) else { continue };
                        let term = Term::equals(&label.key, &value);
                        terms.extend(term.map_err(|e| self.add(label.at, e.to_string())));
                    }
                }
                "matchExpressions" => {
                    for item in self.list(&entry.value, "matchExpressions") {
                        terms.extend(self.expression(item));
                    }
                }
                _ => self.unknown(entry, "matchLabels, matchExpressions"),
            }
        }
        if terms.is_empty() && self.problems() == before {
            let text =
                "namespaceSelector selects every namespace; name a label, or use rules.modes";
            self.add(node.at, text.to_owned());
        }
        (self.problems() == before).then(|| Selector::new(terms))
    }

    fn expression(&mut self, node: &TreeNode) -> Option<Term> {
        let (mut key, mut operator, mut values) = (None, None, Vec::new());
        for entry in self.map(node, "an entry of matchExpressions") {
            match entry.key.as_str() {
                "key" => key = self.text(&entry.value, "key"),
                "operator" => operator = self.text(&entry.value, "operator"),
                "values" => {
                    let listed = self.list(&entry.value, "values");
                    values = listed.iter().filter_map(|value| self.label(value)).collect();
                }
                _ => self.unknown(entry, "key, operator, values"),
            }
        }
        let (Some(key), Some(operator)) = (key, operator) else {
            self.add(node.at, "an entry of matchExpressions needs key and operator".to_owned());
            return None;
        };
        Term::new(&key, &operator, values.iter().map(String::as_str))
            .map_err(|error| self.add(node.at, error.to_string()))
            .ok()
    }

    /// The value of a label, which may be empty.
    fn label(&mut self, node: &TreeNode) -> Option<String> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            let text = format!("the value of a label must be text, not {}; quote it", node.kind());
            self.add(node.at, text);
        }
        text
    }

    /// The mode of an entry `rule: mode`.
    pub(super) fn mode(&mut self, entry: &Entry) -> Option<Mode> {
        self.rule(entry.at, &entry.key);
        // YAML reads a bare `off` as false.
        let word = if entry.value.bool() == Some(false) { Some("off") } else { entry.value.text() };
        let mode = Mode::ALL.into_iter().find(|mode| Some(mode.as_str()) == word);
        if mode.is_none() {
            let text = format!("mode of {} must be deny, warn, audit or off", entry.key);
            self.add(entry.value.at, text);
        }
        mode
    }
}
