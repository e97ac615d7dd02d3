//! The findings of a judged change.

use super::api_server;
use super::change::{JudgedChange, ProposedChange};
use super::known::KnownObjects;
use super::similar_name::with_similar_name;
use crate::cli::input::object_id::ObjectId;
use crate::cli::render::API_VERSION;
use crate::cli::report::{
    Enforcement, Exempt, Finding, FindingResult, JudgedObject, MutationEntry, Rendered, Report,
    ResultCounts,
};
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

/// The object of a finding, and the operation on it.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct FindingSubject<'a> {
    /// The object.
    pub key: &'a ObjectId,
    /// What is done with it.
    pub operation: &'static str,
    /// Where it came from; absent where only its name was given.
    pub origin: Option<Origin<'a>>,
}

impl FindingSubject<'_> {
    /// A finding on `field`.
    pub(in crate::cli) fn finding(
        &self,
        result: FindingResult,
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
        // The line in the template is not known.
        let place = place.filter(|_| source.is_none());
        Finding {
            result,
            rule: None,
            object: self.key.into(),
            operation: self.operation,
            fix: message.rsplit_once("; ").map(|(_, fix)| fix.to_owned()),
            message,
            field: field.map(str::to_owned),
            file: self.origin.map(|origin| source.unwrap_or(origin.file).to_owned()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            rendered,
            exempt: None,
            enforced_by: Vec::from_iter(
                (result == FindingResult::Api).then_some(Enforcement::ApiServer),
            ),
            standing: None,
        }
    }
}

/// The findings of a run, and the objects that were judged.
#[derive(Debug, Default)]
pub(in crate::cli) struct CollectedFindings {
    findings: Vec<Finding>,
    objects: Vec<JudgedObject>,
    /// What the webhook would mutate.
    pub(in crate::cli) mutations: Vec<MutationEntry>,
    /// How many objects have which result.
    pub(in crate::cli) summary: ResultCounts,
}

impl CollectedFindings {
    /// Counts one object and adds its findings.
    pub(in crate::cli) fn add(&mut self, about: FindingSubject<'_>, found: Vec<Finding>) {
        let gravest = found.iter().map(|finding| finding.result).max();
        self.summary.count(gravest.unwrap_or(FindingResult::Clean));
        let first = self.findings.len();
        self.objects.push(JudgedObject {
            object: about.key.into(),
            operation: about.operation,
            file: about.origin.map(|origin| origin.source.unwrap_or(origin.file).to_owned()),
            findings: first..first + found.len(),
        });
        self.findings.extend(found);
    }

    /// The report on all that was judged; of `others` objects there was nothing to judge.
    pub(in crate::cli) fn report(self, known: &KnownObjects, others: usize) -> Report {
        let Self { findings, objects, mutations, summary } = self;
        let (live, notes) = (known.live.clone(), known.notes());
        let (api_version, kind) = (API_VERSION, "Report");
        Report { api_version, kind, live, findings, mutations, summary, notes, objects, others }
    }
}

/// The findings of a verdict, each ruling as `message` writes it.
pub(in crate::cli) fn of_verdict(
    judged: &JudgedChange,
    known: &KnownObjects,
    about: FindingSubject<'_>,
    message: fn(&Ruling) -> String,
) -> Vec<Finding> {
    let finding = |ruling| of_ruling(ruling, judged, known, about, message);
    let rulings = judged.verdict.rulings.iter().filter_map(finding);
    let warnings = judged.verdict.exemption_warnings.iter().map(|warning| {
        about.finding(FindingResult::Warned, Some("metadata.annotations"), warning.clone())
    });
    rulings.chain(warnings).collect()
}

/// The finding of one ruling; none if only the input is known and the ruling warns of objects that were not read.
fn of_ruling(
    ruling: &Ruling,
    judged: &JudgedChange,
    known: &KnownObjects,
    about: FindingSubject<'_>,
    message: fn(&Ruling) -> String,
) -> Option<Finding> {
    let is_unread =
        ruling.violation.depends_on.iter().any(|rest| judged.unread.contains(&rest.read));
    let result = match &ruling.effect {
        Effect::Denied if ruling.rule.is_of_permission() => FindingResult::Unverified,
        // If only the input is known, one finding on the claim covers it.
        Effect::Denied
            if is_unread && ruling.rule.options.reported_as.is_some() && known.is_input_alone() =>
        {
            return None;
        }
        Effect::Denied if is_unread => FindingResult::Unverified,
        Effect::Denied => FindingResult::Denied,
        Effect::Warned | Effect::Audited if is_unread && known.is_input_alone() => return None,
        Effect::Warned | Effect::Audited if is_unread => FindingResult::Unverified,
        Effect::Warned => FindingResult::Warned,
        Effect::Audited => FindingResult::Audited,
        Effect::Exempted(_) => FindingResult::Exempted,
        // If only the input is known, one finding covers all rules.
        Effect::Unconfirmed if known.is_input_alone() => return None,
        Effect::Unconfirmed => FindingResult::Unverified,
    };
    let ruling = &with_similar_name(ruling, known.view());
    let mut message = message(ruling);
    if result == FindingResult::Unverified && ruling.rule.is_of_permission() {
        message.push_str(UNKNOWN_PERMISSION);
    }
    let mut finding = about.finding(result, Some(ruling.violation.field), message);
    finding.rule = Some(ruling.rule.id.to_owned());
    if about.operation != "SCAN" {
        finding.enforced_by = Enforcement::of_rule(ruling.rule, about.key.kind);
    }
    let fix = ruling.violation.text.rsplit_once("; ").map(|(_, fix)| fix.to_owned());
    finding.fix = fix;
    if let Effect::Exempted(exemption) = &ruling.effect {
        finding.exempt =
            Some(Exempt { until: exemption.until.to_string(), reason: exemption.reason.clone() });
    }
    Some(finding)
}

/// Added to denials for requesters without a permission: the input does not say who has it.
const UNKNOWN_PERMISSION: &str = "; whether the requester has the permission is not known here";

/// Denials by the API server itself.
pub(in crate::cli) fn of_api(
    proposal: &ProposedChange,
    known: &KnownObjects,
    about: FindingSubject<'_>,
) -> Vec<Finding> {
    let Some(new) = &proposal.new else { return Vec::new() };
    let growth = |class: &ClassName| known.growth(class);
    let denials =
        api_server::denials(&proposal.key, proposal.old.as_ref(), new, growth).into_iter();
    denials
        .map(|denial| about.finding(FindingResult::Api, Some(&denial.field), denial.text))
        .collect()
}
