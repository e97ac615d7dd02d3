//! The list of what is in the trash.

use jiff::{SignedDuration, Timestamp};

use super::found::{Found, TrashedVolume, find};
use super::html;
use super::report::TrashReport;
use crate::cli::args::{Format, TrashArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::files::Readers;
use crate::cli::output::{deliver, eprint_line, one_line, readable};
use crate::cli::render::{json, yaml};
use crate::cli::table::headed;
use crate::move_runner::MoveRequests;

/// Prints the list.
pub(super) async fn list(requests: &MoveRequests, arguments: &TrashArgs) -> Result<Exit, Failure> {
    let Found { mut volumes, unreadable } = find(requests).await?;
    if let Some(namespace) = &arguments.namespace {
        volumes.retain(|volume| *volume.claim.namespace == **namespace);
    }
    for (name, reason) in unreadable {
        eprint_line(&one_line(&format!("note: PV {:?} cannot be read: {reason}", name.as_str())));
    }
    let text = match arguments.output.format {
        Format::Json => json(&TrashReport::of(&volumes))?,
        Format::Yaml => yaml(&TrashReport::of(&volumes))?,
        Format::Html => html::page(&TrashReport::of(&volumes), Timestamp::now()),
        Format::Text
        | Format::Wide
        | Format::Junit
        | Format::Sarif
        | Format::Github
        | Format::Markdown => readable(&table(&volumes, Timestamp::now())),
    };
    deliver(arguments.output.path.as_deref(), &text, Readers::Everybody)?;
    Ok(Exit::Clean)
}

/// The list as a table; times are relative to `now`.
fn table(volumes: &[TrashedVolume], now: Timestamp) -> String {
    if volumes.is_empty() {
        return "nothing is in the trash\n".to_owned();
    }
    let head = ["PVC", "PV", "CLASS", "SIZE", "DELETED", "GOES"];
    let rows: Vec<_> = volumes.iter().map(|volume| row(volume, now)).collect();
    let table = headed(head, &rows);
    let example = &volumes[0].claim;
    format!("{table}bindery rescue pvc/{example} gives one back\n")
}

fn row(volume: &TrashedVolume, now: Timestamp) -> [Option<String>; 6] {
    let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let deleted = volume.released_at().map(|at| format!("{} ago", rough(now.duration_since(at))));
    let until = volume.until().map(|until| {
        let left = until.duration_since(now);
        if left.is_positive() { format!("in {}", rough(left)) } else { "now".to_owned() }
    });
    let goes = if volume.is_reserved_by_hand { Some("no: reserved".to_owned()) } else { until };
    [
        Some(volume.claim.to_string()),
        Some(volume.moved.name.to_string()),
        filled(&volume.class),
        filled(&volume.capacity),
        deleted,
        goes,
    ]
}

/// A time as kubectl shows ages: one or two units.
fn rough(time: SignedDuration) -> String {
    let seconds = time.as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (8.., _, _) => format!("{days}d"),
        (2.., _, _) => format!("{days}d{}h", hours % 24),
        (_, 8.., _) => format!("{hours}h"),
        (_, 3.., _) => format!("{hours}h{}m", minutes % 60),
        (_, _, 10..) => format!("{minutes}m"),
        (_, _, 2..) => format!("{minutes}m{}s", seconds % 60),
        _ => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_kubectl_shows_ages() {
        for (seconds, text) in [
            (-1, "0s"),
            (119, "119s"),
            (121, "2m1s"),
            (601, "10m"),
            (3 * 3_600 + 61, "3h1m"),
            (47 * 3_600, "47h"),
            (50 * 3_600, "2d2h"),
            (9 * 86_400, "9d"),
        ] {
            assert_eq!(rough(SignedDuration::from_secs(seconds)), text);
        }
    }
}
