//! A document to a configuration.
//!
//! Every key is either known or a problem: a misspelt one would leave a rule in another mode than
//! its operator believes.

use jiff::{SignedDuration, Span};

use super::configuration::{Configuration, ConfigurationProblem};
use super::keys::{keys_at, required_at};
use crate::document::{Entry, Position, Shape, TreeNode, quoted};
use crate::model::TenantLabel;
use crate::rules::mutations::{self, MUTATIONS};
use crate::rules::{Mode, Parameters, Policy, RULES, Switch, TENANT_LABEL, Unlisted};

/// What was found wrong so far.
#[derive(Default)]
pub(super) struct ConfigurationParser {
    problems: Vec<ConfigurationProblem>,
}

/// The configuration that `document` describes, or all that is wrong with it.
pub(super) fn configuration(
    document: &TreeNode,
) -> Result<Configuration, Vec<ConfigurationProblem>> {
    let mut parser = ConfigurationParser::default();
    let mut configuration = Configuration::default();
    for (key, value) in [("apiVersion", "bindery.dev/v1"), ("kind", "Config")] {
        if document.get(key).and_then(TreeNode::text) != Some(value) {
            let at = document.place_of(key);
            parser.add(at, format!("{key} must be {value}"));
        }
    }
    // The profile comes first: modes are exceptions from it.
    if let Some(profile) = document.get("profile") {
        parser.profile(profile, &mut configuration);
    }
    for entry in parser.known(document, "") {
        let value = &entry.value;
        match entry.key.as_str() {
            "rules" => parser.rules(value, &mut configuration),
            "mutations" => parser.mutations(value, &mut configuration),
            "trusted" => parser.trusted(value, &mut configuration),
            "ownController" => {
                if let Some(name) = parser.text(value, "ownController") {
                    configuration.own_controller = Some(name);
                }
            }
            "tenancy" => parser.tenancy(value, &mut configuration.policy),
            "exemptions" => parser.exemptions(value, &mut configuration.policy),
            "overrides" => configuration.policy.override_modes(parser.overrides(value)),
            "moves" => configuration.resume_moves_after = parser.moves(value),
            "trash" => configuration.trash = parser.trash(value),
            "recycler" => parser.recycler(value, &mut configuration.recycler),
            _ => {}
        }
    }
    // Of volumes that the trash gives back to a name, the claims of that name are mutated.
    if configuration.trash.is_soft() {
        let mutations = &mut configuration.policy.mutations;
        mutations.entry("return-from-trash".to_owned()).or_insert(Switch::On);
    }
    observe_only(document, &mut configuration);
    parser.problems.sort_by_key(|problem| problem.at);
    if parser.problems.is_empty() { Ok(configuration) } else { Err(parser.problems) }
}

/// The profile under which the webhook changes nothing, whatever the other keys switch on.
const OBSERVING: &str = "audit";

/// The defaults under the profile that `document` names, if it names one.
pub(super) fn profile_alone(document: &TreeNode) -> Configuration {
    let mut configuration = Configuration::default();
    if let Some(profile) = document.get("profile") {
        ConfigurationParser::default().profile(profile, &mut configuration);
    }
    observe_only(document, &mut configuration);
    configuration
}

/// Under that profile, switches every mutation off, and the labels on PVs with them: an operator who begins with it expects
/// that no object is stored otherwise than it was sent.
fn observe_only(document: &TreeNode, configuration: &mut Configuration) {
    if document.get("profile").and_then(TreeNode::text) != Some(OBSERVING) {
        return;
    }
    configuration.observes_only = true;
    let policy = &mut configuration.policy;
    policy.label_volumes(TenantLabel::Manual);
    policy.mutations =
        MUTATIONS.iter().map(|mutation| (mutation.id.to_owned(), Switch::Off)).collect();
}

impl ConfigurationParser {
    /// Returns how much was found wrong so far.
    pub(super) fn problems(&self) -> usize {
        self.problems.len()
    }

