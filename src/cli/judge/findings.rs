//! A judged change to the findings of the report.

use super::api_server;
use super::change::{Judged, Proposal};
use super::known::Known;
use super::similar_name::with_similar_name;
use crate::cli::input::object_id::ObjectKey;
use crate::cli::report::{Exempt, Finding, Outcome, Rendered};
use crate::document::{Position, TreeNode};
use crate::model::ClassName;
use crate::rules::{Effect, Ruling};

/// Where an object came from.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Origin<'a> {
    /// The name of its file.
    pub file: &'a str,
    /// The file that it was rendered from, where a tool says so.
    pub source: Option<&'a str>,
    /// The object with its places.
    pub node: &'a TreeNode,
}

/// Whose findings they are.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct About<'a> {
    /// The object.
    pub key: &'a ObjectKey,
    /// What is done with it.
    pub operation: &'static str,
    /// Where it came from; absent where only its name was given.
    pub origin: Option<Origin<'a>>,
}

impl About<'_> {
    /// A finding on `field`.
    pub(in crate::cli) fn finding(
        &self,
        result: Outcome,
        field: Option<&str>,
        message: String,
    ) -> Finding {
        let place = self.origin.map(|origin| match field {
            Some(field) => origin.node.place_of(field),
            None => origin.node.at,
        });
        let source = self.origin.and_then(|origin| origin.source);
        let rendered = self.origin.zip(place).filter(|_| source.is_some());
        let rendered = rendered.map(|(origin, Position { line, column })| Rendered {
            file: origin.file.to_owned(),
            line,
            column,
        });
        // Of what it was rendered from, no line is known.
        let place = place.filter(|_| source.is_none());
        Finding {
            result,
            rule: None,
            kind: self.key.kind.name(),
            namespace: self.key.kind.is_namespaced().then(|| self.key.namespace.clone()),
            name: self.key.name.clone(),
            operation: self.operation,
            fix: message.rsplit_once("; ").map(|(_, fix)| fix.to_owned()),
            message,
            field: field.map(str::to_owned),
            file: self.origin.map(|origin| source.unwrap_or(origin.file).to_owned()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            rendered,
            exempt: None,
            standing: None,
        }
    }
}

/// The findings of a verdict.
pub(in crate::cli) fn of_verdict(judged: &Judged, known: &Known, about: About<'_>) -> Vec<Finding> {
    let rulings =
        judged.verdict.rulings.iter().filter_map(|ruling| of_ruling(ruling, judged, known, about));
    let warnings = judged.verdict.exemption_warnings.iter().map(|warning| {
        about.finding(Outcome::Warned, Some("metadata.annotations"), warning.clone())
    });
    rulings.chain(warnings).collect()
}

/// What one ruling is in a report; nothing if the input is all there is and it warns of what nobody looked at.
fn of_ruling(ruling: &Ruling, judged: &Judged, known: &Known, about: About<'_>) -> Option<Finding> {
    let is_unread = ruling
        .violation
        .depends_on
        .iter()
        .any(|dependency| judged.unread.contains(&dependency.read));
    let result = match &ruling.effect {
        Effect::Denied if ruling.rule.is_of_permission() => Outcome::Unverified,
        // Where the input is all there is, it is told of the claim as a whole.
        Effect::Denied
            if is_unread && ruling.rule.reported_as.is_some() && known.is_input_alone() =>
        {
            return None;
        }
        Effect::Denied if is_unread => Outcome::Unverified,
        Effect::Denied => Outcome::Denied,
        Effect::Warned | Effect::Audited if is_unread && known.is_input_alone() => return None,
        Effect::Warned | Effect::Audited if is_unread => Outcome::Unverified,
        Effect::Warned => Outcome::Warned,
        Effect::Audited => Outcome::Audited,
        Effect::Exempted(_) => Outcome::Exempted,
        // Where the input is all there is, that is told once of all rules.
        Effect::Unconfirmed if known.is_input_alone() => return None,
        Effect::Unconfirmed => Outcome::Unverified,
    };
    let ruling = &with_similar_name(ruling, known.view());
    let mut message = ruling.to_string();
    if result == Outcome::Unverified && ruling.rule.is_of_permission() {
        message.push_str(UNKNOWN_PERMISSION);
    }
    let mut finding = about.finding(result, Some(ruling.violation.field), message);
    finding.rule = Some(ruling.rule.id.to_owned());
    let fix = ruling.violation.text.rsplit_once("; ").map(|(_, fix)| fix.to_owned());
    finding.fix = fix;
    if let Effect::Exempted(exemption) = &ruling.effect {
        finding.exempt =
            Some(Exempt { until: exemption.until.to_string(), reason: exemption.reason.clone() });
    }
    Some(finding)
}

/// Said of what is denied to askers without a permission: no input tells who has it.
const UNKNOWN_PERMISSION: &str = "; whether whoever makes the change may is not known here";

/// What the API server itself would refuse.
pub(in crate::cli) fn of_api(proposal: &Proposal, known: &Known, about: About<'_>) -> Vec<Finding> {
    let Some(new) = &proposal.new else { return Vec::new() };
    let growth = |class: &ClassName| known.growth(class);
    let denials =
        api_server::denials(&proposal.key, proposal.old.as_ref(), new, growth).into_iter();
    denials.map(|denial| about.finding(Outcome::Api, Some(&denial.field), denial.text)).collect()
}
