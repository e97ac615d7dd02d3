//! A plan for people, a line per claim and per volume that nobody gets; and for programs.

use std::fmt::Write as _;

use super::report::{Plan, PlannedClaim, PlannedVolume, VolumeFate};
use crate::model::Quantity;

/// The plan as text.
pub(super) fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let names = plan.claims.iter().map(|claim| claim.namespace.len() + 1 + claim.name.len());
    let width = names.max().unwrap_or_default();
    for claim in &plan.claims {
        line(&mut out, claim, width);
    }
    for volume in &plan.volumes {
        volume_line(&mut out, volume);
    }
    out.push_str(&tally(plan));
    out
}

/// The plan as JSON.
pub(super) fn json(plan: &Plan) -> String {
    let mut text = serde_json::to_string_pretty(plan).unwrap_or_default();
    text.push('\n');
    text
}

fn line(out: &mut String, claim: &PlannedClaim, width: usize) {
    let name = format!("{}/{}", claim.namespace, claim.name);
    let fate = claim.outcome.as_str();
    // Writing to a string cannot fail.
    let _ = write!(out, "{name:<width$}  {fate:<10}");
    if let Some(volume) = &claim.volume {
        let _ = write!(out, "  {volume}");
    }
    if let Some(reason) = &claim.reason {
        let _ = write!(out, "  {reason}");
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// Volumes that are bound stand beside their claims; the others are told where somebody may wonder.
fn volume_line(out: &mut String, volume: &PlannedVolume) {
    let kept = volume.claim.as_deref();
    let text = match volume.outcome {
        VolumeFate::Bound | VolumeFate::Binds => return,
        VolumeFate::Free => "nobody asks for it".to_owned(),
        VolumeFate::Released => "its claim is gone".to_owned(),
        VolumeFate::Reserved => format!("kept for claim \"{}\"", kept.unwrap_or_default()),
        VolumeFate::Failed => "its claim is gone and nobody here reclaims it".to_owned(),
    };
    let _ = writeln!(out, "volume {}: {}, {text}", volume.name, volume.outcome.as_str());
}

fn tally(plan: &Plan) -> String {
    let told = |counts: &std::collections::BTreeMap<&str, usize>| {
        let told: Vec<String> =
            counts.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        if told.is_empty() { "none".to_owned() } else { told.join(", ") }
    };
    let wasted: i128 = plan.volumes.iter().filter_map(|volume| volume.wasted_bytes).sum();
    let summary = &plan.summary;
    // The digits of a number are always an amount.
    let wasted = Quantity::parse(&wasted.to_string()).unwrap_or(Quantity::ZERO);
    format!(
        "claims: {}; volumes: {}; {} more than asked for\n",
        told(&summary.claims),
        told(&summary.volumes),
        wasted.bytes_display()
    )
}