    /// Notes a problem. Its sentence is one line of bounded length, whatever of the file it repeats.
    pub(super) fn add(&mut self, at: Position, text: String) {
        let mut line = text;
        if line.contains(char::is_control) {
            line = line.replace(char::is_control, " ");
        }
        if let Some((end, _)) = line.char_indices().nth(TEXT_CHARS_MAX) {
            line.truncate(end);
            line.push('…');
        }
        self.problems.push(ConfigurationProblem { at, text: line });
    }

    pub(super) fn unknown(&mut self, entry: &Entry, known: &str) {
        self.add(entry.at, format!("unknown key {}; known are {known}", quoted(&entry.key)));
    }

    /// The entries of the map at this path whose keys are known ([`KEYS`](super::KEYS)). Notes each other one.
    pub(super) fn known<'a>(&mut self, node: &'a TreeNode, path: &str) -> Vec<&'a Entry> {
        let keys = keys_at(path);
        let (known, unknown): (Vec<&Entry>, Vec<&Entry>) = self
            .map(node, &named(path))
            .iter()
            .partition(|entry| keys.contains(&entry.key.as_str()));
        for entry in unknown {
            self.unknown(entry, &keys.join(", "));
        }
        known
    }

    /// Notes the keys that the map at this path lacks.
    pub(super) fn needs(&mut self, node: &TreeNode, path: &str) {
        let is_map = matches!(node.shape, Shape::Map(_));
        for key in required_at(path).filter(|key| is_map && node.get(key).is_none()) {
            self.add(node.at, format!("{} needs {key}", named(path)));
        }
    }

    pub(super) fn map<'a>(&mut self, node: &'a TreeNode, name: &str) -> &'a [Entry] {
        if !matches!(node.shape, Shape::Map(_) | Shape::Null) {
            self.add(node.at, format!("{name} must be a map, not {}", node.kind()));
        }
        node.entries()
    }

    pub(super) fn list<'a>(&mut self, node: &'a TreeNode, name: &str) -> &'a [TreeNode] {
        if !matches!(node.shape, Shape::List(_) | Shape::Null) {
            self.add(node.at, format!("{name} must be a list, not {}", node.kind()));
        }
        node.items()
    }

    pub(super) fn text(&mut self, node: &TreeNode, name: &str) -> Option<String> {
        let text = node.text().filter(|text| !text.is_empty());
        if text.is_none() {
            self.add(node.at, format!("{name} must be text, not {}", node.kind()));
        }
        text.map(str::to_owned)
    }

    fn profile(&mut self, node: &TreeNode, configuration: &mut Configuration) {
        let modes = &mut configuration.policy.modes;
        match node.text() {
            Some("baseline") => {}
            Some(OBSERVING) => {
                modes.extend(RULES.iter().map(|rule| (rule.id.to_owned(), Mode::Audit)));
            }
            Some("warn") => {
                let denying = RULES.iter().filter(|rule| rule.mode == Mode::Deny);
                modes.extend(denying.map(|rule| (rule.id.to_owned(), Mode::Warn)));
            }
            Some("strict") => {
                let warning = RULES.iter().filter(|rule| rule.mode == Mode::Warn);
                modes.extend(warning.map(|rule| (rule.id.to_owned(), Mode::Deny)));
            }
            _ => self.add(node.at, "profile must be audit, warn, baseline or strict".to_owned()),
        }
    }

    fn rules(&mut self, node: &TreeNode, configuration: &mut Configuration) {
        for entry in self.known(node, "rules") {
            match entry.key.as_str() {
                "modes" => {
                    for entry in self.map(&entry.value, "rules.modes") {
                        if let Some(mode) = self.mode(entry) {
                            configuration.policy.modes.insert(entry.key.clone(), mode);
                        }
                    }
                }
                "parameters" => {
                    for entry in self.known(&entry.value, "rules.parameters") {
                        self.parameter(entry, &mut configuration.policy.parameters);
                    }
                }
                _ => {}
            }
        }
    }

    fn parameter(&mut self, entry: &Entry, parameters: &mut Parameters) {
        match entry.key.as_str() {
            "maxWaste" => {
                match entry.value.number().and_then(|number| number.to_string().parse().ok()) {
                    Some(most) => parameters.max_waste = most,
                    None => self.add(entry.value.at, NO_WASTE.to_owned()),
                }
            }
            "unlisted" => match entry.value.text() {
                Some("allow") => parameters.unlisted = Unlisted::Allow,
                Some("deny") => parameters.unlisted = Unlisted::Deny,
                _ => self.add(
                    entry.value.at,
                    "rules.parameters.unlisted must be allow or deny".to_owned(),
                ),
            },
            _ => {}
        }
    }

    fn mutations(&mut self, node: &TreeNode, configuration: &mut Configuration) {
        for entry in self.map(node, "mutations") {
            if entry.key == TENANT_LABEL {
                let text =
                    format!("{TENANT_LABEL} is no switch of its own; write tenancy.label: auto");
                self.add(entry.at, text);
                continue;
            }
            if mutations::find(&entry.key).is_none() {
                let ids = MUTATIONS.iter().map(|mutation| mutation.id);
                let known: Vec<&str> = ids.filter(|id| *id != TENANT_LABEL).collect();
                self.add(
                    entry.at,
                    format!(
                        "unknown mutation {}; known are {}",
                        quoted(&entry.key),
                        known.join(", ")
                    ),
                );
            }
            match entry.value.bool() {
                Some(is_on) => {
                    let switch = if is_on { Switch::On } else { Switch::Off };
                    configuration.policy.mutations.insert(entry.key.clone(), switch);
                }
                None => {
                    self.add(
                        entry.value.at,
                        format!("mutation {} must be true or false", entry.key),
                    );
                }
            }
        }
    }

    fn tenancy(&mut self, node: &TreeNode, policy: &mut Policy) {
        for entry in self.known(node, "tenancy") {
            let word = entry.value.text();
            let label = TenantLabel::ALL.into_iter().find(|label| Some(label.as_str()) == word);
            match (entry.key.as_str(), label) {
                ("label", Some(label)) => policy.label_volumes(label),
                ("label", None) => {
                    self.add(entry.value.at, "tenancy.label must be manual or auto".to_owned());
                }
                _ => {}
            }
        }
    }

    fn trusted(&mut self, node: &TreeNode, configuration: &mut Configuration) {
        let trusted = &mut configuration.policy.trusted;
        for entry in self.known(node, "trusted") {
            let value = &entry.value;
            match entry.key.as_str() {
                "binders" => trusted.binders = self.names(value, "trusted.binders"),
                "populators" => trusted.populators = self.names(value, "trusted.populators"),
                "provisioners" => trusted.provisioners = self.names(value, "trusted.provisioners"),
                _ => {}
            }
        }
    }

    /// A list of names.
    pub(super) fn names(&mut self, node: &TreeNode, name: &str) -> Vec<String> {
        let items = self.list(node, name);
        items.iter().filter_map(|item| self.text(item, &format!("an entry of {name}"))).collect()
    }
}

/// What a message calls the map at a path.
fn named(path: &str) -> String {
    match (path, path.strip_suffix("[]")) {
        ("", _) => "the configuration".to_owned(),
        (_, Some(list)) => format!("an entry of {list}"),
        (_, None) => path.to_owned(),
    }
}

/// Twice our longest sentence.
const TEXT_CHARS_MAX: usize = 500;

const NO_WASTE: &str = "rules.parameters.maxWaste must be a whole number above 0: how many times as large as \
     its claim a volume may be";

/// A positive duration such as `168h` or `1h30m`.
pub(super) fn duration(text: &str) -> Option<SignedDuration> {
    time(text).filter(SignedDuration::is_positive)
}

/// A duration such as `168h`, `1h30m` or `0s`.
pub(super) fn time(text: &str) -> Option<SignedDuration> {
    match text.parse::<SignedDuration>() {
        Ok(time) => Some(time),
        Err(_) => SignedDuration::try_from(text.parse::<Span>().ok()?).ok(),
    }
}
